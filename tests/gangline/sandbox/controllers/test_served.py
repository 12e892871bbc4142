"""Kinds that come and go while the controllers run."""

import asyncio
from typing import Any

from gangline.contract.crd import crd
from gangline.kube.client import connect
from gangline.kube.wire.resources import PODS
from gangline.sandbox.cluster import Sandbox
from gangline.sandbox.objects.core import RunPod
from tests.support.rest import DEFINITIONS, POD_GROUPS, Rest, pod
from tests.support.rest import PODS as PODS_PATH
from tests.support.watching import until


def refused_definition() -> dict[str, Any]:
    """A definition of a kind whose objects cannot be listed."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.x.io"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }


async def refuse_lists_of_gadgets(rest: Rest) -> None:
    refusal = {"resource": "gadgets", "fault": {"type": "refuse", "code": 503}}
    await rest.put("/sandbox/faults", {"rules": [refusal]})
    await rest.post(DEFINITIONS, refused_definition())
    async with asyncio.timeout(60):
        while not (await rest.get("/sandbox/faults")).body["rules"][0]["struck"]:
            continue


async def test_a_kind_that_cannot_be_listed_keeps_no_other_from_being_collected() -> None:
    async with Sandbox(groups=()) as sandbox, Rest(sandbox.url) as rest:
        await refuse_lists_of_gadgets(rest)
        await rest.post(DEFINITIONS, crd())
        group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
        uid = (await rest.post(POD_GROUPS, {**group, "spec": {"minMember": 1}})).body["metadata"]["uid"]
        child = pod("child")
        link = {"apiVersion": group["apiVersion"], "kind": "PodGroup", "name": "g", "uid": uid}
        child["metadata"]["ownerReferences"] = [link]
        await rest.post(PODS_PATH, child)

        await rest.delete(f"{POD_GROUPS}/g")

        async with connect(str(sandbox.kubeconfig), user_agent="test") as client:
            await until(client, PODS, RunPod, lambda pods: not pods)
