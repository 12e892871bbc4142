"""The bench for faults: rules that make chosen requests fail, and the admin endpoints under /sandbox/.

| Request | What it does |
|---|---|
| PUT /sandbox/faults | `{"seed": 7, "rules": [...]}` replaces all rules, an empty list ends them; one generator, seeded, draws for all of them |
| GET /sandbox/faults | the rules with how often each has struck |
| POST /sandbox/compact | `{"revision": N}`, or nothing for now: older watches and pages get 410 |
| POST /sandbox/objects | an object goes into the store as it is, past defaults and validation; `?key=` says where |
| POST /sandbox/watches/drop | cuts every open watch, or those of `{"resource": "pods"}` |
| GET /sandbox/log?after=N | every committed version, one JSON line each, in order |

A rule is a `Rule` as JSON: `{"verb": "create", "resource": "pods", "subresource": "binding", "probability": 0.1,
"count": 3, "fault": {"type": "lost_reply"}}`. Fields left out match everything; `skip` lets the first matching
requests pass; `count` bounds how often it strikes. The first rule that strikes with an outcome wins; delays add up.
"""

import random

from msgspec import Struct
from msgspec.structs import asdict


class Delay(Struct, frozen=True, tag="delay"):
    """Wait before acting: `seconds`, plus up to `jitter` more."""

    seconds: float
    jitter: float = 0.0


class Refuse(Struct, frozen=True, tag="refuse"):
    """Answer with an error and do nothing."""

    code: int
    retry_after_s: int | None = None


class Cut(Struct, frozen=True, tag="cut"):
    """Close the connection without acting."""


class LostReply(Struct, frozen=True, tag="lost_reply"):
    """Act, then close the connection instead of answering."""


class DropWatch(Struct, frozen=True, tag="drop_watch"):
    """Cut a watch, in the middle of its last line, once it has sent that many writes."""

    after_writes: int = 0


class StallWatch(Struct, frozen=True, tag="stall_watch"):
    """Send nothing more, not even bookmarks, after that many writes, and keep the connection open."""

    after_writes: int = 0


Fault = Delay | Refuse | Cut | LostReply | DropWatch | StallWatch


class Occasion(Struct, frozen=True, kw_only=True):
    """What a request is, as rules see it; `verb` is Kubernetes' word (get, list, watch, create, ...)."""

    method: str
    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a fault strikes."""

    fault: Fault
    method: str | None = None
    verb: str | None = None
    resource: str | None = None
    subresource: str | None = None
    namespace: str | None = None
    name: str | None = None
    probability: float = 1.0
    count: int | None = None
    skip: int = 0

    def matches(self, occasion: Occasion) -> bool:
        """Whether the rule speaks of such a request."""
        return all(getattr(self, field) in (None, found) for field, found in asdict(occasion).items())


class RuleBook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All rules and the seed of their dice."""

    rules: tuple[Rule, ...] = ()
    seed: int = 0


class Faults:
    """The rules in force and their dice."""

    def __init__(self) -> None:
        self._random = random.Random(0)  # noqa: S311 - dice, not secrets
        self._rules: tuple[Rule, ...] = ()
        self._seen: list[int] = []
        self._struck: list[int] = []

    def install(self, book: RuleBook) -> None:
        """Replace all rules."""
        self._rules = book.rules
        self._random = random.Random(book.seed)  # noqa: S311 - dice, not secrets
        self._seen = [0] * len(book.rules)
        self._struck = [0] * len(book.rules)

    def report(self) -> list[tuple[Rule, int]]:
        """Return the rules with how often each has struck."""
        return list(zip(self._rules, self._struck, strict=True))

    def strike(self, occasion: Occasion) -> tuple[float, Fault | None]:
        """Return how long to wait, in seconds, and the fault for this request."""
        delay_s = 0.0
        for index, rule in enumerate(self._rules):
            if not rule.matches(occasion) or not self._is_due(index, rule):
                continue
            self._struck[index] += 1
            if not isinstance(rule.fault, Delay):
                return delay_s, rule.fault
            delay_s += rule.fault.seconds + rule.fault.jitter * self._random.random()
        return delay_s, None

    def _is_due(self, index: int, rule: Rule) -> bool:
        self._seen[index] += 1
        if self._seen[index] <= rule.skip or (rule.count is not None and self._struck[index] >= rule.count):
            return False
        return rule.probability >= 1.0 or self._random.random() < rule.probability
