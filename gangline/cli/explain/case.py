"""The case: all that a survey says of one gang."""

from collections.abc import Sequence

from msgspec import Struct

from controller.core.phase import known_phase, next_phase
from gangline.cli.cluster.survey import Survey
from gangline.cli.explain.floor import Floor
from gangline.contract.counting import Counts, count, current_run, is_finished, is_foreign, need, quorum
from gangline.contract.membership import Budgeted, GangKey, GangKind, Shadow, newest_min_member
from gangline.contract.meta import Key
from gangline.contract.names import POD_TEMPLATE_HASH_LABEL
from gangline.contract.pod import Pod
from gangline.contract.podgroup import Phase, PodGroup
from scheduler.core.gang import title
from scheduler.core.model.member import Member


class Case(Struct, frozen=True, kw_only=True):
    """One gang as the API server has it: `pods` are all that are linked to it, `counts` those of its current run."""

    key: GangKey
    group: PodGroup | None
    pods: tuple[Pod, ...]
    members: tuple[Member, ...]
    min_member: int
    counts: Counts

    @property
    def title(self) -> str:
        """The gang's name for users."""
        return title(self.key)

    @property
    def need(self) -> int:
        """How many members are missing from the quorum."""
        return need(self.min_member, self.counts)

    @property
    def gated(self) -> tuple[Member, ...]:
        """Members with scheduling gates."""
        return tuple(member for member in self.members if member.gated and not member.deleting)

    @property
    def deleting(self) -> tuple[Member, ...]:
        """Members that are being deleted."""
        return tuple(member for member in self.members if member.deleting)

    @property
    def foreign(self) -> tuple[Member, ...]:
        """Members that wait for another scheduler."""
        return tuple(
            member
            for member in self.members
            if is_foreign(member) and not (member.deleting or member.gated or is_finished(member))
        )

    @property
    def makers(self) -> set[tuple[str, str]]:
        """Kind and name of whoever makes its pods."""
        return set(map(maker_of, self.pods)) - {("", "")}

    @property
    def waiting(self) -> tuple[Member, ...]:
        """Members that wait for a node and could be placed as they are."""
        return tuple(member for member in self._without_node if member.template.problem is None)

    @property
    def unplaceable(self) -> tuple[Member, ...]:
        """Members with a problem of their own."""
        return tuple(member for member in self._without_node if member.template.problem is not None)

    @property
    def _without_node(self) -> list[Member]:
        return [
            member
            for member in self.members
            if member.ours and not (member.node or member.deleting or member.gated or is_finished(member))
        ]

    @property
    def phase(self) -> Phase:
        """The phase that its counts call for, by the controller's rule."""
        previous = known_phase(self.group.status.phase) if self.group is not None else None
        return next_phase(previous, self.min_member, self.counts, settled=True)


def maker_of(pod: Pod) -> tuple[str, str]:
    """Return (kind, name) of what a user scales to get more pods like this, a Deployment rather than its ReplicaSet."""
    owner = pod.metadata.controller
    if owner is None:
        return ("", "")
    template_hash = (pod.metadata.labels or {}).get(POD_TEMPLATE_HASH_LABEL)
    if owner.kind == "ReplicaSet" and template_hash and owner.name.endswith(f"-{template_hash}"):
        return ("Deployment", owner.name.removesuffix(f"-{template_hash}"))
    return (owner.kind, owner.name)


def cases(survey: Survey, floor: Floor) -> dict[GangKey, Case]:
    """Return every gang of a survey: PodGroups without pods too, single pods not."""
    linked: dict[GangKey, list[Pod]] = {}
    for group in survey.groups:
        linked[GangKey(group.metadata.namespace, GangKind.POD_GROUP, group.metadata.name)] = []
    for pod in survey.pods:
        member = floor.members[pod.metadata.uid]
        if member.linked:
            linked.setdefault(member.gang, []).append(pod)
    groups = {group.metadata.key: group for group in survey.groups}
    return {key: _case(key, pods, groups, floor) for key, pods in sorted(linked.items())}


def case_of(key: GangKey, survey: Survey, floor: Floor) -> Case:
    """Return one gang, which may be a single pod."""
    pods = [pod for pod in survey.pods if floor.members[pod.metadata.uid].gang == key]
    groups = {group.metadata.key: group for group in survey.groups}
    return _case(key, pods, groups, floor)


def _case(key: GangKey, pods: Sequence[Pod], groups: dict[Key, PodGroup], floor: Floor) -> Case:
    group = groups.get(Key(key.namespace, key.name)) if key.kind is GangKind.POD_GROUP else None
    members = tuple(floor.members[pod.metadata.uid] for pod in pods)
    return Case(
        key=key,
        group=group,
        pods=tuple(pods),
        members=members,
        min_member=_min_member(group, members),
        counts=count(current_run(members)),
    )


def _min_member(group: PodGroup | None, members: Sequence[Member]) -> int:
    if group is not None:
        return quorum(group.spec.min_member)
    claims = [
        (member.created_s, claim)
        for member in members
        if (claim := _claim(member)) is not None and not (member.deleting or is_finished(member))
    ]
    return quorum(newest_min_member(claims) if claims else None)


def _claim(member: Member) -> int | None:
    match member.template.link:
        case Shadow(min_member=number) | Budgeted(min_available=number):
            return number
        case _:
            return None
