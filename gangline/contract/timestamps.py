"""Times as objects of the API carry them."""

from datetime import UTC, datetime


def microtime(utc: datetime) -> str:
    """Return a time as `metav1.MicroTime` is written, always with six digits."""
    return utc.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def timestamp(utc: datetime) -> str:
    """Return a time as `metav1.Time` is written, in whole seconds."""
    return utc.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
