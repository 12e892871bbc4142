"""Completion of names: what a cluster knows, quick, and silent where there is no cluster."""

import asyncio
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from gangline.cli.completion import complete_for_kubectl
from gangline.cli.main import main
from tests.support.cluster import running_cluster
from tests.support.manifests import job, nodes, pod, pod_group
from tests.support.scripted_server import write_kubeconfig


def completed(*words: str) -> list[str]:
    """What is offered for the last word."""
    *before, incomplete = words
    found = ShellComplete(main, {}, "gangline", "_GANGLINE_COMPLETE").get_completions(before, incomplete)
    return [str(item.value) for item in found]


async def test_names_are_completed_from_the_cluster() -> None:
    async with running_cluster(nodes(1), services=()) as cluster:
        await cluster.create(pod_group("train", 2), pod_group("web", 2), pod("train-0"))
        await cluster.create(job("trial", parallelism=0, completions=1))
        await cluster.create(pod("elsewhere"), namespace="kube-system")
        config = ("--kubeconfig", str(cluster.kubeconfig))

        asked = [
            ("status", *config, "tr"),
            ("why", *config, "pod/"),
            ("why", *config, "-n", "kube-system", "po/"),
            ("why", *config, "job/t"),
            ("why", *config, "job", "t"),
            ("why", *config, "p"),
            ("status", *config, "-n", "kube-s"),
            ("status", *config, "--context", ""),
        ]
        found = [await asyncio.to_thread(completed, *words) for words in asked]

    assert found == [
        ["train"],
        ["pod/train-0"],
        ["po/elsewhere"],
        ["job/trial"],
        ["trial"],
        ["pod/", "podgroup/"],
        ["kube-system"],
        ["gangline"],
    ]


@pytest.mark.parametrize(
    "words", [("status", ""), ("why", "pod/"), ("status", "-n", ""), ("why", "x/")], ids=["name", "pod", "-n", "kind"]
)
def test_without_a_cluster_nothing_is_offered_and_nothing_said(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path / "silent", "http://127.0.0.1:9"))

    assert completed(*words) == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["sta"], ["status\tShow gangs: phase, members by what they...", ":4"]),
        (["why", "pod"], ["pod/", "podgroup/", ":6"]),
        (["why", "--kubeconfig", "/no/such", "pod/"], [":4"]),
    ],
    ids=["command", "a kind goes on behind its slash", "no cluster"],
)
def test_kubectl_is_answered_as_it_asks_its_plugins(
    words: list[str],
    lines: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr("sys.argv", ["kubectl_complete-gang", *words])

    complete_for_kubectl()

    assert capsys.readouterr().out.splitlines() == lines
