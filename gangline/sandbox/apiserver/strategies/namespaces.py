"""Namespaces: the finalizer that empties them, their phase and their name label."""

from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write


def prepare(write: Write) -> None:
    """Set what every namespace has."""
    new = write.new
    metadata = new["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    if write.subresource == "finalize" and write.old is not None:
        new["status"] = write.old.get("status") or {}
    if not (new.get("spec") or {"finalizers": 1}).get("finalizers"):
        new["spec"] = {}
    if write.old is None:
        spec = new.setdefault("spec", {})
        finalizers = spec.setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        new["status"] = {"phase": "Active"}


STRATEGY = Strategy(prepare=prepare)
