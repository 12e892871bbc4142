"""Where the API server is and who we are, from files and plugins."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import trustme

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.client import connect
from gangline.kube.transport import AccessSource, ConfigurationError
from gangline.kube.wire.resources import PODS
from tests.support.scripted_server import Exchange, ScriptedServer, write_kubeconfig

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("abc\n")
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    return tmp_path


async def test_in_a_cluster_the_service_account_is_used(service_account: Path) -> None:
    access = await AccessSource(None, None, environ=IN_CLUSTER, service_account_directory=service_account).read()

    assert (access.server, access.authorization) == ("https://10.0.0.1:443", "Bearer abc")
    assert access.tls is not None
    assert access.tls.ca_file == str(service_account / "ca.crt")


async def test_a_named_kubeconfig_wins_over_the_service_account(service_account: Path) -> None:
    kubeconfig = write_kubeconfig(service_account / "config", "http://127.0.0.1:1/", user={"token": "mine"})
    source = AccessSource(kubeconfig, None, environ=IN_CLUSTER, service_account_directory=service_account)

    access = await source.read()

    assert (access.server, access.authorization, access.tls) == ("http://127.0.0.1:1", "Bearer mine", None)


async def test_outside_a_cluster_the_environment_names_the_kubeconfig(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")

    access = await AccessSource(None, "here", environ={"KUBECONFIG": kubeconfig}).read()

    assert (access.server, access.authorization) == ("http://127.0.0.1:1", None)


async def test_a_service_account_without_a_token_says_what_to_do(tmp_path: Path) -> None:
    source = AccessSource(None, None, environ=IN_CLUSTER, service_account_directory=tmp_path)

    with pytest.raises(ConfigurationError, match=r"service account in .*token"):
        await source.read()


@pytest.mark.parametrize("name", ["token", "ca.crt"])
async def test_the_stamp_changes_when_a_file_is_replaced(service_account: Path, name: str) -> None:
    source = AccessSource(None, None, environ=IN_CLUSTER, service_account_directory=service_account)
    await source.read()
    before = source.stamp()

    replacement = service_account / "new"
    replacement.write_bytes((service_account / name).read_bytes())
    replacement.rename(service_account / name)

    assert source.stamp() != before


async def test_the_tls_part_changes_with_the_content_of_the_bundle(service_account: Path) -> None:
    source = AccessSource(None, None, environ=IN_CLUSTER, service_account_directory=service_account)
    before = (await source.read()).tls
    same = (await source.read()).tls
    trustme.CA().cert_pem.write_to_path(service_account / "ca.crt")

    assert before == same
    assert (await source.read()).tls != before


@pytest.mark.parametrize("token", ["a\x00b", "schlüssel", "a\x7fb"], ids=["nul", "umlaut", "delete"])
async def test_a_token_that_no_header_can_hold(tmp_path: Path, token: str) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1", user={"token": token})

    with pytest.raises(ConfigurationError, match="the token"):
        await AccessSource(kubeconfig, None).read()


async def test_a_broken_certificate_says_which_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    cluster = {"certificate-authority": "ca.crt"}
    kubeconfig = write_kubeconfig(tmp_path / "config", "https://127.0.0.1:1", cluster=cluster)

    with pytest.raises(ConfigurationError, match=r"ca\.crt"):
        async with connect(kubeconfig, user_agent="test/1"):
            pass


def plugin(directory: Path) -> dict[str, Any]:
    """Return a user whose credential plugin counts its runs and hands out `run-1`, `run-2` ..."""
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    answer = json.dumps(credential | {"status": {"token": "run-$(cat runs | wc -l)"}}).replace('"', '\\"')
    (directory / "plugin.sh").write_text(f'cd {directory}; echo run >> runs; echo "{answer}"\n')
    command = {"command": "/bin/sh", "args": [str(directory / "plugin.sh")]}
    return {"exec": {"apiVersion": credential["apiVersion"], "interactiveMode": "Never", **command}}


async def test_a_plugin_runs_once_for_all_requests_that_its_old_token_failed(tmp_path: Path) -> None:
    async def only_the_second(exchange: Exchange) -> None:
        await exchange.answer(200 if exchange.request.headers["authorization"] == "Bearer run-2" else 401, {})

    async with ScriptedServer(only_the_second) as server:
        kubeconfig = write_kubeconfig(tmp_path / "config", server.url, user=plugin(tmp_path))
        async with connect(kubeconfig, user_agent="test/1") as client:
            await asyncio.gather(*(client.get(PODS, Key("team", "a"), Pod) for _ in range(5)))

    assert (tmp_path / "runs").read_text().split() == ["run", "run"]
