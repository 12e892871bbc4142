"""Pods: defaults, admission, validation, what may change, binding, eviction."""

from typing import Any, Final

import pytest

from tests.support.rest import PODS, Rest, binding, pod

PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
GATES = [{"name": "x.io/gate"}]


def container(**more: Any) -> dict[str, Any]:
    return {"name": "main", "image": "image:1", **more}


async def test_a_new_pod_is_filled_in(rest: Rest) -> None:
    created = (await rest.post(PODS, pod())).body

    lost = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    assert created["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "image:1",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", **lost},
            {"key": "node.kubernetes.io/unreachable", **lost},
        ],
    }
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


async def test_priority_comes_from_the_class(rest: Rest) -> None:
    await rest.post(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})
    named = (await rest.post(PODS, pod("named", priorityClassName="high"))).body["spec"]
    missing = await rest.post(PODS, pod("missing", priorityClassName="none"))
    contradicting = await rest.post(PODS, pod("other", priorityClassName="high", priority=8))

    assert (named["priority"], named["preemptionPolicy"]) == (7, "Never")
    assert missing.verdict == (
        403,
        "Forbidden",
        'pods "missing" is forbidden: no PriorityClass with name none was found',
    )
    assert contradicting.status == 403


async def test_a_default_priority_class_holds_for_pods_that_name_none(rest: Rest) -> None:
    await rest.post(PRIORITY_CLASSES, {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True})
    spec = (await rest.post(PODS, pod())).body["spec"]

    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 5)


@pytest.mark.parametrize(
    ("resources", "requests", "quality"),
    [
        ({}, None, "BestEffort"),
        ({"requests": {"cpu": "500m"}}, {"cpu": "500m"}, "Burstable"),
        ({"limits": {"cpu": 1, "memory": "1024Mi"}}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "1000m"}}, {"cpu": "1"}, "Burstable"),
    ],
    ids=["none", "requests", "limits alone", "both"],
)
async def test_requests_and_quality(
    rest: Rest, resources: dict[str, Any], requests: dict[str, str] | None, quality: str
) -> None:
    created = (await rest.post(PODS, pod(containers=[container(resources=resources)]))).body

    assert created["spec"]["containers"][0]["resources"].get("requests") == requests
    assert created["status"]["qosClass"] == quality


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        ({"containers": []}, "spec.containers", "FieldValueRequired"),
        ({"containers": [{"image": "i"}]}, "spec.containers[0].name", "FieldValueRequired"),
        ({"containers": [{"name": "main"}]}, "spec.containers[0].image", "FieldValueRequired"),
        ({"containers": [container(), container()]}, "spec.containers[1].name", "FieldValueDuplicate"),
        ({"containers": [container(name="A_b")]}, "spec.containers[0].name", "FieldValueInvalid"),
        ({"restartPolicy": "Sometimes"}, "spec.restartPolicy", "FieldValueNotSupported"),
        (
            {"containers": [container(resources={"requests": {"cpu": "-1"}})]},
            "spec.containers[0].resources.requests[cpu]",
            "FieldValueInvalid",
        ),
        (
            {"containers": [container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]},
            "spec.containers[0].resources.requests",
            "FieldValueInvalid",
        ),
        (
            {"containers": [container(resources={"requests": {"x.io/gpu": "1"}})]},
            "spec.containers[0].resources.limits",
            "FieldValueRequired",
        ),
        (
            {"containers": [container(ports=[{"containerPort": 70000}])]},
            "spec.containers[0].ports[0].containerPort",
            "FieldValueInvalid",
        ),
        ({"tolerations": [{"operator": "Equal"}]}, "spec.tolerations[0].operator", "FieldValueInvalid"),
        ({"nodeName": "n", "schedulingGates": GATES}, "spec.nodeName", "FieldValueForbidden"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_an_invalid_pod_is_refused_with_causes(rest: Rest, spec: dict[str, Any], field: str, reason: str) -> None:
    refused = await rest.post(PODS, pod(**spec))

    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert [(cause["field"], cause["reason"]) for cause in refused.body["details"]["causes"]] == [(field, reason)]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"priority": 2**31}, "spec.priority: 2147483648 is not of type int32"),
        ({"priority": "high"}, "spec.priority: string is not of type int32"),
        ({"hostNetwork": "yes"}, "spec.hostNetwork: string is not of type boolean"),
        ({"containers": {}}, "spec.containers: object is not of type array"),
        ({"containers": [[]]}, "spec.containers[0]: array is not of type object"),
        (
            {"containers": [container(resources={"requests": {"cpu": "four"}})]},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
    ids=["too big", "no number", "no truth", "no list", "no object", "no quantity"],
)
async def test_what_is_of_another_type_is_a_bad_request(rest: Rest, spec: dict[str, Any], problem: str) -> None:
    refused = await rest.post(PODS, pod(**spec))

    assert refused.verdict[:2] == (400, "BadRequest")
    assert refused.body["message"].endswith(problem)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"containers": [container(image="image:2")]}, 200),
        ({"activeDeadlineSeconds": 5}, 200),
        ({"tolerations": [{"key": "x", "operator": "Exists"}]}, 200),
        ({"nodeName": "n"}, 422),
        ({"priority": 4}, 422),
        ({"schedulerName": "other"}, 422),
        ({"schedulingGates": GATES}, 422),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_what_may_change_in_a_pod(rest: Rest, change: dict[str, Any], status: int) -> None:
    created = (await rest.post(PODS, pod())).body
    if "containers" in change:
        change = {"containers": [{**created["spec"]["containers"][0], "image": "image:2"}]}

    assert (await rest.patch(f"{PODS}/a", {"spec": change})).status == status


async def test_gates_close_and_open(rest: Rest) -> None:
    gated = (await rest.post(PODS, pod(schedulingGates=GATES))).body
    refused = await rest.post(f"{PODS}/a/binding", binding("a", "n"))
    selected = await rest.patch(f"{PODS}/a", {"spec": {"nodeSelector": {"zone": "x"}}})
    opened = await rest.patch(f"{PODS}/a", {"spec": {"schedulingGates": None}})
    bound = await rest.post(f"{PODS}/a/binding", binding("a", "n"))

    condition = gated["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert refused.verdict == (
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "a": pod a has non-empty .spec.schedulingGates',
    )
    assert (selected.status, opened.status, bound.status) == (200, 200, 201)


async def test_binding_gives_a_node_and_a_condition_and_answers_without_a_version(rest: Rest) -> None:
    await rest.post(PODS, pod())
    bound = await rest.post(f"{PODS}/a/binding", binding("a", "no-such-node"))
    after = (await rest.get(f"{PODS}/a")).body

    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    assert (bound.status, bound.body) == (201, success)
    assert after["spec"]["nodeName"] == "no-such-node"
    assert [(c["type"], c["status"]) for c in after["status"]["conditions"]] == [("PodScheduled", "True")]
    assert after["metadata"]["generation"] == 1


@pytest.mark.parametrize("node", ["n", "other"], ids=["the same node", "another node"])
async def test_a_bound_pod_is_not_bound_again(rest: Rest, node: str) -> None:
    await rest.post(PODS, pod(nodeName="n"))

    assert (await rest.post(f"{PODS}/a/binding", binding("a", node))).verdict == (
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"',
    )


async def test_refusals_of_a_binding(rest: Rest) -> None:
    created = (await rest.post(PODS, pod("held"))).body
    await rest.patch(f"{PODS}/held", {"metadata": {"finalizers": ["x.io/hold"]}})
    other = await rest.post(f"{PODS}/held/binding", binding("held", "n", uid="other"))
    await rest.delete(f"{PODS}/held")
    deleting = await rest.post(f"{PODS}/held/binding", binding("held", "n", uid=created["metadata"]["uid"]))
    missing = await rest.post(f"{PODS}/gone/binding", binding("gone", "n"))
    mismatch = await rest.post(f"{PODS}/held/binding", binding("other", "n"))

    assert other.status == 409
    assert "Precondition failed: UID in precondition: other, UID in object meta: " in other.body["message"]
    assert deleting.body["message"].endswith("pod held is being deleted, cannot be assigned to a host")
    assert missing.verdict == (404, "NotFound", 'pods "gone" not found')
    assert mismatch.status == 400


UID: Final[tuple[str, list[str]]] = ("Invalid", ["metadata.uid"])
STALE: Final[tuple[str, list[str]]] = ("Conflict", [])


@pytest.mark.parametrize("form", ["merge", "strategic"])
@pytest.mark.parametrize("subresource", ["", "/status"])
@pytest.mark.parametrize(
    ("guard", "refusal"),
    [
        pytest.param({"resourceVersion": "1"}, STALE, id="stale"),
        pytest.param({"uid": "other"}, UID, id="another"),
        pytest.param({"uid": "other", "resourceVersion": "1"}, STALE, id="stale-and-another"),
    ],
)
async def test_what_a_patch_rests_on(
    rest: Rest, subresource: str, form: str, guard: dict[str, str], refusal: tuple[str, list[str]]
) -> None:
    await rest.post(PODS, pod())

    reply = await rest.patch(f"{PODS}/a{subresource}", {"metadata": guard}, form=form)

    causes = (reply.body["details"] or {}).get("causes", [])
    assert (reply.body["reason"], [cause["field"] for cause in causes]) == refusal


async def running_pod_with_budget(rest: Rest, status: dict[str, int]) -> None:
    await rest.post(PODS, pod(labels={"app": "x"}, nodeName="n"))
    await rest.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
    await rest.post(BUDGETS, budget)
    await rest.patch(f"{BUDGETS}/b/status", {"status": status})


async def test_an_eviction_is_charged_to_the_budget(rest: Rest) -> None:
    await running_pod_with_budget(rest, {"observedGeneration": 1, "disruptionsAllowed": 1})
    evicted = await rest.post(f"{PODS}/a/eviction", {"metadata": {"name": "a"}})
    budget = (await rest.get(f"{BUDGETS}/b")).body

    assert (evicted.status, evicted.body["status"]) == (201, "Success")
    assert "deletionTimestamp" in (await rest.get(f"{PODS}/a")).body["metadata"]
    assert budget["status"]["disruptionsAllowed"] == 0
    assert list(budget["status"]["disruptedPods"]) == ["a"]


@pytest.mark.parametrize(
    ("status", "retry_after", "why"),
    [
        ({"observedGeneration": 1, "desiredHealthy": 2, "currentHealthy": 1}, None, "needs 2 healthy pods and has 1"),
        ({}, "10", "is still being processed"),
    ],
    ids=["used up", "not counted yet"],
)
async def test_a_budget_refuses_an_eviction(
    rest: Rest, status: dict[str, int], retry_after: str | None, why: str
) -> None:
    await running_pod_with_budget(rest, status)
    refused = await rest.post(f"{PODS}/a/eviction", {"metadata": {"name": "a"}})

    assert (refused.status, refused.body["reason"]) == (429, "TooManyRequests")
    assert refused.headers.get("Retry-After") == retry_after
    assert why in refused.body["details"]["causes"][0]["message"]


async def test_a_pending_pod_is_evicted_past_its_budget(rest: Rest) -> None:
    await running_pod_with_budget(rest, {})
    await rest.post(PODS, pod("waiting", labels={"app": "x"}))

    assert (await rest.post(f"{PODS}/waiting/eviction", {"metadata": {"name": "waiting"}})).status == 201
