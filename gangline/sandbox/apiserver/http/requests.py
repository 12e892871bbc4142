"""From a request to an answer: chooses the verb and shows the result. No I/O."""

from collections.abc import Callable
from typing import Any

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause, Failure
from gangline.sandbox.apiserver.http import answers, documents
from gangline.sandbox.apiserver.http.answers import Answer
from gangline.sandbox.apiserver.http.calls import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Call, unread
from gangline.sandbox.apiserver.http.views import View, view_of
from gangline.sandbox.apiserver.kinds import ACCESS_REVIEWS, BINDINGS, EVICTIONS, RULES_REVIEWS
from gangline.sandbox.apiserver.schema.shapes import shape_of
from gangline.sandbox.apiserver.schema.walk import json_type
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.strategies import bindings, evictions, reviews, scale
from gangline.sandbox.apiserver.verbs import lists, patch
from gangline.sandbox.apiserver.verbs.deletion import check_preconditions, delete
from gangline.sandbox.apiserver.verbs.paths import Target, target_of
from gangline.sandbox.apiserver.verbs.verbs import Verbs, WriteOptions, Written

_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
_PODS_PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
    "set propagationPolicy=Orphan to suppress this warning"
)


def answer(call: Call, verbs: Verbs) -> Answer:
    """Answer everything but watches; raises Failure."""
    found = documents.answer(call.path, verbs.state.registry)
    if found is not None:
        if call.method != "GET":
            raise failures.method_not_allowed()
        return found
    target = target_of(call.path, verbs.state.registry)
    if call.method != "POST" and (target.kind.verbs == ("create",) or target.subresource in ("binding", "eviction")):
        raise failures.method_not_allowed()
    view = view_of(call.accept, target.kind, verbs.state.now, whole_rows=call.query.get("includeObject") == "Object")
    match call.method, bool(target.name):
        case "GET", True:
            return _get(target, verbs, view)
        case "GET", False:
            page = lists.page(verbs.state.store, target.kind, target.namespace, call.query)
            return Answer(body=view.many(page))
        case "POST", _:
            return _post(call, target, verbs, view)
        case "PUT", True:
            return _put(call, target, verbs, view)
        case "PATCH", True:
            return _patch(call, target, verbs, view)
        case "DELETE", True if not target.subresource:
            return _delete(call, target, verbs, view)
        case "DELETE", False if "deletecollection" in target.kind.verbs:
            return _delete_collection(call, target, verbs, view)
    raise failures.method_not_allowed()


def _get(target: Target, verbs: Verbs, view: View) -> Answer:
    version = verbs.get(target)
    if target.subresource == "scale":
        return answers.document(scale.scale_of(version.object))
    return Answer(body=view.one(version))


def _post(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    match target.subresource, bool(target.name):
        case "", False if target.kind is BINDINGS:
            return _bind(call, target, verbs)
        case "", False if target.kind in (ACCESS_REVIEWS, RULES_REVIEWS):
            return answers.document(reviews.answer(target.kind, call.decoded(target.kind)), 201)
        case "", False if target.namespace or not target.kind.namespaced:
            written = verbs.create(target, call.decoded(target.kind), call.write_options("CreateOptions"))
            return _answered(written, view, code=201)
        case "binding", True:
            return _bind(call, target, verbs)
        case "eviction", True:
            return _evict(call, target, verbs)
    raise failures.method_not_allowed()


def _bind(call: Call, target: Target, verbs: Verbs) -> Answer:
    binding, options = call.decoded(BINDINGS), call.write_options("CreateOptions")
    bindings.bind(verbs.state, target.namespace, target.name, binding, dry_run=options.dry_run)
    return answers.document({**_SUCCESS, "code": 201}, 201)


def _evict(call: Call, target: Target, verbs: Verbs) -> Answer:
    eviction = call.decoded_object(EVICTIONS)
    if (eviction.get("metadata") or {}).get("name", target.name) != target.name:
        raise failures.bad_request("name in URL does not match name in Eviction object")
    options = call.delete_options(eviction.get("deleteOptions") or {})
    version = verbs.get(target)
    evictions.ask_budgets(verbs.state, version.object, dry_run=options.is_dry)
    check_preconditions(target, version.object["metadata"], options)
    if not options.is_dry and not version.object["metadata"].get("deletionTimestamp"):
        evictions.announce(verbs.state, version)
    delete(verbs, target, options)
    return answers.document({**_SUCCESS, "code": 201}, 201)


def _put(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    options = call.write_options("UpdateOptions")
    if target.subresource == "scale":
        wanted = call.decoded_object(target.kind)
        return _rescale(target, verbs, lambda _old: wanted, options)
    written = verbs.update(target, call.decoded(target.kind), options)
    return _answered(written, view, code=201 if written.is_new else 200)


def _patch(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    if call.media_type not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH):
        raise Failure(415, "415: Unsupported Media Type", details={})
    if call.media_type == STRATEGIC_PATCH and target.kind.custom:
        raise unread(JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    if call.media_type == APPLY_PATCH:
        return _apply(call, target, verbs, view)
    change = _change(call.media_type, call.decoded(target.kind), target)
    options = call.write_options("PatchOptions")
    if target.subresource == "scale":
        return _rescale(target, verbs, change, options)
    return _answered(verbs.patch(target, change, options), view)


def _change(media_type: str, changes: Any, target: Target) -> Callable[[Object], Any]:
    wanted = list if media_type == JSON_PATCH else dict
    if not isinstance(changes, wanted):
        raise failures.bad_request(
            f"error decoding patch: it is of type {json_type(changes)}, not {json_type(wanted())}"
        )
    if media_type == JSON_PATCH:
        return lambda old: patch.json_patch(old, changes)
    if media_type == MERGE_PATCH:
        return lambda old: patch.merge_patch(old, changes)
    schema = shape_of(target.kind)
    return lambda old: patch.strategic_merge_patch(old, changes, schema)


def _rescale(target: Target, verbs: Verbs, change: Callable[[Object], Object], options: WriteOptions) -> Answer:
    """Change an object through its scale."""
    whole = Target(kind=target.kind, namespace=target.namespace, name=target.name)
    written = verbs.patch(whole, lambda old: scale.scaled(old, change(scale.scale_of(old))), options)
    return answers.document(scale.scale_of(written.version.object))


def _apply(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    config, options = call.decoded_object(target.kind), call.write_options("PatchOptions")
    manager = call.query.get("fieldManager")
    if not manager:
        raise failures.invalid_options("PatchOptions", Cause.required("fieldManager", "is required for apply patch"))
    written = verbs.apply(target, config, options, manager=manager, force=call.flag("force"))
    return _answered(written, view, code=201 if written.is_new else 200)


def _delete(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    options = call.delete_options(call.decoded_object() if call.body else {})
    version, is_gone = delete(verbs, target, options)
    if not is_gone or target.kind.returns_deleted:
        preserves = target.kind.orphans_by_default and options.propagation_policy is None
        return Answer(body=view.one(version), warnings=(_PODS_PRESERVED,) if preserves else ())
    details = {"name": target.name, "kind": target.kind.plural, "uid": version.object["metadata"]["uid"]}
    if target.kind.group:
        details["group"] = target.kind.group
    return answers.document({**_SUCCESS, "details": details})


def _delete_collection(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    options = call.delete_options(call.decoded_object() if call.body else {})
    page = lists.page(verbs.state.store, target.kind, target.namespace, call.query)
    for version in page.versions:
        metadata = version.object["metadata"]
        one = Target(kind=target.kind, namespace=metadata.get("namespace", ""), name=metadata["name"])
        delete(verbs, one, options)
    return Answer(body=view.many(page))


def _answered(written: Written, view: View, code: int = 200) -> Answer:
    return Answer(body=view.one(written.version), code=code, warnings=written.warnings)
