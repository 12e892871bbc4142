"""Requests as they came: their bodies and options, read."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause, Failure
from gangline.sandbox.apiserver.http import protobuf
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.schema import bodies
from gangline.sandbox.apiserver.schema.bodies import FieldValidation
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.verbs.deletion import DeleteOptions
from gangline.sandbox.apiserver.verbs.verbs import WriteOptions

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_JSON = ("", "application/json", JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)
_YAML = ("application/yaml", APPLY_PATCH)
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
        return self.method == "GET" and self.flag("watch")

    @property
    def media_type(self) -> str:
        """Media type of the body."""
        return self.content_type.partition(";")[0].strip()

    def flag(self, name: str) -> bool:
        """Whether a query parameter is true."""
        return self.query.get(name, "").lower() in ("true", "1")

    def decoded(self, kind: Kind | None = None) -> Any:
        """Read the body, of a kind or DeleteOptions; raises 400 and 415."""
        noun = kind.kind if kind else "DeleteOptions"
        try:
            if self.media_type in _JSON:
                return msgspec.json.decode(self.body)
            if self.media_type in _YAML:
                return _yaml(self.body)
            if self.media_type == _PROTOBUF and not (kind and kind.custom):
                return protobuf.decode(self.body)
        except protobuf.Malformed as problem:
            raise bodies.unrecognized(noun, str(problem), self.body) from problem
        except (msgspec.DecodeError, yaml.YAMLError, ValueError, RecursionError) as problem:
            what = "unexpected end of JSON input" if "truncated" in str(problem) else problem
            what = f"couldn't get version/kind; json parse error: {what}"
            raise bodies.unrecognized(noun, what, self.body) from problem
        raise unread("application/json", "application/yaml", _PROTOBUF)

    def decoded_object(self, kind: Kind | None = None) -> Object:
        """Read the body, which must be an object; raises 400 and 415."""
        body = self.decoded(kind)
        if not isinstance(body, dict):
            raise failures.bad_request("the body of the request is not an object")
        return body

    def write_options(self, noun: str) -> WriteOptions:
        """Read how to write; raises 422, in the name of these options."""
        policy, dry_run = self.query.get("fieldValidation") or FieldValidation.WARN, self.query.get("dryRun")
        if policy not in FieldValidation.__members__.values():
            cause = Cause.unsupported("fieldValidation", policy, ("", "Ignore", "Strict", "Warn"))
            raise failures.invalid_options(noun, cause)
        _check_dry_run([dry_run] if dry_run else [], noun)
        manager = self.query.get("fieldManager") or self.user_agent.partition("/")[0] or "unknown"
        return WriteOptions(
            dry_run=bool(dry_run),
            field_validation=FieldValidation(policy),
            manager="" if self.media_type == APPLY_PATCH else manager,
        )

    def delete_options(self, body: Object) -> DeleteOptions:
        """Read how to delete, of a body and, where that says nothing, the query; raises 400 and 422."""
        given: dict[str, Any] = {
            key: self.query[key] for key in ("gracePeriodSeconds", "propagationPolicy") if key in self.query
        }
        if self.query.get("dryRun"):
            given["dryRun"] = [self.query["dryRun"]]
        try:
            options = msgspec.convert({**given, **body}, DeleteOptions, strict=False)
        except msgspec.ValidationError as problem:
            raise failures.bad_request(str(problem)) from problem
        if options.propagation_policy not in (None, "Foreground", "Background", "Orphan"):
            choices = ("Foreground", "Background", "Orphan", "nil")
            cause = Cause.unsupported("propagationPolicy", options.propagation_policy, choices)
            raise failures.invalid_options("DeleteOptions", cause)
        _check_dry_run(options.dry_run or (), "DeleteOptions")
        return options


def _yaml(body: bytes) -> Any:
    """Read YAML, which is mostly JSON, and that is read much faster."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return yaml.safe_load(body)


def _check_dry_run(asked: Sequence[str], noun: str) -> None:
    if any(each != "All" for each in asked):
        raise failures.invalid_options(noun, Cause.unsupported("dryRun", list(asked), ("All",)))


def unread(*supported: str) -> Failure:
    """415: the body is in a form that is not read."""
    listed = ", ".join(supported)
    return Failure(415, f"the body of the request was in an unknown format - accepted media types include: {listed}")
