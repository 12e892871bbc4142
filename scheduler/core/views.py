"""Views: what the gangs look like from outside, in values that JSON knows. They change nothing."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from gangline.base.slices import slices
from gangline.contract.membership import GangKey
from gangline.contract.ordering import OrderKey
from scheduler.core.conditions import Conditions
from scheduler.core.gang import Gang, Standing, min_member_of, title
from scheduler.core.gang_rule import Ready
from scheduler.core.gangs import Gangs
from scheduler.core.holds import Holds
from scheduler.core.setbacks import Setbacks
from scheduler.core.triage import GangState, Triage

GANGS_AT_ONCE: Final = 500


class Waits(Struct, frozen=True):
    """How the gangs wait: how many for each reason, and the longest wait in seconds in each state."""

    gangs: dict[str, int]
    longest_s: dict[GangState, float]


class Views:
    """Looks at gangs, each as it is at the moment."""

    def __init__(
        self, *, gangs: Gangs, triage: Triage, setbacks: Setbacks, conditions: Conditions, holds: Holds
    ) -> None:
        self._gangs = gangs
        self._triage = triage
        self._setbacks = setbacks
        self._conditions = conditions
        self._holds = holds

    def waits(self, now: float) -> Waits:
        """Sum up how the gangs wait, in one pass."""
        return Waits(self._conditions.count_reasons(), self._triage.longest_waits_s(now))

    def keys(self, namespace: str | None, name: str | None) -> list[GangKey]:
        """Return the keys of the gangs of a namespace, with a name, or of all, in order.

        The name of a gang without PodGroup has parts, its owner's name for instance: any of them will do.
        """
        return sorted(
            key
            for key in self._gangs.by_key
            if namespace in {None, key.namespace} and (name is None or name in {key.name, *key.name.split("/")})
        )

    def describe(self, keys: Sequence[GangKey], now: float) -> Iterator[list[dict[str, Any]]]:
        """Describe gangs, slice by slice, with what their waiting members would say; those that have gone are left out.

        Between two slices the scheduler may go on: each gang is described as it is then.
        """
        ready: dict[GangKey, tuple[OrderKey, Ready]] = {}
        for some in slices(list(self._gangs.by_key), GANGS_AT_ONCE):
            ready.update(self._triage.ready_of(some))
            yield []
        places = {key: place for place, key in enumerate(sorted(ready, key=lambda key: ready[key][0]), 1)}
        for some in slices(keys, GANGS_AT_ONCE):
            gangs = (gang for key in some if (gang := self._gangs.by_key.get(key)) is not None)
            yield [self._view(gang, now) | _place(ready.get(gang.key), places.get(gang.key)) for gang in gangs]

    def _view(self, gang: Gang, now: float) -> dict[str, Any]:
        key = gang.key
        setback = self._setbacks.of_gang(key, now)
        said = self._conditions.said_of(key)
        counts = gang.counts
        waited_s = self._triage.waited_s(key, now)
        return {
            "gang": str(key),
            "title": title(key),
            "namespace": key.namespace,
            "kind": key.kind.value,
            "name": key.name,
            "state": self._triage.state_of(key).value,
            "minMember": min_member_of(gang, self._gangs.group_of(key)),
            "priority": self._gangs.priority_of(gang),
            "waiting": gang.size(Standing.WAITING, Standing.UNPLACEABLE),
            "binding": gang.size(Standing.SENT),
            "bound": gang.size(Standing.BOUND),
            "succeeded": counts.succeeded,
            "waitedSeconds": round(waited_s, 1) if waited_s is not None else None,
            "reason": said.reason if said is not None else None,
            "message": said.message if said is not None else None,
            "retryInSeconds": round(setback.until - now, 1) if setback is not None else None,
            "holds": [
                {"node": node, "endsInSeconds": round(until - now, 1)} for node, until in self._holds.kept_for(key)
            ],
        }


def _place(found: tuple[OrderKey, Ready] | None, place: int | None) -> dict[str, Any]:
    if found is None:
        return {"need": None, "turn": None, "place": None}
    _, ready = found
    return {"need": ready.need, "turn": ready.turn.name.lower(), "place": place}
