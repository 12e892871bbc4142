"""What /debug/gangs is made of: chosen gangs, slice by slice, with their places among all."""

import pytest

from scheduler.core.views import GANGS_AT_ONCE
from tests.support.builders import group, node, pod
from tests.support.script import Script, Watched


def waiting(*names: str, namespace: str = "team") -> list[Watched]:
    return [
        made
        for name in names
        for made in (
            group(name, 1, namespace=namespace),
            pod(name, namespace=namespace, uid=f"{namespace}-{name}", group=name, cpu=64),
        )
    ]


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        pytest.param(None, None, ["other/a", "team/a", "team/b"], id="all"),
        pytest.param("team", None, ["team/a", "team/b"], id="of-a-namespace"),
        pytest.param(None, "a", ["other/a", "team/a"], id="of-a-name"),
        pytest.param("team", "b", ["team/b"], id="one"),
        pytest.param("team", "c", [], id="none"),
    ],
)
def test_gangs_are_chosen_by_namespace_and_name(namespace: str | None, name: str | None, expected: list[str]) -> None:
    script = Script(node("n1"), *waiting("b", "a"), *waiting("a", namespace="other"))

    keys = script.scheduler.gang_keys(namespace, name)
    views = [view for piece in script.scheduler.describe(keys, script.now) for view in piece]

    assert [view["title"] for view in views] == expected


def test_a_chosen_gang_has_its_place_among_all() -> None:
    script = Script(node("n1"), *waiting("a", "b", "c"))

    (view,) = [
        each for piece in script.scheduler.describe(script.scheduler.gang_keys("team", "c"), 0.0) for each in piece
    ]

    assert (view["need"], view["turn"], view["place"]) == (1, "quorum", 3)


def test_a_gang_that_lost_a_member_says_where_room_is_held_and_for_how_long() -> None:
    members = [pod(f"g-{number}", group="g", cpu=4, node=f"n{number}", phase="Running") for number in range(2)]
    script = Script(group("g", 2), node("n0"), node("n1"), *members)
    script.remove(members[1])

    (view,) = [
        each for piece in script.scheduler.describe(script.scheduler.gang_keys(), script.now + 12.0) for each in piece
    ]

    assert view["holds"] == [{"node": "n1", "endsInSeconds": 18.0}]


def test_gangs_that_go_between_two_slices_are_left_out() -> None:
    names = [f"g{number:04}" for number in range(GANGS_AT_ONCE + 2)]
    script = Script(node("n1"), *waiting(*names))
    last = names[-1]

    pieces = script.scheduler.describe(script.scheduler.gang_keys(), script.now)
    titles = [view["title"] for view in next(piece for piece in pieces if piece)]
    script.remove(pod(last, uid=f"team-{last}", group=last, cpu=64))
    titles += [view["title"] for piece in pieces for view in piece]

    assert titles == [f"team/{name}" for name in names[:-1]]
