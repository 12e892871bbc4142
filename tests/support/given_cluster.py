"""A real cluster that somebody else has started, for tests to use and to empty: `GANGLINE_TEST_KUBECONFIG` names it.

It is taken by that name alone, never by KUBECONFIG, and only if nothing of others would be lost.
"""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from gangline.kube.client import connect
from gangline.kube.wire.errors import ApiError
from gangline.kube.wire.requests import JSON, Request
from tests.support import tools, usage
from tests.support.real_cluster import ADMIN, RealCluster
from tests.support.services import eventually
from tests.support.wiping import DEFINITION, NAMESPACES, WIPE_LABEL, strangers, wipe

VARIABLE: Final = "GANGLINE_TEST_KUBECONFIG"
REQUEST_S: Final = 30.0
SHOWN: Final = 8
"""So many of what stands in the way are named; a cluster in use has hundreds."""


class ClusterRefusedError(Exception):
    """Tests do not take this cluster; the message says why, and what to do."""


def given() -> Path | None:
    """The kubeconfig of the cluster that tests may use and empty, if there is one."""
    path = os.environ.get(VARIABLE)
    return Path(path) if path else None


class GivenCluster(RealCluster):
    """The cluster of a kubeconfig's current context; an async context manager.

    Entering raises ClusterRefusedError where the cluster does not answer or holds what tests did not make, and marks the
    cluster otherwise, so that what a killed run has left is wiped by the next one. Leaving empties it.
    """

    def __init__(self, original: Path) -> None:
        self._original = original
        self._config: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """Address of the API server."""
        address: str = self._config["clusters"][0]["cluster"]["server"]
        return address

    @property
    def kubectl(self) -> Path:
        """The newest kubectl that tests fetch."""
        return tools.kubectl()

    def kubeconfig(
        self, path: Path, *, user: str = ADMIN, token: str | None = None, namespace: str = "default"
    ) -> Path:
        """Write a kubeconfig for the bearer of a token, else with what was given; return its path."""
        (context,), (account,) = self._config["contexts"], self._config["users"]
        config = self._config | {
            "contexts": [context | {"context": context["context"] | {"namespace": namespace}}],
            "users": [account | {"user": {"token": token}} if token else account],
        }
        path.write_bytes(msgspec.json.encode(config))
        return path

    async def request(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Send the API server a request as whoever the kubeconfig names; status 0 when it does not answer."""
        request = Request(
            verb=method.lower(),
            resource="any",
            method=method,
            path=path,
            content_type=None if body is None else JSON,
            body=None if body is None else msgspec.json.encode(body),
            timeout_s=REQUEST_S,
        )
        async with connect(str(self._file), user_agent="test-cluster") as client:
            try:
                status, answer = 200 if method != "POST" else 201, await client.send(request)
            except ApiError as error:
                status, answer = error.status, str(error).encode()
        usage.answers[usage.REAL] += bool(status)
        return status, answer

    async def __aenter__(self) -> Self:
        self._config = await self._flattened()
        self._directory = TemporaryDirectory(prefix="gangline-given-")
        self._file = self.kubeconfig(Path(self._directory.name) / "kubeconfig")
        try:
            await self._take()
        except BaseException:
            self._directory.cleanup()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the cluster as empty as it was."""
        await wipe(self)
        await self.request("DELETE", DEFINITION)
        await eventually(self._lacks_pod_groups, "PodGroups are gone")
        self._directory.cleanup()

    async def _lacks_pod_groups(self) -> bool:
        return (await self.request("GET", DEFINITION))[0] == 404

    async def _take(self) -> None:
        status, answer = await self.request("GET", f"{NAMESPACES}/default")
        if status != 200:
            raise ClusterRefusedError(
                f"{self.url} of {self._original} answers {status}: {answer.decode(errors='replace')}"
            )
        if found := await strangers(self):
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            raise ClusterRefusedError(
                f"{self.url} of {self._original} holds what tests did not make, and tests would delete it: "
                f"{', '.join(found[:SHOWN])}{more}. Give them an empty cluster, delete these, or, if they may be lost, "
                f"label them (for what is in a namespace, the namespace): kubectl label KIND NAME {WIPE_LABEL}=allowed"
            )
        namespace = msgspec.json.decode(answer)
        labels = namespace["metadata"].get("labels") or {}
        namespace["metadata"]["labels"] = labels | {WIPE_LABEL: "allowed"}
        status, answer = await self.request("PUT", f"{NAMESPACES}/default", namespace)
        if status != 200:
            raise ClusterRefusedError(
                f"{self.url} of {self._original} cannot be marked: {answer.decode(errors='replace')}"
            )
        await wipe(self)

    async def _flattened(self) -> dict[str, Any]:
        """Read the current context with all that it names, certificates included."""
        if not self._original.is_file():
            raise ClusterRefusedError(f"{VARIABLE}={self._original}: no such file")
        process = await asyncio.create_subprocess_exec(
            self.kubectl,
            *("config", "view", "--raw", "--flatten", "--minify", "--output=json"),
            env=os.environ | {"KUBECONFIG": str(self._original)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        if process.returncode:
            raise ClusterRefusedError(f"{VARIABLE}={self._original}: {errors.decode().strip()}")
        config: dict[str, Any] = msgspec.json.decode(output)
        return config
