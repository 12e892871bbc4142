"""One walk over an object and its schema: prune unknown fields, set defaults, validate.

Built-in kinds are read as Go reads them (a wrong type fails the request with 400, null is absence, quantities
are rewritten); custom resources as structural schemas demand (wrong types are 422 causes). A part that equals
the stored one is taken as it is: what was legal once stays legal until it changes (ratcheting).
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from gangline.sandbox.apiserver.failures import Cause, quoted
from gangline.sandbox.apiserver.schema import quantities
from gangline.sandbox.apiserver.schema.rules import RULES, broken_rules, is_time, repetitions
from gangline.sandbox.apiserver.schema.shapes import Schema, definitions

_INTEGER_LIMITS = {"int32": 2**31, "int64": 2**63}
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_EMPTY: tuple[object, ...] = (None, "", [], {})
_JSON_TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


class Undecodable(Exception):  # noqa: N818 - an answer to the client
    """The body cannot be read as the kind; the message says why."""


class Walk:
    """A walk, and what it came upon; `typed` is Go's way of reading."""

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed
        self.unknown: list[str] = []
        self.causes: list[Cause] = []

    def visit(self, value: Any, old: Any, schema: Schema, path: str = "") -> Any:
        """Return the value as it is to be stored; dicts and lists are changed in place."""
        while "$ref" in schema:
            schema = definitions()[schema["$ref"]]
        if old is not None and value == old:
            return value
        if schema.get("format") == "quantity":
            return _quantity(value)
        if self._typed and schema.get("format") == "date-time" and isinstance(value, str) and not is_time(value):
            raise Undecodable(f"{path}: {quoted(value)} is not a time with a zone")
        if not self._type_fits(value, schema, path):
            return value
        if isinstance(value, float) and schema.get("type") == "integer":
            value = int(value)
        match value:
            case dict():
                self._visit_object(value, old if isinstance(old, dict) else {}, schema, path)
            case list():
                self._visit_list(value, old if isinstance(old, list) else [], schema, path)
        if not RULES.isdisjoint(schema):
            self.causes.extend(broken_rules(value, schema, path, typed=self._typed))
        return value

    def _visit_object(self, value: dict[str, Any], old: dict[str, Any], schema: Schema, path: str) -> None:
        properties = schema.get("properties", {})
        more = schema.get("additionalProperties")
        for key in list(value):
            inner, here = properties.get(key), _under(path, key)
            if inner is None and isinstance(more, Mapping):
                inner = more
                here = f"{path}[{key}]" if self._typed else here
            if inner is None:
                self._meet_unknown(value, key, schema, here)
            elif self._is_absent(value[key], inner):
                del value[key]
            else:
                value[key] = self.visit(value[key], old.get(key), inner, here)
        for key, inner in properties.items():
            if key not in value and "default" in inner:
                default = deepcopy(inner["default"])
                value[key] = None if default is None else self.visit(default, None, inner, _under(path, key))
        if not self._typed or path == "spec" or path.startswith("spec."):
            self._require(value, schema, path)

    def _require(self, value: dict[str, Any], schema: Schema, path: str) -> None:
        for key in schema.get("required", ()):
            missing = value.get(key) in _EMPTY if self._typed else key not in value
            if missing and (not self._typed or schema["properties"][key].get("type") != "integer"):
                self.causes.append(Cause.required(_under(path, key)))

    def _meet_unknown(self, value: dict[str, Any], key: str, schema: Schema, path: str) -> None:
        if schema.get(_PRESERVE) or schema.get("additionalProperties") is True:
            return
        if not self._typed and key in ("apiVersion", "kind", "metadata") and ("." not in path or schema.get(_EMBEDDED)):
            return
        del value[key]
        self.unknown.append(path)

    def _is_absent(self, value: Any, schema: Schema) -> bool:
        """Whether null means that the field is not there; an empty map, which Go leaves out, may mean it too."""
        if not self._typed:
            return value is None and not schema.get("nullable") and "default" in schema
        return value is None or (value == {} and schema.get("type") == "object" and "default" not in schema)

    def _visit_list(self, value: list[Any], old: list[Any], schema: Schema, path: str) -> None:
        if not self._typed:
            self.causes.extend(repetitions(value, schema, path))
        items = schema.get("items")
        if isinstance(items, Mapping):
            for index, item in enumerate(value):
                previous = old[index] if index < len(old) else None
                value[index] = self.visit(item, previous, items, f"{path}[{index}]")

    def _type_fits(self, value: Any, schema: Schema, path: str) -> bool:
        if value is None and schema.get("nullable"):
            return False
        wanted = "integer,string" if schema.get(_INT_OR_STRING) else schema.get("type")
        fits = wanted is None or _is_of_type(value, wanted)
        limit = _INTEGER_LIMITS.get(schema.get("format", ""))
        in_range = not limit or not isinstance(value, int) or -limit <= value < limit
        if fits and in_range:
            return True
        if self._typed:
            given = value if json_type(value) in ("integer", "number") else json_type(value)
            raise Undecodable(f"{path}: {given} is not of type {schema.get('format', wanted)}")
        self.causes.extend(_misfit(value, wanted, schema, path, fits=fits))
        return fits  # a number out of range is held against the other rules too


def _under(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _quantity(value: Any) -> str:
    if json_type(value) not in ("string", "integer", "number"):
        raise Undecodable(f"quantities must match the regular expression '{quantities.PATTERN}'")
    try:
        return quantities.canonical(value)
    except ValueError as problem:
        raise Undecodable(str(problem)) from problem


def _misfit(value: Any, wanted: str | None, schema: Schema, path: str, *, fits: bool) -> Iterator[Cause]:
    """Say that a value is not of its type, or too large for its format."""
    if fits:
        detail = f"Checked value must be of type {wanted} with format {schema['format']} in {path}"
        yield Cause.invalid("<nil>", "", detail)
        return
    given = json_type(value)
    if given == "null":
        yield Cause.required(path)
        return
    yield Cause.wrong_type(path, given, f"{path} in body must be of type {wanted}: {quoted(given)}")
    if (given, wanted) == ("number", "integer"):
        yield Cause.invalid("<nil>", "", f"Checked value must be of type integer (default format) in {path}")


def json_type(value: Any) -> str:
    """Return the JSON name of a value's type."""
    return _JSON_TYPES.get(type(value), "object")


def _is_of_type(value: Any, wanted: str) -> bool:
    given = json_type(value)
    if (given, wanted) == ("number", "integer"):
        return bool(value.is_integer())
    return given in wanted.split(",") or (given, wanted) == ("integer", "number")
