"""What each simulated node has accepted, and whether one pod more fits."""

from collections import Counter

from gangline.contract.quantity import format_amount
from gangline.sandbox.kubelets.podlife import Rejection

Requests = dict[str, int]


class Admissions:
    """Accepted pods by UID, with what they hold of which node; every method is idempotent."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, Requests]] = {}
        self._used: dict[str, Counter[str]] = {}

    def used(self, node: str) -> Requests:
        """Amounts that accepted pods hold on a node."""
        return dict(self._used.get(node, {}))

    def hold(self, uid: str, node: str, requests: Requests) -> None:
        """Count a pod as accepted, whether it fits or not."""
        self.release(uid)
        self._held[uid] = (node, requests)
        self._used.setdefault(node, Counter()).update(requests)

    def release(self, uid: str) -> None:
        """Count a pod no more."""
        node, requests = self._held.pop(uid, ("", {}))
        if requests:
            self._used[node].subtract(requests)

    def admit(self, uid: str, node: str, requests: Requests, allocatable: Requests) -> Rejection | None:
        """Accept the pod, or say as a kubelet does (`OutOfcpu`, `OutOfpods` ...) what is short."""
        if uid in self._held:
            return None
        used = self.used(node)
        for resource, amount in sorted(requests.items()):
            capacity = allocatable.get(resource, 0)
            if used.get(resource, 0) + amount > capacity:
                return _rejection(resource, amount, used.get(resource, 0), capacity)
        self.hold(uid, node, requests)
        return None


def _rejection(resource: str, requested: int, used: int, capacity: int) -> Rejection:
    figures = ", ".join(
        f"{word}: {format_amount(resource, amount)}"
        for word, amount in (("requested", requested), ("used", used), ("capacity", capacity))
    )
    return Rejection(reason=f"OutOf{resource}", message=f"Node didn't have enough resource: {resource}, {figures}")
