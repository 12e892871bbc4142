"""The MVCC log against a plain model of it."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gangline.sandbox.apiserver import kinds
from gangline.sandbox.apiserver.kinds import GroupResource
from gangline.sandbox.apiserver.store import Change, Compacted, Object, Store
from gangline.sandbox.apiserver.verbs.paths import Target
from gangline.sandbox.apiserver.verbs.watches import Watch

PODS = GroupResource("", "pods")
NODES = GroupResource("", "nodes")
KEYS = ("a-b/x", "a/x", "a/y", "b/x")


def item(value: int) -> Object:
    return {"metadata": {}, "value": value}


class StoreMachine(RuleBasedStateMachine):
    """Commits, deletions and compactions; the model keeps a whole copy of the world per revision."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.worlds: dict[int, dict[tuple[GroupResource, str], int]] = {self.store.revision: {}}
        self.committed: list[tuple[int, Change, GroupResource, str]] = []

    @rule(resource=st.sampled_from([PODS, NODES]), key=st.sampled_from(KEYS), value=st.integers(0, 3))
    def write(self, resource: GroupResource, key: str, value: int) -> None:
        change = Change.MODIFIED if self.store.get(resource, key) else Change.ADDED
        self._commit(change, resource, key, value)

    @rule(resource=st.sampled_from([PODS, NODES]), key=st.sampled_from(KEYS))
    def delete(self, resource: GroupResource, key: str) -> None:
        version = self.store.get(resource, key)
        if version is not None:
            self._commit(Change.DELETED, resource, key, version.object["value"])

    @rule(back=st.integers(0, 5))
    def compact(self, back: int) -> None:
        self.store.compact(max(1, self.store.revision - back))

    def _commit(self, change: Change, resource: GroupResource, key: str, value: int) -> None:
        version = self.store.commit(change, resource, key, item(value))
        world = dict(self.worlds[max(self.worlds)])
        if change is Change.DELETED:
            del world[resource, key]
        else:
            world[resource, key] = value
        self.worlds[version.revision] = world
        self.committed.append((version.revision, change, resource, key))

    @invariant()
    def safety_every_readable_revision_shows_the_world_as_it_was(self) -> None:
        for revision, world in self.worlds.items():
            if revision < self.store.compacted:
                with pytest.raises(Compacted):
                    self.store.at(PODS, revision)
                continue
            found = {version.key: version.object["value"] for version in self.store.at(PODS, revision)}
            assert found == {key: value for (resource, key), value in world.items() if resource == PODS}
            assert list(found) == sorted(found)

    @invariant()
    def safety_the_log_tells_every_commit_once_and_in_order(self) -> None:
        for resource in (PODS, NODES):
            found = [(v.revision, v.change, v.key) for v in self.store.since(resource, self.store.compacted)]
            expected = [
                (revision, change, key)
                for revision, change, kind, key in self.committed
                if kind == resource and revision > self.store.compacted
            ]
            assert found == expected


TestStore = StoreMachine.TestCase


def test_namespaces_whose_names_share_a_beginning_are_kept_apart() -> None:
    store = Store()
    for key in KEYS:
        store.commit(Change.ADDED, PODS, key, item(0))

    assert [version.key for version in store.current(PODS, "a")] == ["a/x", "a/y"]
    assert [version.key for version in store.current(PODS)] == list(KEYS)


def test_a_version_is_encoded_once_for_all_readers() -> None:
    store = Store()
    version = store.commit(Change.ADDED, PODS, "a/x", item(1))

    assert version.json("v1", None) is version.json("v1", None)
    assert version.json("v2", lambda shown: {**shown, "value": 2}) != version.json("v1", None)


def test_the_log_is_bounded_and_compacts_on_its_own() -> None:
    store = Store(history_limit=8)
    for value in range(40):
        store.commit(Change.ADDED if value == 0 else Change.MODIFIED, PODS, "a/x", item(value))

    kept = list(store.history())
    assert len(kept) <= 10
    with pytest.raises(Compacted):
        store.since(PODS, 2)
    oldest = kept[0].previous
    assert oldest is not None
    assert oldest.previous is None, "dropped versions must not keep older ones alive"


def test_a_watch_that_is_too_slow_is_over() -> None:
    store = Store()
    wakes: list[int] = []
    watch = Watch(store, Target(kind=kinds.PODS, namespace="", name=""), {}, lambda _: b"{}", backlog_limit=3)
    with watch.subscribed(lambda: wakes.append(1)):
        for value in range(5):
            store.commit(Change.ADDED, PODS, f"a/{value}", item(value))

    assert watch.is_over
    assert watch.news().count(b"ADDED") == 3
    assert len(wakes) == 5
