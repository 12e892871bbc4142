"""Merge patches (RFC 7386) of what changed, and of nothing else."""

from typing import Any


def merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the patch that turns `before` into `after`; lists are replaced whole, an absent key becomes null."""
    patch: dict[str, Any] = {key: None for key in before if after.get(key) is None and before[key] is not None}
    for key, value in after.items():
        old = before.get(key)
        if value is None or value == old:
            continue
        if isinstance(value, dict) and isinstance(old, dict):
            if nested := merge_patch(old, value):
                patch[key] = nested
        else:
            patch[key] = value
    return patch
