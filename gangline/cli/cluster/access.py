"""Access: which cluster a command talks with."""

from msgspec import Struct


class Access(Struct, frozen=True):
    """Which cluster, and as which of its contexts."""

    kubeconfig: str | None
    context: str | None
