"""Members: all that the scheduler keeps of a pod, flat and small.

What the pods of one template share is kept once (`Template`), and so are the words that they say (`Said`).
"""

from collections.abc import Collection, Sequence
from sys import intern
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from gangline.contract.counting import PodPhase, is_finished, owning_job
from gangline.contract.counting import facts_of as counting_facts
from gangline.contract.membership import Budget, GangKey, GangKind, Illegal, Link, gang_key, is_linked, link_of
from gangline.contract.meta import Condition, Key
from gangline.contract.pod import Pod
from gangline.contract.quantity import QuantityError
from scheduler.core.model.member_class import ClassId, ClassTable, MemberClass, class_of
from scheduler.core.reasons import Reason

_UNCOUNTED: Final = MemberClass(requests=(("pods", 1),), unsupported=("quantities that can be read",))
"""Class of a pod whose quantities are illegal: it is never placed, and its node is closed."""
_LONGEST_VERSION: Final = 20
"""Digits of a 64-bit integer."""


class Said(Struct, frozen=True, weakref=True):
    """Reason and message of a condition."""

    reason: str
    message: str


class Template(Struct, frozen=True, kw_only=True, weakref=True):
    """What the pods of one template share; `owner` is (kind, name) of the controlling owner."""

    namespace: str
    link: Link
    gang: GangKey | None
    job: str
    owner: tuple[str, str] | None
    priority: int
    ours: bool
    class_id: ClassId
    problem: Said | None
    """Why pods of this template cannot be placed at all."""
    unmeasured: bool
    """What they take from a node is not known."""


class Member(Struct, frozen=True, kw_only=True, gc=False):
    """A pod as the scheduler sees it; `contract.counting.Countable`.

    `said` is the condition PodScheduled=False, kept while the pod has no node. `resource_version` is an
    integer where it reads as one.
    """

    template: Template
    uid: str
    name: str
    node: str
    phase: PodPhase
    deleting: bool
    gated: bool
    created_s: float
    finished_s: float | None
    resource_version: int | str
    generation: int | None
    said: Said | None

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.template.namespace, self.name)

    @property
    def gang(self) -> GangKey:
        """The gang it is linked to, or a gang of its own."""
        return self.template.gang or GangKey(self.template.namespace, GangKind.POD, self.name)

    @property
    def finished(self) -> bool:
        """Whether it has succeeded or failed."""
        return is_finished(self)

    @property
    def linked(self) -> bool:
        """Whether others can belong to its gang too."""
        return self.template.gang is not None

    @property
    def job(self) -> str:
        """UID of the Job that owns it, or empty."""
        return self.template.job

    @property
    def ours(self) -> bool:
        """Whether it names one of our schedulers."""
        return self.template.ours

    @property
    def priority(self) -> int:
        """Its `spec.priority`."""
        return self.template.priority

    @property
    def class_id(self) -> ClassId:
        """Its member class."""
        return self.template.class_id


class MemberReader:
    """Makes members of pods, and keeps what they share once.

    Each member that is returned is one more user of its class in `classes`.
    """

    def __init__(self, classes: ClassTable) -> None:
        self._classes = classes
        self._templates: WeakValueDictionary[tuple[object, ...], Template] = WeakValueDictionary()
        self._said: WeakValueDictionary[tuple[str, str], Said] = WeakValueDictionary()

    def member_of(self, pod: Pod, scheduler_names: Collection[str], budgets: Sequence[Budget] = ()) -> Member:
        """Read a pod; never raises: what is wrong with it becomes its template's `problem`."""
        facts = counting_facts(pod, scheduler_names)
        waits = not facts.node and facts.finished_s is None
        return Member(
            template=self._template(pod, link_of(pod, budgets=budgets), ours=facts.ours),
            uid=facts.uid,
            name=pod.metadata.name,
            node=intern(facts.node),
            phase=facts.phase,
            deleting=facts.deleting,
            gated=facts.gated,
            created_s=facts.created_s,
            finished_s=facts.finished_s,
            resource_version=version_of(pod.metadata.resource_version),
            generation=pod.metadata.generation,
            said=self._said_by(pod.status.conditions or ()) if waits else None,
        )

    def bound_to(self, member: Member, node: str) -> Member:
        """Return the member as bound to a node, where nothing else of its new version can be read."""
        self._classes.acquire(self._classes[member.class_id])
        return replace(member, node=intern(node), said=None)

    def _template(self, pod: Pod, link: Link, *, ours: bool) -> Template:
        member_class, problem = _class_and_problem(pod, link)
        class_id = self._classes.acquire(member_class)
        owner = pod.metadata.controller
        template = Template(
            namespace=intern(pod.metadata.namespace),
            link=link,
            gang=gang_key(link, pod.metadata) if is_linked(link) else None,
            job=owning_job(pod.metadata),
            owner=(owner.kind, owner.name) if owner is not None else None,
            priority=pod.spec.priority or 0,
            ours=ours,
            class_id=class_id,
            problem=problem,
            unmeasured=member_class is _UNCOUNTED,
        )
        identity = tuple(getattr(template, field) for field in Template.__struct_fields__)
        return self._templates.setdefault(identity, template)

    def _said_by(self, conditions: Sequence[Condition]) -> Said | None:
        for condition in conditions:
            if condition.type == "PodScheduled" and condition.status == "False":
                words = (condition.reason or "", condition.message or "")
                return self._said.setdefault(words, Said(*words))
        return None


def version_of(resource_version: str) -> int | str:
    """Read a resourceVersion as the integer that it usually is; what cannot be compared stays as it came."""
    if len(resource_version) > _LONGEST_VERSION or not (resource_version.isdecimal() and resource_version.isascii()):
        return resource_version
    version = int(resource_version)
    return version if str(version) == resource_version else resource_version


def _class_and_problem(pod: Pod, link: Link) -> tuple[MemberClass, Said | None]:
    try:
        member_class = class_of(pod)
    except QuantityError as error:
        return _UNCOUNTED, Said(Reason.INVALID_POD, f"the pod asks for a quantity that is not legal: {error}")
    if isinstance(link, Illegal):
        return member_class, Said(Reason.INVALID_GANG_LINK, link.message)
    if member_class.unsupported:
        asked = ", ".join(member_class.unsupported)
        return member_class, Said(Reason.UNSUPPORTED, f"the pod asks for {asked}, which this scheduler cannot grant")
    return member_class, None
