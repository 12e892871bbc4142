"""What the scheduler wants done: commands, one tagged union; the shells carry them out and answer with results."""

from msgspec import Struct


class Bind(Struct, frozen=True, kw_only=True):
    """Bind one pod; `attempt` comes back in the result."""

    uid: str
    namespace: str
    name: str
    node: str
    attempt: int


class GroupVersion(Struct, frozen=True, kw_only=True):
    """The version of a PodGroup that a plan was made with; to be compared with the API server's before the first bind.

    The generation is compared where both sides have one: it changes with the spec alone, and a plan depends on
    nothing else. While a gang forms its status is written, which changes the resourceVersion.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int | None = None


class BindGang(Struct, frozen=True, kw_only=True, tag=True):
    """Send the binds of one plan together. Answered by Bound, Refused or Unknown for each bind.

    With `confirm`, one GET first: another UID or version refuses all as STALE.
    With `nothing_bound`, the first bind goes alone: if it is refused, the rest is refused as DROPPED.
    """

    gang: str
    binds: tuple[Bind, ...]
    nothing_bound: bool
    confirm: GroupVersion | None = None


class ReadPod(Struct, frozen=True, kw_only=True, tag=True):
    """Read one pod again. Answered by PodRead or PodReadFailed."""

    uid: str
    namespace: str
    name: str
    attempt: int


class WriteCondition(Struct, frozen=True, kw_only=True, tag=True):
    """Set PodScheduled=False on an unbound pod, only at this resourceVersion. Answered by ConditionAnswered."""

    uid: str
    namespace: str
    name: str
    resource_version: str
    attempt: int
    reason: str
    message: str
    observed_generation: int | None = None
    transition: bool = True
    """Whether the status changes: the pod had no `PodScheduled=False` before, so lastTransitionTime is now."""


class Announce(Struct, frozen=True, kw_only=True, tag=True):
    """Record a Kubernetes Event; best effort, not answered."""

    kind: str
    namespace: str
    name: str
    uid: str
    warning: bool
    reason: str
    action: str
    note: str


Instruction = BindGang | ReadPod | WriteCondition | Announce
