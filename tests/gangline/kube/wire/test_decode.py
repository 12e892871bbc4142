"""Objects that do not say who they are, or not in a way that decodes: what is still known of them."""

import json
from typing import Any

import pytest

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.wire.changes import Unreadable
from gangline.kube.wire.decode import ObjectDecoder, UnreadableEvent
from gangline.kube.wire.resources import PODS

DECODER = ObjectDecoder(Pod, PODS)
NAMED = {"namespace": "team", "name": "a", "uid": "u"}


def salvaged(item: dict[str, Any]) -> Unreadable:
    """Decode a watch event and a page with this object; both must say the same."""
    event = DECODER.event(json.dumps({"type": "ADDED", "object": item}).encode())
    (listed,) = DECODER.page(json.dumps({"metadata": {"resourceVersion": "1"}, "items": [item]}).encode()).items
    assert isinstance(event, UnreadableEvent)
    assert event.object == listed
    return event.object


@pytest.mark.parametrize(
    ("metadata", "key", "uid", "message"),
    [
        pytest.param({"name": None}, Key("team", "(no name, UID u)"), "u", "$.metadata.name", id="name null"),
        pytest.param({"name": ""}, Key("team", "(no name, UID u)"), "u", "metadata.name is missing", id="no name"),
        pytest.param({"name": "", "uid": ""}, Key("team", "(no name, no UID)"), "(no UID, team/(no name, no UID))", "metadata.name", id="neither"),
        pytest.param({"namespace": ""}, Key("", "a"), "u", "metadata.namespace is missing", id="no namespace"),
        pytest.param({"uid": ""}, Key("team", "a"), "(no UID, team/a)", "metadata.uid is missing", id="no UID"),
        pytest.param({"name": ".."}, Key("team", ".."), "u", "'..'", id="two dots"),
        pytest.param({"name": "a/../b"}, Key("team", "a/../b"), "u", "'a/../b'", id="path"),
        pytest.param({"name": "a%2e"}, Key("team", "a%2e"), "u", "'a%2e'", id="escape"),
        pytest.param({"labels": {"a": 1}}, Key("team", "a"), "u", "`$.metadata.labels", id="type"),
        pytest.param({"generation": 2**63}, Key("team", "a"), "u", "`$.metadata.generation", id="beyond 64 bits"),
    ],
)  # fmt: skip
def test_who_it_is(metadata: dict[str, Any], key: Key, uid: str, message: str) -> None:
    found = salvaged({"metadata": NAMED | metadata, "spec": {"nodeName": "n"}})

    assert (found.key, found.uid, found.node_name) == (key, uid, "n")
    assert message in found.message


@pytest.mark.parametrize(("phase", "node"), [("Running", "n"), ("Succeeded", ""), ("Failed", ""), (3, "n")])
def test_what_has_finished_runs_nowhere(phase: object, node: str) -> None:
    item = {"metadata": NAMED | {"labels": 1}, "spec": {"nodeName": "n"}, "status": {"phase": phase}}

    assert salvaged(item).node_name == node


@pytest.mark.parametrize("name", ["a.", "...", "\u5e2e", "a\u0000", "x" * 300])
def test_an_odd_name_that_a_request_can_hold_is_read(name: str) -> None:
    line = json.dumps({"type": "ADDED", "object": {"metadata": NAMED | {"name": name}}}).encode()

    assert not isinstance(DECODER.event(line), UnreadableEvent)
