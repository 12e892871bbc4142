"""Every overlay and component as it is rendered, and as a cluster takes it."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import controller.settings
import scheduler.settings
from gangline.sandbox.apiserver.server import ApiServer
from gangline.service.process_settings import ProcessSettings
from gangline.service.settings import load
from tests.support import coscheduling
from tests.support.cluster import running_cluster
from tests.support.kustomize import (
    COMPONENTS,
    MANIFESTS,
    OF_THE_OPERATOR,
    Object,
    kubectl,
    of_kind,
    operator_definitions,
    render,
    render_with,
)
from tests.support.manifests import gang, nodes
from tests.support.tools import KUBECTLS

OVERLAYS: Final = ("default", "coscheduling-names")
NAMESPACES: Final = {"default": "gangline-system", "coscheduling-names": "scheduler-plugins"}
ALLOWED_VOLUMES: Final = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
}
COMBINATIONS: Final = [
    pytest.param(overlay, chosen, id="+".join([overlay, *chosen]))
    for overlay in OVERLAYS
    for chosen in [(), *((component,) for component in COMPONENTS), COMPONENTS]
]


def services(objects: list[Object]) -> Iterator[tuple[str, Object]]:
    """Name (the first argument) and pod spec of each Deployment."""
    for deployment in of_kind(objects, "Deployment").values():
        spec = deployment["spec"]["template"]["spec"]
        yield spec["containers"][0]["args"][0], spec


def settings(objects: list[Object]) -> dict[str, Any]:
    """The settings of each service, read from its arguments as the process reads them."""
    types: dict[str, type[ProcessSettings]] = {
        "scheduler": scheduler.settings.Settings,
        "controller": controller.settings.Settings,
    }
    return {
        name: load(types[name], spec["containers"][0]["args"][1:], {}, program=name, description="")
        for name, spec in services(objects)
    }


def not_restricted(spec: Object) -> list[str]:
    """What the level `restricted` of the Pod Security Standards refuses of a pod spec for Linux."""
    given = spec.get("securityContext", {})
    found = [field for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    volumes = spec.get("volumes", ())
    found += [f"volume {each['name']}" for each in volumes if not each.keys() - {"name"} <= ALLOWED_VOLUMES]
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        context = given | container.get("securityContext", {})
        holds = {
            "allowPrivilegeEscalation": context.get("allowPrivilegeEscalation") is False,
            "capabilities": "ALL" in context.get("capabilities", {}).get("drop", ())
            and set(context["capabilities"].get("add", ())) <= {"NET_BIND_SERVICE"},
            "privileged": not context.get("privileged"),
            "runAsNonRoot": context.get("runAsNonRoot") is True and context.get("runAsUser") != 0,
            "seccompProfile": context.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost"),
            "hostPort": not any("hostPort" in port for port in container.get("ports", ())),
            "procMount": context.get("procMount", "Default") == "Default",
            "sysctls": not context.get("sysctls"),
        }
        found += [f"{container['name']}: {name}" for name, is_kept in holds.items() if not is_kept]
    return found


@pytest.mark.parametrize(("overlay", "chosen"), COMBINATIONS)
def test_what_is_rendered_hangs_together(overlay: str, chosen: tuple[str, ...], tmp_path: Path) -> None:
    objects = render_with(tmp_path, *chosen, overlay=overlay)
    namespace = NAMESPACES[overlay]
    identities = [(each["kind"], each["metadata"]["name"]) for each in objects]

    assert len(identities) == len(set(identities))
    assert {each["metadata"].get("namespace", namespace) for each in objects} == {namespace}
    assert set(of_kind(objects, "Namespace")) == {namespace}
    assert dict(services(objects)).keys() == settings(objects).keys() == {"scheduler", "controller"}
    for binding in [*of_kind(objects, "RoleBinding").values(), *of_kind(objects, "ClusterRoleBinding").values()]:
        (subject,) = binding["subjects"]
        assert subject["namespace"] == namespace
        assert subject["name"] in of_kind(objects, "ServiceAccount")
        assert binding["roleRef"]["name"] in of_kind(objects, binding["roleRef"]["kind"])
    for _, spec in services(objects):
        assert spec["serviceAccountName"] in of_kind(objects, "ServiceAccount")
        assert spec["priorityClassName"] in of_kind(objects, "PriorityClass")


@pytest.mark.parametrize(("overlay", "chosen"), COMBINATIONS)
def test_every_pod_is_restricted_and_its_namespace_takes_no_other(
    overlay: str, chosen: tuple[str, ...], tmp_path: Path
) -> None:
    objects = render_with(tmp_path, *chosen, overlay=overlay)
    (namespace,) = of_kind(objects, "Namespace").values()
    workloads = [each for each in objects if "template" in each.get("spec", {})]

    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert len(workloads) == 2
    for workload in workloads:
        assert not_restricted(workload["spec"]["template"]["spec"]) == []
        assert all(
            container["securityContext"]["readOnlyRootFilesystem"]
            for container in workload["spec"]["template"]["spec"]["containers"]
        )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, "volume v"),
        ({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}, "scheduler: runAsNonRoot"),
        ({"securityContext": {"runAsNonRoot": True}}, "scheduler: seccompProfile"),
        ({"containers": [{"name": "c"}]}, "c: allowPrivilegeEscalation"),
        ({"initContainers": [{"name": "i"}]}, "i: capabilities"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_restricted_is_found(change: Object, complaint: str) -> None:
    spec = dict(services(render(MANIFESTS / "base")))["scheduler"]

    assert complaint in not_restricted(spec | change)


@pytest.mark.parametrize(("overlay", "chosen"), COMBINATIONS)
async def test_a_cluster_takes_it_and_the_second_time_nothing_changes(
    overlay: str, chosen: tuple[str, ...], tmp_path: Path
) -> None:
    objects = yaml.safe_dump_all(render_with(tmp_path, *chosen, overlay=overlay))
    async with ApiServer() as server:
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        await kubectl(kubeconfig, "apply", "-f", "-", stdin=yaml.safe_dump_all(operator_definitions()))
        for kind in OF_THE_OPERATOR.values():
            await kubectl(kubeconfig, "wait", f"crd/{kind}.monitoring.coreos.com", "--for=condition=Established")
        first = await kubectl(kubeconfig, "apply", "--validate=strict", "-f", "-", stdin=objects)
        second = await kubectl(kubeconfig, "apply", "--validate=strict", "-f", "-", stdin=objects)

    assert {line.split()[-1] for line in first.splitlines()} == {"created"}
    # kubectl replaces the selector of a budget instead of merging it, and so calls it configured each time.
    changed = [line for line in second.splitlines() if not line.endswith(" unchanged")]
    assert all(line.startswith("poddisruptionbudget.policy/") for line in changed), second


@pytest.mark.parametrize("directory", ["base", *(f"overlays/{overlay}" for overlay in OVERLAYS), "samples"])
def test_old_and_new_kustomize_render_the_same(directory: str) -> None:
    renderings = [render(MANIFESTS / directory, version) for version in KUBECTLS]

    assert len(renderings) > 1
    assert all(one == other for one, other in itertools.pairwise(renderings))


def test_coscheduling_names_answers_to_both_names_and_is_called_like_the_chart() -> None:
    objects = render(MANIFESTS / "overlays/coscheduling-names")

    assert set(of_kind(objects, "Deployment")) == {"scheduler-plugins-scheduler", "scheduler-plugins-controller"}
    for given in settings(objects).values():
        assert given.scheduler_name == ("gangline", "scheduler-plugins-scheduler")


async def test_pods_written_for_coscheduling_start_under_its_names() -> None:
    names = settings(render(MANIFESTS / "overlays/coscheduling-names"))["scheduler"].scheduler_name
    async with running_cluster(nodes(2, cpu="4"), scheduler_names=names) as cluster:
        await cluster.create(
            *gang("theirs", 2, scheduler="scheduler-plugins-scheduler"), *gang("ours", 2, scheduler="gangline")
        )
        await cluster.until(lambda: cluster.running("theirs") == cluster.running("ours") == 2, "both gangs run")
        await cluster.until(lambda: cluster.phase("theirs") == "Running", "and their PodGroup says so")


async def test_the_release_of_the_chart_must_be_gone_first(tmp_path: Path) -> None:
    deployment = of_kind(render(MANIFESTS / "overlays/coscheduling-names"), "Deployment")["scheduler-plugins-scheduler"]
    labels = {"component": "scheduler"}
    of_the_chart = deployment | {
        "spec": deployment["spec"]
        | {
            "selector": {"matchLabels": labels},
            "template": deployment["spec"]["template"] | {"metadata": {"labels": labels}},
        }
    }
    async with ApiServer() as server:
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "scheduler-plugins"}}
        await kubectl(kubeconfig, "apply", "-f", "-", stdin=yaml.safe_dump_all([namespace, of_the_chart]))
        with pytest.raises(AssertionError, match="field is immutable"):
            await kubectl(kubeconfig, "apply", "-k", MANIFESTS / "overlays/coscheduling-names")


async def test_the_crd_of_the_cluster_is_left_alone_when_asked(tmp_path: Path) -> None:
    theirs = coscheduling.definition()
    theirs["metadata"]["labels"] = {"from": "elsewhere"}
    objects = render_with(tmp_path, "upstream-crd")
    assert not of_kind(objects, "CustomResourceDefinition")

    async with ApiServer() as server:
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        await kubectl(kubeconfig, "apply", "-f", "-", stdin=yaml.safe_dump(theirs))
        await kubectl(kubeconfig, "apply", "-f", "-", stdin=yaml.safe_dump_all(objects))
        left = await kubectl(kubeconfig, "get", "crd", theirs["metadata"]["name"], "-o", "jsonpath={.metadata.labels}")
        assert left == '{"from":"elsewhere"}'

        await kubectl(kubeconfig, "apply", "-k", MANIFESTS / "overlays/default")
        explained = await kubectl(kubeconfig, "explain", "podgroups.scheduling.x-k8s.io.status")
        assert "conditions" in explained


def test_budgets_form_gangs_only_with_their_component_which_brings_the_right(tmp_path: Path) -> None:
    plain = render(MANIFESTS / "overlays/default")
    chosen = render_with(tmp_path, "pdb-gangs")

    def may_read_budgets(objects: list[Object]) -> bool:
        rules = of_kind(objects, "ClusterRole")["gangline-scheduler"]["rules"]
        return any(rule["resources"] == ["poddisruptionbudgets"] for rule in rules)

    assert [(settings(each)["scheduler"].budget_gangs, may_read_budgets(each)) for each in (plain, chosen)] == [
        (False, False),
        (True, True),
    ]


def test_monitoring_lets_the_services_compare_and_is_selected_by_their_labels(tmp_path: Path) -> None:
    objects = render_with(tmp_path, "monitoring")
    (monitor,) = of_kind(objects, "PodMonitor").values()
    (dashboard,) = of_kind(objects, "ConfigMap").values()

    assert [given.validate_s for given in settings(objects).values()] == [3600, 3600]
    assert [given.validate_s for given in settings(render(MANIFESTS / "overlays/default")).values()] == [0, 0]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    for deployment in of_kind(objects, "Deployment").values():
        template = deployment["spec"]["template"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]} <= ports


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_service_has_a_budget_of_its_own_that_holds_up_no_drain_of_a_single_pod(
    overlay: str, tmp_path: Path
) -> None:
    objects = render_with(tmp_path, "disruption-budget", overlay=overlay)
    budgets = [budget["spec"] for budget in of_kind(objects, "PodDisruptionBudget").values()]
    templates = [found["spec"]["template"]["metadata"]["labels"] for found in of_kind(objects, "Deployment").values()]

    chosen = [
        [
            number
            for number, labels in enumerate(templates)
            if budget["selector"]["matchLabels"].items() <= labels.items()
        ]
        for budget in budgets
    ]
    assert sorted(chosen) == [[0], [1]]
    assert [(budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) for budget in budgets] == [
        (1, "AlwaysAllow")
    ] * 2


def test_the_network_policy_is_about_both_services(tmp_path: Path) -> None:
    objects = render_with(tmp_path, "network-policy")
    (policy,) = of_kind(objects, "NetworkPolicy").values()
    selected = policy["spec"]["podSelector"]["matchLabels"].items()

    assert all(
        selected <= deployment["spec"]["template"]["metadata"]["labels"].items()
        for deployment in of_kind(objects, "Deployment").values()
    )
    assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    (way_in,) = policy["spec"]["ingress"]
    for _, spec in services(objects):
        assert {port["name"] for port in spec["containers"][0]["ports"]} == {port["port"] for port in way_in["ports"]}
