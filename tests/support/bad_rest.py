"""Bad nodes, PodGroups, PriorityClasses and PodDisruptionBudgets."""

from typing import Any, Final

from tests.support.bad_objects import (
    ABSENT,
    Event,
    Gets,
    GroupShows,
    LeftAlone,
    Logged,
    Manifest,
    NodeTakes,
    NodeTakesNothing,
    PodSays,
    Row,
    Runs,
    Server,
    asking,
    budget,
    group,
    labelled,
    member_of,
    node,
    on,
    owned_by,
    pod,
    priority_class,
)

MIB: Final = 1 << 20
UNMATCHED: Final = NodeTakesNothing("didn't match Pod's node affinity/selector")


def bad_node(id_: str, what: str, change: Manifest, *gets: Gets, server: Server = Server.REFUSES) -> Row:
    """One node that differs in one thing from a node with room."""
    return Row(id=id_, what=what, objects=(node(id_, change),), gets=gets, server=server)


def allocatable(amounts: Any) -> Manifest:
    """Change what the node has to give."""
    return {"status": {"allocatable": amounts}}


def unread_node(
    id_: str, what: str, change: Manifest, text: str, *, counted: bool = True, server: Server = Server.REFUSES
) -> Row:
    """A node that cannot be read, and is not used."""
    told = (Event("Node", "NodeUnreadable", text), UNMATCHED, *((Logged("scheduler", "Node"),) if counted else ()))
    return bad_node(id_, what, change, *told, server=server)


def amount(id_: str, value: Any, text: str, *, counted: bool = False, server: Server = Server.REFUSES) -> Row:
    """A node with so much memory."""
    return unread_node(
        id_, f"node with `memory: {value!r}`", allocatable({"memory": value}), text, counted=counted, server=server
    )


NODES: Final = (
    bad_node("node-no-allocatable", "node without allocatable", {"status": {"allocatable": ABSENT}}, NodeTakesNothing("Too many pods"), server=Server.ACCEPTS),
    bad_node("node-no-status", "node without status", {"status": ABSENT}, NodeTakesNothing("Too many pods"), server=Server.ACCEPTS),
    bad_node("node-null", "node with null for spec and status", {"spec": None, "status": None}, NodeTakesNothing("Too many pods"), server=Server.ACCEPTS),
    bad_node("node-negative", "node with `cpu: -4`", allocatable({"cpu": "-4"}), NodeTakesNothing("Insufficient cpu")),
    amount("node-garbage", "lots", "'lots'"),
    amount("node-huge", "1e30", "does not fit in 64 bits", server=Server.ACCEPTS),
    amount("node-10-40", "1" + "0" * 40, "does not fit in 64 bits", server=Server.ACCEPTS),
    amount("node-bool", True, "allocatable", counted=True),
    unread_node("node-status-text", "node whose status is a string", {"status": "ready"}, "$.status"),
    unread_node("node-spec-list", "node whose spec is a list", {"spec": []}, "$.spec"),
    unread_node("node-taints-text", "node whose taints are a string", {"spec": {"taints": "none"}}, "$.spec.taints"),
    unread_node("node-taint-null", "node with a taint without key and effect null", {"spec": {"taints": [{"effect": None}]}}, "effect"),
    unread_node("node-labels-number", "node with a label that is a number", labelled(a=1), "$.metadata.labels"),
    unread_node("node-unschedulable-text", "node with unschedulable `yes`", {"spec": {"unschedulable": "yes"}}, "unschedulable"),
    unread_node("node-uid-empty", "node without UID", {"metadata": {"uid": ""}}, "metadata.uid", server=Server.OVERWRITES),
    bad_node("node-taint-effect", "node with a taint of effect `Sometimes`", {"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}}, NodeTakes()),
    bad_node("node-taint-bare", "node with a taint without key", {"spec": {"taints": [{"effect": "NoSchedule"}]}}, NodeTakesNothing("untolerated taint")),
    bad_node("node-10-18", "node with 10**18 of an odd resource", allocatable({"example.com/x\u202e": 10**18, "": 1}), NodeTakes(), server=Server.ACCEPTS),
    bad_node("node-10000-resources", "node with 10,000 kinds of resources", allocatable({f"example.com/r{n}": "1" for n in range(10_000)}), NodeTakes(), server=Server.ACCEPTS),
    bad_node("node-100000-labels", "node with 100,000 labels", {"metadata": {"labels": {f"l{n}": "" for n in range(100_000)}}}, NodeTakes(), server=Server.ACCEPTS),
    bad_node("node-megabyte", "node with 1 MiB of annotation", {"metadata": {"annotations": {"a": "x" * MIB}}}, NodeTakes()),
    bad_node("node-deleted-9999", "node to be deleted in the year 9999", {"metadata": {"deletionTimestamp": "9999-12-31T23:59:59Z"}}, NodeTakesNothing("being deleted"), server=Server.ACCEPTS),
    Row(id="node-unicode", what="node named in Chinese, with a right-to-left override", objects=(node("\u8282\u70b9\u202e"),), gets=(NodeTakes("\u8282\u70b9\u202e"),), server=Server.REFUSES),
    Row(
        id="node-turns-bad",
        what="a good node that gets a label that is a number",
        objects=(node("node-turns-bad"), node("node-turns-bad", labelled(a=1))),
        gets=(NodeTakes(), Event("Node", "NodeUnreadable", "what it said before stays in force")),
        server=Server.REFUSES,
    ),
    Row(
        id="nodes-swapped",
        what="two nodes that swap their UIDs",
        objects=(
            *(node(f"nodes-swapped-{n}", {"metadata": {"uid": f"uid-swapped-{n}"}}) for n in (0, 1)),
            *(node(f"nodes-swapped-{n}", {"metadata": {"uid": f"uid-swapped-{1 - n}"}}) for n in (0, 1)),
        ),
        gets=(NodeTakes("nodes-swapped-0"), NodeTakes("nodes-swapped-1")),
        server=Server.OVERWRITES,
    ),
)  # fmt: skip


def pods_of(name: str, count: int, *changes: Manifest) -> tuple[Manifest, ...]:
    """Pods of a group."""
    return tuple(pod(f"{name}-{number}", member_of(name), *changes) for number in range(count))


def works(id_: str, what: str, spec: Any, *, server: Server = Server.REFUSES, pods: int = 1, **more: Any) -> Row:
    """A PodGroup that is odd, and whose pods are placed."""
    return Row(
        id=id_,
        what=what,
        objects=(group(id_, spec, **more), *pods_of(id_, pods)),
        gets=(*(Runs(f"{id_}-{number}") for number in range(pods)), GroupShows("Scheduling", "QuorumReached")),
        server=server,
    )


def unread_group(id_: str, what: str, spec: Any, text: str, *, server: Server = Server.REFUSES, **more: Any) -> Row:
    """A PodGroup that cannot be read, and whose pod waits."""
    return Row(
        id=id_,
        what=what,
        objects=(group(id_, spec, **more), *pods_of(id_, 1)),
        gets=(
            PodSays("PodGroupInvalid", text, f"{id_}-0"),
            Event("PodGroup", "PodGroupInvalid", "its status stays as it is"),
            Logged("scheduler", "PodGroup"),
            Logged("controller", "PodGroup"),
        ),
        server=server,
    )


def invalid_group(id_: str, what: str, spec: Any, text: str, *, server: Server) -> Row:
    """A PodGroup that can be read and not be used."""
    return Row(
        id=id_,
        what=what,
        objects=(group(id_, spec), *pods_of(id_, 1)),
        gets=(
            PodSays("PodGroupInvalid", text, f"{id_}-0"),
            Event("PodGroup", "PodGroupInvalid", text),
            GroupShows("Scheduling", "PodGroupInvalid", text),
        ),
        server=server,
    )


def incomplete(id_: str, what: str, spec: Any, text: str, *, server: Server = Server.ACCEPTS) -> Row:
    """A PodGroup that asks for more than there will ever be."""
    return Row(
        id=id_,
        what=what,
        objects=(group(id_, spec), *pods_of(id_, 1)),
        gets=(PodSays("GangIncomplete", text, f"{id_}-0"), GroupShows("Pending", "GangIncomplete", text)),
        server=server,
    )


def status(**fields: Any) -> Manifest:
    """A status that somebody has left."""
    return {"status": fields}


MIN: Final = "$.spec.minMember"

GROUPS: Final = (
    works("min-0", "minMember 0", {"minMember": 0}),
    works("min-negative", "minMember -1", {"minMember": -1}),
    works("min-null", "minMember null", {"minMember": None}, server=Server.ACCEPTS),
    incomplete("min-2-31", "minMember 2**31", {"minMember": 2**31}, "2147483648", server=Server.REFUSES),
    incomplete("min-2-31-minus-1", "minMember 2**31 - 1", {"minMember": 2**31 - 1}, "2147483647"),
    incomplete("min-2-63-minus-1", "minMember 2**63 - 1", {"minMember": 2**63 - 1}, "9223372036854775807", server=Server.REFUSES),
    unread_group("min-2-63", "minMember 2**63", {"minMember": 2**63}, MIN),
    unread_group("min-text", 'minMember `"3"`', {"minMember": "3"}, MIN),
    unread_group("min-fraction", "minMember 1.5", {"minMember": 1.5}, MIN),
    unread_group("min-1e40", "minMember 1e40", {"minMember": 1e40}, MIN),
    unread_group("min-true", "minMember true", {"minMember": True}, MIN),
    unread_group("min-list", "minMember []", {"minMember": []}, MIN),
    unread_group("group-spec-text", "spec is a string", "three", "$.spec"),
    unread_group("group-spec-list", "spec is a list", [], "$.spec"),
    unread_group("group-status-text", "status is a string", {}, "$.status", status="x", server=Server.REFUSES_STATUS),
    unread_group("group-conditions-text", "conditions are a string", {}, "$.status.conditions", **status(conditions="x"), server=Server.REFUSES_STATUS),
    unread_group("group-start-text", "scheduleStartTime `soon`", {}, "RFC3339", **status(scheduleStartTime="soon"), server=Server.REFUSES_STATUS),
    unread_group("group-phase-number", "phase is a number", {}, "$.status.phase", **status(phase=3), server=Server.REFUSES_STATUS),
    unread_group("group-labels-number", "a label that is a number", {}, "$.metadata.labels", metadata={"labels": {"a": 1}}),
    unread_group("group-timeout-text", "scheduleTimeoutSeconds `60`", {"scheduleTimeoutSeconds": "60"}, "scheduleTimeoutSeconds"),
    unread_group("group-class-number", "priorityClassName is a number", {"priorityClassName": 5}, "priorityClassName"),
    unread_group("group-resources-text", "minResources are a string", {"minResources": "much"}, "minResources"),
    unread_group("group-resources-true", "minResources `cpu: true`", {"minResources": {"cpu": True}}, "minResources"),
    unread_group("group-uid-empty", "no UID", {}, "metadata.uid", metadata={"uid": ""}, server=Server.OVERWRITES),
    invalid_group("group-resources-garbage", "minResources `cpu: lots`", {"minResources": {"cpu": "lots"}}, "'lots'", server=Server.REFUSES),
    invalid_group("group-resources-1e40", "minResources `cpu: 1e40`", {"minResources": {"cpu": "1e40"}}, "does not fit in 64 bits", server=Server.ACCEPTS),
    works("group-resources-negative", "minResources `cpu: -1`", {"minResources": {"cpu": "-1"}}, server=Server.ACCEPTS),
    works("group-resources-null", "minResources null", {"minResources": None}, server=Server.ACCEPTS),
    Row(id="group-no-spec", what="spec null", objects=(group("group-no-spec", None), *pods_of("group-no-spec", 1)), gets=(Runs("group-no-spec-0"),), server=Server.ACCEPTS),
    works("group-no-class", "a PriorityClass that does not exist", {"priorityClassName": "nobody"}, server=Server.ACCEPTS),
    works("group-timeout-negative", "scheduleTimeoutSeconds -5", {"scheduleTimeoutSeconds": -5}, server=Server.ACCEPTS),
    works("group-phase", "phase `Melting`", {}, server=Server.ACCEPTS, **status(phase="Melting")),
    works("group-counts", "counts -5 and 2**62", {}, server=Server.ACCEPTS, **status(running=-5, scheduled=2**62)),
    works("group-conditions", "1,000 conditions without a type", {}, **status(conditions=[{} for _ in range(1000)]), server=Server.REFUSES_STATUS),
    works("group-megabyte", "1 MiB of annotation", {}, metadata={"annotations": {"a": "x" * MIB}}),
    works("group-created-9999", "created in the year 9999", {}, server=Server.OVERWRITES, metadata={"creationTimestamp": "9999-12-31T23:59:59Z"}),
    works("group-created-1", "created in the year 1", {}, server=Server.OVERWRITES, metadata={"creationTimestamp": "0001-01-01T00:00:00Z"}),
    works("group-deleted-9999", "to be deleted in the year 9999", {}, server=Server.OVERWRITES, metadata={"deletionTimestamp": "9999-12-31T23:59:59Z", "finalizers": ["example.com/held"]}),
    Row(
        id="group-timeout-2-63",
        what="scheduleTimeoutSeconds 2**63 - 1 while a member is too big",
        objects=(
            group("group-timeout-2-63", {"scheduleTimeoutSeconds": 2**63 - 1}),
            *pods_of("group-timeout-2-63", 1, asking(cpu="9000")),
        ),
        gets=(PodSays("Unschedulable", "Insufficient cpu", "group-timeout-2-63-0"), GroupShows("Scheduling", "Unschedulable", "Insufficient cpu")),
        server=Server.REFUSES,
    ),
    Row(
        id="group-started-year-1",
        what="scheduleStartTime in the year 1 while a member is too big",
        objects=(group("group-started-year-1", {}, **status(scheduleStartTime="0001-01-01T00:00:00Z")), *pods_of("group-started-year-1", 1, asking(cpu="9000"))),
        gets=(Event("PodGroup", "Timeout", "not scheduled within 60 s"), GroupShows("Scheduling", "Unschedulable")),
        server=Server.ACCEPTS,
    ),
    Row(
        id="group-started-year-9999",
        what="scheduleStartTime in the year 9999 while a member is too big",
        objects=(group("group-started-year-9999", {}, **status(scheduleStartTime="9999-12-31T23:59:59-12:00")), *pods_of("group-started-year-9999", 1, asking(cpu="9000"))),
        gets=(GroupShows("Scheduling", "Unschedulable"),),
        server=Server.ACCEPTS,
    ),
    Row(
        id="group-upper",
        what="a PodGroup with a name in upper case, and a pod that names it",
        objects=(group("GROUP-UPPER", {}), pod("group-upper", member_of("GROUP-UPPER"))),
        gets=(PodSays("InvalidGangLink", "'GROUP-UPPER'"),),
        server=Server.REFUSES,
    ),
    Row(
        id="group-phase-of-pod",
        what="a member in phase `Melting` on a node that does not exist",
        objects=(group("group-phase-of-pod", {}), *pods_of("group-phase-of-pod", 1, on("no-such-node", "Melting"))),
        gets=(GroupShows("Scheduling", "QuorumReached"),),
        server=Server.ACCEPTS,
    ),
    Row(
        id="group-foreign",
        what="a member that names another scheduler with a name of 1 MiB",
        objects=(group("group-foreign", {}), pod("group-foreign-0", member_of("group-foreign")), pod("group-foreign-1", member_of("group-foreign"), {"spec": {"schedulerName": "s" * MIB}})),
        gets=(Runs("group-foreign-0"), LeftAlone("group-foreign-1"), GroupShows("Scheduling", "QuorumReached")),
        server=Server.ACCEPTS,
    ),
)  # fmt: skip


def bad_class(
    id_: str, what: str, value: Any, *changes: Manifest, read: bool = False, server: Server = Server.REFUSES
) -> Row:
    """A PriorityClass, a PodGroup that names it, and a pod of that."""
    return Row(
        id=id_,
        what=what,
        objects=(
            priority_class(id_, value, *changes),
            group(id_, {"priorityClassName": id_}),
            *pods_of(id_, 1),
        ),
        gets=(Runs(f"{id_}-0"), *(() if read else (Logged("scheduler", "PriorityClass"),))),
        server=server,
    )


CLASSES: Final = (
    bad_class("class-text", "PriorityClass of value `high`", "high"),
    bad_class("class-fraction", "PriorityClass of value 1.5", 1.5),
    bad_class("class-2-63", "PriorityClass of value 2**63", 2**63),
    bad_class("class-list", "PriorityClass of value []", []),
    bad_class("class-labels", "PriorityClass with a label that is a number", 5, labelled(a=1)),
    bad_class("class-null", "PriorityClass of value null", None, read=True, server=Server.ACCEPTS),
    bad_class("class-2-31", "PriorityClass of value 2**31", 2**31, read=True),
)  # fmt: skip


def pods_owned(name: str, count: int) -> tuple[Manifest, ...]:
    """Pods of one owner, with the label that budgets of the row select."""
    owner = owned_by("ReplicaSet", name, f"uid-of-{name}")
    return tuple(pod(f"{name}-{n}", owner, {"metadata": {"labels": {"app": name}}}) for n in range(count))


def selecting(name: str) -> Manifest:
    """A budget's selector."""
    return {"selector": {"matchLabels": {"app": name}}}


def no_gang(
    id_: str, what: str, spec: Any, *changes: Manifest, read: bool = True, server: Server = Server.REFUSES
) -> Row:
    """A budget that forms no gang: the one pod that there is runs."""
    whole = spec | selecting(id_) if isinstance(spec, dict) and "selector" not in spec else spec
    return Row(
        id=id_,
        what=what,
        objects=(budget(id_, whole, *changes), *pods_owned(id_, 1)),
        gets=(Runs(f"{id_}-0"), *(() if read else (Logged("scheduler", "PodDisruptionBudget"),))),
        server=server,
    )


BUDGETS: Final = (
    no_gang("budget-nothing", "PodDisruptionBudget with neither minAvailable nor maxUnavailable", {}, server=Server.ACCEPTS),
    no_gang("budget-null", "minAvailable null", {"minAvailable": None}, server=Server.ACCEPTS),
    no_gang("budget-percent", "minAvailable `50%`", {"minAvailable": "50%"}, server=Server.ACCEPTS),
    no_gang("budget-text", 'minAvailable `"3"`', {"minAvailable": "3"}),
    no_gang("budget-negative", "minAvailable -1", {"minAvailable": -1}),
    no_gang("budget-0", "minAvailable 0", {"minAvailable": 0}, server=Server.ACCEPTS),
    no_gang("budget-2-31", "minAvailable 2**31", {"minAvailable": 2**31}),
    no_gang("budget-2-63", "minAvailable 2**63", {"minAvailable": 2**63}),
    no_gang("budget-fraction", "minAvailable 1.5", {"minAvailable": 1.5}),
    no_gang("budget-true", "minAvailable true", {"minAvailable": True}),
    no_gang("budget-map", "minAvailable {}", {"minAvailable": {}}),
    no_gang("budget-max", "maxUnavailable 1", {"maxUnavailable": 1}, server=Server.ACCEPTS),
    no_gang("budget-max-text", "maxUnavailable `some`", {"maxUnavailable": "some"}),
    no_gang("budget-no-spec", "spec null", None, server=Server.ACCEPTS),
    no_gang("budget-spec-text", "spec is a string", "half", read=False),
    no_gang("budget-selector-text", "selector is a string", {"minAvailable": 2, "selector": "app"}, read=False),
    no_gang("budget-selector-number", "selector with a number", {"minAvailable": 2, "selector": {"matchLabels": {"app": 1}}}, read=False),
    no_gang("budget-selector-null", "selector null", {"minAvailable": 2, "selector": None}, server=Server.ACCEPTS),
    no_gang("budget-selector-operator", "selector with operator `Like`", {"minAvailable": 2, "selector": {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["a"]}]}}),
    no_gang("budget-labels", "a label that is a number", {"minAvailable": 2}, labelled(a=1), read=False),
    Row(
        id="budget-2",
        what="minAvailable 2 and one pod (kube-batch's oldest form, which does form a gang)",
        objects=(budget("budget-2", {"minAvailable": 2} | selecting("budget-2")), *pods_owned("budget-2", 1)),
        gets=(PodSays("GangIncomplete", "waiting for 1 more", "budget-2-0"),),
        server=Server.ACCEPTS,
    ),
    Row(
        id="budget-2-31-minus-1",
        what="minAvailable 2**31 - 1",
        objects=(budget("budget-2-31-minus-1", {"minAvailable": 2**31 - 1} | selecting("budget-2-31-minus-1")), *pods_owned("budget-2-31-minus-1", 1)),
        gets=(PodSays("GangIncomplete", "2147483647", "budget-2-31-minus-1-0"),),
        server=Server.ACCEPTS,
    ),
)  # fmt: skip

ROWS: Final = (*NODES, *GROUPS, *CLASSES)
