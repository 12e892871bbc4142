"""Times as Kubernetes writes them."""

from datetime import UTC, datetime


def timestamp(at: datetime) -> str:
    """Write a time as `metav1.Time`: UTC, whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
