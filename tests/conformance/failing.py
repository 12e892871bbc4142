"""Tables F and K: a member that finds no node, and the arguments for it.

Coscheduling's members find their nodes one by one and hold them; its reject percentage says how many may be missing
before all let go, and its backoff how long they then stay away. A gang that is decided whole has nothing to let go.
Each row is checked in what it is about: what is held, who gets the room, and when the gang is tried again.
"""

from collections.abc import Awaitable, Callable

import pytest

from gangline.contract.pod import Pod
from gangline.service.settings import SettingsError, load
from scheduler.settings import Settings
from tests.conformance.lanes import Lane
from tests.conformance.rows import ROWS, Row, Stage, on_a_cluster_too, row
from tests.support.builders import group, node, pod
from tests.support.script import Script

HOLDS_NOTHING = "0 hold a node"
NO_PERMIT = "A gang is decided whole: there is nothing to hold on to, and so no percentage to weigh."


def members(count: int, name: str = "pg1", *, namespace: str = "team", first: int = 0) -> list[Pod]:
    numbers = range(first, first + count)
    return [pod(f"{name}-{n}", group=name, namespace=namespace, uid=f"{namespace}/{name}-{n}") for n in numbers]


def short_of_room(minimum: int, fitting: int) -> Script:
    """A gang that waits, complete, on a node with room for some of it."""
    script = Script(node("n1", cpu=fitting), group("pg1", minimum), *members(minimum))
    assert script.binds == []
    assert set(script.reasons.values()) == {"Unschedulable"}
    assert all(f"{fitting} of {minimum} members fit" in message for _, message in script.conditions.values())
    return script


def holds_nothing(minimum: int, fitting: int) -> Callable[[], None]:
    def check() -> None:
        script = short_of_room(minimum, fitting)
        if not fitting:
            return
        script.observe(*(pod(f"other-{number}", created_s=9) for number in range(fitting)))
        assert len(script.binds) == fitting

    return check


def holds_nothing_in_a_lane(minimum: int, fitting: int) -> Callable[[Lane], Awaitable[None]]:
    async def check(lane: Lane) -> None:
        await lane.room(cpu=fitting)
        await lane.create(*lane.gang("pg1", minimum))
        await lane.waits("pg1", minimum, f"{fitting} of {minimum} members fit")
        assert lane.running("pg1") == 0
        await lane.create(*lane.pods(fitting, "other"))
        await lane.runs(other=fitting, pg1=0)

    return check


REJECTIONS = (
    # id, minMember, members that fit, reject percentage, does Coscheduling reject
    ("F3", 2, 1, None, True),
    ("F4", 10, 9, None, False),
    ("F5", 10, 8, None, True),
    ("F6", 10, 9, 0, True),
    ("F7", 10, 0, 100, False),
    ("F8", 10, 6, 50, False),
    ("F9", 10, 4, 50, True),
    ("F10", 9, 8, None, True),
    ("F12", 20, 17, None, True),
    ("F14", 100, 89, None, True),
)


def _register() -> None:
    for id_, minimum, fitting, percentage, rejects in REJECTIONS:
        given = f"minMember {minimum}, room for {fitting}" + (
            "" if percentage is None else f", percentage {percentage}"
        )
        untouched = f"{fitting} hold their nodes and wait" if fitting else "none lets go"
        ROWS[id_] = Row(
            id=id_,
            given=given,
            upstream="the group is rejected: none holds a node" if rejects else untouched,
            ours="" if rejects else HOLDS_NOTHING,
            why="" if rejects else NO_PERMIT,
            stage=Stage.CORE,
            check=holds_nothing(minimum, fitting),
        )
        on_a_cluster_too(id_)(holds_nothing_in_a_lane(minimum, fitting))


_register()


@row("F1", "a pod without group finds no node", "it waits, and nobody else is touched")
def without_group() -> None:
    script = Script(node("n1", cpu=1), pod("big", cpu=2), pod("small"))
    assert (script.bound_names, script.reasons) == (["small"], {"big": "Unschedulable"})


@row("F2", "minMember 1 and one is bound; another member finds no node", "the group is not touched")
def beyond_the_quorum() -> None:
    script = Script(node("n1", cpu=1), group("pg1", 1), pod("pg1-0", group="pg1", node="n1"), *members(1, first=1))
    assert (script.binds, script.reasons) == ([], {"pg1-1": "Unschedulable"})


@row("F15", "a member of pg1 finds no node while pg2 starts", "only pg1 is rejected")
def beside_another_group() -> None:
    script = Script(node("n1", cpu=2), group("pg1", 3), group("pg2", 2), *members(3), *members(2, "pg2"))
    assert script.bound_names == ["pg2-0", "pg2-1"]
    assert set(script.reasons) == {"pg1-0", "pg1-1", "pg1-2"}


@row("F16", "as F15, with a group of the same name in another namespace", "the other is not touched")
def beside_its_namesake() -> None:
    groups = group("pg1", 3), group("pg1", 2, namespace="else", uid="other")
    script = Script(node("n1", cpu=2), *groups, *members(3), *members(2, namespace="else"))
    assert {bind.namespace for bind in script.binds} == {"else"}
    assert len(script.binds) == 2


NO_BACKOFF = "There is no backoff: a gang that does not fit is parked and costs nothing until something can help it."


@row(
    "K1",
    "backoff 1 s, minMember 3, 3 pods: the first waits, the second fails",
    "the third is refused at once",
    "the three are decided once, together, and again when room comes",
    NO_BACKOFF,
)
def decided_once() -> None:
    script = short_of_room(3, 1)
    assert len(script.step.decisions) == 1
    for number in range(5):
        script.observe(pod(f"elsewhere-{number}", scheduler="other"), after_s=1)
        assert not script.step.decisions
    script.observe(node("n2", cpu=2))
    assert len(script.binds) == 3


@row(
    "K2",
    "no backoff; as K1",
    "the third is tried by itself",
    "as K1",
    "No member is tried by itself before the quorum stands.",
)
def never_by_itself() -> None:
    script = Script(node("n1", cpu=1), group("pg1", 3), *members(2))
    assert script.binds == []
    script.observe(*members(1, first=2))
    assert (script.binds, len(script.step.decisions)) == ([], 1)


@row("K3", "backoff 10 s, minMember 3, only 2 pods exist", "no backoff: the third pod is not kept waiting")
def no_backoff_for_missing_members() -> None:
    script = Script(node("n1"), group("pg1", 3), *members(2))
    script.observe(*members(1, first=2), after_s=1)
    assert len(script.binds) == 3


@row("K4", "backoff 10 s, 9 of 10 fit", "no backoff: room for the tenth is used at once")
def no_backoff_for_a_small_gap() -> None:
    script = short_of_room(10, 9)
    script.observe(node("n2", cpu=1), after_s=1)
    assert len(script.binds) == 10


@row(
    "K6",
    "the backoff is over",
    "retried only at the next event or flush",
    "retried as soon as something comes that can help it, and every 5 minutes to be safe",
    NO_BACKOFF,
)
def woken_by_what_helps() -> None:
    script = short_of_room(3, 1)
    script.wait(200)
    assert not script.step.decisions
    script.observe(node("n2", cpu=2))
    assert len(script.binds) == 3


NO_ARGUMENTS = "What they tune does not exist."
ARGUMENTS = ("permit-waiting-time-seconds", "pod-group-backoff-seconds", "pod-group-reject-percentage")


def problems(*argv: str) -> list[str]:
    """What the scheduler says of options that it cannot use."""
    with pytest.raises(SettingsError) as error:
        load(Settings, argv, {}, program="gangline-scheduler", description="")
    return [str(problem) for problem in error.value.problems]


@row(
    "K7",
    "no arguments",
    "60 s, 0 s, 10 %",
    "there are none; scheduleTimeoutSeconds is 60 by itself (M11)",
    NO_ARGUMENTS,
)
def no_arguments() -> None:
    settings = load(Settings, (), {}, program="gangline-scheduler", description="")
    assert {argument.replace("-", "_") for argument in ARGUMENTS}.isdisjoint(type(settings).__struct_fields__)


@row(
    "K8",
    "wait 30, backoff 60, percentage 0, 10 or 100",
    "valid",
    "refused by name, so that nobody believes that they act",
    NO_ARGUMENTS,
)
def unknown_arguments() -> None:
    for argument, value in zip(ARGUMENTS, (30, 60, 10), strict=True):
        assert argument in "".join(problems(f"--{argument}={value}"))


@row("K9", "an argument out of its range", "invalid, and names its field")
def out_of_range() -> None:
    for option, value in (("grace-s", -10), ("stale-s", -20), ("bind-concurrency", 0)):
        (problem,) = problems(f"--{option}={value}")
        assert option in problem


@row("K10", "two arguments out of their ranges", "both errors are reported")
def both_out_of_range() -> None:
    first, second = problems("--grace-s=-30", "--stale-s=-20")
    assert "grace-s" in first + second
    assert "stale-s" in first + second
