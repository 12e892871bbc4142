"""The commands that people type, story by story; docs/kubectl.md is their table."""

from typing import Any, Final

from tests.kubectl.story import Object, Story, step

NO_TEXTS: Final = {r"^  (?![a-z]\w*  <)|^$": "built-in types are carried without their texts"}
LAST_APPLIED: Final = {r'"kind":"PodGroup"': "server-side apply does not renew the annotation of client-side apply"}
NO_ROOT_CA: Final = {
    r"kube-root-ca|^NAME  DATA  AGE$|^No resources|^$": "there is no certificate to publish in each namespace"
}


def _template(app: str, *, restart: str = "Always", **spec: Any) -> Object:
    container = {
        "name": "main",
        "image": "registry.example/pause:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {
            "nodeName": "node-0",
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **spec,
        },
    }


def _pod(name: str, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    body = _template(name, **spec)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {"app": name}},
        "spec": body["spec"],
    }


def _workload(api_version: str, kind: str, name: str, *, replicas: int = 2, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": selector, "template": _template(name), **spec},
    }


def _job(name: str, run_s: str = "0", **spec: Any) -> Object:
    template = _template(name, restart="Never")
    template["metadata"]["annotations"] = {"sandbox.gangline.dev/run-seconds": run_s}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


def _group(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    }


def _map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _budget(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }


CRD_WAS_THERE: Final = {"customresourcedefinition": "the tests have made the CRD before, without `apply`"}
OWN: Final = "--namespace=gangline-system"

READING: Final = Story(
    "reading",
    (
        step("create -f -", _pod("a", {"app": "a", "tier": "front"}), _pod("b"), row="create -f"),
        step("wait pod/a pod/b --for=condition=Ready --timeout=60s", row="wait --for=condition", is_sorted=True),
        step("get pods", row="get"),
        step("get pods -o wide", row="get -o wide"),
        step("get pod a -o yaml", row="get -o yaml"),
        step("get pod a -o json", row="get -o json"),
        step("get pods -o name", row="get -o name"),
        step("get pods -o jsonpath={.items[*].metadata.name}", row="get -o jsonpath"),
        step("get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName", row="get -o custom-columns"),
        step("get pods -o |go-template={{range .items}}{{.metadata.name}} {{end}}|", row="get -o go-template"),
        step("get pods -o yaml", row="get -o yaml"),
        step("get pods --show-labels", row="get --show-labels"),
        step("get pods -L tier", row="get -L"),
        step("get pods -l app=a", row="get -l"),
        step("get pods -l |app in (a,b),tier!=front|", row="get -l"),
        step("get pods --field-selector status.phase=Running,spec.nodeName=node-0", row="get --field-selector"),
        step("get pods --field-selector spec.color=red", row="get --field-selector", code=1),
        step("get pods --sort-by=.metadata.name --no-headers", row="get --sort-by"),
        step("get pods,configmaps", row="get of several kinds", but=NO_ROOT_CA),
        step("get pod nobody", row="get", code=1),
        step("get colours", row="get", code=1),
        step("get pods --chunk-size=1", row="get --chunk-size"),
        step("get pod a -w", row="get -w", meanwhile=("label pod a x=1", "label pod a x=2 --overwrite"), lines=4),
        step("get pods -o name -w", row="get -w", meanwhile=("label pod a x=3 --overwrite",), lines=3),
        step("get events", until="(?s)Container started.*Container started"),
        step("describe pod a", row="describe pod"),
        step("describe pods", row="describe pod"),
        step("get --raw /api/v1/namespaces/reading/pods/nobody", row="get --raw", code=1),
        step(
            "get --raw /version",
            row="get --raw",
            but={r"[{}]": "the build of the server", r'"\w+": ': "the build of the server"},
        ),
        step("get --raw /readyz", row="get --raw"),
        step("delete pod a --wait=true", row="delete"),
        step("delete pod nobody --ignore-not-found", row="delete"),
    ),
)

WRITING: Final = Story(
    "writing",
    (
        step("apply -f -", _map("m", colour="red"), row="apply"),
        step("apply -f -", _map("m", colour="red"), row="apply"),
        step("apply -f -", _map("m", colour="blue"), row="apply"),
        step("apply -f -", {**_map("n"), "color": "red"}, row="apply", code=1),
        step("apply -f -", {**_pod("q"), "spec": {**_pod("q")["spec"], "color": "red"}}, row="apply", code=1),
        step("apply -f -", _pod("q", colour="red"), row="apply", code=1),
        step("apply --dry-run=server -f -", _map("m", colour="green"), row="apply --dry-run=server"),
        step("apply --server-side -f -", _map("s", colour="red"), row="apply --server-side"),
        step(
            "apply --server-side --field-manager=other -f -",
            _map("s", colour="blue"),
            row="apply --server-side",
            code=1,
        ),
        step(
            "apply --server-side --field-manager=other --force-conflicts -f -",
            _map("s", colour="blue"),
            row="apply --server-side",
        ),
        step("get cm s -o yaml --show-managed-fields", row="get --show-managed-fields"),
        step("diff -f -", _map("m", colour="green"), row="diff", code=1),
        step("diff -f -", _map("m", colour="blue"), row="diff"),
        step("diff --server-side --force-conflicts -f -", _map("s", colour="green"), row="diff", code=1),
        step("create configmap c --from-literal=k=v", row="create"),
        step("create configmap c --from-literal=k=v", row="create", code=1),
        step("create namespace Wrong_Name", row="create", code=1),
        step("create deployment web --image=i --replicas=0 -o yaml --dry-run=client", row="create"),
        step('patch cm m --type=merge -p {"data":{"size":"xl"}}', row="patch --type=merge"),
        step('patch cm m --type=json -p [{"op":"remove","path":"/data/size"}]', row="patch --type=json"),
        step('patch cm m --type=json -p [{"op":"remove","path":"/data/none"}]', row="patch --type=json", code=1),
        step("create -f -", _pod("p")),
        step('patch pod p -p {"spec":{"containers":[{"name":"main","image":"other"}]}}', row="patch --type=strategic"),
        step(
            'patch pod p -p {"spec":{"nodeName":"node-1"}}',
            row="patch --type=strategic",
            code=1,
            but={r'^@@|^[ +-]* "\w+": |^$': "the server's internal form of the pod is not shown"},
        ),
        step("label cm m x=1", row="label"),
        step("label cm m x=2", row="label", code=1),
        step("label cm m x=2 --overwrite", row="label"),
        step("label cm m x-", row="label"),
        step("annotate cm m y=1", row="annotate"),
        step("annotate cm m y-", row="annotate"),
        step("get cm m -o yaml", row="get -o yaml"),
        step("replace -f -", _map("m", colour="grey"), row="replace"),
        step("delete cm m s --wait=false", row="delete"),
        step("delete cm --all", row="delete --all", but=NO_ROOT_CA, is_sorted=True),
        step("delete pod p --grace-period=0 --force", row="delete --grace-period", is_sorted=True),
        step("get pods,cm", row="delete", but=NO_ROOT_CA),
    ),
)

WORKLOADS: Final = Story(
    "workloads",
    (
        step("apply -f -", _workload("apps/v1", "Deployment", "web"), row="apply"),
        step("rollout status deployment web --timeout=60s", row="rollout status", but={"^Waiting": "depends on time"}),
        step("get deployments,replicasets,pods", row="get of several kinds"),
        step("get deployment web -o wide", row="get -o wide"),
        step("get deployment web -o yaml", row="get -o yaml"),
        step("describe deployment web", row="describe deployment", until="ScalingReplicaSet"),
        step("scale deployment web --replicas=3", row="scale"),
        step("wait deployment web --for=jsonpath={.status.readyReplicas}=3 --timeout=60s", row="wait --for=jsonpath"),
        step("scale deployment web --replicas=1 --current-replicas=7", row="scale", code=1),
        step("set image deployment/web main=registry.example/pause:2", row="set image"),
        step("rollout status deployment web --timeout=60s", row="rollout status", but={"^Waiting": "depends on time"}),
        step("rollout history deployment web", row="rollout history"),
        step("rollout undo deployment web", row="rollout undo"),
        step("rollout status deployment web --timeout=60s", row="rollout status", but={"^Waiting": "depends on time"}),
        step("rollout pause deployment web", row="rollout pause"),
        step("rollout resume deployment web", row="rollout resume"),
        step("rollout restart deployment web", row="rollout restart"),
        step("rollout status deployment web --timeout=60s", row="rollout status", but={"^Waiting": "depends on time"}),
        step("delete deployment web --cascade=foreground", row="delete --cascade=foreground"),
        step("get deployments,replicasets,pods", row="delete --cascade=foreground", until="No resources"),
        step("create -f -", _workload("apps/v1", "ReplicaSet", "crew"), row="create -f"),
        step("wait rs crew --for=jsonpath={.status.readyReplicas}=2 --timeout=60s", row="wait --for=jsonpath"),
        step("describe rs crew", row="describe replicaset", until="(?s)Created pod.*Created pod"),
        step("delete rs crew --cascade=orphan", row="delete --cascade=orphan"),
        step("get pods", row="delete --cascade=orphan", until="(?s)Running.*Running"),
        step("delete pods --all", row="delete --all", is_sorted=True),
        step("apply -f -", _workload("apps/v1", "StatefulSet", "team", serviceName="team"), row="apply"),
        step(
            "rollout status statefulset team --timeout=60s", row="rollout status", but={"^Waiting": "depends on time"}
        ),
        step("get statefulset,pods", row="get of several kinds"),
        step("describe statefulset team", row="describe statefulset", until="team-1 in StatefulSet team successful"),
        step("scale statefulset team --replicas=1", row="scale"),
        step("wait pod/team-1 --for=delete --timeout=60s", row="wait --for=delete"),
    ),
)

JOBS: Final = Story(
    "jobs",
    (
        step("create -f -", _job("sum", completions=2, parallelism=1), row="create -f"),
        step("wait job/sum --for=condition=complete --timeout=60s", row="wait --for=condition"),
        step("get jobs", row="get"),
        step("get jobs,pods -o wide", row="get -o wide"),
        step("get job sum -o yaml", row="get -o yaml"),
        step("describe job sum", row="describe job", until="Job completed"),
        step("create job made --image=i --dry-run=server", row="create"),
        step("delete job sum", row="delete"),
        step("get pods", row="delete", until="No resources"),
        step("create cronjob tick --image=i |--schedule=0 0 1 1 *|", row="create"),
        step("get cronjobs", row="get"),
        step("describe cronjob tick", row="describe cronjob"),
        step("create job made --from=cronjob/tick --dry-run=server", row="create"),
    ),
)

GROUPS: Final = Story(
    "groups",
    (
        step("apply -f -", _group("g", minMember=3), row="apply"),
        step("apply -f -", _group("g", minMember=4), row="apply"),
        step("apply -f -", _group("h", minMember=0), row="apply", code=1),
        step("apply -f -", _group("h", minMembers=2), row="apply", code=1),
        step("apply --server-side --force-conflicts -f -", _group("g", minMember=5), row="apply --server-side"),
        step("diff -f -", _group("g", minMember=6), row="diff", code=1, but=LAST_APPLIED),
        step("get pg", row="get"),
        step("get podgroups.scheduling.x-k8s.io -o wide", row="get -o wide"),
        step("get pg g -o yaml", row="get -o yaml", but=LAST_APPLIED),
        step("get pg -w", row="get -w", meanwhile=("label pg g x=1",), lines=3),
        step("describe pg g", row="describe podgroup"),
        step("label pg g x-", row="label"),
        step('patch pg g --type=merge -p {"spec":{"minMember":2}}', row="patch --type=merge"),
        step('patch pg g -p {"spec":{"minMember":2}}', row="patch --type=strategic", code=1),
        step(
            'patch pg g --subresource=status --type=merge -p {"status":{"phase":"Running"}}', row="patch --subresource"
        ),
        step("wait pg/g --for=jsonpath={.status.phase}=Running --timeout=60s", row="wait --for=jsonpath"),
        step("get pg --sort-by=.spec.minMember", row="get --sort-by"),
        step("explain podgroups.scheduling.x-k8s.io", row="explain", but=NO_TEXTS),
        step("explain podgroups.scheduling.x-k8s.io.spec.minMember", row="explain"),
        step("delete pg g", row="delete"),
    ),
)

SERVER: Final = Story(
    "server",
    (
        step("explain pod.spec.containers.image", row="explain", but=NO_TEXTS),
        step("explain job.spec.parallelism", row="explain", but=NO_TEXTS),
        step("explain pod.spec.colour", row="explain", code=1),
        step("api-resources --api-group=scheduling.x-k8s.io", row="api-resources"),
        step(
            "api-resources --api-group=apps -o wide",
            row="api-resources",
            but={"controllerrevisions": "old templates of StatefulSets and DaemonSets are not kept"},
        ),
        step("api-resources --api-group=batch -o name", row="api-resources"),
        step("api-versions", row="api-versions", but={"^(?!scheduling.x-k8s.io)": "fewer groups are served"}),
        step("auth can-i create pods", row="auth can-i"),
        step("auth can-i |*| |*| -q", row="auth can-i"),
        step("auth can-i --list", row="auth can-i --list", apart="the sandbox does not ask who somebody is"),
        step("auth whoami", row="auth whoami", apart="the sandbox does not ask who somebody is"),
        step("version", row="version", but={"Server|difference|supported": "the build of the server"}),
        step("cluster-info", row="cluster-info", but={"CoreDNS": "no cluster services are served"}),
    ),
)

NODES: Final = Story(
    "nodes",
    (
        step("get nodes", row="get"),
        step("get nodes -o wide", row="get -o wide"),
        step("create -f -", _pod("p", nodeName="shelf")),
        step("wait pod/p --for=condition=Ready --timeout=60s"),
        step(
            "describe node shelf",
            row="describe node",
            until="RegisteredNode",
            but={
                r"beta.kubernetes.io|kubernetes.io/arch=": "no controller adds the labels of older versions",
                r"^Annotations:": "no controller notes how long kubelets may cache secrets",
                r"^Lease:|HolderIdentity|AcquireTime|RenewTime": "leases are there in `gangline sandbox`, not in tests",
            },
        ),
        step("cordon shelf", row="cordon"),
        step("cordon shelf", row="cordon"),
        step("get node shelf", row="cordon"),
        step("uncordon shelf", row="uncordon"),
        step("taint nodes shelf a=b:NoSchedule", row="taint"),
        step("taint nodes shelf a=c:NoSchedule", row="taint", code=1),
        step("taint nodes shelf a=c:NoSchedule --overwrite", row="taint"),
        step("taint nodes shelf a-", row="taint"),
        step("taint nodes shelf b-", row="taint", code=1),
        step("taint nodes shelf gone=now:NoExecute", row="taint NoExecute"),
        step("wait pod/p --for=delete --timeout=60s", row="taint NoExecute"),
        step("taint nodes shelf gone-", row="taint"),
        step("label node shelf zone=a", row="label"),
    ),
)

DRAINING: Final = Story(
    "draining",
    (
        step(
            "create -f -",
            *(_pod(f"web-{end}", {"app": "web"}, nodeName="bench") for end in "ab"),
            _budget("web", minAvailable=1),
        ),
        step("create -f -", _pod("free", nodeName="bench")),
        step("wait pod --all --for=condition=Ready --timeout=60s"),
        step("get pdb", row="get", until=r"web +1 +N/A +1 "),
        step("describe pdb web", row="describe pdb"),
        step("drain bench --dry-run=server", row="drain", code=1, is_sorted=True),
        step(
            "drain bench --force --timeout=9s",
            row="drain",
            code=1,
            is_sorted=True,
            but={"^evicting|will retry": "as often as time allows"},
        ),
        step("get pods -o name", row="drain", is_sorted=True, but={"pod/": "which of two is evicted first is chance"}),
        step("delete pdb web", row="delete"),
        step(
            "drain bench --force",
            row="drain",
            is_sorted=True,
            but={"^pod/|evicting": "which of two was left is chance"},
        ),
        step("get pods", row="drain"),
        step("uncordon bench", row="uncordon"),
    ),
)

EVENTS: Final = Story(
    "happenings",
    (
        step(
            "create -f -",
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "e"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "happenings"},
                "reason": "Tried",
                "message": "it was tried",
                "type": "Warning",
                "count": 3,
                "firstTimestamp": "2026-01-01T00:00:00Z",
                "lastTimestamp": "2026-01-01T00:00:00Z",
                "source": {"component": "somebody"},
            },
            row="create -f",
        ),
        step("get events", row="get events", but={}),
        step("get events -o wide", row="get events"),
        step("events", row="events"),
        step("events --types=Warning --for pod/p", row="events"),
        step("get events --field-selector involvedObject.name=p,type=Warning -o name", row="get events"),
        step("describe event e", row="describe event"),
    ),
)

INSTALLING: Final = Story(
    "installing",
    (
        step(f"apply {OWN} -k manifests/overlays/default", row="apply -k", is_sorted=True, but=CRD_WAS_THERE),
        step(f"apply {OWN} -k manifests/overlays/default", row="apply -k", is_sorted=True, but=CRD_WAS_THERE),
        step(f"diff {OWN} -k manifests/overlays/default", row="diff -k", is_sorted=True),
        step(f"get {OWN} deployments,serviceaccounts,roles,rolebindings -o name", row="get -o name"),
        step(f"describe {OWN} serviceaccount gangline-scheduler", row="describe serviceaccount"),
        step("describe clusterrole gangline-scheduler", row="describe clusterrole"),
        step("delete clusterrole,clusterrolebinding -l app.kubernetes.io/part-of=gangline", row="delete -l"),
        step("delete namespace gangline-system --wait=false", row="delete"),
    ),
)


def _bundle(*items: Object) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _labelled(name: str, **data: str) -> Object:
    return {**_map(name, **data), "metadata": {"name": name, "labels": {"story": "bundles"}}}


BUNDLE: Final = _bundle(_labelled("one", colour="red"), _labelled("two", colour="blue"))
BY_WHOM: Final = {"unknown field": "what is in a List the server checks, not kubectl before it"}

BUNDLES: Final = Story(
    "bundles",
    (
        step("apply -f -", BUNDLE, row="apply of a List"),
        step("apply -f -", BUNDLE, row="apply of a List"),
        step("apply -f -", _bundle({**_labelled("one"), "color": "red"}), row="apply of a List", code=1, but=BY_WHOM),
        step("apply --server-side --force-conflicts -f -", BUNDLE, row="apply of a List"),
        step("diff -f -", _bundle(_labelled("one", colour="grey")), row="diff", code=1),
        step("create -f -", BUNDLE, row="create of a List", code=1),
        step("get cm -A -l story=bundles", row="get -A"),
        step("get cm -l story=bundles -o jsonpath-as-json={.items[*].metadata.name}", row="get -o jsonpath-as-json"),
        step("get cm -l story=bundles -o |template={{len .items}}|", row="get -o go-template"),
        step(
            "get cm one -w --output-watch-events",
            row="get -w --output-watch-events",
            meanwhile=("label cm one x=1", "delete cm one"),
            lines=4,
        ),
        step("replace -f -", _bundle(_labelled("two", colour="grey")), row="replace"),
        step("delete -f - --cascade=background", BUNDLE, row="delete --cascade=background", code=1),
    ),
)


RBAC: Final = "rbac.authorization.k8s.io"


def _binding(kind: str, role: str) -> Object:
    subjects = [
        {"kind": "ServiceAccount", "name": "s", "namespace": "kinds"},
        {"kind": "User", "name": "u", "apiGroup": RBAC},
        {"kind": "Group", "name": "g", "apiGroup": RBAC},
    ]
    role_ref = {"apiGroup": RBAC, "kind": role, "name": "kinds"}
    metadata = {"name": "kinds"}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "roleRef": role_ref, "subjects": subjects}


def _policy(name: str, **selector: Any) -> Object:
    spec = {"podSelector": selector, "policyTypes": ["Ingress"]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec}


def _on_no_node(name: str) -> Object:
    body = _workload("apps/v1", "DaemonSet", name)
    del body["spec"]["replicas"], body["spec"]["template"]["spec"]["nodeName"]
    body["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "none"}
    return body


KINDS: Final = Story(
    "kinds",
    (
        step("create role kinds --verb=get --resource=pods", row="create"),
        step("create clusterrole kinds --verb=get --resource=pods", row="create"),
        step("create -f -", _binding("RoleBinding", "Role"), _binding("ClusterRoleBinding", "ClusterRole")),
        step("get role,rolebinding", row="get of several kinds"),
        step("get rolebinding -o wide", row="get -o wide"),
        step("get clusterrole kinds", row="get"),
        step("get clusterrolebinding kinds -o wide", row="get -o wide"),
        step("delete clusterrole,clusterrolebinding kinds"),
        step("create -f -", _policy("some", matchLabels={"app": "x"}), _policy("all")),
        step("get netpol", row="get"),
        step("create -f -", _on_no_node("each")),
        step("get daemonsets -o wide", row="get -o wide"),
        step("create cronjob tick --image=i |--schedule=0 0 31 2 *|", row="create"),
        step("get cronjob tick -o wide", row="get -o wide"),
        step("create cronjob tock --image=i |--schedule=0 0 * * 7|", row="create", code=1),
        step("apply -f -", _workload("apps/v1", "Deployment", "web", replicas=0)),
        step("rollout status deployment web --timeout=60s"),
        step("get all", row="get of several kinds"),
        step("create -f -", _job("sum")),
        step("wait job/sum --for=condition=complete --timeout=60s"),
        step("create -f -", _job("rest", suspend=True)),
        step("get jobs --field-selector status.successful=1 -o name", row="get --field-selector"),
        step("get jobs --field-selector status.successful=0 -o name", row="get --field-selector"),
        step("get cm --field-selector data.colour=red", row="get --field-selector", code=1),
        step(
            "get events --field-selector source=job-controller,reason=Completed -o |jsonpath={.items[*].reason}|",
            row="get --field-selector",
        ),
        step("create -f -", _job("late", "600", parallelism=2, completions=2, activeDeadlineSeconds=1)),
        step("wait job/late --for=condition=failed --timeout=60s", row="wait --for=condition"),
        step("get job late -o jsonpath={.status.failed}", row="get -o jsonpath"),
    ),
)

STORIES: Final = (
    INSTALLING,
    WORKLOADS,
    DRAINING,
    NODES,
    READING,
    JOBS,
    WRITING,
    GROUPS,
    EVENTS,
    SERVER,
    BUNDLES,
    KINDS,
)
