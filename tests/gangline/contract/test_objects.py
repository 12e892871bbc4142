"""The Structs against whole objects as an API server sends them: a misnamed field would silently be its default."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from msgspec.inspect import Metadata, NoneType, StrType, StructType, Type, UnionType, VarTupleType
from msgspec.inspect import type_info as described

from gangline.contract.meta import ApiObject, Key, ObjectMeta, OwnerReference, epoch_seconds
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget, PriorityClass

METADATA = {
    "name": "train-0",
    "generateName": "train-",
    "namespace": "research",
    "uid": "5f0d4c0e-8a0f-4c55-9a39-0d4c1f3c9b1e",
    "resourceVersion": "81734",
    "generation": 2,
    "creationTimestamp": "2026-11-30T10:00:00Z",
    "deletionTimestamp": "2026-11-30T11:00:00Z",
    "deletionGracePeriodSeconds": 30,
    "labels": {"scheduling.x-k8s.io/pod-group": "train"},
    "annotations": {"example.com/note": "kept"},
    "finalizers": ["batch.kubernetes.io/job-tracking"],
    "managedFields": [{"manager": "kube-controller-manager", "fieldsV1": {"f:spec": {}}}],
    "ownerReferences": [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "train",
            "uid": "0c9d1f55-6d8f-4a52-8d52-1d1c5f1f2f60",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ],
}
CONDITION = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient cpu.",
    "lastProbeTime": None,
    "lastTransitionTime": "2026-11-30T10:00:01Z",
    "observedGeneration": 2,
}
RESOURCES = {
    "requests": {"cpu": "500m", "memory": "1Gi"},
    "limits": {"cpu": 1, "memory": "1Gi"},
    "claims": [{"name": "gpu"}],
}
CONTAINER = {
    "name": "main",
    "image": "registry.example.com/train:1",
    "resources": RESOURCES,
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}],
    "restartPolicy": "Always",
    "env": [{"name": "RANK", "value": "0"}],
}
REQUIREMENT = {"key": "zone", "operator": "In", "values": ["a"]}
POD_AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {}}],
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}],
}
CONTAINER_STATUS = {
    "name": "main",
    "ready": False,
    "restartCount": 0,
    "state": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-11-30T10:30:00Z"}},
    "allocatedResources": {"cpu": "500m"},
    "resources": RESOURCES,
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": METADATA,
    "spec": {
        "nodeName": "node-1",
        "schedulerName": "gangline",
        "priority": 100,
        "priorityClassName": "batch",
        "nodeSelector": {"disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [REQUIREMENT], "matchFields": [REQUIREMENT]}]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
            },
            "podAffinity": POD_AFFINITY,
            "podAntiAffinity": POD_AFFINITY,
        },
        "tolerations": [
            {"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule", "tolerationSeconds": 300}
        ],
        "containers": [CONTAINER],
        "initContainers": [CONTAINER],
        "overhead": {"cpu": "250m"},
        "resources": RESOURCES,
        "schedulingGates": [{"name": "example.com/quota"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": None}
        ],
        "volumes": [
            {
                "name": "data",
                "persistentVolumeClaim": {"claimName": "data-0"},
                "ephemeral": {"volumeClaimTemplate": {"spec": {}}},
            }
        ],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
    },
    "status": {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on resource: memory.",
        "nominatedNodeName": "node-2",
        "podIP": "10.1.0.7",
        "qosClass": "Burstable",
        "conditions": [CONDITION],
        "containerStatuses": [CONTAINER_STATUS],
        "initContainerStatuses": [CONTAINER_STATUS],
        "startTime": "2026-11-30T10:00:02Z",
        "allocatedResources": {"cpu": "500m"},
        "resources": RESOURCES,
    },
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": METADATA,
    "spec": {
        "podCIDR": "10.1.0.0/24",
        "providerID": "kind://node-1",
        "unschedulable": True,
        "taints": [{"key": "gpu", "value": "a100", "effect": "NoSchedule", "timeAdded": None}],
    },
    "status": {
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "allocatable": {"cpu": "3920m", "memory": "15Gi", "pods": "110"},
        "conditions": [CONDITION],
        "nodeInfo": {"kubeletVersion": "v1.37.2"},
    },
}
POD_GROUP = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": METADATA,
    "spec": {
        "minMember": 3,
        "minResources": {"cpu": 4, "memory": "1.5Gi"},
        "scheduleTimeoutSeconds": 10,
        "priorityClassName": "batch",
    },
    "status": {
        "phase": "Running",
        "occupiedBy": "research/train",
        "scheduled": 3,
        "running": 2,
        "succeeded": 4,
        "failed": 1,
        "scheduleStartTime": "2026-11-30T10:00:03Z",
        "conditions": [CONDITION],
        "observedGeneration": 2,
    },
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": METADATA,
    "spec": {
        "minAvailable": 3,
        "maxUnavailable": "50%",
        "selector": {
            "matchLabels": {"app": "train"},
            "matchExpressions": [{"key": "app", "operator": "In", "values": ["train"]}],
        },
    },
    "status": {"currentHealthy": 3, "conditions": [CONDITION]},
}
PRIORITY_CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": METADATA,
    "value": 1000,
    "globalDefault": False,
    "preemptionPolicy": "Never",
}

OBJECTS: list[Any] = [
    pytest.param(Pod, POD, id="Pod"),
    pytest.param(Node, NODE, id="Node"),
    pytest.param(PodGroup, POD_GROUP, id="PodGroup"),
    pytest.param(PodDisruptionBudget, BUDGET, id="PodDisruptionBudget"),
    pytest.param(PriorityClass, PRIORITY_CLASS, id="PriorityClass"),
]


def fields_left_at_default(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, Struct):
        for name, default in zip(value.__struct_fields__, value.__struct_defaults__, strict=True):
            found = getattr(value, name)
            if found == default:
                yield f"{path}.{name}"
            else:
                yield from fields_left_at_default(found, f"{path}.{name}")
    elif isinstance(value, tuple):
        for item in value:
            yield from fields_left_at_default(item, f"{path}[]")


def contained_in(encoded: Any, original: Any) -> bool:
    if isinstance(encoded, dict):
        return isinstance(original, dict) and all(
            key in original and contained_in(value, original[key]) for key, value in encoded.items()
        )
    if isinstance(encoded, list):
        return len(encoded) == len(original) and all(map(contained_in, encoded, original))
    return bool(encoded == original)


@pytest.mark.parametrize(("type_", "given"), OBJECTS)
def test_every_field_is_read_from_a_whole_object(type_: type[ApiObject], given: dict[str, Any]) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(given), type=type_)

    assert list(fields_left_at_default(decoded)) == []


@pytest.mark.parametrize(("type_", "given"), OBJECTS)
def test_what_is_read_is_written_back_under_the_same_names(type_: type[ApiObject], given: dict[str, Any]) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(given), type=type_)

    assert contained_in(msgspec.json.decode(msgspec.json.encode(decoded)), given)


def nullable_paths(type_: Type, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Walk to every field that a Go server can send as null: all but plain strings."""
    match type_:
        case Metadata():
            yield from nullable_paths(type_.type, path)
        case UnionType():
            for member in type_.types:
                if not isinstance(member, NoneType):
                    yield from nullable_paths(member, path)
        case VarTupleType():
            yield from nullable_paths(type_.item_type, (*path, 0))
        case StructType():
            for field in type_.fields:
                bare = field.type.type if isinstance(field.type, Metadata) else field.type
                if not isinstance(bare, StrType):
                    yield (*path, field.encode_name)
                yield from nullable_paths(field.type, (*path, field.encode_name))
        case _:
            return


def holding_null(path: tuple[str | int, ...]) -> Any:
    if not path:
        return None
    first, *rest = path
    inner = holding_null(tuple(rest))
    return [inner] if isinstance(first, int) else {first: inner}


NULLS = [
    pytest.param(type_, path, id=".".join([type_.__name__, *map(str, path)]))
    for type_ in (Pod, Node, PodGroup, PodDisruptionBudget, PriorityClass)
    for path in nullable_paths(described(type_))
]


@pytest.mark.parametrize(("type_", "path"), NULLS)
def test_null_is_read_as_absent(type_: type[ApiObject], path: tuple[str | int, ...]) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(holding_null(path)), type=type_)

    assert isinstance(decoded.metadata, ObjectMeta)
    assert decoded.metadata.creation_timestamp is None


def test_null_metadata_spec_and_status_are_their_defaults() -> None:
    assert msgspec.json.decode(b'{"metadata": null, "spec": null, "status": null}', type=Pod) == Pod()
    assert msgspec.convert({"metadata": None, "spec": None, "status": None}, PodGroup) == PodGroup()


def test_an_object_is_not_made_of_something_else() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"spec": []}', type=PodGroup)


def test_key_and_controller() -> None:
    metadata = ObjectMeta(
        name="a",
        namespace="ns",
        owner_references=(
            OwnerReference(name="watcher"),
            OwnerReference(name="other", controller=False),
            OwnerReference(name="owner", controller=True),
        ),
    )

    assert metadata.key == Key("ns", "a")
    assert [str(metadata.key), str(Key("", "node"))] == ["ns/a", "node"]
    assert metadata.controller == OwnerReference(name="owner", controller=True)
    assert ObjectMeta().controller is None


def test_seconds_since_the_epoch() -> None:
    assert epoch_seconds(datetime(1970, 1, 1, 0, 1, tzinfo=timezone(timedelta(hours=1)))) == 60 - 3600
    assert epoch_seconds(datetime(1970, 1, 1, 0, 1)) == 60  # noqa: DTZ001 - a time without a zone is the case
    assert epoch_seconds(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) < 0


def test_the_null_table_covers_the_whole_tree() -> None:
    assert len(NULLS) > 100


def test_fields_that_nobody_reads_cannot_make_a_pod_unreadable() -> None:
    odd: dict[str, object] = {
        "spec": {
            "priorityClassName": 7,
            "containers": [{"name": "a", "resources": {"limits": "many", "claims": {"name": "gpu"}}}],
            "topologySpreadConstraints": [{"topologyKey": ["zone"], "whenUnsatisfiable": "ScheduleAnyway"}],
            "volumes": [{"name": 1, "persistentVolumeClaim": {"claimName": None}}],
        },
        "status": {
            "message": {},
            "nominatedNodeName": 1,
            "containerStatuses": [{"name": "a", "state": {"terminated": {"reason": 137}}}],
        },
    }

    pod = msgspec.json.decode(msgspec.json.encode(odd), type=Pod)

    assert [volume.persistent_volume_claim is not None for volume in pod.spec.volumes or ()] == [True]
