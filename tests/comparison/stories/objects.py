"""All the other kinds: what they default, refuse and protect."""

from typing import Any, Final

from tests.comparison.stories.pods import RUNNING, container
from tests.comparison.story import TABLE, delete, get, patch, post, put, story, watch
from tests.support.rest import new_event, pod

EVENT: Final = new_event("{ns}", eventTime="2001-01-01T10:00:00.000000Z")
CORE_EVENT: Final = {
    "metadata": {"name": "core"},
    "involvedObject": {"kind": "Pod", "name": "a", "namespace": "{ns}"},
    "reason": "Scheduled",
    "message": "hello",
    "type": "Normal",
    "count": 2,
    "firstTimestamp": "2001-01-01T10:00:00Z",
    "lastTimestamp": "2001-01-01T10:00:00Z",
    "source": {"component": "kubelet", "host": "n1"},
}
LEASE: Final = {
    "metadata": {"name": "l"},
    "spec": {"holderIdentity": "a", "renewTime": "2001-01-01T10:00:00.000000Z", "leaseDurationSeconds": 15},
}
TEMPLATE: Final = {"metadata": {"labels": {"app": "a"}}, "spec": container()}
WORKLOAD: Final = {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {**EVENT, "metadata": {"name": name}, **fields}


def workload(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {**WORKLOAD, **fields}}


def job(name: str, restart: str | None = "Never", **fields: Any) -> dict[str, Any]:
    spec = {**container(), **({"restartPolicy": restart} if restart else {})}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": spec}, **fields}}


def cron_job(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"jobTemplate": {"spec": job("x")["spec"]}, **spec}}


def budget(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


MAPS: Final = story(
    "maps",
    post("create", "configmaps", {"metadata": {"name": "a"}, "data": {"k": "v"}}),
    put("put", "configmaps/a", {"metadata": {"name": "a"}, "data": {"k": "w"}}),
    put("put-same", "configmaps/a", {"metadata": {"name": "a"}, "data": {"k": "w"}}),
    put(
        "put-fresh",
        "configmaps/a",
        {"metadata": {"name": "a", "resourceVersion": "$put.metadata.resourceVersion"}, "data": {}},
    ),
    put(
        "put-stale",
        "configmaps/a",
        {"metadata": {"name": "a", "resourceVersion": "$put.metadata.resourceVersion"}, "data": {}},
    ),
    put("put-version-odd", "configmaps/a", {"metadata": {"name": "a", "resourceVersion": "x"}}),
    put("put-new", "configmaps/new", {"metadata": {"name": "new"}}),
    post("huge", "configmaps", {"metadata": {"name": "b"}, "data": {"k": "x" * 3_200_000}}),
    post("secret", "secrets", {"metadata": {"name": "s"}, "stringData": {"k": "v"}}),
    post("service", "services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "clusterIP": "None"}}),
    post("service-without-ports", "services", {"metadata": {"name": "t"}, "spec": {}}),
    delete("delete-service", "services/s"),
    post("account", "serviceaccounts", {"metadata": {"name": "robot"}}),
    delete("delete-account", "serviceaccounts/robot"),
    delete("delete-wrong-uid", "configmaps/a", {"preconditions": {"uid": "other"}}),
    delete("delete", "configmaps/a"),
    delete("delete-all", "configmaps"),
    post(
        "role",
        "clusterroles",
        {"metadata": {"name": "maps:role"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    ),
    delete("delete-role", "clusterroles/maps:role"),
    watch("watched", "configmaps", "create"),
)

EVENTS: Final = story(
    "events",
    post("create", "events", event("e")),
    get("as-core", "coreevents/e"),
    post("no-controller", "events", event("x", reportingController="")),
    post("no-instance", "events", event("x", reportingInstance="")),
    post("no-action", "events", event("x", action="")),
    post("no-reason", "events", event("x", reason="")),
    post("no-time", "events", event("x", eventTime=None)),
    post("no-type", "events", event("x", type="")),
    post("odd-type", "events", event("x", type="Odd")),
    post("long-note", "events", event("x", note="x" * 1025)),
    post("long-reason", "events", event("x", reason="x" * 129)),
    post("odd-controller", "events", event("x", reportingController="a b")),
    post("other-namespace", "events", event("x", regarding={"kind": "Pod", "name": "a", "namespace": "other"})),
    post("cluster-object", "events", event("x", regarding={"kind": "Node", "name": "n"})),
    post("deprecated", "events", event("x", deprecatedCount=3)),
    patch("series", "events/e", {"series": {"count": 2, "lastObservedTime": "2001-01-01T11:00:00.000000Z"}}),
    patch("note", "events/e", {"note": "changed"}),
    patch("type", "events/e", {"type": "Warning"}),
    post("core", "coreevents", CORE_EVENT),
    get("as-new", "events/core"),
    patch("core-count", "coreevents/core", {"count": 3, "message": "again"}),
    post("core-bare", "coreevents", {"metadata": {"name": "bare"}, "involvedObject": {"namespace": "{ns}"}}),
    post("core-elsewhere", "coreevents", {"metadata": {"name": "x"}, "involvedObject": {"namespace": "other"}}),
    get("table", "coreevents", accept=TABLE, fieldSelector="metadata.name=core"),
    get("new-table", "events", accept=TABLE, fieldSelector="metadata.name=e"),
    get("selected", "coreevents", fieldSelector="involvedObject.name=a,reason=Scheduled"),
    get("new-selected", "events", fieldSelector="regarding.name=a"),
    delete("delete", "events/e"),
    watch("watched", "events", "create"),
)

LEASES: Final = story(
    "leases",
    post("create", "leases", LEASE),
    post("duration-zero", "leases", {"metadata": {"name": "x"}, "spec": {"leaseDurationSeconds": 0}}),
    post("transitions", "leases", {"metadata": {"name": "x"}, "spec": {"leaseTransitions": -1}}),
    post("empty", "leases", {"metadata": {"name": "empty"}}),
    put("put-without-version", "leases/l", LEASE),
    put("put-stale", "leases/l", {**LEASE, "metadata": {"name": "l", "resourceVersion": "1"}}),
    put(
        "put",
        "leases/l",
        {
            "metadata": {"name": "l", "resourceVersion": "$create.metadata.resourceVersion"},
            "spec": {"holderIdentity": "b"},
        },
    ),
    put("put-new", "leases/new", {**LEASE, "metadata": {"name": "new"}}),
    patch("holder", "leases/l", {"spec": {"holderIdentity": "c"}}),
    get("table", "leases", accept=TABLE),
    delete("delete", "leases/l"),
)

NODES: Final = story(
    "nodes",
    post(
        "create",
        "nodes",
        {
            "metadata": {"name": "nodes-1", "labels": {"s": "nodes"}},
            "status": {"capacity": {"cpu": "4", "memory": "1024Mi"}},
        },
    ),
    get("bare-table", "nodes/nodes-1", accept=TABLE),
    patch(
        "ready", "nodes/nodes-1/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "strategic"
    ),
    patch(
        "allocatable",
        "nodes/nodes-1/status",
        {
            "status": {
                "allocatable": {"cpu": "3500m", "example.com/gpu": "8"},
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            }
        },
        "strategic",
    ),
    patch("cordon", "nodes/nodes-1", {"spec": {"unschedulable": True}}),
    patch("taint", "nodes/nodes-1", {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}),
    patch("taint-odd", "nodes/nodes-1", {"spec": {"taints": [{"key": "a", "effect": "Odd"}]}}),
    patch("quantity-odd", "nodes/nodes-1/status", {"status": {"allocatable": {"cpu": "much"}}}),
    get("table", "nodes", accept=TABLE, labelSelector="s=nodes"),
    get("unschedulable", "nodes", fieldSelector="spec.unschedulable=true", labelSelector="s=nodes"),
    post("bad-name", "nodes", {"metadata": {"name": "Bad_Name"}}),
    put("put", "nodes/nodes-1", {"metadata": {"name": "nodes-1", "labels": {"s": "nodes"}}}),
    delete("delete", "nodes/nodes-1"),
    watch("watched", "nodes", "create", labelSelector="s=nodes"),
)

CLASSES: Final = story(
    "classes",
    post("create", "priorityclasses", {"metadata": {"name": "classes-high"}, "value": 10}),
    post("pod", "pods", pod("p", priorityClassName="classes-high"), until=201),
    post("pod-with-value", "pods", pod("q", priorityClassName="classes-high", priority=10)),
    post("too-high", "priorityclasses", {"metadata": {"name": "classes-top"}, "value": 1_000_000_001}),
    post("system", "priorityclasses", {"metadata": {"name": "system-mine"}, "value": 1}),
    post("no-value", "priorityclasses", {"metadata": {"name": "classes-none"}}),
    post("policy-odd", "priorityclasses", {"metadata": {"name": "classes-odd"}, "value": 1, "preemptionPolicy": "Odd"}),
    post("never", "priorityclasses", {"metadata": {"name": "classes-never"}, "value": 1, "preemptionPolicy": "Never"}),
    post("pod-never", "pods", pod("r", priorityClassName="classes-never"), until=201),
    patch("value", "priorityclasses/classes-high", {"value": 11}),
    patch("description", "priorityclasses/classes-high", {"description": "high"}),
    get("system-critical", "priorityclasses/system-cluster-critical"),
    delete("delete", "priorityclasses/classes-high"),
)

NAMESPACES: Final = story(
    "namespaces",
    post("create", "namespaces", {"metadata": {"name": "namespaces-1"}}),
    post("bad-name", "namespaces", {"metadata": {"name": "a.b"}}),
    post("again", "namespaces", {"metadata": {"name": "namespaces-1"}}),
    patch("label", "namespaces/namespaces-1", {"metadata": {"labels": {"a": "b"}}}),
    get("table", "namespaces/namespaces-1", accept=TABLE),
    delete("delete", "namespaces/namespaces-1"),
    get("terminating", "namespaces/namespaces-1"),
    delete("delete-again", "namespaces/namespaces-1"),
    post("pod-in-it", "/api/v1/namespaces/namespaces-1/pods", pod("x")),
    put(
        "finalize",
        "namespaces/namespaces-1/finalize",
        {"metadata": {"name": "namespaces-1"}, "spec": {"finalizers": []}},
    ),
    get("gone", "namespaces/namespaces-1", until=404),
    delete("default", "namespaces/default"),
    delete("collection", "namespaces"),
)

BUDGETS: Final = story(
    "budgets",
    post("create", "budgets", budget("b", minAvailable=1, selector={"matchLabels": {"app": "x"}})),
    post("both", "budgets", budget("c", minAvailable=1, maxUnavailable=1)),
    post("none", "budgets", budget("empty")),
    post(
        "percentage", "budgets", budget("percentage", maxUnavailable="50%", selector={"matchLabels": {"app": "none"}})
    ),
    post("percentage-odd", "budgets", budget("x", minAvailable="half")),
    post("percentage-over", "budgets", budget("x", minAvailable="150%")),
    post("negative", "budgets", budget("x", minAvailable=-1)),
    post("selector-odd", "budgets", budget("x", selector={"matchExpressions": [{"key": "a", "operator": "Odd"}]})),
    get("table", "budgets", accept=TABLE),
    delete("delete-empty", "budgets/empty"),
    post("waiting-pod", "pods", pod("waiting", labels={"app": "x"})),
    post("evict-waiting", "pods/waiting/eviction", {"metadata": {"name": "waiting"}}),
    post("pod", "pods", pod("a", labels={"app": "x"}, nodeName="n")),
    patch("run", "pods/a/status", {"status": RUNNING}, "strategic"),
    post("unprocessed", "pods/a/eviction", {"metadata": {"name": "a"}}),
    patch(
        "used-up",
        "budgets/b/status",
        {
            "status": {
                "observedGeneration": 1,
                "desiredHealthy": 1,
                "currentHealthy": 1,
                "expectedPods": 1,
                "disruptionsAllowed": 0,
            }
        },
    ),
    post("refused", "pods/a/eviction", {"metadata": {"name": "a"}}),
    post("unready-pod", "pods", pod("unready", labels={"app": "x"}, nodeName="n")),
    patch("run-unready", "pods/unready/status", {"status": {"phase": "Running"}}),
    post("evict-unready", "pods/unready/eviction", {"metadata": {"name": "unready"}}),
    patch("unhealthy", "budgets/b/status", {"status": {"currentHealthy": 0}}),
    post("second-unready-pod", "pods", pod("unready-2", labels={"app": "x"}, nodeName="n")),
    patch("run-second", "pods/unready-2/status", {"status": {"phase": "Running"}}),
    post("evict-second", "pods/unready-2/eviction", {"metadata": {"name": "unready-2"}}),
    patch("always", "budgets/b", {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}),
    patch("observe", "budgets/b/status", {"status": {"observedGeneration": 2}}),
    post("evict-always", "pods/unready-2/eviction", {"metadata": {"name": "unready-2"}}),
    patch("allow", "budgets/b/status", {"status": {"disruptionsAllowed": 1, "currentHealthy": 2}}),
    post("evict-dry", "pods/a/eviction", {"metadata": {"name": "a"}, "deleteOptions": {"dryRun": ["All"]}}),
    post(
        "evict-wrong-uid",
        "pods/a/eviction",
        {"metadata": {"name": "a"}, "deleteOptions": {"preconditions": {"uid": "other"}}},
    ),
    post("evict-other-name", "pods/a/eviction", {"metadata": {"name": "b"}}),
    post("evict-none", "pods/none/eviction", {"metadata": {"name": "none"}}),
    post("evict", "pods/a/eviction", {"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 3}}),
    get("charged", "budgets/b"),
    get("evicted", "pods/a"),
    post("evict-again", "pods/a/eviction", {"metadata": {"name": "a"}}),
    post("second-budget", "budgets", budget("b2", maxUnavailable=1, selector={"matchLabels": {"app": "x"}})),
    post("third-pod", "pods", pod("third", labels={"app": "x"}, nodeName="n")),
    patch("run-third", "pods/third/status", {"status": RUNNING}, "strategic"),
    post("evict-of-two", "pods/third/eviction", {"metadata": {"name": "third"}}),
    get("read-eviction", "pods/third/eviction"),
    patch("finish", "pods/third/status", {"status": {"phase": "Failed"}}),
    post("evict-finished", "pods/third/eviction", {"metadata": {"name": "third"}}),
    watch("watched", "pods", "create"),
)

WORKLOADS: Final = story(
    "workloads",
    post("replicaset", "replicasets", workload("rs")),
    post("replicaset-of-three", "replicasets", workload("three", replicas=3)),
    post("negative", "replicasets", workload("x", replicas=-1)),
    post("no-selector", "replicasets", {"metadata": {"name": "x"}, "spec": {"template": TEMPLATE}}),
    post(
        "no-template", "replicasets", {"metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"app": "a"}}}}
    ),
    post("wrong-labels", "replicasets", workload("x", selector={"matchLabels": {"app": "b"}})),
    post(
        "restart-policy",
        "replicasets",
        workload("x", template={**TEMPLATE, "spec": {**container(), "restartPolicy": "Never"}}),
    ),
    patch("selector", "replicasets/rs", {"spec": {"selector": {"matchLabels": {"app": "c"}}}}),
    get("scale", "replicasets/rs/scale"),
    patch("scaled", "replicasets/rs/scale", {"spec": {"replicas": 3}}),
    patch("scaled-below-zero", "replicasets/rs/scale", {"spec": {"replicas": -1}}),
    put("scale-put", "replicasets/rs/scale", {"metadata": {"name": "rs"}, "spec": {"replicas": 4}}),
    put(
        "scale-stale",
        "replicasets/rs/scale",
        {"metadata": {"name": "rs", "resourceVersion": "1"}, "spec": {"replicas": 5}},
    ),
    patch("status", "replicasets/rs/status", {"status": {"replicas": 2, "readyReplicas": 1}}),
    get("read", "replicasets/rs"),
    get("table", "replicasets", accept=TABLE, fieldSelector="metadata.name=rs"),
    delete("delete", "replicasets/rs", {"propagationPolicy": "Foreground"}),
    get("foreground", "replicasets/rs"),
    delete("delete-three", "replicasets/three"),
    post("deployment", "deployments", workload("d")),
    post("recreate", "deployments", workload("recreate", strategy={"type": "Recreate"})),
    post("strategy-odd", "deployments", workload("x", strategy={"type": "Odd"})),
    post("deployment-no-selector", "deployments", {"metadata": {"name": "x"}, "spec": {"template": TEMPLATE}}),
    patch(
        "deployment-image",
        "deployments/d",
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "image:2"}]}}}},
        "strategic",
    ),
    get("deployment-table", "deployments/d", accept=TABLE),
    get("deployment-scale", "deployments/d/scale"),
    post("statefulset", "statefulsets", workload("s", serviceName="s")),
    get("statefulset-table", "statefulsets/s", accept=TABLE),
    delete("delete-deployment", "deployments/d"),
)

JOBS: Final = story(
    "jobs",
    post("create", "jobs", job("j")),
    post("no-restart-policy", "jobs", job("x", None)),
    post("restart-policy", "jobs", job("x", "Always")),
    post("parallel", "jobs", job("parallel", parallelism=3)),
    post("indexed", "jobs", job("indexed", parallelism=3, completions=3, completionMode="Indexed")),
    post("indexed-without-count", "jobs", job("x", completionMode="Indexed")),
    post("negative", "jobs", job("x", parallelism=-1)),
    post("own-selector", "jobs", job("x", selector={"matchLabels": {"a": "b"}})),
    post("no-template", "jobs", {"metadata": {"name": "x"}, "spec": {}}),
    patch("parallelism", "jobs/j", {"spec": {"parallelism": 2}}),
    patch("completions", "jobs/j", {"spec": {"completions": 2}}),
    patch("template", "jobs/j", {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}),
    patch("suspend", "jobs/j", {"spec": {"suspend": True}}),
    patch("status", "jobs/j/status", {"status": {"active": 1, "startTime": "2001-01-01T10:00:00Z"}}),
    get("table", "jobs", accept=TABLE, fieldSelector="metadata.name=parallel"),
    delete("delete", "jobs/j"),
    post("cron", "cronjobs", cron_job("hourly", schedule="@hourly", timeZone="Europe/Berlin")),
    post("cron-question", "cronjobs", cron_job("weekly", schedule="0 0 ? * mon")),
    post("cron-words", "cronjobs", cron_job("x", schedule="every now and then")),
    post("cron-empty", "cronjobs", cron_job("x", schedule="")),
    post("cron-zone", "cronjobs", cron_job("x", schedule="0 0 * * *", timeZone="Mars/Olympus")),
    delete("delete-background", "jobs/parallel", propagationPolicy="Background"),
)

STORIES: Final = (MAPS, EVENTS, LEASES, NODES, CLASSES, NAMESPACES, BUDGETS, WORKLOADS, JOBS)
