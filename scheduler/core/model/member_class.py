"""Member classes: members that look the same to filters and scores share one, interned by value.

The kinds of requirement that no filter can check yet are collected in `MemberClass.unsupported`;
a pod that has one is never placed, because binding it might break what it asks for.
"""

from collections.abc import Callable, Iterator
from typing import Final, NewType

from msgspec import Struct

from gangline.contract.pod import NodeSelectorTerm, Pod, PodSpec, Toleration
from gangline.contract.requests import HostPort, host_ports, pod_requests

ClassId = NewType("ClassId", int)
"""Name of a member class inside one scheduler; never used twice."""


class NodeRules(Struct, frozen=True, kw_only=True, cache_hash=True):
    """What members demand of a node apart from room; many classes share one.

    `affinity` holds the required node affinity terms, of which one must match; None demands nothing.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()

    @property
    def label_values(self) -> dict[str, frozenset[str] | None]:
        """The node labels that can change the verdict, by key: the values that it tells from all others, None for all."""
        values: dict[str, frozenset[str] | None] = {}
        for key, value in self.selector:
            values[key] = frozenset((value,))
        for term in self.affinity or ():
            for requirement in term.match_expressions or ():
                key, known = requirement.key, values.get(requirement.key, frozenset())
                if known is None or requirement.operator in ("Gt", "Lt"):
                    values[key] = None
                else:
                    values[key] = known | frozenset(requirement.values or ())
        return values

    @property
    def node_names(self) -> frozenset[str]:
        """The node names that can change the verdict."""
        fields = [requirement for term in self.affinity or () for requirement in term.match_fields or ()]
        return frozenset(name for requirement in fields for name in requirement.values or ())


class MemberClass(Struct, frozen=True, kw_only=True, cache_hash=True):
    """Everything that filters and scores read of a pod.

    `requests` is sorted by resource: cpu in milli-units, memory in bytes, always one of `pods`, no zeros.
    `unsupported` names, in words, the requirements that nothing here can check.
    """

    requests: tuple[tuple[str, int], ...]
    rules: NodeRules = NodeRules()
    host_ports: tuple[HostPort, ...] = ()
    unsupported: tuple[str, ...] = ()


def class_of(pod: Pod) -> MemberClass:
    """Class of a pod.

    Raises QuantityError when one of the pod's quantities is not legal.
    """
    return MemberClass(
        requests=tuple(sorted(pod_requests(pod).items())),
        rules=_rules(pod.spec),
        host_ports=host_ports(pod),
        unsupported=tuple(phrase for phrase, is_asked in _UNSUPPORTED if is_asked(pod.spec)),
    )


class ClassTable:
    """The member classes alive, each with an id; a class dies with its last user."""

    __slots__ = ("_classes", "_ids", "_next", "_users")

    def __init__(self) -> None:
        self._ids: dict[MemberClass, ClassId] = {}
        self._classes: dict[ClassId, MemberClass] = {}
        self._users: dict[ClassId, int] = {}
        self._next = 0

    def acquire(self, member_class: MemberClass) -> ClassId:
        """Id of the class, which from now on has one user more."""
        class_id = self._ids.get(member_class)
        if class_id is None:
            class_id = self._add(member_class)
        self._users[class_id] += 1
        return class_id

    def release(self, class_id: ClassId) -> None:
        """One user less; with the last one the id means nothing any more.

        Raises KeyError when the class has no user.
        """
        self._users[class_id] -= 1
        if not self._users[class_id]:
            del self._users[class_id]
            del self._ids[self._classes.pop(class_id)]

    def _add(self, member_class: MemberClass) -> ClassId:
        class_id = ClassId(self._next)
        self._next += 1
        self._ids[member_class] = class_id
        self._classes[class_id] = member_class
        self._users[class_id] = 0
        return class_id

    def __getitem__(self, class_id: ClassId) -> MemberClass:
        return self._classes[class_id]

    def __contains__(self, class_id: ClassId) -> bool:
        return class_id in self._classes

    def __iter__(self) -> Iterator[ClassId]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


def _rules(spec: PodSpec) -> NodeRules:
    node_affinity = spec.affinity.node_affinity if spec.affinity else None
    required = node_affinity.required if node_affinity else None
    return NodeRules(
        selector=tuple(sorted((spec.node_selector or {}).items())),
        affinity=None if required is None else required.node_selector_terms or (),
        tolerations=tuple(sorted(set(spec.tolerations or ()), key=_toleration_order)),
    )


def _toleration_order(toleration: Toleration) -> tuple[str, str, str, str]:
    return (toleration.key or "", toleration.operator or "", toleration.value or "", toleration.effect or "")


def _asks_pod_affinity(spec: PodSpec) -> bool:
    pod_affinity = spec.affinity.pod_affinity if spec.affinity else None
    return bool(pod_affinity and pod_affinity.required)


def _asks_pod_anti_affinity(spec: PodSpec) -> bool:
    pod_anti_affinity = spec.affinity.pod_anti_affinity if spec.affinity else None
    return bool(pod_anti_affinity and pod_anti_affinity.required)


def _asks_hard_spread(spec: PodSpec) -> bool:
    # An absent whenUnsatisfiable is refused by the API server; if it gets here it is read as the stricter form.
    return any(one.when_unsatisfiable != "ScheduleAnyway" for one in spec.topology_spread_constraints or ())


def _asks_claimed_volume(spec: PodSpec) -> bool:
    return any(volume.persistent_volume_claim is not None for volume in spec.volumes or ())


def _asks_ephemeral_volume(spec: PodSpec) -> bool:
    return any(volume.ephemeral is not None for volume in spec.volumes or ())


def _asks_resource_claim(spec: PodSpec) -> bool:
    return bool(spec.resource_claims)


_UNSUPPORTED: Final[tuple[tuple[str, Callable[[PodSpec], bool]], ...]] = (
    ("required inter-pod affinity", _asks_pod_affinity),
    ("required inter-pod anti-affinity", _asks_pod_anti_affinity),
    ("topology spread with DoNotSchedule", _asks_hard_spread),
    ("persistent volume claims", _asks_claimed_volume),
    ("generic ephemeral volumes", _asks_ephemeral_volume),
    ("resource claims", _asks_resource_claim),
)
