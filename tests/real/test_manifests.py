"""The manifests on a real API server: allowed by Pod Security, and their rights are enough, and all of them are used."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.real.test_smoke import kubectl
from tests.support.backends import without_services
from tests.support.cluster import running_cluster
from tests.support.controlplane import ControlPlane
from tests.support.kustomize import COMPONENTS, MANIFESTS, Object, of_kind, operator_definitions, render, render_with
from tests.support.manifests import gang, nodes, pod
from tests.support.real_cluster import RealCluster

NAMESPACE: Final = "gangline-system"
OVERLAY: Final = MANIFESTS / "overlays/default"
SERVICES: Final = ("scheduler", "controller")
ONLY_WHEN_UNLUCKY: Final = {
    ("get", "pods"),  # after a bind without a clear answer
    ("get", "podgroups"),  # when the newest version may not have been told yet
    ("patch", "events"),  # when something is said again
}

Right = tuple[str, str]


def granted(objects: list[Object], name: str) -> set[Right]:
    """Verb and resource of every rule of a service."""
    roles = [of_kind(objects, kind)[name] for kind in ("ClusterRole", "Role")]
    return {
        (verb, resource)
        for role in roles
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def requests_of(audit: list[dict[str, Any]], service: str) -> list[tuple[Right, int]]:
    """What a service account has asked for, with the status of the answer."""
    user = f"system:serviceaccount:{NAMESPACE}:gangline-{service}"
    return [
        ((each["verb"], resource_of(each["objectRef"])), each.get("responseStatus", {}).get("code", 0))
        for each in audit
        if each["user"]["username"] == user and "objectRef" in each
    ]


def resource_of(reference: dict[str, Any]) -> str:
    """Resource and subresource, as a rule names them."""
    return "/".join(filter(None, (reference["resource"], reference.get("subresource"))))


@pytest.mark.parametrize("overlay", ["default", "coscheduling-names"])
async def test_a_real_api_server_takes_every_object(real: RealCluster, tmp_path: Path, overlay: str) -> None:
    definitions, everything = tmp_path / "definitions.yaml", tmp_path / "everything.yaml"
    definitions.write_text(yaml.safe_dump_all(operator_definitions()))
    everything.write_text(yaml.safe_dump_all(render_with(tmp_path, *COMPONENTS, overlay=overlay)))
    async with without_services():
        await kubectl(real, tmp_path, "apply", "-f", str(definitions))
        await kubectl(real, tmp_path, "wait", "-f", str(definitions), "--for=condition=Established")
        try:
            said = await kubectl(real, tmp_path, "apply", "--validate=strict", "-f", str(everything))
            again = await kubectl(real, tmp_path, "diff", "-f", str(everything))
        finally:
            await kubectl(real, tmp_path, "delete", "--wait=false", "-f", str(everything), "-f", str(definitions))
    assert {line.split()[-1] for line in said.splitlines()} == {"created"}
    assert not again


async def test_pod_security_lets_the_services_in_and_their_rights_are_enough_and_used(
    plane: ControlPlane, tmp_path: Path
) -> None:
    earlier = len(await plane.audit())
    async with running_cluster(nodes(2, cpu="4"), services=()) as cluster:
        try:
            said = await kubectl(plane, tmp_path, "apply", "-k", str(OVERLAY))
            assert "PodSecurity" not in said
            await cluster.until(
                lambda: sum(key.namespace == NAMESPACE for key in cluster.pods) == len(SERVICES),
                "the pods of both Deployments are let in",
            )
            for service in SERVICES:
                token = await plane.service_account_token(NAMESPACE, f"gangline-{service}")
                kubeconfig = plane.kubeconfig(tmp_path / service, user=service, token=token)
                await cluster.start(service, kubeconfig=kubeconfig, lease=f"{NAMESPACE}/gangline-{service}")
            await cluster.create(*gang("small", 3), *gang("large", 9, requests={"cpu": "1"}), pod("lost", "nowhere"))
            await cluster.create(
                *gang("late", 3, min_member=2, spec={"scheduleTimeoutSeconds": 1}, requests={"cpu": "4"})
            )
            await cluster.until(lambda: cluster.phase("small") == "Running", "a gang runs, and its group says so")
            await cluster.until(lambda: cluster.reasons("large") == ["Unschedulable"] * 9, "another says why not")
            await cluster.until(lambda: "Timeout" in cluster.said_of("PodGroup", "late"), "one is late")
            await cluster.stop_all()
        finally:
            await kubectl(
                plane,
                tmp_path,
                "delete",
                "clusterroles,clusterrolebindings",
                "-l",
                "app.kubernetes.io/part-of=gangline",
            )
    objects = render(OVERLAY)
    audit = (await plane.audit())[earlier:]
    for service in SERVICES:
        asked = requests_of(audit, service)
        used = {right for right, _ in asked}
        assert [(right, code) for right, code in asked if code == 403] == []
        assert granted(objects, f"gangline-{service}") - used <= ONLY_WHEN_UNLUCKY
