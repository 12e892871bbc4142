"""`gangline check`: what would go wrong with gangs, from manifests alone or against a cluster."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gangline.cli.main import main
from gangline.cli.manifest import against, rules
from gangline.cli.manifest.checking import MANY
from gangline.cli.manifest.documents import DocumentError, parse
from gangline.cli.manifest.findings import Finding
from gangline.contract.crd import crd
from gangline.contract.meta import Key
from gangline.contract.node import Taint
from tests.support.builders import group as existing
from tests.support.builders import node
from tests.support.manifests import Manifest, deployment, job, pod, pod_group, replica_set
from tests.support.stuck import survey_of

ROOT = Path(__file__).parents[3]
LABEL = "scheduling.x-k8s.io/pod-group"


def stateful_set(name: str, replicas: int, group: str, **spec: Any) -> Manifest:
    body = replica_set(name, replicas, group)
    return body | {"kind": "StatefulSet", "spec": body["spec"] | spec}


def cron_job(name: str, group: str, *, parallelism: int) -> Manifest:
    body = job(name, group, parallelism=parallelism, completions=parallelism)
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": body["spec"]}},
    }


def check(*bodies: Manifest, elsewhere: tuple[Any, ...] = ()) -> list[Finding]:
    documents = parse(yaml.safe_dump_all(bodies), "all.yaml")
    known = {group.metadata.key: group for group in elsewhere}
    return list(rules.findings(rules.gather(documents, "team", known), ("gangline",)))


NO_TEMPLATE = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": []}}
NO_SPEC = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": "three pods"}
NO_METADATA = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": [], "spec": {}}
NO_JOB = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": {}}}
CASES: dict[str, tuple[list[Manifest], list[tuple[str, str, str]]]] = {
    # manifests -> (rule, kind/name, words of the message)
    "a sound gang": ([pod_group("g", 3), job("j", "g", parallelism=3, completions=3)], []),
    "what forms no gang is not our business": ([deployment("web", 3, scheduler="default-scheduler")], []),
    "kinds without pods": ([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}], []),
    "no template": ([NO_TEMPLATE], [("unreadable", "Deployment/d", "spec.template is no mapping")]),
    "no spec": ([NO_SPEC], [("unreadable", "Job/j", "spec is a text, where a mapping belongs")]),
    "no metadata": ([NO_METADATA], [("unreadable", "CronJob/", "metadata is a list, where a mapping belongs")]),
    "no job": ([NO_JOB], [("unreadable", "CronJob/c", "spec.jobTemplate.spec.template is no mapping")]),
    "label without group": (
        [replica_set("rs", 2, "g")],
        [("group-missing", "ReplicaSet/rs", "there is none in namespace team")],
    ),
    "group in another namespace": (
        [pod_group("g", 1) | {"metadata": {"name": "g", "namespace": "other"}}, pod("p", "g")],
        [("group-missing", "Pod/p", "the one in namespace other does not count")],
    ),
    "minMember above replicas": (
        [pod_group("g", 4), deployment("web", 3, "g")],
        [("too-few-pods", "PodGroup/g", "spec.minMember is 4, but at most 3 pods exist at once (Deployment/web: 3)")],
    ),
    "minMember above parallelism": (
        [pod_group("g", 4), job("j", "g", parallelism=2, completions=8)],
        [("too-few-pods", "PodGroup/g", "at most 2 pods")],
    ),
    "minMember above completions": (
        [pod_group("g", 4), job("j", "g", parallelism=8, completions=3)],
        [("too-few-pods", "PodGroup/g", "at most 3 pods")],
    ),
    "several workloads add up": ([pod_group("g", 5), replica_set("a", 2, "g"), replica_set("b", 3, "g")], []),
    "CronJob": (
        [pod_group("g", 4), cron_job("c", "g", parallelism=2)],
        [("too-few-pods", "PodGroup/g", "CronJob/c: 2")],
    ),
    "shadow above replicas": (
        [replica_set("rs", 2, shadow=3)],
        [("too-few-pods", "ReplicaSet/rs", "annotation scheduling.k8s.io/group-min-member is 3")],
    ),
    "ordered StatefulSet": (
        [pod_group("g", 3), stateful_set("ps", 3, "g")],
        [("ordered-statefulset", "StatefulSet/ps", "waits for 3 members")],
    ),
    "parallel StatefulSet": ([pod_group("g", 3), stateful_set("ps", 3, "g", podManagementPolicy="Parallel")], []),
    "ordered StatefulSet whose first pod is enough": ([pod_group("g", 1), stateful_set("ps", 3, "g")], []),
    "ordered StatefulSet beside enough others": (
        [pod_group("g", 3), stateful_set("ps", 2, "g"), replica_set("rs", 2, "g")],
        [],
    ),
    "wrong schedulerName": (
        [pod_group("g", 1), pod("p", "g", scheduler="volcano")],
        [("scheduler-name", "Pod/p", "schedulerName is 'volcano'")],
    ),
    "no schedulerName": (
        [pod_group("g", 1), pod("p", "g", schedulerName=None)],
        [("scheduler-name", "Pod/p", "no schedulerName, so default-scheduler takes the pods")],
    ),
    "mixed priorities": (
        [pod_group("g", 2), pod("a", "g", priority="high"), pod("b", "g", priority="low")],
        [("mixed-priorities", "Pod/a", "Pod/a: high, Pod/b: low")],
    ),
    "PodGroup of another API group": (
        [{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}, pod("p", "g")],
        [
            ("group-missing", "Pod/p", "the one of scheduling.volcano.sh/v1beta1 does not count"),
            ("other-api-group", "PodGroup/g", "is not read"),
        ],
    ),
    "invalid quantity of a pod": (
        [pod_group("g", 1), pod("p", "g", requests={"cpu": "two"})],
        [("invalid-quantity", "Pod/p", "'two'")],
    ),
    "invalid quantity of a group": (
        [pod_group("g", 1, minResources={"memory": "8GB"})],
        [("invalid-quantity", "PodGroup/g", "'8GB'")],
    ),
    "minMember of 0": ([pod_group("g", 0)], [("min-member", "PodGroup/g", "spec.minMember is 0")]),
    "minMember in words": (
        [pod_group("g", None, minMember="two")],
        [
            (
                "unreadable",
                "PodGroup/g",
                "spec.minMember is a text, where a whole number belongs; write it without quotes",
            )
        ],
    ),
    "a number as annotation": (
        [replica_set("rs", 3, annotations={"scheduling.k8s.io/group-min-member": 3})],
        [("unreadable", "ReplicaSet/rs", "is a whole number, where a text belongs; write it in quotes")],
    ),
    "misspelt label": (
        [pod_group("g", 1), pod("p", labels={"scheduling.x-k8s.io/podgroup": "g"})],
        [
            ("misspelt-key", "Pod/p", "nobody reads scheduling.x-k8s.io/podgroup in labels"),
            ("group-unused", "PodGroup/g", "those of Pod/p start one by one"),
        ],
    ),
    "label on the owner alone": (
        [deployment("web", 2) | {"metadata": {"name": "web", "labels": {LABEL: "g"}}}],
        [("misplaced-key", "Deployment/web", "stands on the Deployment and not on its pods")],
    ),
    "label on both": (
        [pod_group("g", 2), deployment("web", 2, "g") | {"metadata": {"name": "web", "labels": {LABEL: "g"}}}],
        [],
    ),
    "annotation as label": (
        [pod("p", labels={"scheduling.k8s.io/group-name": "g"})],
        [("misplaced-key", "Pod/p", "stands in labels, where nobody reads it")],
    ),
    "unknown field of a group": (
        [pod_group("g", 1, minMembers=2)],
        [("unknown-field", "PodGroup/g", "spec has no field minMembers")],
    ),
    "PodGroup twice": (
        [pod_group("g", 1), pod_group("g", 2)],
        [("defined-twice", "PodGroup/g", "stands at all.yaml:1")],
    ),
    "PodGroup of another version": (
        [pod_group("g", 1) | {"apiVersion": "scheduling.x-k8s.io/v1"}],
        [("other-api-group", "PodGroup/g", "scheduling.x-k8s.io/v1 is not read")],
    ),
    "Job of others": (
        [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "v"}}],
        [("other-api-group", "Job/v", "batch.volcano.sh/v1alpha1 is not read")],
    ),
    "nodeName": (
        [pod_group("g", 1), pod("p", "g", nodeName="n0")],
        [("node-name", "Pod/p", "on that node from the start")],
    ),
    "a pod of a cluster that has its node": (
        [
            pod_group("g", 1),
            pod("p", "g", nodeName="n0") | {"metadata": {"name": "p", "uid": "u", "labels": {LABEL: "g"}}},
        ],
        [],
    ),
    "no replicas": (
        [pod_group("g", 1), deployment("web", 0, "g")],
        [("too-few-pods", "PodGroup/g", "at most 0 pods")],
    ),
    "our definition": ([crd()], []),
    "our definition without our version": (
        [crd() | {"spec": {"versions": [{"name": "v2", "served": True}]}}],
        [("crd-version", "CustomResourceDefinition/podgroups.scheduling.x-k8s.io", "it serves v2")],
    ),
    "two names": (
        [pod("p", "g", labels={"pod-group.scheduling.sigs.k8s.io": "h"})],
        [("invalid-link", "Pod/p", "'h'")],
    ),
    "shadow without owner": ([pod("p", shadow=2)], [("invalid-link", "Pod/p", "has no controller")]),
    "unsupported requirement": (
        [pod_group("g", 1), pod("p", "g", resourceClaims=[{"name": "gpu"}])],
        [("unsupported-requirement", "Pod/p", "resource claims")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_manifest_is_judged(case: str) -> None:
    bodies, expected = CASES[case]

    found = check(*bodies)

    assert sorted((one.rule.value, f"{one.kind}/{one.name}") for one in found) == sorted(row[:2] for row in expected)
    for rule, _, words in expected:
        assert any(one.rule == rule and words in one.message for one in found)
    assert all(one.cure or one.rule in ("invalid-quantity", "invalid-link", "unreadable") for one in found)


def test_a_group_that_the_cluster_has_counts() -> None:
    bodies = [replica_set("rs", 2, "g")]

    assert [one.rule for one in check(*bodies, elsewhere=(existing("g", 3),))] == ["too-few-pods"]
    assert not check(*bodies, elsewhere=(existing("g", 2),))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("n0", cpu=8)], []),
        ([node("n0", cpu=2)], [("fits-no-node", "1 Insufficient cpu (2 cpu free of 2, 1 short)")]),
        (
            [node("n0", cpu=4)],
            [("gang-too-large", "2 members with 3 cpu must start together, and the cluster has room for 1")],
        ),
        ([node("n0", cpu=8, taints=(Taint(key="gpu", effect="NoSchedule"),))], [("fits-no-node", "gpu:NoSchedule")]),
        ([], [("fits-no-node", "it has no nodes")]),
    ],
    ids=["room", "too small", "one of two", "taint", "no nodes"],
)
def test_members_are_tried_on_a_cluster_as_if_it_were_empty(nodes: list[Any], expected: list[tuple[str, str]]) -> None:
    documents = parse(
        yaml.safe_dump_all([pod_group("g", 2), job("j", "g", parallelism=2, completions=2, requests={"cpu": "3"})]), "a"
    )

    found = list(against.findings(rules.gather(documents, "team", {}), survey_of(*nodes)))

    assert [one.rule for one in found] == [rule for rule, _ in expected]
    assert all(words in one.message for one, (_, words) in zip(found, expected, strict=True))


def test_an_object_is_found_where_it_stands_in_documents_and_lists() -> None:
    text = "# a comment\n---\nkind: A\n---\napiVersion: v1\nkind: List\nitems:\n- kind: B\n- metadata:\n    name: x\n  kind: C\n"

    found = parse(text, "f.yaml")

    assert [(one.kind, one.place.line, one.place.document) for one in found] == [("A", 3, 1), ("B", 8, 2), ("C", 9, 2)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "f.yaml:1"),
        ("- 1", "f.yaml:1: document 1 is no object"),
        ("a: !!python/none x", "f.yaml:1"),
        ("a:\n  b: 1\n  c: {}\n  b: 2\n", "f.yaml:4: the key b stands here twice"),
        ("a: 1\nb: \0\n", "f.yaml: unacceptable character #x0000"),
        ("[" * 5000, "f.yaml: nested too deeply"),
        ("--- {}\n--- \na: 2026-99-99\n", "f.yaml:3: month must be in 1..12"),
        ("a: " + "9" * 5000, "f.yaml:1: Exceeds the limit"),
        ("kind: List\nitems:\n- {}\n- 5\n", "f.yaml:4: this item of a List is no object but a int"),
        (
            "kind: List\nitems:\n- {kind: PodList, items: []}\n",
            "f.yaml:3: a List in a List is not read, by kubectl neither",
        ),
        ('a:\n- b: "\\ud800"', r"f.yaml:2: '\\ud800' has half of a character"),
        ('a:\n  "\\ud800": 1', r"f.yaml:2: '\\ud800' has half of a character"),
    ],
    ids=[
        *("broken", "no object", "tag", "key twice", "nul", "deep", "no date", "endless number"),
        *("no object in a list", "list in a list"),
        *("half a character", "half a character as key"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(DocumentError, match=complaint):
        parse(text, "f.yaml")


def test_json_may_escape_a_character_in_two_halves() -> None:
    (document,) = parse('{"metadata": {"name": "\\ud83d\\ude00"}}', "f.json")

    assert document.name == "\U0001f600"


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["check", *words], input=stdin)


BAD = yaml.safe_dump_all([pod_group("g", 4), replica_set("rs", 2, "g")])
DOUBTFUL = yaml.safe_dump_all([pod_group("g", 2), pod("a", "g", priority="x"), pod("b", "g", priority="y")])


@pytest.mark.parametrize(
    ("words", "stdin", "code"),
    [
        (["-"], "", 0),
        (["-"], BAD, 1),
        (["-"], DOUBTFUL, 0),
        (["--strict", "-"], DOUBTFUL, 1),
        (["-"], "a: [", 2),
        (["/no/such/file"], None, 2),
        ([""], None, 2),
        ([], None, 2),
    ],
    ids=["nothing", "errors", "warnings", "strict", "broken", "no file", "no name", "no argument"],
)
def test_the_exit_code_is_for_ci(words: list[str], stdin: str | None, code: int) -> None:
    assert run(*words, stdin=stdin).exit_code == code


def test_a_finding_is_one_line_with_its_place_and_without_colour_off_a_terminal() -> None:
    result = run("-", stdin=BAD)

    (line,) = result.stdout.splitlines()
    assert line.startswith("<stdin>:1: error: PodGroup/g: spec.minMember is 4")
    assert line.endswith("[too-few-pods]")
    assert "\x1b" not in result.output
    assert result.stderr == "1 error, 0 warnings in 2 objects\n"


@pytest.mark.parametrize(("number", "lines"), [(MANY - 1, MANY - 1), (MANY, 1), (5000, 1)])
def test_what_is_true_of_many_objects_is_told_once_with_their_number(number: int, lines: int) -> None:
    pods = [pod(f"p-{each}", "nowhere") for each in range(number)]
    alone = deployment("web", 2, "nowhere")

    result = run("-", stdin=json.dumps({"kind": "List", "items": [*pods, alone]}))
    *found, last = result.stdout.splitlines()

    assert len(found) == lines
    assert (f"error: Pod/p-0 and {number - 1:,} more: the pods name PodGroup nowhere" in found[0]) == (lines == 1)
    assert "Deployment/web: " in last
    assert result.stderr == f"{number + 1} errors, 0 warnings in {number + 1} objects\n"
    assert result.exit_code == 1


def test_a_kustomization_is_said_to_be_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [pg.yaml]\n")
    (tmp_path / "pg.yaml").write_text(yaml.safe_dump(pod_group("g", 1)))

    result = run("--strict", str(tmp_path))

    assert result.exit_code == 0
    assert f"`kubectl kustomize {tmp_path} | gangline check -`" in result.stderr


def test_findings_are_readable_for_programs() -> None:
    outcome = json.loads(run("-o", "json", "-", stdin=BAD).stdout)

    assert outcome["errors"] == 1
    assert {key: outcome["findings"][0][key] for key in ("file", "line", "kind", "name", "rule", "severity")} == {
        "file": "<stdin>",
        "line": 1,
        "kind": "PodGroup",
        "name": "g",
        "rule": "too-few-pods",
        "severity": "error",
    }


def test_our_own_manifests_are_sound() -> None:
    result = run(str(ROOT / "manifests"))

    assert result.exit_code == 0, result.output


def test_files_of_a_directory_are_read_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(replica_set("rs", 2, "g")))
    (tmp_path / "a.json").write_text(json.dumps(pod_group("g", 3)))
    (tmp_path / "notes.txt").write_text("a: [")

    result = run(str(tmp_path))

    assert result.stdout.startswith(f"{tmp_path}/a.json:1: error: PodGroup/g")


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "wide.yaml").write_text("kind: Pod", encoding="utf-16")
    (tmp_path / "empty").mkdir()

    assert run("/no/such/file").stderr.startswith("error: /no/such/file: No such file or directory\n")
    assert "this is no UTF-8" in run(str(tmp_path / "wide.yaml")).stderr
    assert "there is no file in it whose name ends in .json, .yaml, .yml" in run(str(tmp_path / "empty")).stderr


def test_what_cannot_be_read_keeps_nothing_else_from_being_checked(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{{ .Values.x }}: [")
    (tmp_path / "b.yaml").write_text(BAD)
    (tmp_path / "c.yaml").write_text("a: [")

    text = run(str(tmp_path), "/no/such/file")
    data = run("-o", "json", str(tmp_path))

    assert (text.exit_code, data.exit_code) == (2, 2)
    assert text.stdout.startswith(f"{tmp_path}/b.yaml:1: error: PodGroup/g: ")
    *unreadable, summary = text.stderr.splitlines()
    assert [line.split(":")[1] for line in unreadable] == [
        f" {tmp_path}/a.yaml",
        f" {tmp_path}/c.yaml",
        " /no/such/file",
    ]
    assert summary == "1 error, 0 warnings in 2 objects"
    assert len(json.loads(data.stdout)["unreadable"]) == 2


def test_what_is_named_twice_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "pg.yaml"
    file.write_text(yaml.safe_dump(pod_group("g", 1)))

    assert run(str(file), str(file), str(tmp_path)).stderr == "0 errors, 0 warnings in 1 object\n"


PYTORCH: Manifest = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "bert"},
    "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [{"name": "c"}]}}}}},
}
JOB_SET: Manifest = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "s"},
    "spec": {"replicatedJobs": [{"template": {"spec": job("j", "g", parallelism=1, completions=1)["spec"]}}]},
}


@pytest.mark.parametrize("body", [PYTORCH, JOB_SET], ids=["PyTorchJob", "JobSet"])
def test_pod_templates_of_operators_are_said_not_to_be_read(body: Manifest) -> None:
    result = run("--strict", "-", stdin=yaml.safe_dump(body))

    assert result.exit_code == 0
    assert result.stderr.startswith(f"note: <stdin>:1: the pod templates of {body['kind']}/")
    assert "must give them schedulerName and the label of a PodGroup" in result.stderr


def test_what_has_no_pod_template_is_passed_over_without_a_word() -> None:
    texts = [{"kind": "ConfigMap", "data": {"template": {"spec": {}}}}, PYTORCH | {"kind": "PodTemplate"}]

    assert run("-", stdin=yaml.safe_dump_all(texts)).stderr == "0 errors, 0 warnings in 2 objects\n"


def test_the_namespace_of_objects_that_name_none_can_be_given() -> None:
    text = yaml.safe_dump_all([pod_group("g", 1) | {"metadata": {"name": "g", "namespace": "prod"}}, pod("p", "g")])

    assert run("-", stdin=text).exit_code == 1
    assert run("-n", "prod", "-", stdin=text).exit_code == 0


def test_keys_of_groups_are_of_namespace_and_name() -> None:
    documents = parse(yaml.safe_dump(pod_group("g", 1)), "f")

    assert list(rules.gather(documents, "team", {}).groups) == [Key("team", "g")]
