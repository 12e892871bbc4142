from datetime import UTC, datetime

import pytest

from gangline.contract.conditions import merged
from gangline.contract.meta import Condition

THEN = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 12, 5, 0, 250_000, tzinfo=UTC)
WHOLE_NOW = NOW.replace(microsecond=0)

READY = Condition(type="Ready", status="True", reason="Yes", message="m", last_transition_time=THEN)
OTHER = Condition(type="Other", status="False", last_transition_time=THEN)


def ready(status: str, reason: str = "Yes", message: str = "m", time: datetime | None = None) -> Condition:
    return Condition(type="Ready", status=status, reason=reason, message=message, last_transition_time=time)


@pytest.mark.parametrize(
    ("present", "new", "expected"),
    [
        pytest.param(None, [ready("True")], (ready("True", time=WHOLE_NOW),), id="the first one"),
        pytest.param((READY,), [ready("False")], (ready("False", time=WHOLE_NOW),), id="the status changes"),
        pytest.param(
            (READY,),
            [ready("True", "Better")],
            (ready("True", "Better", time=THEN),),
            id="another reason keeps the time",
        ),
        pytest.param(
            (READY,), [ready("True", message="n")], (ready("True", message="n", time=THEN),), id="another message too"
        ),
        pytest.param(
            (OTHER, READY), [ready("False")], (OTHER, ready("False", time=WHOLE_NOW)), id="others stay, in their order"
        ),
        pytest.param((Condition(), OTHER), [], (OTHER,), id="one without a type goes"),
        pytest.param((OTHER,), [ready("True")], (OTHER, ready("True", time=WHOLE_NOW)), id="a new type goes last"),
        pytest.param(
            (ready("True"),), [ready("True")], (ready("True", time=WHOLE_NOW),), id="a missing time is filled in"
        ),
        pytest.param(
            (READY, OTHER),
            [ready("True", "A"), Condition(type="Other", status="True")],
            (ready("True", "A", time=THEN), Condition(type="Other", status="True", last_transition_time=WHOLE_NOW)),
            id="several at once",
        ),
    ],
)
def test_merged(present: tuple[Condition, ...] | None, new: list[Condition], expected: tuple[Condition, ...]) -> None:
    assert merged(present, new, NOW) == expected


@pytest.mark.parametrize(
    "new", [[], [ready("True")], [ready("True", time=NOW)]], ids=["nothing", "the same", "the same with another time"]
)
def test_the_same_tuple_where_nothing_differs(new: list[Condition]) -> None:
    present = (OTHER, READY)

    assert merged(present, new, NOW) is present


def test_no_conditions_stay_none() -> None:
    assert merged(None, [], NOW) == ()
