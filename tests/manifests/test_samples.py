"""Each sample is what it says: applied by kubectl to the cluster of `gangline sandbox`, it ends as its first lines claim."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml
from msgspec import Struct

from gangline.contract.names import DEFAULT_SCHEDULER_NAME
from tests.support.cluster import Cluster, running_cluster
from tests.support.kustomize import MANIFESTS, kubectl
from tests.support.manifests import nodes

SAMPLES: Final = sorted(path for path in (MANIFESTS / "samples").glob("*.yaml") if path.name != "kustomization.yaml")
THE_SANDBOX: Final = nodes(3, cpu="8", memory="32Gi")
CLAIM: Final = re.compile(
    r"# ends: (?:pg/(?P<group>\S+) (?P<phase>[A-Z][a-z]+)(?P<figures>(?:, [a-z]+ [0-9]+)+)"
    r"|job/(?P<job>\S+) Complete"
    r"|pods of app=(?P<app>\S+) Running, (?P<running>[0-9]+) of (?P<all>[0-9]+))"
)


class Claim(Struct, frozen=True):
    """A line `# ends: ...` of a sample."""

    text: str
    fields: dict[str, str]

    async def holds(self, cluster: Cluster) -> None:
        """Wait until the cluster is as the line says."""
        await cluster.until(self._test(cluster), self.text)
        if job := self.fields.get("job"):
            await kubectl(cluster.kubeconfig, "wait", f"job/{job}", "--for=condition=Complete", "--timeout=100s")

    def _test(self, cluster: Cluster) -> Callable[[], bool]:
        if group := self.fields.get("group"):
            figures = dict(re.findall(r"([a-z]+) ([0-9]+)", self.fields["figures"]))
            return lambda: (
                cluster.phase(group) == self.fields["phase"]
                and {name: str(getattr(cluster.group(group).status, name)) for name in figures} == figures
            )
        if app := self.fields.get("app"):
            return lambda: (
                (cluster.running(app), len(cluster.of(app))) == (int(self.fields["running"]), int(self.fields["all"]))
            )
        return lambda: True


def claims(sample: Path) -> list[Claim]:
    """Read what a sample claims; fails on a claim that is not in a checked form."""
    lines = [line for line in sample.read_text(encoding="utf-8").splitlines() if line.startswith("# ends:")]
    matches = [CLAIM.fullmatch(line) for line in lines]
    assert all(matches), f"not in a checked form: {lines}"
    return [
        Claim(match[0], {key: value for key, value in match.groupdict().items() if value}) for match in matches if match
    ]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
async def test_a_sample_ends_as_it_claims(sample: Path) -> None:
    async with running_cluster(THE_SANDBOX) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "--validate=strict", "-f", sample)
        assert claims(sample), f"{sample.name} claims nothing"
        for claim in claims(sample):
            await claim.holds(cluster)


async def test_all_samples_together_end_as_they_claim() -> None:
    async with running_cluster(THE_SANDBOX) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "-k", MANIFESTS / "samples")
        for claim in (claim for sample in SAMPLES for claim in claims(sample)):
            await claim.holds(cluster)


def test_the_samples_are_all_listed() -> None:
    (kustomization,) = yaml.safe_load_all((MANIFESTS / "samples/kustomization.yaml").read_text(encoding="utf-8"))

    assert sorted(kustomization["resources"]) == [path.name for path in SAMPLES]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_every_workload_of_a_sample_names_our_scheduler(sample: Path) -> None:
    objects = list(yaml.safe_load_all(sample.read_text(encoding="utf-8")))
    templates = [object_["spec"]["template"] for object_ in objects if "template" in object_["spec"]]

    assert templates
    assert {template["spec"]["schedulerName"] for template in templates} == {DEFAULT_SCHEDULER_NAME}


def sample(name: str) -> Path:
    return MANIFESTS / f"samples/{name}.yaml"


@pytest.mark.parametrize(("cpu", "running"), [("10", 5), ("4", 0)], ids=["room-for-five", "room-for-two"])
async def test_as_many_as_fit_of_the_replicaset_run_or_none(cpu: str, running: int) -> None:
    async with running_cluster(nodes(1, cpu=cpu, memory="8Gi")) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "-f", sample("replicaset"))
        waiting = 6 - running
        await cluster.until(lambda: cluster.reasons("nginx") == ["Unschedulable"] * waiting, f"{waiting} wait")
        await cluster.until(lambda: cluster.running("nginx") == running, f"{running} run")
        assert cluster.bound("nginx") == running


async def test_the_deployment_is_updated_inside_its_gang() -> None:
    async with running_cluster(THE_SANDBOX) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "-f", sample("deployment"))
        await cluster.until(lambda: cluster.phase("inference") == "Running", "it runs")
        before = {pod.metadata.uid for pod in cluster.of("inference")}
        await kubectl(cluster.kubeconfig, "rollout", "restart", "deployment/inference")
        await kubectl(cluster.kubeconfig, "rollout", "status", "deployment/inference", "--timeout=100s")
        await cluster.until(
            lambda: (
                len(cluster.of("inference")) == 4 and not {pod.metadata.uid for pod in cluster.of("inference")} & before
            ),
            "all pods are new",
        )
        await cluster.until(lambda: cluster.phase("inference") == "Running", "and it runs again")


async def test_workers_of_the_indexed_job_have_the_names_by_which_they_find_each_other() -> None:
    async with running_cluster(THE_SANDBOX) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "-f", sample("indexed-job"))
        await cluster.until(lambda: len(cluster.of("allreduce")) == 4, "its pods are made")
        path = "jsonpath={range .items[*]}{.spec.hostname}.{.spec.subdomain} {end}"
        said = await kubectl(cluster.kubeconfig, "get", "pods", "-l", "app=allreduce", "-o", path)
        service = await kubectl(cluster.kubeconfig, "get", "service", "allreduce", "-o", "jsonpath={.spec}")

    assert sorted(said.split()) == [f"allreduce-{index}.allreduce" for index in range(4)]
    assert {'"clusterIP":"None"', '"publishNotReadyAddresses":true'} <= set(service.strip("{}").split(","))


async def test_the_shadow_gang_has_no_group_to_be_shown() -> None:
    async with running_cluster(THE_SANDBOX) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "-f", sample("shadow"))
        await cluster.until(lambda: cluster.running("shadow") == 3, "it runs")
        assert await kubectl(cluster.kubeconfig, "get", "pg", "-o", "name") == ""


async def test_the_name_of_kube_batch_could_stay() -> None:
    text = (
        sample("kube-batch").read_text(encoding="utf-8").replace("schedulerName: gangline", "schedulerName: kube-batch")
    )
    async with running_cluster(THE_SANDBOX, scheduler_names=("kube-batch",)) as cluster:
        await kubectl(cluster.kubeconfig, "apply", "-f", "-", stdin=text)
        await cluster.until(lambda: cluster.phase("qj-1") == "Finished", "the gang has run")
