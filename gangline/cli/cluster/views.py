"""What a scheduler says of its gangs: one that runs, or one that was fed with a survey a moment ago."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from gangline.contract.membership import GangKey, GangKind


class HoldView(Struct, frozen=True, rename="camel"):
    """A room that is held for the gang, for so long."""

    node: str
    ends_in_seconds: float


class GangView(Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of the scheduler's /debug/gangs; what an older scheduler leaves out is None."""

    title: str
    namespace: str
    kind: GangKind
    name: str
    state: str = ""
    min_member: int = 1
    priority: int = 0
    waiting: int = 0
    binding: int = 0
    bound: int = 0
    succeeded: int = 0
    waited_seconds: float | None = None
    reason: str | None = None
    message: str | None = None
    retry_in_seconds: float | None = None
    need: int | None = None
    turn: str | None = None
    place: int | None = None
    holds: tuple[HoldView, ...] = ()

    @property
    def key(self) -> GangKey:
        """Identity of the gang."""
        return GangKey(self.namespace, self.kind, self.name)


Views = dict[GangKey, GangView]


def views_of(described: Iterable[dict[str, Any]]) -> Views:
    """Read the scheduler's own description. Raises msgspec.ValidationError."""
    views = msgspec.convert(list(described), tuple[GangView, ...])
    return {view.key: view for view in views}


def holders_against(view: GangView, views: Views) -> tuple[GangView, ...]:
    """Return the gangs for which room is held that this one may not take."""
    others = (other for other in views.values() if other.holds and other.key != view.key)
    return tuple(other for other in others if other.priority >= view.priority)


def ahead_of(view: GangView, views: Views) -> list[GangView]:
    """Return the gangs that are tried before this one, in order."""
    if view.place is None:
        return []
    before = [other for other in views.values() if other.place is not None and other.place < view.place]
    return sorted(before, key=lambda other: other.place or 0)
