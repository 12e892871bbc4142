"""Bad pods: ours and others', waiting, bound and finished."""

from typing import Any, Final

from gangline.contract.names import (
    GROUP_MIN_MEMBER_ANNOTATION,
    GROUP_NAME_ANNOTATION,
    LEGACY_POD_GROUP_LABEL,
)
from tests.support.bad_objects import (
    ABSENT,
    NAMESPACE,
    Event,
    Gets,
    LeftAlone,
    Logged,
    Manifest,
    NodeTakes,
    NodeTakesNothing,
    PodSays,
    Row,
    Runs,
    Server,
    annotated,
    asking,
    changed,
    group,
    member_of,
    node,
    on,
    owned_by,
    pod,
    replica_set,
)

MIB: Final = 1 << 20
MIRROR_POD_ANNOTATION: Final = "kubernetes.io/config.mirror"
ELSEWHERE: Final = "default-scheduler"
UNREAD: Final = "hold a pod that could not be read"


def one(id_: str, what: str, change: Any, *gets: Gets, server: Server = Server.REFUSES) -> Row:
    """One pod that differs in one thing from a pod that could run."""
    changes = change if isinstance(change, tuple) else (change,)
    return Row(id=id_, what=what, objects=(pod(id_, *changes),), gets=gets, server=server)


def unreadable(id_: str, what: str, change: Any, text: str, server: Server = Server.REFUSES) -> Row:
    """A pod of which some field has a type that it cannot have."""
    told = (Event("Pod", "PodUnreadable", text), Logged("scheduler", "Pod"), Logged("controller", "Pod"))
    return one(id_, what, change, *told, server=server)


def quantity(id_: str, value: object, text: str, *, server: Server = Server.REFUSES) -> Row:
    """A pod that asks for so much memory."""
    what = f"request `memory: {str(value)[:24]!r}`"
    return one(id_, what, asking(memory=value), PodSays("InvalidPod", text), server=server)


def min_member(id_: str, value: str, server: Server = Server.ACCEPTS) -> Row:
    """A pod of a shadow gang of so many."""
    what = f"annotation group-min-member `{value[:20]!r}`"
    change = (annotated({GROUP_MIN_MEMBER_ANNOTATION: value}), owned_by("ReplicaSet", id_, f"uid-{id_}"))
    return one(id_, what, change, PodSays("InvalidGangLink", "whole number"), server=server)


def named(id_: str, what: str, name: object, text: str, *, server: Server = Server.REFUSES) -> Row:
    """A pod that names a group that cannot be."""
    return one(id_, what, member_of(name), PodSays("InvalidGangLink", text), server=server)


def spec(**fields: Any) -> Manifest:
    """Change the spec."""
    return {"spec": fields}


def metadata(**fields: Any) -> Manifest:
    """Change the metadata."""
    return {"metadata": fields}


def node_affinity(*terms: Any) -> Manifest:
    """Require one of these terms of the node."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return spec(affinity={"nodeAffinity": required})


def expression(operator: str, *values: str, key: str = "pool") -> Manifest:
    """One requirement on the node's labels."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def container(number: int, **requests: Any) -> Manifest:
    """One of many containers."""
    return {"name": f"c{number}", "image": "pause", "resources": {"requests": requests}}


def bound(
    id_: str, what: str, change: Any, *gets: Gets, server: Server = Server.REFUSES, phase: str = "Running"
) -> Row:
    """A node of the row's own, and on it a pod that another scheduler has bound."""
    return Row(
        id=id_,
        what=what,
        objects=(node(id_), pod(id_, on(id_, phase, ELSEWHERE), change)),
        gets=gets,
        server=server,
    )


NOT_MATCHED: Final = PodSays("Unschedulable", "didn't match Pod's node affinity/selector")

TYPES: Final = (
    unreadable("pod-labels-number", "label with a number", metadata(labels={"a": 1}), "Expected `str`, got `int`"),
    unreadable("pod-labels-list", "labels are a list", metadata(labels=["a"]), "$.metadata.labels"),
    unreadable("pod-annotations-text", "annotations are a string", metadata(annotations="a"), "$.metadata.annotations"),
    unreadable("pod-annotation-number", "annotation with a number", annotated({"a": 3}), "$.metadata.annotations"),
    unreadable("pod-spec-text", "spec is a string", {"spec": "none"}, "$.spec"),
    unreadable("pod-spec-list", "spec is a list", {"spec": []}, "$.spec"),
    unreadable("pod-status-text", "status is a string", {"status": "fine"}, "$.status"),
    unreadable("pod-conditions-map", "conditions are a map", {"status": {"conditions": {"a": 1}}}, "$.status.conditions"),
    unreadable("pod-containers-numbers", "containers are numbers", spec(containers=[1, 2]), "$.spec.containers[0]"),
    unreadable("pod-containers-map", "containers are a map", spec(containers={"a": 1}), "$.spec.containers"),
    unreadable("pod-created-text", "creationTimestamp `yesterday`", metadata(creationTimestamp="yesterday"), "RFC3339"),
    unreadable("pod-created-year-0", "creationTimestamp in the year 0", metadata(creationTimestamp="0000-01-01T00:00:00Z"), "RFC3339", server=Server.OVERWRITES),
    unreadable("pod-deleted-text", "deletionTimestamp is a number", metadata(deletionTimestamp=5), "$.metadata.deletionTimestamp"),
    unreadable("pod-owners-text", "ownerReferences are a string", metadata(ownerReferences="me"), "$.metadata.ownerReferences"),
    unreadable("pod-owner-null", "an ownerReference is null", metadata(ownerReferences=[None]), "$.metadata.ownerReferences[0]"),
    unreadable("pod-owner-controller-text", "ownerReference with controller `yes`", metadata(ownerReferences=[{"kind": "Job", "controller": "yes"}]), "controller"),
    unreadable("pod-priority-text", "priority is a string", spec(priority="high"), "$.spec.priority"),
    unreadable("pod-priority-fraction", "priority 1.5", spec(priority=1.5), "$.spec.priority"),
    unreadable("pod-priority-2-63", "priority 2**63", spec(priority=2**63), "$.spec.priority"),
    unreadable("pod-generation-2-63", "generation 2**63", metadata(generation=2**63), "$.metadata.generation"),
    unreadable("pod-quantity-bool", "request `cpu: true`", asking(cpu=True), "requests"),
    unreadable("pod-quantity-map", "request `cpu: {}`", asking(cpu={}), "requests"),
    unreadable("pod-quantity-list", "request `cpu: [1]`", asking(cpu=[1]), "requests"),
    unreadable("pod-quantity-null", "request `cpu: null`", asking(cpu=None), "requests", server=Server.ACCEPTS),
    unreadable("pod-gates-texts", "schedulingGates are strings", spec(schedulingGates=["a"]), "$.spec.schedulingGates[0]"),
    unreadable("pod-tolerations-map", "tolerations are a map", spec(tolerations={"key": "a"}), "$.spec.tolerations"),
    unreadable("pod-affinity-text", "affinity is a string", spec(affinity="near"), "$.spec.affinity"),
    unreadable("pod-selector-null", "nodeSelector with a null", spec(nodeSelector={"pool": None}), "$.spec.nodeSelector", server=Server.ACCEPTS),
    unreadable("pod-port-text", "hostPort is a string", spec(containers=[{"name": "a", "ports": [{"hostPort": "80"}]}]), "hostPort"),
    unreadable("pod-label-group-number", "group label with a number", member_of(7), "$.metadata.labels"),
    unreadable("pod-uid-empty", "uid is empty", metadata(uid=""), "metadata.uid", server=Server.OVERWRITES),
    unreadable("pod-uid-null", "uid is null", metadata(uid=None), "$.metadata.uid", server=Server.OVERWRITES),
    unreadable("pod-uid-number", "uid is a number", metadata(uid=17), "$.metadata.uid"),
)  # fmt: skip

QUANTITIES: Final = (
    quantity("quantity-empty", "", "''"),
    quantity("quantity-huge-exponent", "1e999999999", "'1e999999999'"),
    quantity("quantity-negative", "-1", "cannot be negative: '-1'"),
    quantity("quantity-nan", "NaN", "'NaN'"),
    quantity("quantity-infinite", "Infinity", "'Infinity'"),
    quantity("quantity-10-40", "1" + "0" * 40, "does not fit in 64 bits", server=Server.ACCEPTS),
    quantity("quantity-number-1e40", 1e40, "does not fit in 64 bits", server=Server.ACCEPTS),
    quantity("quantity-10-exa", "10E", "does not fit in 64 bits", server=Server.ACCEPTS),
    quantity("quantity-space", "1.5Gi ", "'1.5Gi '", server=Server.ACCEPTS),
    quantity("quantity-hex", "0x10", "'0x10'"),
    quantity("quantity-comma", "1,5", "'1,5'"),
    quantity("quantity-two-suffixes", "1GiB", "'1GiB'"),
    quantity("quantity-arabic", "\u0663", "\u0663"),
    quantity("quantity-megabyte", "9" * MIB, "999...", server=Server.ACCEPTS),
    one(
        "quantity-sum",
        "requests that fit one by one and not in sum",
        spec(containers=[container(n, memory="9000000000000000000") for n in range(3)]),
        PodSays("InvalidPod", "in sum"),
        server=Server.ACCEPTS,
    ),
    one(
        "quantity-overhead-negative",
        "overhead `cpu: -5`",
        spec(overhead={"cpu": "-5"}),
        PodSays("InvalidPod", "cannot be negative: '-5'"),
    ),
    one(
        "quantity-pod-level",
        "pod-level request `cpu: lots`",
        spec(resources={"requests": {"cpu": "lots"}}),
        PodSays("InvalidPod", "'lots'"),
    ),
    one("quantity-float", "request `cpu: 0.0015`", asking(cpu=0.0015), Runs(), server=Server.ACCEPTS),
    one("quantity-unnamed", "request with an empty name", asking(**{"": "0"}), Runs()),
    one(
        "quantity-unnamed-resource",
        "request of a resource that nobody has, named with control characters",
        asking(**{"a\u0000\u202e\n": "1"}),
        PodSays("Unschedulable", "Insufficient a"),
    ),
)

LINKS: Final = (
    min_member("min-member-empty", ""),
    min_member("min-member-space", " 3"),
    min_member("min-member-arabic", "\u0663"),
    min_member("min-member-fraction", "3.0"),
    min_member("min-member-exponent", "1e3"),
    min_member("min-member-zero", "0"),
    min_member("min-member-negative", "-3"),
    min_member("min-member-plus", "+3"),
    min_member("min-member-underscore", "1_0"),
    min_member("min-member-2-31", str(2**31)),
    min_member("min-member-megabyte", "9" * MIB, Server.REFUSES),
    one(
        "min-member-no-owner",
        "annotation group-min-member on a pod without owner",
        annotated({GROUP_MIN_MEMBER_ANNOTATION: "3"}),
        PodSays("InvalidGangLink", "no controller"),
        server=Server.ACCEPTS,
    ),
    one(
        "min-member-2-31-minus-1",
        "annotation group-min-member 2147483647",
        (annotated({GROUP_MIN_MEMBER_ANNOTATION: str(2**31 - 1)}), owned_by("Job", "many", "uid-many")),
        PodSays("GangIncomplete", "2147483647"),
        server=Server.ACCEPTS,
    ),
    one(
        "labels-differ",
        "both group labels, which differ",
        (member_of("one"), metadata(labels={LEGACY_POD_GROUP_LABEL: "two"})),
        PodSays("InvalidGangLink", "says 'two'"),
        server=Server.ACCEPTS,
    ),
    one(
        "label-and-annotation-differ",
        "group label and group-name annotation, which differ",
        (member_of("one"), annotated({GROUP_NAME_ANNOTATION: "three"})),
        PodSays("InvalidGangLink", "says 'three'"),
        server=Server.ACCEPTS,
    ),
    named("group-300-characters", "group name of 300 characters", "g" * 300, "'ggg"),
    named("group-name-megabyte", "group name of 1 MiB", "g" * MIB, "'ggg"),
    named("group-unicode", "group name in Chinese", "\u5e2e\u6d3e", "\u5e2e\u6d3e"),
    named("group-right-to-left", "group name with a right-to-left override", "a\u202eb", "cannot be the name"),
    named("group-nul", "group name with NUL", "a\u0000b", "cannot be the name"),
    named("group-newline", "group name with a newline at its end", "team\n", "cannot be the name"),
    named("group-path", "group name `../../pods`", "../../pods", "cannot be the name"),
    named("group-upper-case", "group name in upper case", "TEAM", "cannot be the name", server=Server.ACCEPTS),
    one("group-empty", "empty group label", member_of(""), Runs(), server=Server.ACCEPTS),
    one(
        "group-annotation-path",
        "group-name annotation `a/b`",
        annotated({GROUP_NAME_ANNOTATION: "a/b"}),
        PodSays("InvalidGangLink", "'a/b'"),
        server=Server.ACCEPTS,
    ),
)

RULES: Final = (
    one("affinity-unknown-operator", "node affinity with operator `Like`", node_affinity(expression("Like", "healthy")), NOT_MATCHED),
    one("affinity-not-in-nothing", "node affinity NotIn without values", node_affinity(expression("NotIn")), NOT_MATCHED),
    one("affinity-gt-text", "node affinity Gt with `many`", node_affinity(expression("Gt", "many")), NOT_MATCHED, server=Server.ACCEPTS),
    one("affinity-exists-values", "node affinity Exists with values", node_affinity(expression("Exists", "healthy")), NOT_MATCHED),
    one("affinity-unknown-field", "node affinity on the field `spec.podCIDR`", node_affinity({"matchFields": [{"key": "spec.podCIDR", "operator": "In", "values": ["a"]}]}), NOT_MATCHED),
    one("affinity-empty-term", "node affinity with an empty term", node_affinity({}), NOT_MATCHED, server=Server.ACCEPTS),
    one("affinity-no-terms", "node affinity without terms", node_affinity(), NOT_MATCHED),
    one("affinity-null", "node affinity null", spec(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": None}}), Runs(), server=Server.ACCEPTS),
    one("toleration-unknown-operator", "toleration with operator `Perhaps`", spec(tolerations=[{"key": "a", "operator": "Perhaps"}]), Runs()),
    one("toleration-gt-text", "toleration Gt with `many`", spec(tolerations=[{"key": "a", "operator": "Gt", "value": "many"}]), Runs()),
    one("port-70000", "hostPort 70000", spec(containers=[{"name": "a", "ports": [{"hostPort": 70000}]}]), Runs()),
    one("port-negative", "hostPort -1", spec(containers=[{"name": "a", "ports": [{"hostPort": -1, "protocol": "QUIC"}]}]), Runs()),
    one("pod-affinity-empty-item", "inter-pod affinity with an empty term", spec(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}), PodSays("UnsupportedRequirement", "inter-pod affinity")),
    one("spread-unknown", "topology spread with whenUnsatisfiable `Sometimes`", spec(topologySpreadConstraints=[{"whenUnsatisfiable": "Sometimes"}]), PodSays("UnsupportedRequirement", "topology spread")),
    one("volume-null", "volumes with null sources", spec(volumes=[{"name": "a", "persistentVolumeClaim": None}]), Runs(), server=Server.ACCEPTS),
)  # fmt: skip

SHAPES: Final = (
    one(
        "pod-nulls",
        "null in every field that may be left out",
        (
            metadata(labels=None, annotations=None, ownerReferences=None, creationTimestamp=None, deletionTimestamp=None, generation=None),
            spec(tolerations=None, affinity=None, containers=None, initContainers=None, overhead=None, volumes=None, schedulingGates=None, priority=None),
            {"status": None},
        ),
        Runs(),
    ),
    one("pod-no-containers", "no containers", spec(containers=[]), Runs()),
    one("pod-empty-container", "a container without anything", spec(containers=[{}]), Runs()),
    one("pod-1000-containers", "1,000 containers", spec(containers=[container(n, cpu="1m") for n in range(1000)]), Runs(), server=Server.ACCEPTS),
    one("pod-no-spec", "no spec", {"spec": ABSENT}, LeftAlone()),
    one("pod-null-spec", "spec null", {"spec": None}, LeftAlone()),
    one("pod-no-status", "no status", {"status": ABSENT}, Runs(), server=Server.OVERWRITES),
    one("pod-created-never", "no creationTimestamp", metadata(creationTimestamp=None), Runs(), server=Server.OVERWRITES),
    one("pod-created-year-1", "created in the year 1", metadata(creationTimestamp="0001-01-01T00:00:00Z"), Runs(), server=Server.OVERWRITES),
    one("pod-created-year-9999", "created in the year 9999", metadata(creationTimestamp="9999-12-31T23:59:59-12:00"), Runs(), server=Server.OVERWRITES),
    one("pod-deleted-year-1", "deleted in the year 1", metadata(deletionTimestamp="0001-01-01T00:00:00Z"), LeftAlone(), server=Server.OVERWRITES),
    one("pod-deleted-year-9999", "to be deleted in the year 9999", metadata(deletionTimestamp="9999-12-31T23:59:59Z"), LeftAlone(), server=Server.OVERWRITES),
    one("pod-phase-unknown", "phase `Melting`", {"status": {"phase": "Melting"}}, Runs(), server=Server.ACCEPTS),
    one("pod-priority-low", "priority -2**63", spec(priority=-(2**63)), Runs()),
    one("pod-priority-high", "priority 2**63 - 1", spec(priority=2**63 - 1), Runs()),
    one("pod-gate-empty", "schedulingGates with an empty object", spec(schedulingGates=[{}]), LeftAlone()),
    one("pod-megabyte", "1 MiB of annotation", annotated({"a": "x" * MIB}), Runs()),
    one("pod-100000-labels", "100,000 labels", metadata(labels={f"l{n}": "" for n in range(100_000)}), Runs(), server=Server.ACCEPTS),
    one("pod-5000-owners", "5,000 ownerReferences", metadata(ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": f"o{n}", "uid": f"u{n}"} for n in range(5000)]), Runs(), server=Server.ACCEPTS),
    one("pod-own-owner", "a pod that owns itself", (metadata(uid="uid-of-itself"), owned_by("Pod", "pod-own-owner", "uid-of-itself")), Runs(), server=Server.ACCEPTS),
    one("pod-empty-owner", "a controller without kind, name and UID, and group-min-member 1", (owned_by("", "", ""), annotated({GROUP_MIN_MEMBER_ANNOTATION: "1"})), Runs()),
    one("pod-two-controllers", "two controllers", metadata(ownerReferences=[owned_by("Job", n, n)["metadata"]["ownerReferences"][0] for n in "ab"]), Runs()),
    one("pod-condition-bare", "a condition PodScheduled without reason", {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}, {}]}}, Runs(), server=Server.ACCEPTS),
    one("pod-mirror", "a static pod's mirror that waits", annotated({MIRROR_POD_ANNOTATION: "true"}), Runs()),
    Row(
        id="owner-cycle",
        what="two ReplicaSets that own each other, and a shadow gang of their pods",
        objects=(
            replica_set("owner-cycle-a", owned_by("ReplicaSet", "owner-cycle-b", "uid-owner-cycle-b")),
            replica_set("owner-cycle-b", owned_by("ReplicaSet", "owner-cycle-a", "uid-owner-cycle-a")),
            *(
                pod(f"owner-cycle-{n}", annotated({GROUP_MIN_MEMBER_ANNOTATION: "2"}), owned_by("ReplicaSet", "owner-cycle-a", "uid-owner-cycle-a"))
                for n in range(2)
            ),
        ),
        gets=(Runs("owner-cycle-0"), Runs("owner-cycle-1")),
        server=Server.ACCEPTS,
    ),
)  # fmt: skip


def renamed(id_: str, what: str, name: str, *gets: Gets) -> Row:
    """A pod with a name that no server would take."""
    return Row(id=id_, what=what, objects=(pod(name),), gets=gets, server=Server.REFUSES)


def nameless(id_: str, what: str, name: str, text: str) -> Row:
    """A pod that cannot be asked for by its name."""
    return renamed(id_, what, name, Event("Pod", "PodUnreadable", text, name), Logged("scheduler", "Pod", name))


NAMES: Final = (
    renamed("name-unicode", "pod name in Chinese", "\u5e2e\u6d3e", Runs("\u5e2e\u6d3e")),
    renamed("name-right-to-left", "pod name with a right-to-left override", "a\u202eb", Runs("a\u202eb")),
    renamed("name-nul", "pod name with NUL and a newline", "a\u0000\n", Runs("a\u0000\n")),
    renamed("name-query", "pod name `a?b=c#d&e`", "a?b=c#d&e", Runs("a?b=c#d&e")),
    renamed("name-300", "pod name of 300 characters", "n" * 300, Runs("n" * 300)),
    nameless("name-dots", "pod name `..`", "..", "'..'"),
    nameless("name-path", "pod name `../../../nodes`", "../../../nodes", "'../../../nodes'"),
    nameless("name-percent", "pod name `a%2fb`", "a%2fb", "'a%2fb'"),
    Row(
        id="name-missing",
        what="no metadata.name",
        objects=(pod("", metadata(name=ABSENT, uid="uid-name-missing")),),
        gets=(Logged("scheduler", "Pod", "(no name, UID uid-name-missing)"), Logged("controller", "Pod", "(no name, UID uid-name-missing)")),
        server=Server.REFUSES,
        key=f"{NAMESPACE}/name-missing",
    ),
    Row(
        id="namespace-missing",
        what="no metadata.namespace",
        objects=(pod("namespace-missing", metadata(namespace=ABSENT)),),
        gets=(Logged("scheduler", "Pod", "namespace-missing"), Logged("controller", "Pod", "namespace-missing")),
        server=Server.OVERWRITES,
        key=f"{NAMESPACE}/namespace-missing",
    ),
    Row(
        id="metadata-empty",
        what="empty metadata",
        objects=(changed(pod(""), {"metadata": dict.fromkeys(("name", "namespace", "labels", "annotations"), ABSENT) | {"uid": ""}}),),
        gets=(Logged("scheduler", "Pod", "(no name, no UID)"), Logged("controller", "Pod", "(no name, no UID)")),
        server=Server.REFUSES,
        key=f"{NAMESPACE}/metadata-empty",
    ),
)  # fmt: skip

CLOSED: Final = NodeTakesNothing(UNREAD)

BOUND: Final = (
    bound("bound-quantity", "a bound pod that asks for `cpu: lots`", asking(cpu="lots"), CLOSED, Event("Pod", "PodUnreadable", "'lots'")),
    bound("bound-negative", "a bound pod that asks for `memory: -1`", asking(memory="-1"), CLOSED, Event("Pod", "PodUnreadable", "'-1'")),
    bound("bound-labels", "a bound pod with a label that is a number", metadata(labels={"a": 1}), CLOSED, Event("Pod", "PodUnreadable", "Expected `str`")),
    bound("bound-status-text", "a bound pod whose status is a string", {"status": "x"}, CLOSED, Event("Pod", "PodUnreadable", "$.status")),
    bound("bound-uid-empty", "a bound pod without UID", metadata(uid=""), CLOSED, Event("Pod", "PodUnreadable", "metadata.uid"), server=Server.OVERWRITES),
    bound("finished-quantity", "a finished pod that asks for `cpu: lots`", asking(cpu="lots"), NodeTakes(), phase="Succeeded"),
    bound("finished-labels", "a finished pod with a label that is a number", metadata(labels={"a": 1}), NodeTakes(), Logged("scheduler", "Pod"), phase="Failed"),
    bound("bound-phase", "a bound pod in phase `Melting`", {"status": {"phase": "Melting"}}, NodeTakes(), LeftAlone(), server=Server.ACCEPTS),
    bound("bound-ports", "a bound pod with hostPort -5 and 10**9", spec(containers=[{"ports": [{"hostPort": -5}, {"hostPort": 10**9}]}]), NodeTakes(), LeftAlone()),
    bound("bound-mirror", "a static pod's mirror that is bound", annotated({MIRROR_POD_ANNOTATION: "x"}), NodeTakes(), LeftAlone(), server=Server.ACCEPTS),
    bound("bound-resize", "a bound pod whose status says that `cpu: lots` is allocated", {"status": {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "lots"}}]}}, CLOSED, Event("Pod", "PodUnreadable", "'lots'"), server=Server.REFUSES),
    Row(
        id="bound-overflow",
        what="bound pods whose requests overflow 64 bits in sum",
        objects=(
            node("bound-overflow"),
            *(pod(f"bound-overflow-{n}", on("bound-overflow", "Running", ELSEWHERE), asking(memory=str(2**63 - 1))) for n in range(3)),
        ),
        gets=(NodeTakes(), LeftAlone("bound-overflow-0")),
        server=Server.ACCEPTS,
    ),
    Row(
        id="bound-nowhere",
        what="a pod on a node that does not exist",
        objects=(pod("bound-nowhere", on("no-such-node")),),
        gets=(LeftAlone(),),
        server=Server.ACCEPTS,
    ),
    Row(
        id="bound-bad-node-name",
        what="a pod on a node named with control characters",
        objects=(pod("bound-bad-node-name", on("a\u0000/../b\u202e")),),
        gets=(LeftAlone(),),
        server=Server.REFUSES,
    ),
    Row(
        id="same-uid",
        what="two pods with one UID",
        objects=(pod("same-uid-0", metadata(uid="uid-of-two")), pod("same-uid-1", metadata(uid="uid-of-two"))),
        gets=(Runs("same-uid-0"), Event("Pod", "PodUnreadable", "uid-of-two", "same-uid-1")),
        server=Server.OVERWRITES,
    ),
    Row(
        id="group-bad-member",
        what="a gang of two of which one asks for `cpu: lots`",
        objects=(
            group("group-bad-member", {"minMember": 2}),
            pod("group-bad-member-0", member_of("group-bad-member")),
            pod("group-bad-member-1", member_of("group-bad-member"), asking(cpu="lots")),
        ),
        gets=(PodSays("GangIncomplete", "'lots'", "group-bad-member-0"), PodSays("InvalidPod", "'lots'", "group-bad-member-1")),
        server=Server.REFUSES,
    ),
    Row(
        id="group-unreadable-member",
        what="a gang of two of which one cannot be read",
        objects=(
            group("group-unreadable-member", {"minMember": 2}),
            pod("group-unreadable-member-0", member_of("group-unreadable-member")),
            pod("group-unreadable-member-1", member_of("group-unreadable-member"), annotated({"a": 1})),
        ),
        gets=(PodSays("GangIncomplete", "waiting for 1 more", "group-unreadable-member-0"), Event("Pod", "PodUnreadable", "$.metadata.annotations", "group-unreadable-member-1")),
        server=Server.REFUSES,
    ),
)  # fmt: skip

ROWS: Final = (*TYPES, *QUANTITIES, *LINKS, *RULES, *SHAPES, *NAMES, *BOUND)
