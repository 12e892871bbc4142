"""What the scheduler is told: facts in the past tense, one tagged union, recordable as JSON lines.

Observations come from the one stream per kind, in its order, and may come twice or late.
Results answer our own instructions: exactly one for each pod and attempt.
"""

from enum import StrEnum

from msgspec import Struct

from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget, PriorityClass


class Kind(StrEnum):
    """Kinds that must have synced once before anything is decided."""

    POD = "Pod"
    NODE = "Node"
    POD_GROUP = "PodGroup"
    PRIORITY_CLASS = "PriorityClass"
    BUDGET = "PodDisruptionBudget"


class Scoring(StrEnum):
    """Which of the feasible nodes is preferred."""

    PACK = "pack"
    SPREAD = "spread"


class SettingsGiven(Struct, frozen=True, kw_only=True, tag=True):
    """The first event of every run."""

    scheduler_names: tuple[str, ...]
    scoring: Scoring = Scoring.PACK
    budgets_form_gangs: bool = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are watched; budgets only where they form gangs."""
        return tuple(kind for kind in Kind if kind is not Kind.BUDGET or self.budgets_form_gangs)


class RowBudgetGiven(Struct, frozen=True, kw_only=True, tag=True):
    """How many node rows a step may look at from now on before it stops early; the shell adapts it."""

    rows: int


class KindSynced(Struct, frozen=True, kw_only=True, tag=True):
    """The first full list of a kind has been delivered."""

    kind: Kind


class PodObserved(Struct, frozen=True, kw_only=True, tag=True):
    """A pod as the API server has it."""

    pod: Pod


class PodGone(Struct, frozen=True, kw_only=True, tag=True):
    """A pod was removed from the API server."""

    namespace: str
    name: str
    uid: str


class PodUnreadable(Struct, frozen=True, kw_only=True, tag=True):
    """A pod exists that does not decode; its envelope is all that is known of this version.

    `last` is the last good version where that has not been told yet.
    """

    namespace: str
    name: str
    uid: str
    node: str
    message: str
    last: Pod | None = None


class NodeObserved(Struct, frozen=True, kw_only=True, tag=True):
    """A node as the API server has it."""

    node: Node


class NodeGone(Struct, frozen=True, kw_only=True, tag=True):
    """A node was removed from the API server."""

    name: str
    uid: str


class NodeUnreadable(Struct, frozen=True, kw_only=True, tag=True):
    """A node exists that does not decode; `last` is the last good version where that has not been told yet."""

    name: str
    uid: str
    message: str
    last: Node | None = None


class PodGroupObserved(Struct, frozen=True, kw_only=True, tag=True):
    """A PodGroup as the API server has it."""

    group: PodGroup


class PodGroupGone(Struct, frozen=True, kw_only=True, tag=True):
    """A PodGroup was removed from the API server."""

    namespace: str
    name: str
    uid: str


class PodGroupUnreadable(Struct, frozen=True, kw_only=True, tag=True):
    """A PodGroup exists that does not decode; `last` is the last good version where that has not been told yet."""

    namespace: str
    name: str
    uid: str
    message: str
    last: PodGroup | None = None


class PriorityClassObserved(Struct, frozen=True, kw_only=True, tag=True):
    """A PriorityClass as the API server has it."""

    priority_class: PriorityClass


class PriorityClassGone(Struct, frozen=True, kw_only=True, tag=True):
    """A PriorityClass was removed from the API server."""

    name: str


class BudgetObserved(Struct, frozen=True, kw_only=True, tag=True):
    """A PodDisruptionBudget as the API server has it."""

    budget: PodDisruptionBudget


class BudgetGone(Struct, frozen=True, kw_only=True, tag=True):
    """A PodDisruptionBudget was removed from the API server."""

    namespace: str
    name: str


class Refusal(StrEnum):
    """Why a bind was definitely not done."""

    FOREIGN = "Foreign"
    """409: the pod is bound to another node."""
    LOST = "Lost"
    """404, or another UID under the name."""
    FORBIDDEN = "Forbidden"
    """400, 403, 422: this pod and node are kept apart for a while."""
    STALE = "Stale"
    """Nothing was sent: the PodGroup has a newer version than the one that was planned with."""
    OVERTAKEN = "Overtaken"
    """Nothing was sent: what was observed since the plan was made speaks against it; the gang is decided again at once."""
    DROPPED = "Dropped"
    """Nothing was sent, or the answer (401, a redirect) says nothing of this pod and node: the gang tries again later."""


class Bound(Struct, frozen=True, kw_only=True, tag=True):
    """The API server has bound the pod to the node we asked for."""

    uid: str
    attempt: int
    node: str


class Refused(Struct, frozen=True, kw_only=True, tag=True):
    """The bind was definitely not done."""

    uid: str
    attempt: int
    refusal: Refusal
    message: str


class Unknown(Struct, frozen=True, kw_only=True, tag=True):
    """The bind may or may not have been done: 429, 5xx, timeout, lost connection."""

    uid: str
    attempt: int
    message: str


class PodRead(Struct, frozen=True, kw_only=True, tag=True):
    """The answer to `ReadPod`: where the API server says the pod is, `""` for nowhere, None when it has no such pod."""

    uid: str
    attempt: int
    node: str | None


class PodReadFailed(Struct, frozen=True, kw_only=True, tag=True):
    """`ReadPod` got no usable answer; it is tried again later."""

    uid: str
    attempt: int
    message: str


class ConditionOutcome(StrEnum):
    """What became of a condition write."""

    WRITTEN = "Written"
    CONFLICT = "Conflict"
    """The pod has changed since; its next observation decides."""
    LOST = "Lost"
    DROPPED = "Dropped"
    """A bind of the same pod was sent first."""
    FAILED = "Failed"
    """Forbidden, invalid or no answer; tried again with backoff."""


class ConditionAnswered(Struct, frozen=True, kw_only=True, tag=True):
    """A `WriteCondition` has ended."""

    uid: str
    attempt: int
    outcome: ConditionOutcome


Observation = (
    PodObserved
    | PodGone
    | PodUnreadable
    | NodeObserved
    | NodeGone
    | NodeUnreadable
    | PodGroupObserved
    | PodGroupGone
    | PodGroupUnreadable
    | PriorityClassObserved
    | PriorityClassGone
    | BudgetObserved
    | BudgetGone
    | KindSynced
)
Result = Bound | Refused | Unknown | PodRead | PodReadFailed | ConditionAnswered
Event = SettingsGiven | RowBudgetGiven | Observation | Result
