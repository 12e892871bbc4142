"""PodGroups: what the scheduler reads of them."""

from msgspec import Struct

from gangline.contract.membership import GangKey, GangKind
from gangline.contract.meta import Key, created_time
from gangline.contract.podgroup import PodGroup
from gangline.contract.quantity import QuantityError
from gangline.contract.requests import amount_of
from scheduler.core.model.member import version_of


class GroupFacts(Struct, frozen=True, kw_only=True):
    """What the scheduler reads of a PodGroup. `min_resources` are amounts as in `contract.requests`."""

    key: Key
    uid: str
    resource_version: str
    generation: int | None = None
    created_s: float = 0.0
    min_member: int | None = None
    min_resources: tuple[tuple[str, int], ...] = ()
    priority_class_name: str = ""
    problem: str | None = None

    @property
    def version(self) -> int | str:
        """The resourceVersion, as an integer where it is one."""
        return version_of(self.resource_version)

    @property
    def gang(self) -> GangKey:
        """The gang that it names."""
        return GangKey(self.key.namespace, GangKind.POD_GROUP, self.key.name)


def group_facts(group: PodGroup) -> GroupFacts:
    """Read a PodGroup; what is wrong with it becomes `problem`."""
    problem, min_resources = None, {}
    try:
        min_resources = {name: amount_of(name, value) for name, value in (group.spec.min_resources or {}).items()}
    except QuantityError as error:
        problem = f"spec.minResources has a quantity that is not legal: {error}"
    return GroupFacts(
        key=group.metadata.key,
        uid=group.metadata.uid,
        resource_version=group.metadata.resource_version,
        generation=group.metadata.generation,
        created_s=created_time(group.metadata),
        min_member=group.spec.min_member,
        min_resources=tuple(sorted(min_resources.items())),
        priority_class_name=group.spec.priority_class_name or "",
        problem=problem,
    )
