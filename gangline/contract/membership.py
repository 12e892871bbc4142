"""Which pod belongs to which gang: one adapter for each dialect in which a pod can say so."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from msgspec import Struct

from gangline.contract import names
from gangline.contract.meta import ObjectMeta, OwnerReference
from gangline.contract.pod import Pod
from gangline.contract.podgroup import INT32_MAX
from gangline.contract.policy import LabelSelector, PodDisruptionBudget
from gangline.contract.selectors import label_selector_matches

_OBJECT_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_COUNT: Final = re.compile(r"[0-9]{1,10}")


class LinkFault(StrEnum):
    """What is wrong with an illegal link."""

    NAMES_DIFFER = "NamesDiffer"
    NAME_INVALID = "NameInvalid"
    MIN_MEMBER_INVALID = "MinMemberInvalid"
    NO_OWNER = "NoOwner"


class Named(Struct, frozen=True, tag=True):
    """A member of the PodGroup of this name in the pod's namespace; whether it exists, the caller knows."""

    name: str


class Shadow(Struct, frozen=True, tag=True):
    """A member of a gang that exists only by annotation; `root` names the owner that its members share."""

    root: str
    min_member: int


class Budgeted(Struct, frozen=True, tag=True):
    """A pod whose owner's quorum is set by a PodDisruptionBudget; `root` names that owner."""

    budget: str
    root: str
    min_available: int


class Single(Struct, frozen=True, tag=True):
    """A gang of one."""


class Illegal(Struct, frozen=True, tag=True):
    """A link that cannot be followed: the pod waits, and `message` says why and what to do."""

    reason: LinkFault
    message: str


Link = Named | Shadow | Budgeted | Single | Illegal


class GangKind(StrEnum):
    """What a gang came from."""

    POD_GROUP = "PodGroup"
    SHADOW = "Shadow"
    BUDGET = "PodDisruptionBudget"
    POD = "Pod"


class GangKey(NamedTuple):
    """Identity of a gang; two kinds never share a gang, whatever their names."""

    namespace: str
    kind: GangKind
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.kind is GangKind.POD_GROUP else "/".join(self)


class Budget(Struct, frozen=True):
    """A PodDisruptionBudget that forms gangs: of the pods of its own owner, or of the pods it selects, by owner."""

    namespace: str
    name: str
    min_available: int
    owner_uid: str
    selector: LabelSelector | None


def link_of(pod: Pod, *, budgets: Sequence[Budget] = ()) -> Link:
    """Say which gang a pod belongs to.

    A group's name (label of Coscheduling, its older label, annotation of kube-batch) beats the shadow
    annotation, which beats a budget. `budgets` is empty unless budgets form gangs.
    """
    claimed = _claimed_names(pod.metadata)
    if claimed:
        return _named(claimed)
    min_member = (pod.metadata.annotations or {}).get(names.GROUP_MIN_MEMBER_ANNOTATION)
    if min_member is not None:
        return _shadow(pod.metadata, min_member)
    return _budgeted(pod, budgets) or Single()


def is_linked(link: Link) -> bool:
    """Tell whether the pod belongs to a gang that others can belong to too."""
    return isinstance(link, Named | Shadow | Budgeted)


def gang_key(link: Link, metadata: ObjectMeta) -> GangKey:
    """Return the identity of the gang; a single pod and one with an illegal link are gangs of their own."""
    match link:
        case Named(name):
            return GangKey(metadata.namespace, GangKind.POD_GROUP, name)
        case Shadow(root, _):
            return GangKey(metadata.namespace, GangKind.SHADOW, root)
        case Budgeted(_, root, _):
            return GangKey(metadata.namespace, GangKind.BUDGET, root)
        case Single() | Illegal():
            return GangKey(metadata.namespace, GangKind.POD, metadata.name)
        case _:
            assert_never(link)


def newest_min_member(claims: Iterable[tuple[float, int]]) -> int:
    """Of (created_s, min_member) of a shadow gang's pods, the newest pod's value; the larger of equally new ones."""
    return max(claims)[1]


def gang_budget(budget: PodDisruptionBudget) -> Budget | None:
    """Return the budget if it forms gangs: only an integer `minAvailable` from 1 does. Never raises."""
    minimum = budget.spec.min_available
    if type(minimum) is not int or not 1 <= minimum <= INT32_MAX:
        return None
    owner = budget.metadata.controller
    return Budget(
        namespace=budget.metadata.namespace,
        name=budget.metadata.name,
        min_available=minimum,
        owner_uid=owner.uid if owner is not None else "",
        selector=budget.spec.selector,
    )


def _claimed_names(metadata: ObjectMeta) -> dict[str, str]:
    """Non-empty group names by the label or annotation that gives them."""
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    claims = {
        f"label {names.POD_GROUP_LABEL}": labels.get(names.POD_GROUP_LABEL),
        f"label {names.LEGACY_POD_GROUP_LABEL}": labels.get(names.LEGACY_POD_GROUP_LABEL),
        f"annotation {names.GROUP_NAME_ANNOTATION}": annotations.get(names.GROUP_NAME_ANNOTATION),
    }
    return {place: name for place, name in claims.items() if name}


def _named(claimed: dict[str, str]) -> Named | Illegal:
    if len(set(claimed.values())) > 1:
        said = " but ".join(f"{place} says {_shown(name)}" for place, name in claimed.items())
        return Illegal(LinkFault.NAMES_DIFFER, f"{said}: a pod belongs to one PodGroup, keep one of them")
    place, name = next(iter(claimed.items()))
    if not _OBJECT_NAME.fullmatch(name):
        return Illegal(
            LinkFault.NAME_INVALID,
            f"{place} says {_shown(name)}, which cannot be the name of a PodGroup: "
            "use at most 253 lower-case letters, digits, '-' and '.'",
        )
    return Named(name)


def _shadow(metadata: ObjectMeta, value: str) -> Shadow | Single | Illegal:
    min_member = int(value) if _COUNT.fullmatch(value) else 0
    if not 1 <= min_member <= INT32_MAX:
        return Illegal(
            LinkFault.MIN_MEMBER_INVALID,
            f"annotation {names.GROUP_MIN_MEMBER_ANNOTATION} says {_shown(value)}: "
            f"use a whole number from 1 to {INT32_MAX}",
        )
    owner = metadata.controller
    if owner is not None:
        return Shadow(_shadow_root(owner, metadata, min_member), min_member)
    if min_member == 1:
        return Single()
    return Illegal(
        LinkFault.NO_OWNER,
        f"annotation {names.GROUP_MIN_MEMBER_ANNOTATION} asks for {min_member} members, but the pod has no controller "
        "that tells which others belong to it: create it by a Job or Deployment, or name a PodGroup",
    )


def _shadow_root(owner: OwnerReference, metadata: ObjectMeta, min_member: int) -> str:
    """Name the owner; the ReplicaSets of a Deployment are one root, so that a rolling update stays one gang."""
    template_hash = (metadata.labels or {}).get(names.POD_TEMPLATE_HASH_LABEL)
    if owner.kind == "ReplicaSet" and template_hash:
        deployment = owner.name.removesuffix(f"-{template_hash}")
        if deployment and deployment != owner.name:
            return f"Deployment/{deployment}"
    return f"{_root(owner)}/{min_member}"


def _root(owner: OwnerReference) -> str:
    return f"{owner.kind}/{owner.name}/{owner.uid}"


def _budgeted(pod: Pod, budgets: Sequence[Budget]) -> Budgeted | None:
    """Of several budgets that speak of a pod the largest holds, then the first by name."""
    owner = pod.metadata.controller
    if owner is None:
        return None
    speaking = (budget for budget in budgets if _speaks_of(budget, pod.metadata, owner))
    chosen = min(speaking, key=lambda budget: (-budget.min_available, budget.name), default=None)
    return Budgeted(chosen.name, _root(owner), chosen.min_available) if chosen is not None else None


def _speaks_of(budget: Budget, metadata: ObjectMeta, owner: OwnerReference) -> bool:
    if budget.namespace != metadata.namespace:
        return False
    if budget.owner_uid:
        return budget.owner_uid == owner.uid
    return label_selector_matches(budget.selector, metadata.labels)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 64 else text[:64] + "...")
