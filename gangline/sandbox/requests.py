"""From a request to an answer: decodes bodies and options, calls the verb, shows the result. No I/O."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from gangline.sandbox import answers, apply, bodies, documents, failures, lists, patch, protobuf
from gangline.sandbox.answers import Answer
from gangline.sandbox.bodies import FieldValidation
from gangline.sandbox.deletion import DeleteOptions, check_preconditions, delete
from gangline.sandbox.failures import Cause, Failure
from gangline.sandbox.kinds import ACCESS_REVIEWS, BINDINGS, EVICTIONS, RULES_REVIEWS, Kind
from gangline.sandbox.paths import target_of
from gangline.sandbox.schema import json_type
from gangline.sandbox.shapes import Schema, resolved, shape_of
from gangline.sandbox.store import Object, Writer
from gangline.sandbox.strategies import bindings, evictions, reviews, scale
from gangline.sandbox.verbs import Target, Verbs, WriteOptions, Written
from gangline.sandbox.views import View, view_of

_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"
_STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_READ = ("", "json", "yaml", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
_PODS_PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
    "set propagationPolicy=Orphan to suppress this warning"
)
_PROTOBUF = "application/vnd.kubernetes.protobuf"


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
    def media_type(self) -> str:
        """Media type of the body."""
        return self.content_type.partition(";")[0].strip()

    @property
    def manager(self) -> str:
        """Who writes, for managedFields."""
        return self.query.get("fieldManager") or self.user_agent.partition("/")[0] or "unknown"

    def flag(self, name: str) -> bool:
        """Whether a query parameter is true."""
        return self.query.get(name, "").lower() in ("true", "1")


def answer(call: Call, verbs: Verbs) -> Answer:
    """Answer everything but watches; raises Failure."""
    found = documents.answer(call.path, call.accept, verbs.state.registry)
    if found is not None:
        if call.method != "GET":
            raise failures.method_not_allowed()
        return found
    target = target_of(call.path, verbs.state.registry)
    if call.method != "POST" and (target.kind.verbs == ("create",) or target.subresource in ("binding", "eviction")):
        raise failures.method_not_allowed()
    view = view_of(call.accept, target.kind, verbs.state.now, call.query.get("includeObject", ""))
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
        case "DELETE", False:
            return _delete_collection(call, target, verbs, view)
    raise failures.method_not_allowed()


def _get(target: Target, verbs: Verbs, view: View) -> Answer:
    version = verbs.get(target)
    if target.subresource == "scale":
        return answers.document(scale.scale_of(target.kind, version.object))
    return Answer(body=view.one(version))


def _post(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    match target.subresource or target.kind.plural, bool(target.name):
        case "bindings", False:
            return _bind(call, target, verbs)
        case _, False if target.kind in (ACCESS_REVIEWS, RULES_REVIEWS):
            return answers.document(reviews.answer(target.kind, _decoded(call, target.kind)), 201)
        case _, False if target.namespace or not target.kind.namespaced:
            written = verbs.create(target, _decoded(call, target.kind), _write_options(call, "CreateOptions"))
            return _answered(written, view, code=201)
        case "binding", True:
            return _bind(call, target, verbs)
        case "eviction", True:
            return _evict(call, target, verbs, _object(_decoded(call, EVICTIONS)))
    raise failures.method_not_allowed()


def _bind(call: Call, target: Target, verbs: Verbs) -> Answer:
    binding, options = _decoded(call, BINDINGS), _write_options(call, "CreateOptions")
    bound = bindings.bind(verbs.state, target.namespace, target.name, binding, dry_run=options.dry_run)
    return answers.document(bound, 201)


def _evict(call: Call, target: Target, verbs: Verbs, eviction: Object) -> Answer:
    evictions.check_name(target.name, eviction)
    options = _delete_options(eviction.get("deleteOptions") or {}, call)
    version = verbs.get(target)
    evictions.ask_budgets(verbs.state, version.object, dry_run=options.dry_run)
    check_preconditions(target, version.object["metadata"], options)
    if not options.dry_run and not version.object["metadata"].get("deletionTimestamp"):
        evictions.announce(verbs.state, version)
    delete(verbs, target, options)
    return answers.document({**_SUCCESS, "code": 201}, 201)


def _put(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    body, options = _decoded(call, target.kind), _write_options(call, "UpdateOptions")
    if target.subresource == "scale":
        written = verbs.patch(_main(target), lambda old: scale.scaled(target.kind, old, _object(body)), options)
        return answers.document(scale.scale_of(target.kind, written.version.object))
    written = verbs.update(target, body, options)
    return _answered(written, view, code=201 if written.is_new else 200)


def _patch(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    _check_patch(call.media_type, target.kind)
    changes = _decoded(call, target.kind)
    if call.media_type == _APPLY_PATCH:
        return _apply(call, target, verbs, view, _object(changes))
    change = _change(call.media_type, changes, target)
    options = _write_options(call, "PatchOptions")
    if target.subresource == "scale":
        kind = target.kind
        written = verbs.patch(
            _main(target), lambda old: scale.scaled(kind, old, change(scale.scale_of(kind, old))), options
        )
        return answers.document(scale.scale_of(kind, written.version.object))
    return _answered(verbs.patch(target, change, options), view)


def _check_patch(media_type: str, kind: Kind) -> None:
    if media_type not in (_JSON_PATCH, _MERGE_PATCH, _STRATEGIC_PATCH, _APPLY_PATCH):
        raise Failure(415, "415: Unsupported Media Type", details={})
    if media_type == _STRATEGIC_PATCH and kind.custom:
        raise _unread(_JSON_PATCH, _MERGE_PATCH, _APPLY_PATCH)


def _change(media_type: str, changes: Any, target: Target) -> Callable[[Object], Any]:
    if media_type == _JSON_PATCH:
        return lambda old: patch.json_patch(old, changes)
    if not isinstance(changes, dict):
        raise failures.bad_request(
            f"error decoding patch: json: cannot unmarshal {json_type(changes)} into Go value of type "
            "map[string]interface {}"
        )
    if media_type == _MERGE_PATCH:
        return lambda old: patch.merge_patch(old, changes)
    schema = resolved(shape_of(target.kind))
    return lambda old: patch.strategic_merge_patch(old, changes, schema)


def _apply(call: Call, target: Target, verbs: Verbs, view: View, config: Object) -> Answer:
    manager = call.query.get("fieldManager")
    if not manager:
        raise failures.invalid_options("PatchOptions", Cause.required("fieldManager", "is required for apply patch"))
    if (config.get("metadata") or {}).get("managedFields"):
        raise failures.bad_request("metadata.managedFields must be nil")
    _check_configuration(config, target.kind, resolved(shape_of(target.kind)))
    schema, force = resolved(shape_of(target.kind)), call.flag("force")
    writer, entries = Writer(manager, target.subresource, verbs.state.timestamp()), verbs.managers(target)
    config.setdefault("metadata", {}).setdefault("name", target.name)
    if verbs.state.store.get(target.kind.resource, target.key) is None and not target.subresource:
        collection = Target(kind=target.kind, namespace=target.namespace, name="")
        new = apply.applied(None, config, schema, [], writer=writer, force=force)
        return _answered(verbs.create(collection, new, _write_options(call, "PatchOptions")), view, code=201)
    written = verbs.patch(
        target,
        lambda old: apply.applied(old, config, schema, entries, writer=writer, force=force),
        _write_options(call, "PatchOptions"),
    )
    return _answered(written, view)


def _check_configuration(config: Object, kind: Kind, schema: Schema) -> None:
    if not config.get("apiVersion") or not config.get("kind"):
        raise failures.bad_request(
            f"invalid object type: {config.get('apiVersion', '/')}, Kind={config.get('kind', '')}"
        )
    unknown = list(apply.undeclared(config, schema))
    if unknown:
        metadata = config.get("metadata") or {}
        identity = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        what = f"({identity}; {kind.group}/{kind.version}, Kind={kind.kind})"
        raise failures.internal(
            f"failed to create typed patch object {what}: {unknown[0]}: field not declared in schema"
        )


def _delete(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    options = _delete_options(_object(_decoded(call)) if call.body else {}, call)
    version, is_gone = delete(verbs, target, options)
    if not is_gone or target.kind.returns_deleted:
        preserves = target.kind.orphans_by_default and options.propagation is None
        return Answer(body=view.one(version), warnings=(_PODS_PRESERVED,) if preserves else ())
    details = {"name": target.name, "kind": target.kind.plural, "uid": version.object["metadata"]["uid"]}
    if target.kind.group:
        details["group"] = target.kind.group
    return answers.document({**_SUCCESS, "details": details})


def _delete_collection(call: Call, target: Target, verbs: Verbs, view: View) -> Answer:
    if "deletecollection" not in target.kind.verbs:
        raise failures.method_not_allowed()
    options = _delete_options(_object(_decoded(call)) if call.body else {}, call)
    page = lists.page(verbs.state.store, target.kind, target.namespace, call.query)
    for version in page.versions:
        metadata = version.object["metadata"]
        one = Target(kind=target.kind, namespace=metadata.get("namespace", ""), name=metadata["name"])
        delete(verbs, one, options)
    return Answer(body=view.many(page))


def _answered(written: Written, view: View, code: int = 200) -> Answer:
    return Answer(body=view.one(written.version), code=code, warnings=written.warnings)


def _main(target: Target) -> Target:
    return Target(kind=target.kind, namespace=target.namespace, name=target.name)


def _write_options(call: Call, noun: str) -> WriteOptions:
    policy = call.query.get("fieldValidation") or FieldValidation.WARN
    if policy not in FieldValidation.__members__.values():
        raise failures.invalid_options(
            noun, Cause.unsupported("fieldValidation", policy, ("", "Ignore", "Strict", "Warn"))
        )
    manager = "" if call.media_type == _APPLY_PATCH else call.manager
    return WriteOptions(
        dry_run=_is_dry(call.query.get("dryRun"), noun), field_validation=FieldValidation(policy), manager=manager
    )


def _is_dry(asked: str | None, noun: str) -> bool:
    if asked not in (None, "", "All"):
        raise failures.invalid_options(noun, Cause.unsupported("dryRun", [asked], ("All",)))
    return asked == "All"


def _delete_options(body: Object, call: Call) -> DeleteOptions:
    preconditions = body.get("preconditions") or {}
    propagation = body.get("propagationPolicy", call.query.get("propagationPolicy"))
    if body.get("orphanDependents") is not None:
        propagation = "Orphan" if body["orphanDependents"] else "Background"
    if propagation not in (None, "Foreground", "Background", "Orphan"):
        choices = ("Foreground", "Background", "Orphan", "nil")
        raise failures.invalid_options("DeleteOptions", Cause.unsupported("propagationPolicy", propagation, choices))
    grace_period_s = _grace_period_s(body, call)
    return DeleteOptions(
        grace_period_s=grace_period_s,
        propagation=propagation,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=_is_dry(call.query.get("dryRun"), "DeleteOptions") or body.get("dryRun") == ["All"],
    )


def _grace_period_s(body: Object, call: Call) -> int | None:
    """Read the grace period; a negative one is a second."""
    grace = body.get("gracePeriodSeconds")
    if grace is None and (text := call.query.get("gracePeriodSeconds")) is not None:
        if not re.fullmatch(r"[+-]?\d{1,18}", text):
            raise failures.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        grace = int(text)
    if grace is not None and not isinstance(grace, int):
        field = f"{json_type(grace)} into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        raise failures.bad_request(f"json: cannot unmarshal {field}")
    return 1 if grace is not None and grace < 0 else grace


def _object(body: Any) -> Object:
    if not isinstance(body, dict):
        raise failures.bad_request("the body of the request is not an object")
    return body


def _decoded(call: Call, kind: Kind | None = None) -> Any:
    """Read the body, of a kind or DeleteOptions."""
    if call.media_type == _PROTOBUF and not (kind and kind.custom):
        try:
            return protobuf.decode(call.body)
        except protobuf.Malformed as problem:
            noun = kind.kind if kind else "DeleteOptions"
            if problem.identity is None:
                raise bodies.unrecognized(noun, str(problem), call.body) from problem
            version, given = problem.identity
            text = f'{given} in version "{version.rpartition("/")[2]}" cannot be handled as a {noun}: {problem}'
            raise failures.bad_request(text) from problem
    if call.media_type.partition("/")[2] not in _READ:
        raise _unread("application/json", "application/yaml", _PROTOBUF)
    try:
        if call.media_type.endswith("yaml"):
            return yaml.safe_load(call.body)
        return msgspec.json.decode(call.body)
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as problem:
        is_cut = "truncated" in str(problem)
        what = f"json parse error: {'unexpected end of JSON input' if is_cut else problem}"
        raise bodies.unrecognized(kind.kind if kind else "DeleteOptions", what, call.body) from problem


def _unread(*supported: str) -> Failure:
    listed = ", ".join(supported)
    return Failure(415, f"the body of the request was in an unknown format - accepted media types include: {listed}")
