"""What tests may do to a real cluster, whoever started it: ask its API server as admin, and hand out credentials."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final

import msgspec

ADMIN: Final = "admin"


class RealCluster(ABC):
    """A cluster with a real API server."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Address of the API server."""

    @property
    @abstractmethod
    def kubectl(self) -> Path:
        """A kubectl that goes with it."""

    @abstractmethod
    def kubeconfig(
        self, path: Path, *, user: str = ADMIN, token: str | None = None, namespace: str = "default"
    ) -> Path:
        """Write a kubeconfig for a user, or for the bearer of any other token; return its path."""

    @abstractmethod
    async def request(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Send the API server a request as its admin; status 0 when it does not answer."""

    async def service_account_token(self, namespace: str, name: str) -> str:
        """Ask for a token of this ServiceAccount, as a pod gets one."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        status, body = await self.request("POST", path, {"spec": {"expirationSeconds": 3600}})
        assert status == 201, body
        token: str = msgspec.json.decode(body)["status"]["token"]
        return token
