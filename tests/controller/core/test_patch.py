"""A patch holds what differs and nothing else."""

import pytest

from controller.core.patch import StatusPatch, pruned_fields, status_patch
from gangline.contract.meta import Condition
from gangline.contract.podgroup import PodGroupStatus as Status
from tests.controller.builders import at

TRUE = Condition(type="Scheduled", status="True", reason="QuorumReached", message="", last_transition_time=at(0))

PATCHES: list[tuple[str, Status, Status, StatusPatch]] = [
    ("nothing", Status(phase="Pending"), Status(phase="Pending"), {}),
    ("a phase", Status(), Status(phase="Pending"), {"phase": "Pending"}),
    ("a count", Status(running=2), Status(running=3), {"running": 3}),
    ("a count that falls to 0 is removed", Status(running=2), Status(running=0), {"running": None}),
    ("0 where nothing is stored", Status(), Status(running=0, failed=0), {}),
    ("0 where 0 is stored", Status(running=0), Status(), {}),
    ("no start any more", Status(schedule_start_time=at(0)), Status(), {"scheduleStartTime": None}),
    ("a start", Status(), Status(schedule_start_time=at(0)), {"scheduleStartTime": "1970-01-01T00:00:00Z"}),
    ("conditions as they are", Status(conditions=(TRUE,)), Status(conditions=(TRUE,)), {}),
    (
        "conditions go whole and without nulls",
        Status(),
        Status(conditions=(TRUE,)),
        {
            "conditions": [
                {
                    "type": "Scheduled",
                    "status": "True",
                    "reason": "QuorumReached",
                    "message": "",
                    "lastTransitionTime": "1970-01-01T00:00:00Z",
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(
    ("stored", "wanted", "expected"), [row[1:] for row in PATCHES], ids=[row[0] for row in PATCHES]
)
def test_the_patch(stored: Status, wanted: Status, expected: StatusPatch) -> None:
    assert status_patch(stored, wanted, ignored=frozenset()) == expected


def test_ignored_fields_are_never_compared() -> None:
    wanted = Status(phase="Running", scheduled=3)
    assert status_patch(Status(), wanted, ignored={"scheduled"}) == {"phase": "Running"}


def test_a_field_that_does_not_come_back_was_pruned() -> None:
    sent: StatusPatch = {"phase": "Running", "scheduled": 3, "failed": None}
    assert pruned_fields(sent, {"phase": "Running"}) == {"scheduled"}
