"""The endpoints under /sandbox/; the table is in `faults`."""

import uuid
from typing import Any, TypeVar

import msgspec

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.faults import Faults, RuleBook
from gangline.sandbox.apiserver.http import answers
from gangline.sandbox.apiserver.http.answers import Answer
from gangline.sandbox.apiserver.http.calls import Call
from gangline.sandbox.apiserver.http.streams import Streams
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.store import Change, Object, Version
from gangline.sandbox.apiserver.strategies.choice import strategy_of
from gangline.sandbox.apiserver.strategies.strategy import ClusterState, Write

T = TypeVar("T")


class Admin:
    """What a test or a person may do to the server itself."""

    def __init__(self, state: ClusterState, faults: Faults, streams: Streams) -> None:
        self._state = state
        self._faults = faults
        self._streams = streams

    def answer(self, call: Call) -> Answer:
        """Answer a request under /sandbox/; raises Failure."""
        match call.method, call.path.removeprefix("/sandbox/").rstrip("/"):
            case "PUT", "faults":
                self._faults.install(_read(call.body, RuleBook))
                return answers.document({"ok": True})
            case "GET", "faults":
                rules = [{"rule": rule, "struck": struck} for rule, struck in self._faults.report()]
                return answers.document({"rules": rules})
            case "POST", "compact":
                revision = _read(call.body or b"{}", dict[str, int]).get("revision")
                return answers.document({"compacted": self._state.store.compact(revision)})
            case "POST", "objects":
                return self._put(_read(call.body, dict[str, Any]), call.query.get("key", ""))
            case "POST", "watches/drop":
                resource = _read(call.body or b"{}", dict[str, str]).get("resource")
                return answers.document({"dropped": self._streams.drop(resource)})
            case "GET", "log":
                after = _read(call.query.get("after", "0").encode(), int)
                lines = [_line(version) for version in self._state.store.history() if version.revision > after]
                return Answer(body=b"".join(lines), content_type="application/x-ndjson")
        raise failures.NoSuchPath

    def _put(self, item: Object, key: str) -> Answer:
        kind, key = (self._kind_of(item), key) if key else self._place_of(item)
        old = self._state.store.get(kind.resource, key)
        metadata = item.setdefault("metadata", {})
        metadata.setdefault("uid", old.object["metadata"]["uid"] if old else str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", self._state.timestamp())
        change, before = (Change.MODIFIED, old.object) if old else (Change.ADDED, None)
        version = self._state.store.commit(change, kind.resource, key, item)
        strategy_of(kind).committed(Write(kind=kind, new=item, old=before, subresource="", state=self._state))
        return answers.document(version.object, 200 if old else 201)

    def _place_of(self, item: Object) -> tuple[Kind, str]:
        """Return the kind and the store's key of an object; raises 400."""
        kind = self._kind_of(item)
        metadata = item.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise failures.bad_request("metadata.name must be there: it is the key in the store")
        namespace = metadata.get("namespace")
        if kind.namespaced and not isinstance(namespace, str):
            raise failures.bad_request("metadata.namespace must be there: it is part of the key in the store")
        return kind, f"{namespace}/{metadata['name']}" if kind.namespaced else metadata["name"]

    def _kind_of(self, item: Object) -> Kind:
        kind = self._state.registry.find_stored(str(item.get("apiVersion")), str(item.get("kind")))
        if kind is not None:
            return kind
        raise failures.bad_request(f"no kind {item.get('kind')!r} is stored as {item.get('apiVersion')!r}")


def _read(body: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.MsgspecError as problem:
        raise failures.bad_request(str(problem)) from problem


def _line(version: Version) -> bytes:
    head = msgspec.json.encode(
        {
            "revision": version.revision,
            "type": version.change,
            "group": version.resource.group,
            "resource": version.resource.plural,
            "key": version.key,
        }
    )
    return head[:-1] + b',"object":' + version.json("stored", None) + b"}\n"
