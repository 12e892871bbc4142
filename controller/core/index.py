"""Which pods name which PodGroup: what the two watches have told so far.

Each method may be called twice, or late, with the same result; pods are known by UID. Pods are kept also
for groups that do not exist yet. Every method that takes something in returns the groups that it touched.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final

import msgspec

from controller.core.member import Member, member_of
from gangline.contract.membership import Named, link_of
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.kube.wire.changes import Unreadable

_NOBODY: Final[Mapping[str, Member]] = MappingProxyType({})

Touched = frozenset[Key]
_NOTHING: Final[Touched] = frozenset()


class Index:
    """PodGroups and their pods, by namespace and name."""

    def __init__(self, scheduler_names: Iterable[str]) -> None:
        self._scheduler_names = frozenset(scheduler_names)
        self._groups: dict[Key, PodGroup] = {}
        self._phases: Counter[str] = Counter()
        self._unreadable: dict[Key, Unreadable] = {}
        self._members: dict[Key, dict[str, Member]] = {}
        self._group_of: dict[str, Key] = {}
        self._uid_at: dict[Key, str] = {}

    def group(self, key: Key) -> PodGroup | None:
        """Return the PodGroup, unless it is gone or its newest version could not be read."""
        return None if key in self._unreadable else self._groups.get(key)

    def unreadable(self, key: Key) -> Unreadable | None:
        """Return the newest version of a PodGroup if it could not be read."""
        return self._unreadable.get(key)

    def members(self, key: Key) -> Mapping[str, Member]:
        """Return the pods that name this group, by UID."""
        return self._members.get(key, _NOBODY)

    def sizes(self) -> tuple[int, int]:
        """Return how many groups and how many pods are held."""
        return len(self._groups), len(self._group_of)

    def phases(self) -> Mapping[str, int]:
        """Return how many groups show each phase, as it is stored; empty for none."""
        return self._phases

    def groups(self) -> list[PodGroup]:
        """Return all groups, by namespace and name."""
        return [self._groups[key] for key in sorted(self._groups)]

    def group_keys(self, namespace: str | None = None, name: str | None = None) -> list[Key]:
        """Return the keys of all groups, or of those with this namespace and name, also where they cannot be read."""
        return sorted(
            key
            for key in self._groups.keys() | self._unreadable.keys()
            if namespace in {None, key.namespace} and name in {None, key.name}
        )

    def observe_group(self, group: PodGroup) -> Touched:
        """Take in a version of a PodGroup."""
        key = group.metadata.key
        changed = key in self._unreadable or self._groups.get(key) != group
        self._unreadable.pop(key, None)
        self._put_group(key, group)
        return frozenset((key,)) if changed else _NOTHING

    def replace_group(self, base: PodGroup, replied: PodGroup) -> None:
        """Take in the reply to a write on top of `base`, unless the watch has been faster."""
        key = base.metadata.key
        if self._groups.get(key) is base:
            self._put_group(key, replied)

    def lose_group(self, version: Unreadable) -> Touched:
        """Note that the newest version of a PodGroup cannot be read: it is left alone until one can."""
        changed = self._unreadable.get(version.key) != version
        self._unreadable[version.key] = version
        return frozenset((version.key,)) if changed else _NOTHING

    def remove_group(self, key: Key, uid: str) -> Touched:
        """Note that a PodGroup is gone; a newer one under the name stays."""
        known = self._groups.get(key)
        if known is not None and uid and known.metadata.uid != uid:
            return _NOTHING
        self._unreadable.pop(key, None)
        if known is None:
            return _NOTHING
        self._put_group(key, None)
        return frozenset((key,))

    def _put_group(self, key: Key, group: PodGroup | None) -> None:
        if (former := self._groups.pop(key, None)) is not None:
            self._phases[former.status.phase or ""] -= 1
        if group is not None:
            self._groups[key] = group
            self._phases[group.status.phase or ""] += 1
        self._phases = +self._phases

    def observe_pod(self, pod: Pod, now: float) -> Touched:
        """Take in a version of a pod; `now` bounds a finish that a wrong clock puts into the future."""
        meta = pod.metadata
        touched = _NOTHING
        if (former := self._uid_at.get(meta.key)) not in {None, meta.uid}:
            touched = self.remove_pod(meta.key, former or "")
        link = link_of(pod)
        if not isinstance(link, Named):
            return touched | self.remove_pod(meta.key, meta.uid)
        group = Key(meta.namespace, link.name)
        if self._group_of.get(meta.uid) not in {None, group}:
            touched |= self.remove_pod(meta.key, meta.uid)
        member = _with_plausible_finish(member_of(pod, self._scheduler_names), self.members(group).get(meta.uid), now)
        if self.members(group).get(meta.uid) == member:
            return touched
        self._members.setdefault(group, {})[meta.uid] = member
        self._group_of[meta.uid] = group
        self._uid_at[meta.key] = meta.uid
        return touched | {group}

    def remove_pod(self, key: Key, uid: str) -> Touched:
        """Note that a pod is gone, or names no group any more."""
        if self._uid_at.get(key) == uid:
            del self._uid_at[key]
        group = self._group_of.pop(uid, None)
        if group is None:
            return _NOTHING
        del self._members[group][uid]
        if not self._members[group]:
            del self._members[group]
        return frozenset((group,))

    def differences(self, fresh: "Index", *, except_uids: AbstractSet[str] = frozenset()) -> list[str]:
        """Say, one sentence each, where this index and one built from fresh lists differ.

        Objects with `except_uids` could not be read for the fresh one. When exactly a pod finished is not compared.
        """
        found = [
            f"PodGroup {key}: {_presence(known, listed)}"
            for key in sorted(self._groups.keys() | fresh._groups.keys())  # noqa: SLF001 same class
            if (known := self._groups.get(key)) != (listed := fresh._groups.get(key))  # noqa: SLF001
            and (known is None or known.metadata.uid not in except_uids)
        ]
        for key in sorted(self._members.keys() | fresh._members.keys()):  # noqa: SLF001
            ours, theirs = self.members(key), fresh.members(key)
            found += [
                f"pod {uid} of {key}: {_presence(ours.get(uid), theirs.get(uid))}"
                for uid in sorted((ours.keys() | theirs.keys()) - except_uids)
                if _comparable(ours.get(uid)) != _comparable(theirs.get(uid))
            ]
        return found


def _comparable(member: Member | None) -> Member | None:
    """Leave out when it finished, which is bounded by when that was seen."""
    if member is None:
        return None
    return msgspec.structs.replace(member, facts=msgspec.structs.replace(member.facts, finished_s=None))


def _presence(ours: object, theirs: object) -> str:
    if ours is None:
        return "is missing here"
    return "is gone from the API server" if theirs is None else "has changed"


def _with_plausible_finish(member: Member, known: Member | None, now: float) -> Member:
    """Bound the finish by the time at which it was first seen: a node's clock may be ahead."""
    finished_s = member.facts.finished_s
    if finished_s is None or finished_s <= now:
        return member
    seen_s = known.facts.finished_s if known is not None else None
    bounded = now if seen_s is None else min(now, seen_s)
    return msgspec.structs.replace(member, facts=msgspec.structs.replace(member.facts, finished_s=bounded))
