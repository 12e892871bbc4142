"""Where the steps act: writes through the API server, and waits until something holds."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from gangline.cli.walk.checks import Expectation
from gangline.cli.walk.manifests import NAMESPACE
from gangline.cli.walk.view import Finding, View
from gangline.contract.meta import Key
from gangline.kube.client import Client
from gangline.kube.wire.resources import Resource
from gangline.sandbox.kubelets.nodes import NodeGroup
from gangline.sandbox.kubelets.run import register_nodes

SETTLE_S: Final = 90.0
"""The longest that a step may take; the slowest needs a tenth of it on a small machine."""


class NotSettledError(Exception):
    """A wait inside a step ran out of time."""


class Stage:
    """Client, view, and a directory for the manifests of what is created."""

    def __init__(self, client: Client, view: View, directory: Path, *, settle_s: float) -> None:
        self.client = client
        self.view = view
        self._directory = directory
        self._settle_s = settle_s

    async def create(self, resource: Resource, body: dict[str, Any]) -> None:
        """Create an object; its manifest is added to `<name>.yaml`."""
        with (self._directory / f"{body['metadata']['name']}.yaml").open("a") as file:
            yaml.safe_dump(body, file, sort_keys=False, explicit_start=True)
        await self.client.create(resource, NAMESPACE, body)

    async def delete(self, resource: Resource, name: str) -> None:
        """Delete an object and, in the background, what it owns."""
        await self.client.delete(resource, Key(NAMESPACE, name), propagation="Background")

    async def add_node(self, group: NodeGroup) -> None:
        """Bring up nodes."""
        await register_nodes(self.client, [group])

    async def until(self, expectation: Expectation) -> None:
        """Wait for one thing inside a step; raise NotSettledError."""
        (finding,) = await self.settled([expectation])
        if not finding.holds:
            raise NotSettledError(f"{expectation.says}: {finding.evidence}")

    async def settled(self, expectations: Sequence[Expectation]) -> list[Finding]:
        """Wait until all hold at the same moment, or the time is up; return what was seen last."""
        findings = self._look(expectations)
        try:
            async with asyncio.timeout(self._settle_s):
                while not all(finding.holds for finding in findings):
                    self.view.changed.clear()
                    await self.view.changed.wait()
                    findings = self._look(expectations)
        except TimeoutError:
            return findings
        return findings

    def _look(self, expectations: Sequence[Expectation]) -> list[Finding]:
        return [expectation.check(self.view) for expectation in expectations]
