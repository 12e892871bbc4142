"""Rights that are missing are said until they are back, or nothing has asked for them for long."""

from gangline.contract.meta import Key
from gangline.kube.denials import Denials
from gangline.kube.wire import requests
from gangline.kube.wire.errors import ApiError, Forbidden, ServerError
from gangline.kube.wire.resources import PODS
from tests.support.clock import ManualClock

BIND = requests.bind(Key("ns", "a"), "uid", "node")
READ = requests.get(PODS, Key("ns", "a"))
DENIED = Forbidden('pods "a" is forbidden: User "me" cannot create resource "pods/binding" in API group ""', status=403)
SAID = f"may not bind pods/binding: {DENIED}"


def denied(*answers: tuple[requests.Request, ApiError | None], later_s: float = 0.0) -> list[str]:
    clock = ManualClock(1000.0)
    denials = Denials(clock)
    for request, error in answers:
        denials.answered(request, error)
    clock.advance(later_s)
    return denials.problems()


def test_a_denial_is_said_until_the_same_is_granted() -> None:
    assert denied((BIND, DENIED)) == [SAID]
    assert denied((BIND, DENIED), (READ, None)) == [SAID]
    assert denied((BIND, DENIED), (BIND, ServerError("busy", status=500))) == [SAID]
    assert denied((BIND, DENIED), (BIND, None)) == []


def test_what_admission_refuses_is_no_missing_right() -> None:
    assert denied((BIND, Forbidden("quota exceeded", status=403))) == []


def test_lists_are_left_to_reflectors() -> None:
    assert denied((requests.list_page(PODS), DENIED)) == []


def test_what_nobody_asks_for_any_more_is_forgotten() -> None:
    assert denied((BIND, DENIED), later_s=299.0) == [SAID]
    assert denied((BIND, DENIED), later_s=301.0) == []
