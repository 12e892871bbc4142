"""ServiceAccounts: every namespace has one named `default` (kube-controller-manager serviceaccount)."""

from datetime import datetime
from typing import Final

from gangline.contract.meta import Key
from gangline.kube.wire.resources import SERVICE_ACCOUNTS
from gangline.sandbox.actions import Create, Decision
from gangline.sandbox.cache import Cache
from gangline.sandbox.objects import Namespace, Thing

DEFAULT: Final = "default"


class DefaultAccounts:
    """Decides for every namespace."""

    def __init__(self, namespaces: Cache[Namespace], accounts: Cache[Thing]) -> None:
        self._namespaces = namespaces
        self._accounts = accounts

    def decide(self, key: Key, _now: datetime) -> Decision:
        """Say whether the account is to be made."""
        namespace = self._namespaces.get(key)
        account = Key(key.name, DEFAULT)
        if namespace is None or namespace.metadata.deletion_timestamp or self._accounts.get(account) is not None:
            return Decision()
        body = {"apiVersion": "v1", "kind": SERVICE_ACCOUNTS.kind, "metadata": account._asdict()}
        return Decision(actions=(Create(resource=SERVICE_ACCOUNTS, namespace=key.name, body=body),))
