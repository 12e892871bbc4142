"""What stands in the requests that we send."""

import json

import pytest

from gangline.contract.meta import Key
from gangline.kube.wire import requests
from gangline.kube.wire.requests import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Request
from gangline.kube.wire.resources import EVENTS, NAMESPACES, NODES, POD_GROUPS, PODS, Resource

POD = Key("team", "a")


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "subresource", "path"),
    [
        pytest.param(PODS, None, None, None, "/api/v1/pods", id="all-namespaces"),
        pytest.param(PODS, "team", None, None, "/api/v1/namespaces/team/pods", id="collection"),
        pytest.param(PODS, "team", "a", "status", "/api/v1/namespaces/team/pods/a/status", id="subresource"),
        pytest.param(NODES, "", "n1", None, "/api/v1/nodes/n1", id="cluster-scoped"),
        pytest.param(NODES, "team", "n1", None, "/api/v1/nodes/n1", id="cluster-scoped-in-no-namespace"),
        pytest.param(NAMESPACES, None, "team", None, "/api/v1/namespaces/team", id="namespace"),
        pytest.param(
            POD_GROUPS, "team", "g", None, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team/podgroups/g", id="group"
        ),
        pytest.param(
            PODS, "te/am", "../x?y=ü", None, "/api/v1/namespaces/te%2Fam/pods/..%2Fx%3Fy%3D%C3%BC", id="hostile"
        ),
    ],
)
def test_paths(resource: Resource, namespace: str | None, name: str | None, subresource: str | None, path: str) -> None:
    assert resource.path(namespace, name, subresource) == path


def test_api_versions() -> None:
    assert (PODS.api_version, EVENTS.api_version) == ("v1", "events.k8s.io/v1")


@pytest.mark.parametrize(
    ("request_", "target"),
    [
        pytest.param(requests.list_page(PODS), "/api/v1/pods?limit=500", id="first-page"),
        pytest.param(requests.list_page(PODS, limit=0), "/api/v1/pods", id="in-one-piece"),
        pytest.param(
            requests.list_page(PODS, label_selector="a in (b,c)", continue_token="x=/+"),
            "/api/v1/pods?labelSelector=a+in+%28b%2Cc%29&limit=500&continue=x%3D%2F%2B",
            id="next-page",
        ),
        pytest.param(
            requests.watch(PODS, namespace="team", resource_version="7", seconds=300, silence_s=75),
            "/api/v1/namespaces/team/pods?watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=300",
            id="watch",
        ),
        pytest.param(requests.get(PODS, POD), "/api/v1/namespaces/team/pods/a", id="get"),
    ],
)
def test_reads(request_: Request, target: str) -> None:
    assert request_.method == "GET"
    assert request_.target == target
    assert request_.body is None


def test_a_watch_is_bounded_on_our_side_too() -> None:
    request = requests.watch(PODS, resource_version="7", seconds=300, silence_s=75.0)

    assert (request.timeout_s, request.silence_s) == (330.0, 75.0)


@pytest.mark.parametrize("content_type", [MERGE_PATCH, STRATEGIC_PATCH, JSON_PATCH, APPLY_PATCH])
def test_a_patch_says_what_kind_it_is(content_type: str) -> None:
    request = requests.patch(
        PODS, POD, {"a": 1}, subresource="status", content_type=content_type, field_manager="gangline"
    )

    assert (request.method, request.content_type, request.body) == ("PATCH", content_type, b'{"a":1}')
    assert (request.verb, request.resource) == ("patch", "pods/status")
    assert ("force", "true") in request.query or content_type != APPLY_PATCH
    assert ("fieldManager", "gangline") in request.query


def test_a_binding_carries_the_uid_of_the_pod() -> None:
    request = requests.bind(POD, "uid-a", "n1")

    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/team/pods/a/binding")
    assert json.loads(request.body or b"") == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "team", "name": "a", "uid": "uid-a"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }


def test_a_binding_is_over_in_its_time_for_us_and_for_the_server() -> None:
    request = requests.bind(POD, "uid-a", "n1", within_s=2.25)

    assert (request.timeout_s, request.query) == (2.25, (("timeout", "2.250s"),))


def test_a_deletion_says_only_what_was_asked_for() -> None:
    plain = json.loads(requests.delete(PODS, POD).body or b"")
    full = json.loads(requests.delete(PODS, POD, uid="u", grace_period_s=0, propagation="Background").body or b"")

    assert plain == {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert full == plain | {
        "preconditions": {"uid": "u"},
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
    }


def test_an_eviction_carries_the_uid_as_a_precondition() -> None:
    request = requests.evict(POD, uid="u")

    assert request.path == "/api/v1/namespaces/team/pods/a/eviction"
    assert json.loads(request.body or b"")["deleteOptions"]["preconditions"] == {"uid": "u"}
