"""The status that a PodGroup should have, as a pure function of the object, its pods and the time."""

from collections.abc import Collection, Mapping

from msgspec import Struct, structs

from controller.core.conditions import GroupFacts, conditions_of
from controller.core.member import Member
from controller.core.phase import known_phase, next_phase
from controller.core.timeouts import schedule_start_time, schedule_timeout_s, settles_at, whole_second
from gangline.contract.conditions import merged
from gangline.contract.counting import count, current_run, quorum
from gangline.contract.meta import Condition, epoch_seconds
from gangline.contract.podgroup import Phase, PodGroup, PodGroupStatus


class Assessment(Struct, frozen=True, kw_only=True):
    """A status, when to look again (seconds since the epoch; None: when something changes), and a broken promise."""

    status: PodGroupStatus
    look_again_at: float | None
    overdue_timeout_s: int | None
    """scheduleTimeoutSeconds, once `status.schedule_start_time` is longer ago than that."""


def is_ours(members: Collection[Member]) -> bool:
    """Say whether the status is ours to write: a pod of the group names one of our schedulers, or there is no pod."""
    return not members or any(member.facts.ours for member in members)


def assess(group: PodGroup, members: Mapping[str, Member], now: float) -> Assessment:
    """Return the status that this PodGroup should have; `now` in seconds since the epoch, members by UID."""
    run = [members[facts.uid] for facts in current_run(member.facts for member in members.values())]
    counts = count(member.facts for member in run)
    min_member = quorum(group.spec.min_member)
    settled_at = settles_at(member.facts for member in run)
    previous = known_phase(group.status.phase)
    phase = next_phase(previous, min_member, counts, settled=settled_at is None or settled_at <= now)
    start_time = schedule_start_time(group.status.schedule_start_time, min_member, counts, now)
    timeout_s = schedule_timeout_s(group.spec)
    overdue_at = None if start_time is None else epoch_seconds(start_time) + timeout_s
    facts = GroupFacts(
        min_member=min_member,
        phase=phase,
        counts=counts,
        members=members.values(),
        run=run,
        overdue_timeout_s=timeout_s if overdue_at is not None and overdue_at <= now else None,
    )
    status = PodGroupStatus(
        phase=phase,
        occupied_by=_occupied_by(group.status.occupied_by, run, leaves_pending=_leaves_pending(previous, phase)),
        scheduled=counts.scheduled,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        schedule_start_time=start_time,
        conditions=_conditions(group, facts, now),
        observed_generation=group.metadata.generation,
    )
    ahead = [at for at in (settled_at, overdue_at) if at is not None and at > now]
    return Assessment(status=status, look_again_at=min(ahead, default=None), overdue_timeout_s=facts.overdue_timeout_s)


def _conditions(group: PodGroup, facts: GroupFacts, now: float) -> tuple[Condition, ...]:
    stored, generation = group.status.conditions or (), group.metadata.generation
    found = (structs.replace(found, observed_generation=generation) for found in conditions_of(facts, stored))
    return merged(stored, tuple(found), whole_second(now))


def _leaves_pending(previous: Phase | None, phase: Phase) -> bool:
    return previous in {None, Phase.PENDING} and phase is not Phase.PENDING


def _occupied_by(stored: str | None, run: Collection[Member], *, leaves_pending: bool) -> str | None:
    """Return the owners of the oldest member, written when empty or when the phase leaves Pending (B12, B13, B45)."""
    if stored and not leaves_pending:
        return stored
    oldest = min(run, key=lambda member: (member.facts.created_s, member.facts.uid), default=None)
    return (oldest.owners if oldest is not None else "") or stored
