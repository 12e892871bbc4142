"""Deletion: grace, finalizers, propagation, preconditions, namespaces."""

import pytest

from tests.support.rest import PODS, Rest, pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"


async def test_an_unbound_pod_goes_at_once(rest: Rest) -> None:
    await rest.post(PODS, pod())
    deleted = await rest.delete(f"{PODS}/a")

    assert (deleted.status, deleted.body["kind"]) == (200, "Pod")
    assert (await rest.get(f"{PODS}/a")).status == 404


async def test_a_bound_pod_waits_for_its_kubelet(rest: Rest) -> None:
    await rest.post(PODS, pod(nodeName="n"))
    marked = (await rest.delete(f"{PODS}/a")).body["metadata"]
    shortened = (await rest.delete(f"{PODS}/a", gracePeriodSeconds="5")).body["metadata"]
    not_prolonged = (await rest.delete(f"{PODS}/a", gracePeriodSeconds="60")).body["metadata"]

    assert (marked["deletionGracePeriodSeconds"], marked["generation"]) == (30, 2)
    assert shortened["deletionGracePeriodSeconds"] == 5
    assert shortened["deletionTimestamp"] < marked["deletionTimestamp"]
    assert not_prolonged == shortened
    assert (await rest.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})).status == 200
    assert (await rest.get(f"{PODS}/a")).status == 404


async def test_a_grace_period_may_be_longer_than_there_are_dates(rest: Rest) -> None:
    await rest.post(PODS, pod(nodeName="n"))
    marked = await rest.delete(f"{PODS}/a", gracePeriodSeconds=str(2**63 - 1))

    assert (marked.status, marked.body["metadata"]["deletionGracePeriodSeconds"]) == (200, 2**63 - 1)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_finished_pod_goes_at_once(rest: Rest, phase: str) -> None:
    await rest.post(PODS, pod(nodeName="n"))
    await rest.patch(f"{PODS}/a/status", {"status": {"phase": phase}})
    await rest.delete(f"{PODS}/a")

    assert (await rest.get(f"{PODS}/a")).status == 404


async def test_finalizers_hold_an_object_until_the_last_is_gone(rest: Rest) -> None:
    await rest.post(CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["x.io/one", "x.io/two"]}})
    held = await rest.delete(f"{CONFIG_MAPS}/a")
    await rest.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["x.io/two"]}})
    still = await rest.get(f"{CONFIG_MAPS}/a")
    await rest.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})

    assert held.body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert still.status == 200
    assert (await rest.get(f"{CONFIG_MAPS}/a")).status == 404


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
    ids=["foreground", "orphan"],
)
async def test_propagation_policies_leave_a_finalizer_to_the_collector(
    rest: Rest, policy: str, finalizers: list[str]
) -> None:
    await rest.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
    held = await rest.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": policy})

    assert held.body["metadata"]["finalizers"] == finalizers
    assert (await rest.delete(f"{CONFIG_MAPS}/a", propagationPolicy="Background")).body["status"] == "Success"


async def test_a_deletion_answers_with_a_status_that_names_what_went(rest: Rest) -> None:
    created = await rest.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
    deleted = await rest.delete(f"{CONFIG_MAPS}/a")

    uid = created.body["metadata"]["uid"]
    assert deleted.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": uid},
    }


@pytest.mark.parametrize("preconditions", [{"uid": "other"}, {"resourceVersion": "1"}], ids=["uid", "resourceVersion"])
async def test_preconditions_guard_a_deletion(rest: Rest, preconditions: dict[str, str]) -> None:
    created = (await rest.post(PODS, pod())).body["metadata"]

    assert (await rest.delete(f"{PODS}/a", {"preconditions": preconditions})).status == 409
    true = {key: created[key] for key in preconditions}
    assert (await rest.delete(f"{PODS}/a", {"preconditions": true})).status == 200


async def test_deletecollection_obeys_selectors_and_answers_with_a_list(rest: Rest) -> None:
    for name in "abc":
        await rest.post(PODS, pod(name, labels={"name": name}))
    deleted = await rest.delete(PODS, labelSelector="name in (a,c)")

    assert (deleted.body["kind"], deleted.names) == ("PodList", ["a", "c"])
    assert (await rest.get(PODS)).names == ["b"]


async def test_a_namespace_empties_before_it_goes(rest: Rest) -> None:
    await rest.post(NAMESPACES, {"metadata": {"name": "short"}})
    ending = await rest.delete(f"{NAMESPACES}/short")
    refused = await rest.post(f"{NAMESPACES}/short/pods", pod())
    await rest.put(f"{NAMESPACES}/short/finalize", {**ending.body, "spec": {"finalizers": []}})

    assert (ending.status, ending.body["status"]["phase"]) == (200, "Terminating")
    assert refused.status == 403
    assert "because it is being terminated" in refused.body["message"]
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert (await rest.get(f"{NAMESPACES}/short")).status == 404


async def test_the_first_namespaces_may_not_go(rest: Rest) -> None:
    assert (await rest.delete(f"{NAMESPACES}/default")).status == 403
