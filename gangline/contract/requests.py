"""What a pod asks of a node and what a node has to give, as exact integers.

CPU is counted in milli-units, everything else in whole units (bytes, devices, pods). The formulas are those
of kube-scheduler's NodeResourcesFit and NodePorts.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from gangline.contract.node import Node
from gangline.contract.pod import Container, ContainerStatus, Pod, Quantity
from gangline.contract.quantity import INT64_MAX, QuantityError, parse_milli, parse_units

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - the wildcard of hostIP, nothing listens here

Amounts = dict[str, int]
_RequestsOf = Callable[[Container], Mapping[str, Quantity] | None]


class HostPort(Struct, frozen=True, order=True):
    """A port of the node that a pod takes for itself."""

    address: str
    protocol: str
    port: int

    def conflicts_with(self, other: "HostPort") -> bool:
        """Tell whether both cannot be on one node: `0.0.0.0` meets every address (kube-scheduler NodePorts)."""
        same_port = self.port == other.port and self.protocol == other.protocol
        return same_port and (self.address == other.address or ANY_ADDRESS in (self.address, other.address))


def amount_of(resource_name: str, quantity: Quantity) -> int:
    """Read a quantity in the unit of its resource: milli for cpu, whole units for all others. Raises QuantityError."""
    try:
        return parse_milli(quantity) if resource_name == "cpu" else parse_units(quantity)
    except QuantityError as error:
        raise QuantityError(f"{resource_name}: {error}") from error


def allocatable(node: Node) -> Amounts:
    """Return what a node has to give, by resource. Raises QuantityError."""
    quantities = node.status.allocatable or {}
    return {name: amount_of(name, quantity) for name, quantity in quantities.items()}


def pod_requests(pod: Pod) -> Amounts:
    """Return what a pod takes from its node, by resource: always `pods: 1`, nothing that is 0.

    A pod that has a node counts the largest of what its spec asks, what was allocated and what is in force
    (in-place resize). Raises QuantityError for a request that is malformed, negative, or too large in sum.
    """
    total = _total(pod, _spec_requests)
    if pod.spec.node_name:
        total = _with_resize(pod, total)
    _add(total, _amounts(pod.spec.overhead))
    total["pods"] = 1
    too_large = next((name for name, amount in total.items() if amount > INT64_MAX), None)
    if too_large is not None:
        raise QuantityError(f"{too_large}: the pod's requests do not fit in 64 bits in sum: ask for less")
    return {name: amount for name, amount in total.items() if amount}


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Host ports of containers and sidecars, sorted, each once."""
    sidecars = (container for container in pod.spec.init_containers or () if _is_sidecar(container))
    ports = {
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*(pod.spec.containers or ()), *sidecars)
        for port in container.ports or ()
        if port.host_port
    }
    return tuple(sorted(ports))


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _spec_requests(container: Container) -> Mapping[str, Quantity] | None:
    return container.resources.requests if container.resources else None


def _total(pod: Pod, requests_of: _RequestsOf, pod_level: Mapping[str, Quantity] | None = None) -> Amounts:
    """Sum containers and sidecars, or the largest init step where that is more; pod-level figures replace the sum."""
    total: Amounts = {}
    for container in pod.spec.containers or ():
        _add(total, _amounts(requests_of(container)))
    sidecars: Amounts = {}
    largest_step: Amounts = {}
    for container in pod.spec.init_containers or ():
        if _is_sidecar(container):
            step = _amounts(requests_of(container))
            _add(total, step)
            _add(sidecars, step)
            _raise_to(largest_step, sidecars)
        else:
            step = _amounts(_spec_requests(container))
            _add(step, sidecars)
            _raise_to(largest_step, step)
    _raise_to(total, largest_step)
    if pod_level is None and pod.spec.resources is not None:
        pod_level = pod.spec.resources.requests
    total.update({name: amount for name, amount in _amounts(pod_level).items() if _has_pod_level(name)})
    return total


def _with_resize(pod: Pod, spec_total: Amounts) -> Amounts:
    """Widen the spec's total by what the kubelet has allocated and what is in force, without overhead."""
    statuses = {
        status.name: status
        for status in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
    }
    pod_allocated, pod_actual = _pod_level_status(pod)
    containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    is_settled = all(_is_as_asked(container, statuses.get(container.name)) for container in containers)
    if is_settled and pod_allocated is None:
        return spec_total
    total: Amounts = {} if _is_resize_infeasible(pod) else spec_total
    _raise_to(total, _total(pod, _from_status(statuses, _allocated_requests), pod_allocated))
    _raise_to(total, _total(pod, _from_status(statuses, _actual_requests), pod_actual))
    return total


def _is_as_asked(container: Container, status: ContainerStatus | None) -> bool:
    """Tell, without reading a quantity, that a container was given just what it asks: nearly all are, nearly always."""
    if status is None:
        return True
    asked = _spec_requests(container)
    return all(given is None or given == asked for given in (_allocated_requests(status), _actual_requests(status)))


def _pod_level_status(pod: Pod) -> tuple[Mapping[str, Quantity] | None, Mapping[str, Quantity] | None]:
    """Pod-level totals of the status, overhead taken off; only meaningful where both exist."""
    allocated, actual = pod.status.allocated_resources, pod.status.resources
    if allocated is None or actual is None or actual.requests is None:
        return None, None
    return _without_overhead(pod, allocated), _without_overhead(pod, actual.requests)


def _without_overhead(pod: Pod, quantities: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    overhead = _amounts(pod.spec.overhead)
    amounts = {name: max(amount - overhead.get(name, 0), 0) for name, amount in _amounts(quantities).items()}
    return {name: f"{amount}m" if name == "cpu" else amount for name, amount in amounts.items()}


def _is_resize_infeasible(pod: Pod) -> bool:
    return any(
        condition.type == "PodResizePending" and condition.status == "True" and condition.reason == "Infeasible"
        for condition in pod.status.conditions or ()
    )


def _allocated_requests(status: ContainerStatus) -> Mapping[str, Quantity] | None:
    return status.allocated_resources


def _actual_requests(status: ContainerStatus) -> Mapping[str, Quantity] | None:
    return status.resources.requests if status.resources else None


def _from_status(
    statuses: Mapping[str, ContainerStatus], part: Callable[[ContainerStatus], Mapping[str, Quantity] | None]
) -> _RequestsOf:
    """Read one part of a container's status, or its spec where the status is silent."""

    def requests_of(container: Container) -> Mapping[str, Quantity] | None:
        status = statuses.get(container.name)
        found = part(status) if status is not None else None
        return found if found is not None else _spec_requests(container)

    return requests_of


def _has_pod_level(resource_name: str) -> bool:
    return resource_name in ("cpu", "memory") or resource_name.startswith("hugepages-")


def _amounts(quantities: Mapping[str, Quantity] | None) -> Amounts:
    amounts = {name: amount_of(name, quantity) for name, quantity in (quantities or {}).items()}
    negative = next((name for name, amount in amounts.items() if amount < 0), None)
    if negative is not None:
        raise QuantityError(f"{negative}: a request cannot be negative: {(quantities or {})[negative]!r}")
    return amounts


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = max(total.get(name, 0), amount)
