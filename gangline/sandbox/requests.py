"""From a request to an answer: decodes bodies and options, calls the verb, shows the result. No I/O."""

from collections.abc import Mapping
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from gangline.sandbox import answers, discovery, failures, forms, lists, patch
from gangline.sandbox.answers import Answer
from gangline.sandbox.paths import target_of
from gangline.sandbox.strategies import bindings
from gangline.sandbox.verbs import DeleteOptions, Target, Verbs

_STATUS_OK = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class Call(Struct, frozen=True, kw_only=True):
    """An HTTP request, read to its end."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    user_agent: str = ""

    @property
    def is_watch(self) -> bool:
        """Whether the answer is a stream."""
        return self.method == "GET" and self.query.get("watch", "").lower() in ("true", "1")

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be kept."""
        return self.query.get("dryRun") == "All"


def answer(call: Call, verbs: Verbs) -> Answer:
    """Answer everything but watches; raises Failure."""
    found = _document(call, verbs)
    if found is not None:
        return found
    target = target_of(call.path, verbs.state.registry)
    match call.method, bool(target.name):
        case "GET", True:
            return _shown(target, verbs.get(target))
        case "GET", False:
            return _list(call, target, verbs)
        case "POST", _:
            return _post(call, target, verbs)
        case "PUT", True:
            version = verbs.update(target, _decoded(call), dry_run=call.dry_run)
            return _shown(target, version)
        case "PATCH", True:
            return _patch(call, target, verbs)
        case "DELETE", True:
            return _delete(call, target, verbs)
        case "DELETE", False:
            return _delete_collection(call, target, verbs)
    raise failures.method_not_allowed(call.method)


def _document(call: Call, verbs: Verbs) -> Answer | None:
    registry = verbs.state.registry
    body: dict[str, Any] | None
    is_aggregated = "as=APIGroupDiscoveryList" in call.accept and "v=v2;" in call.accept.replace("v=v2,", "v=v2;") + ";"
    match call.path.strip("/").split("/"):
        case ["healthz" | "livez" | "readyz", *_]:
            return Answer(body=b"ok", content_type="text/plain")
        case ["version"]:
            return answers.document(discovery.VERSION)
        case ["api" | "apis" as root] if is_aggregated:
            return answers.document(
                discovery.aggregated(registry, core=root == "api"),
                content_type="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            )
        case ["api"]:
            body = discovery.core_versions()
        case ["apis"]:
            body = discovery.group_list(registry)
        case ["apis", group]:
            body = discovery.group(group, registry)
        case ["api", version]:
            body = discovery.resource_list("", version, registry)
        case ["apis", group, version]:
            body = discovery.resource_list(group, version, registry)
        case _:
            return None
    if body is None:
        raise failures.no_such_path()
    return answers.document(body)


def _shown(target: Target, version: Any, code: int = 200) -> Answer:
    return Answer(body=version.json(target.kind.api_version, forms.reader(target.kind)), code=code)


def _list(call: Call, target: Target, verbs: Verbs) -> Answer:
    kind = target.kind
    page = lists.page(verbs.state.store, kind, target.namespace, call.query)
    convert = forms.reader(kind)
    items = [version.json(kind.api_version, convert) for version in page.versions]
    return Answer(body=answers.list_body(kind, page, items))


def _post(call: Call, target: Target, verbs: Verbs) -> Answer:
    body = _decoded(call)
    match target.subresource:
        case "":
            return _shown(target, verbs.create(target, body, dry_run=call.dry_run), 201)
        case "binding":
            return answers.document(bindings.bind(verbs.state, target.key, target.name, body), 201)
    raise failures.method_not_allowed(call.method)


def _patch(call: Call, target: Target, verbs: Verbs) -> Answer:
    media_type = call.content_type.split(";")[0].strip()
    changes = _decoded(call)
    match media_type:
        case "application/json-patch+json":
            version = verbs.patch(target, lambda old: patch.json_patch(old, changes), dry_run=call.dry_run)
        case "application/merge-patch+json" | "application/strategic-merge-patch+json":
            version = verbs.patch(target, lambda old: patch.merge_patch(old, changes), dry_run=call.dry_run)
        case _:
            raise failures.unsupported_media_type(
                (
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/strategic-merge-patch+json",
                    "application/apply-patch+yaml",
                )
            )
    return _shown(target, version)


def _delete(call: Call, target: Target, verbs: Verbs) -> Answer:
    version, is_gone = verbs.delete(target, _delete_options(call))
    if not is_gone or target.kind.returns_deleted:
        return _shown(target, version)
    details = {"name": target.name, "kind": target.kind.plural, "uid": version.object["metadata"]["uid"]}
    if target.kind.group:
        details["group"] = target.kind.group
    return answers.document({**_STATUS_OK, "details": details})


def _delete_collection(call: Call, target: Target, verbs: Verbs) -> Answer:
    kind = target.kind
    options = _delete_options(call)
    page = lists.page(verbs.state.store, kind, target.namespace, call.query)
    convert = forms.reader(kind)
    items = []
    for version in page.versions:
        metadata = version.object["metadata"]
        one = Target(kind=kind, namespace=metadata.get("namespace", ""), name=metadata["name"])
        deleted, _ = verbs.delete(one, options)
        items.append(deleted.json(kind.api_version, convert))
    return Answer(body=answers.list_body(kind, page, items))


def _delete_options(call: Call) -> DeleteOptions:
    body = _decoded(call) if call.body else {}
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", call.query.get("gracePeriodSeconds"))
    propagation = body.get("propagationPolicy", call.query.get("propagationPolicy"))
    return DeleteOptions(
        grace_period_s=int(grace) if grace is not None else None,
        propagation=propagation,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=call.dry_run or body.get("dryRun") == ["All"],
    )


def _decoded(call: Call) -> Any:
    media_type = call.content_type.split(";")[0].strip()
    try:
        if media_type.endswith("yaml"):
            return yaml.safe_load(call.body)
        return msgspec.json.decode(call.body)
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError) as problem:
        raise failures.bad_request(
            f"the object provided is unrecognized (must be of type JSON): {problem}"
        ) from problem
