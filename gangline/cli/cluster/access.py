"""Access: which cluster a command talks with."""

from msgspec import Struct


class Access(Struct, frozen=True):
    """Which cluster, as which of its contexts, and how long one answer may take: None for the usual times."""

    kubeconfig: str | None
    context: str | None
    request_timeout_s: float | None = None
