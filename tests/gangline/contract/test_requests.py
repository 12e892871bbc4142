from typing import Any

import msgspec
import pytest

from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.quantity import QuantityError
from gangline.contract.requests import HostPort, allocatable, amount_of, host_ports, pod_requests

Json = dict[str, Any]


def pod(spec: Json, status: Json | None = None) -> Pod:
    return msgspec.convert({"spec": spec, "status": status or {}}, Pod)


def asks(name: str = "main", *, sidecar: bool = False, **requests: str | int) -> Json:
    container: Json = {"name": name, "resources": {"requests": requests}}
    return container | ({"restartPolicy": "Always"} if sidecar else {})


def status_of(name: str, allocated: Json | None, actual: Json | None) -> Json:
    return {
        "name": name,
        "allocatedResources": allocated,
        "resources": None if actual is None else {"requests": actual},
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {}, id="nothing at all"),
        pytest.param({"containers": [asks()]}, {}, id="no requests"),
        pytest.param({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}, {}, id="limits alone ask for nothing"),
        pytest.param({"containers": [asks(cpu="0")]}, {}, id="zero is left out"),
        pytest.param(
            {"containers": [asks(cpu="1500m", memory="1Gi"), asks("b", cpu=1, memory="1M")]},
            {"cpu": 2500, "memory": 2**30 + 10**6},
            id="containers add up",
        ),
        pytest.param(
            {"containers": [asks(cpu="1n"), asks("b", cpu="1n")]}, {"cpu": 2}, id="each request is rounded up"
        ),
        pytest.param(
            {"containers": [{"resources": {"requests": {"cpu": "1", "nvidia.com/gpu": 8, "hugepages-2Mi": "4Mi"}}}]},
            {"cpu": 1000, "nvidia.com/gpu": 8, "hugepages-2Mi": 2**22},
            id="extended resources",
        ),
        pytest.param(
            {"containers": [asks(cpu="1")], "initContainers": [asks("a", cpu="3"), asks("b", cpu="2")]},
            {"cpu": 3000},
            id="the largest init container",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="2", memory="1Mi")],
                "initContainers": [asks("a", cpu="1", memory="8Mi", gpu=1)],
            },
            {"cpu": 2000, "memory": 2**23, "gpu": 1},
            id="largest per resource",
        ),
        pytest.param(
            {"containers": [asks(cpu="2")], "initContainers": [asks("mesh", sidecar=True, cpu="1")]},
            {"cpu": 3000},
            id="a sidecar runs beside",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="1")],
                "initContainers": [asks("mesh", sidecar=True, cpu="1"), asks("late", cpu="4")],
            },
            {"cpu": 5000},
            id="an init container after a sidecar",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="1")],
                "initContainers": [asks("early", cpu="4"), asks("mesh", sidecar=True, cpu="1")],
            },
            {"cpu": 4000},
            id="an init container before a sidecar",
        ),
        pytest.param(
            {"containers": [asks(cpu="1")], "overhead": {"cpu": "250m", "memory": "64Mi"}},
            {"cpu": 1250, "memory": 2**26},
            id="overhead",
        ),
        pytest.param(
            {
                "containers": [asks(cpu="1", memory="1Gi", gpu=2)],
                "initContainers": [asks("a", cpu="9")],
                "resources": {"requests": {"cpu": "4", "hugepages-2Mi": "2Mi", "gpu": 7}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": 5000, "memory": 2**30, "hugepages-2Mi": 2**21, "gpu": 2},
            id="pod-level figures replace cpu, memory and huge pages, before overhead",
        ),
        pytest.param({"containers": [asks(pods=7)]}, {}, id="nobody asks for pods"),
    ],
)
def test_waiting_pod_asks_for(spec: Json, expected: dict[str, int]) -> None:
    assert pod_requests(pod(spec)) == {**expected, "pods": 1}


@pytest.mark.parametrize(
    ("node_name", "status", "cpu"),
    [
        pytest.param("n1", {}, 2000, id="no status: the spec"),
        pytest.param(
            "n1", {"containerStatuses": [status_of("main", {"cpu": "3"}, {"cpu": "1"})]}, 3000, id="shrinking"
        ),
        pytest.param("n1", {"containerStatuses": [status_of("main", {"cpu": "1"}, {"cpu": "4"})]}, 4000, id="in force"),
        pytest.param("n1", {"containerStatuses": [status_of("main", {"cpu": "1"}, None)]}, 2000, id="growing"),
        pytest.param("", {"containerStatuses": [status_of("main", {"cpu": "9"}, None)]}, 2000, id="without a node"),
        pytest.param("n1", {"containerStatuses": [status_of("other", {"cpu": "9"}, None)]}, 2000, id="other container"),
        pytest.param(
            "n1",
            {
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
                "containerStatuses": [status_of("main", {"cpu": "1"}, {"cpu": "1"})],
            },
            1000,
            id="infeasible: the spec does not count",
        ),
        pytest.param(
            "n1",
            {
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
                "containerStatuses": [status_of("main", {"cpu": "1"}, {"cpu": "1"})],
            },
            2000,
            id="deferred: the spec counts",
        ),
        pytest.param(
            "n1", {"allocatedResources": {"cpu": "6"}, "resources": {"requests": {"cpu": "5"}}}, 6000, id="pod level"
        ),
        pytest.param("n1", {"allocatedResources": {"cpu": "6"}}, 2000, id="pod level needs both"),
    ],
)
def test_running_pod_takes_the_largest_of_spec_allocated_and_actual(node_name: str, status: Json, cpu: int) -> None:
    running = pod({"nodeName": node_name, "containers": [asks(cpu="2")]}, status)

    assert pod_requests(running) == {"cpu": cpu, "pods": 1}


def test_resize_of_a_sidecar_counts() -> None:
    running = pod(
        {
            "nodeName": "n1",
            "containers": [asks(cpu="1")],
            "initContainers": [asks("mesh", sidecar=True, cpu="1"), asks("once", cpu="1")],
        },
        {
            "initContainerStatuses": [
                status_of("mesh", {"cpu": "3"}, {"cpu": "3"}),
                status_of("once", {"cpu": "50"}, {"cpu": "50"}),
            ]
        },
    )

    assert pod_requests(running) == {"cpu": 4000, "pods": 1}


def test_pod_level_status_is_compared_without_overhead_and_counts_it_once() -> None:
    running = pod(
        {
            "nodeName": "n1",
            "containers": [asks(cpu="1")],
            "resources": {"requests": {"cpu": "2"}},
            "overhead": {"cpu": "500m"},
        },
        {"allocatedResources": {"cpu": "3500m"}, "resources": {"requests": {"cpu": "2500m"}}},
    )

    assert pod_requests(running) == {"cpu": 3500, "pods": 1}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"containers": [asks(cpu="four")]}, "cpu: quantity 'four' is not a number", id="malformed"),
        pytest.param(
            {"containers": [asks(memory="-1Gi")]}, "memory: a request cannot be negative: '-1Gi'", id="negative"
        ),
        pytest.param({"overhead": {"cpu": "-1"}}, "cpu: a request cannot be negative", id="negative overhead"),
        pytest.param({"initContainers": [asks(gpu=-1)]}, "gpu: a request cannot be negative: -1", id="negative init"),
        pytest.param({"containers": [asks(memory="1e30")]}, "memory: quantity '1e30' does not fit", id="too large"),
        pytest.param(
            {"containers": [asks(memory="5Ei"), asks("b", memory="5Ei")]}, "memory: .* in sum", id="too large in sum"
        ),
    ],
)
def test_refuses_impossible_requests_by_resource(spec: Json, message: str) -> None:
    with pytest.raises(QuantityError, match=message):
        pod_requests(pod(spec))


def test_a_negative_part_is_not_hidden_by_others() -> None:
    with pytest.raises(QuantityError, match="negative"):
        pod_requests(pod({"containers": [asks(cpu="4"), asks("b", cpu="-1")]}))


def test_node_gives_what_is_allocatable() -> None:
    node = msgspec.convert(
        {"status": {"allocatable": {"cpu": "3920m", "memory": "15Gi", "pods": "110", "nvidia.com/gpu": 0}}}, Node
    )

    assert allocatable(node) == {"cpu": 3920, "memory": 15 * 2**30, "pods": 110, "nvidia.com/gpu": 0}
    assert allocatable(Node()) == {}


def test_node_with_a_malformed_quantity_is_refused_by_resource() -> None:
    node = msgspec.convert({"status": {"allocatable": {"cpu": "many"}}}, Node)

    with pytest.raises(QuantityError, match="cpu: quantity 'many'"):
        allocatable(node)


def test_cpu_is_milli_and_all_else_whole() -> None:
    assert [amount_of(name, "1500m") for name in ("cpu", "memory", "nvidia.com/gpu")] == [1500, 2, 2]


def test_host_ports_of_containers_and_sidecars() -> None:
    ported = pod(
        {
            "containers": [{"ports": [{"hostPort": 80}, {"containerPort": 8080}, {"hostPort": 0}]}],
            "initContainers": [
                {"restartPolicy": "Always", "ports": [{"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]},
                {"ports": [{"hostPort": 99}]},
                {"restartPolicy": "Always", "ports": [{"hostPort": 80, "hostIP": ""}]},
            ],
        }
    )

    assert host_ports(ported) == (HostPort("0.0.0.0", "TCP", 80), HostPort("10.0.0.1", "UDP", 53))
    assert host_ports(Pod()) == ()


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        pytest.param(HostPort("0.0.0.0", "TCP", 80), HostPort("0.0.0.0", "TCP", 80), True, id="same"),
        pytest.param(HostPort("0.0.0.0", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), True, id="wildcard"),
        pytest.param(HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.2", "TCP", 80), False, id="two addresses"),
        pytest.param(HostPort("0.0.0.0", "TCP", 80), HostPort("0.0.0.0", "UDP", 80), False, id="two protocols"),
        pytest.param(HostPort("0.0.0.0", "TCP", 80), HostPort("0.0.0.0", "TCP", 81), False, id="two ports"),
        pytest.param(HostPort("::", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), False, id=":: is no wildcard"),
    ],
)
def test_host_ports_conflict(one: HostPort, other: HostPort, conflict: bool) -> None:
    assert one.conflicts_with(other) is conflict
    assert other.conflicts_with(one) is conflict
