"""By what a cache finds objects."""

from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.reconciling.cache import Cache
from tests.support.workloads import cache_of, run_pod


def test_cache_finds_an_object_by_everything_and_forgets_it_everywhere() -> None:
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": True}
    owned, orphan = run_pod("owned", owners=(owner,)), run_pod("orphan")
    cache: Cache[RunPod] = cache_of(owned, orphan)

    assert cache.by_uid("uid-owned") == owned
    assert cache.owned_by("uid-web") == [owned]
    assert cache.orphans_in("team") == [orphan]
    assert cache.in_namespace("team") == [orphan, owned]

    released = run_pod("owned")
    assert cache.put(released) == owned
    assert cache.owned_by("uid-web") == []
    assert cache.orphans_in("team") == [orphan, released]
    assert cache.remove(orphan.metadata.key) == orphan
    assert cache.remove(orphan.metadata.key) is None
    assert cache.in_namespace("team") == cache.orphans_in("team") == [released]
