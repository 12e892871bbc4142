"""What of a PodGroup depends on time: when finishes have settled, and how long scheduling may take.

Times are seconds since the epoch: they are compared with timestamps of the API.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from gangline.contract.counting import Counts, MemberFacts, need
from gangline.contract.meta import epoch_seconds
from gangline.contract.podgroup import PodGroupSpec

SETTLE_S: Final = 5.0
DEFAULT_SCHEDULE_TIMEOUT_S: Final = 60


def settles_at(run: Iterable[MemberFacts]) -> float | None:
    """Return when the newest finish of the run has settled; None if nothing has finished."""
    newest = max((member.finished_s for member in run if member.finished_s is not None), default=None)
    return None if newest is None else newest + SETTLE_S


def schedule_timeout_s(spec: PodGroupSpec) -> int:
    """Return scheduleTimeoutSeconds; absent, 0 and negative mean 60 (Coscheduling M11, M13, M22)."""
    given = spec.schedule_timeout_seconds
    return given if given is not None and given > 0 else DEFAULT_SCHEDULE_TIMEOUT_S


def is_complete(min_member: int, counts: Counts) -> bool:
    """Say whether enough ungated members exist for the gang to be scheduled."""
    return counts.unfinished + counts.succeeded >= min_member


def schedule_start_time(stored: datetime | None, min_member: int, counts: Counts, now: float) -> datetime | None:
    """Return since when the group is complete and still short of its quorum; None while it is not.

    A stored time in the future, left by a clock that was wrong, is replaced.
    """
    if not is_complete(min_member, counts) or need(min_member, counts) == 0:
        return None
    if stored is not None and epoch_seconds(stored) <= now:
        return stored
    return whole_second(now)


def whole_second(now: float) -> datetime:
    """Return the time with the precision that Kubernetes keeps."""
    return datetime.fromtimestamp(int(now), UTC)
