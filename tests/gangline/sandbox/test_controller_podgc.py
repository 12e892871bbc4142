"""What becomes of pods whose node does not exist, and of what the cache shows."""

import pytest

from gangline.sandbox.actions import Decision
from gangline.sandbox.cache import Cache
from gangline.sandbox.controllers.podgc import LostPods
from gangline.sandbox.objects import RunPod
from tests.support.workloads import NOW, cache_of, deleted, later, run_node, run_pod, status_of


def lost_pods(pod: RunPod) -> LostPods:
    node = run_node("n", {})
    return LostPods(cache_of(pod), cache_of(node), grace_s=40.0)


def test_pod_is_failed_and_then_removed_when_its_node_has_been_missing_for_long_enough() -> None:
    pod, ended = run_pod("a", node="lost"), run_pod("a", node="lost", phase="Failed")
    first, second = lost_pods(pod), lost_pods(ended)

    assert first.decide(pod.metadata.key, NOW) == Decision(again_in_s=40.0)
    assert first.decide(pod.metadata.key, later(30)) == Decision(again_in_s=10.0)
    assert status_of(first.decide(pod.metadata.key, later(40)).actions)["phase"] == "Failed"

    second.decide(ended.metadata.key, NOW)
    assert deleted(second.decide(ended.metadata.key, later(40))) == ["a"]


@pytest.mark.parametrize("pod", [run_pod("a"), run_pod("a", node="n")])
def test_pods_without_a_node_or_with_a_living_one_are_left_alone(pod: RunPod) -> None:
    assert lost_pods(pod).decide(pod.metadata.key, later(99)) == Decision()


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
