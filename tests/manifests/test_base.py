"""The base as `kubectl apply -k` sends it."""

from pathlib import Path

import pytest
import yaml

import controller.app
import scheduler.app
from gangline.service.lifecycle import CANCEL_S
from gangline.service.process_settings import ProcessSettings
from tests.support.kustomize import MANIFESTS, Object, of_kind, render

BASE = MANIFESTS / "base"
SERVICES = ("scheduler", "controller")
LAST_WRITES_S = {"scheduler": scheduler.app.LAST_WRITES_S, "controller": controller.app.LAST_WRITES_S}
WRITES = {"create", "update", "patch", "delete", "deletecollection", "*"}


def read(path: Path) -> list[Object]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def objects() -> list[Object]:
    return render(BASE)


def rights(role: Object) -> set[tuple[str, str]]:
    """Verb and resource (with its group, and the names that it is limited to) of every rule."""
    return {
        (verb, "/".join(filter(None, (group, resource, *rule.get("resourceNames", [])))))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def container(objects: list[Object], service: str) -> Object:
    pod = of_kind(objects, "Deployment")[f"gangline-{service}"]["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    assert isinstance(only, dict)
    return only


def test_the_base_lists_every_file_and_nothing_else_changes_it() -> None:
    (kustomization,) = read(BASE / "kustomization.yaml")

    assert kustomization.keys() == {"apiVersion", "kind", "resources"}
    assert sorted(kustomization["resources"]) == sorted(
        path.name for path in BASE.iterdir() if path.name != "kustomization.yaml"
    )


def test_every_object_is_named_once_and_lives_in_our_namespace_or_in_none(objects: list[Object]) -> None:
    names = [(object_["kind"], object_["metadata"]["name"]) for object_ in objects]
    namespaced = {"ServiceAccount", "Role", "RoleBinding", "Deployment"}

    assert len(names) == len(set(names))
    for object_ in objects:
        expected = "gangline-system" if object_["kind"] in namespaced else None
        assert object_["metadata"].get("namespace") == expected


def test_the_scheduler_may_do_what_it_needs_and_no_more(objects: list[Object]) -> None:
    assert rights(of_kind(objects, "ClusterRole")["gangline-scheduler"]) == {
        ("get", "pods"),
        ("list", "pods"),
        ("watch", "pods"),
        ("create", "pods/binding"),
        ("patch", "pods/status"),
        ("list", "nodes"),
        ("watch", "nodes"),
        ("get", "scheduling.x-k8s.io/podgroups"),
        ("list", "scheduling.x-k8s.io/podgroups"),
        ("watch", "scheduling.x-k8s.io/podgroups"),
        ("list", "scheduling.k8s.io/priorityclasses"),
        ("watch", "scheduling.k8s.io/priorityclasses"),
        ("create", "events.k8s.io/events"),
        ("patch", "events.k8s.io/events"),
    }


def test_the_controller_may_do_what_it_needs_and_no_more(objects: list[Object]) -> None:
    assert rights(of_kind(objects, "ClusterRole")["gangline-controller"]) == {
        ("list", "pods"),
        ("watch", "pods"),
        ("list", "scheduling.x-k8s.io/podgroups"),
        ("watch", "scheduling.x-k8s.io/podgroups"),
        ("patch", "scheduling.x-k8s.io/podgroups/status"),
        ("create", "events.k8s.io/events"),
        ("patch", "events.k8s.io/events"),
    }


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_holds_its_own_lease_and_no_other(objects: list[Object], service: str) -> None:
    assert rights(of_kind(objects, "Role")[f"gangline-{service}"]) == {
        ("create", "coordination.k8s.io/leases"),
        *((verb, f"coordination.k8s.io/leases/gangline-{service}") for verb in ("get", "patch")),
    }


@pytest.mark.parametrize("service", SERVICES)
def test_every_rule_says_why(service: str) -> None:
    lines = (BASE / f"{service}-rbac.yaml").read_text(encoding="utf-8").splitlines()

    rules = [number for number, line in enumerate(lines) if line.startswith("  - apiGroups:")]
    assert len(rules) == sum(len(document.get("rules", [])) for document in read(BASE / f"{service}-rbac.yaml"))
    assert all(lines[number - 1].startswith("  # ") for number in rules)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("kind", ["ClusterRole", "Role"])
def test_a_role_is_bound_to_the_account_of_its_service(objects: list[Object], service: str, kind: str) -> None:
    name = f"gangline-{service}"
    binding = of_kind(objects, f"{kind}Binding")[name]

    assert name in of_kind(objects, "ServiceAccount")
    assert name in of_kind(objects, kind)
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": "gangline-system"}]


def test_viewers_of_a_namespace_may_not_write_its_groups(objects: list[Object]) -> None:
    roles = of_kind(objects, "ClusterRole")

    assert not {verb for verb, _ in rights(roles["gangline-podgroups-view"])} & WRITES
    assert {resource for _, resource in rights(roles["gangline-podgroups-edit"])} == {"scheduling.x-k8s.io/podgroups"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_deployment_runs_one_confined_process_at_a_time(objects: list[Object], service: str) -> None:
    spec = of_kind(objects, "Deployment")[f"gangline-{service}"]["spec"]
    pod = spec["template"]["spec"]

    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert pod["serviceAccountName"] == f"gangline-{service}"
    assert pod["priorityClassName"] in of_kind(objects, "PriorityClass")
    assert pod["enableServiceLinks"] is False
    assert pod["terminationGracePeriodSeconds"] > ProcessSettings().grace_s + LAST_WRITES_S[service] + CANCEL_S
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(objects, service)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("service", SERVICES)
def test_the_probes_reach_the_address_that_is_served(objects: list[Object], service: str) -> None:
    process = container(objects, service)
    (port,) = process["ports"]

    assert process["args"] == [service, f"--http-address=0.0.0.0:{port['containerPort']}"]
    assert process["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": port["name"]}
    assert process["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": port["name"]}
    assert process["resources"]["requests"].keys() == {"cpu", "memory"}
    assert process["resources"]["limits"].keys() == {"memory"}
