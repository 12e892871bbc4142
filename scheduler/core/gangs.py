"""All gangs: which pod is in which, their PodGroups, and which have changed."""

from msgspec.structs import replace

from gangline.contract.membership import GangKey, GangKind
from gangline.contract.meta import Key
from gangline.contract.ordering import gang_priority
from scheduler.core.cache import Intent
from scheduler.core.gang import Gang, Standing, standing_of
from scheduler.core.model.group import GroupFacts
from scheduler.core.model.member import Member


class Gangs:
    """All gangs with a member, by key; and which have changed or ended since they were last looked at.

    One that has ended may exist again by now, with other members.
    """

    def __init__(self) -> None:
        self.by_key: dict[GangKey, Gang] = {}
        self.groups: dict[Key, GroupFacts] = {}
        self.class_priorities: dict[str, int] = {}
        self._gang_of: dict[str, GangKey] = {}
        self._changed: dict[GangKey, None] = {}
        self._ended: dict[GangKey, None] = {}

    def put(self, member: Member, intent: Intent | None) -> None:
        """Take in a version of a pod or of what is intended with it."""
        standing = standing_of(member, intent)
        if not _is_tracked(member, standing):
            self.take_out(member.uid)
            return
        key = member.gang
        if self._gang_of.get(member.uid, key) != key:
            self.take_out(member.uid)
        gang = self.by_key.get(key)
        if gang is None:
            gang = self.by_key[key] = Gang(key)
        self._gang_of[member.uid] = key
        if gang.put(member, standing):
            self.touch(key)

    def take_out(self, uid: str) -> None:
        """Forget a pod; one that is not known is no error."""
        key = self._gang_of.pop(uid, None)
        if key is None:
            return
        gang = self.by_key[key]
        gang.take_out(uid)
        if not gang.members:
            del self.by_key[key]
            self._ended[key] = None
        self.touch(key)

    def gang_of(self, uid: str) -> Gang | None:
        """Return the gang that a pod is linked to or is, if it counts for one."""
        key = self._gang_of.get(uid)
        return self.by_key[key] if key is not None else None

    def put_group(self, group: GroupFacts) -> bool:
        """Take in a version of a PodGroup; True when something that we read has changed."""
        old = self.groups.get(group.key)
        self.groups[group.key] = group
        if old is not None and replace(group, resource_version=old.resource_version) == old:
            return False
        self.touch(group.gang)
        return True

    def remove_group(self, key: Key) -> None:
        """Forget a PodGroup; one that is not known is no error."""
        group = self.groups.pop(key, None)
        if group is not None:
            self.touch(group.gang)

    def put_class(self, name: str, value: int | None) -> None:
        """Take in a PriorityClass, or its end."""
        if self.class_priorities.get(name) == value:
            return
        if value is None:
            del self.class_priorities[name]
        else:
            self.class_priorities[name] = value
        for group in self.groups.values():
            if group.priority_class_name == name:
                self.touch(group.gang)

    def group_of(self, key: GangKey) -> GroupFacts | None:
        """Return the PodGroup of a gang that is named by one."""
        return self.groups.get(Key(key.namespace, key.name)) if key.kind is GangKind.POD_GROUP else None

    def priority_of(self, gang: Gang) -> int:
        """Return the priority of a gang, as far as its PodGroup's class is known."""
        group = self.group_of(gang.key)
        limit = self.class_priorities.get(group.priority_class_name) if group is not None else None
        return gang_priority(gang.priorities, limit)

    def touch(self, key: GangKey) -> None:
        """Note that a gang must be looked at again."""
        self._changed[key] = None

    def take_ended(self) -> list[GangKey]:
        """Take the gangs that have lost their last member."""
        ended = list(self._ended)
        self._ended.clear()
        return ended

    def take_changed(self) -> list[GangKey]:
        """Take the gangs that have changed, in the order of their first change."""
        changed = list(self._changed)
        self._changed.clear()
        return changed


def _is_tracked(member: Member, standing: Standing) -> bool:
    """Tell whether a pod matters to a gang: one that forms its own does only while it waits or is being bound."""
    if member.linked:
        return True
    return member.ours and not member.node and standing not in (Standing.FINISHED, Standing.DELETING)
