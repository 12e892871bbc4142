"""What we lack the rights for, as far as requests have shown it."""

from typing import Final

from gangline.base.clock import Clock
from gangline.kube.wire.errors import ApiError, is_denied
from gangline.kube.wire.requests import Request

MEMORY_S: Final = 300.0
"""What is asked for so seldom that nothing says whether the right is back is forgotten after this time."""
_TOLD_BY_REFLECTORS: Final = frozenset({"list", "watch"})


class Denials:
    """The kinds of requests that were refused for want of a right when they were last made.

    Lists and watches are left out: a Reflector says for itself what it is refused.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, str]] = {}

    def answered(self, request: Request, error: ApiError | None) -> None:
        """Take note of an answer; only a success takes a denial back, for other errors may come before the rights."""
        kind = (request.verb, request.resource)
        if error is None:
            self._known.pop(kind, None)
        elif is_denied(error) and request.verb not in _TOLD_BY_REFLECTORS:
            self._known[kind] = (self._clock.now(), str(error))

    def problems(self) -> list[str]:
        """Say what we may not do, in words for /readyz."""
        oldest = self._clock.now() - MEMORY_S
        self._known = {kind: known for kind, known in self._known.items() if known[0] >= oldest}
        return [f"may not {verb} {resource}: {said}" for (verb, resource), (_, said) in sorted(self._known.items())]
