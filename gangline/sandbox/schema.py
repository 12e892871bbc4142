"""One walk over an object and its schema: prune unknown fields, set defaults, validate.

Built-in kinds are read as Go reads them (a wrong type fails the request with 400, null is absence, quantities
are rewritten); custom resources as structural schemas demand (wrong types are 422 causes). A part that equals
the stored one is taken as it is: what was legal once stays legal until it changes (ratcheting).
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from gangline.sandbox import quantities
from gangline.sandbox.failures import Cause, quoted
from gangline.sandbox.shapes import Schema, definitions

_INTEGER_LIMITS = {"int32": 2**31, "int64": 2**63}
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_RULES = frozenset(
    {
        *("enum", "format", "pattern", "minimum", "maximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "minProperties", "maxProperties"),
    }
)
_EMPTY: tuple[object, ...] = (None, "", [], {})


class Undecodable(Exception):  # noqa: N818 - an answer to the client
    """The body cannot be read as the kind; the message is the decoder's."""


class Findings(Struct):
    """What a walk came upon."""

    unknown: list[str] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)


class Walk:
    """A walk; `typed` is Go's way of reading."""

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed
        self.findings = Findings()

    def visit(self, value: Any, old: Any, schema: Schema, path: str = "", struct: str = "") -> Any:
        """Return the value as it is to be stored; dicts and lists are changed in place."""
        while "$ref" in schema:
            struct = schema["$ref"].rpartition(".")[2]
            schema = definitions()[schema["$ref"]]
        if old is not None and value == old:
            return value
        if schema.get("format") == "quantity":
            return self._quantity(value)
        if self._typed and schema.get("format") == "date-time" and isinstance(value, str) and not _is_time(value):
            layout = "2006-01-02T15:04:05" + (".000000" if struct == "MicroTime" else "") + "Z07:00"
            raise Undecodable(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"')
        if not self._type_fits(value, schema, path, struct):
            return value
        if isinstance(value, float) and schema.get("type") == "integer":
            value = int(value)
        match value:
            case dict():
                self._visit_object(value, old if isinstance(old, dict) else {}, schema, path, struct)
            case list():
                self._visit_list(value, old, schema, path, struct)
        if not _RULES.isdisjoint(schema):
            self.findings.causes.extend(_broken_rules(value, schema, path, typed=self._typed))
        return value

    def _visit_object(self, value: dict[str, Any], old: dict[str, Any], schema: Schema, path: str, struct: str) -> None:
        properties = schema.get("properties", {})
        more = schema.get("additionalProperties")
        for key in list(value):
            inner = properties.get(key)
            here = f"{path}.{key}" if path else key
            if inner is None and isinstance(more, Mapping):
                inner = more
                here = f"{path}[{key}]" if self._typed else here
            if inner is None:
                self._unknown(value, key, schema, here)
            elif value[key] is None and self._is_absent(inner):
                del value[key]
            elif value[key] == {} and self._typed and inner.get("type") == "object" and "default" not in inner:
                del value[key]  # an empty map, which Go leaves out; an empty struct is a reference here
            else:
                value[key] = self.visit(value[key], old.get(key), inner, here, struct)
        for key, inner in properties.items():
            if key not in value and "default" in inner:
                if inner["default"] is None:
                    value[key] = None
                    continue
                value[key] = self.visit(
                    deepcopy(inner["default"]), None, inner, f"{path}.{key}" if path else key, struct
                )
        if not self._typed or path == "spec" or path.startswith("spec."):
            self._require(value, schema, path)

    def _require(self, value: dict[str, Any], schema: Schema, path: str) -> None:
        for key in schema.get("required", ()):
            missing = value.get(key) in _EMPTY if self._typed else key not in value
            if missing and (not self._typed or schema["properties"][key].get("type") != "integer"):
                self.findings.causes.append(Cause.required(f"{path}.{key}" if path else key))

    def _unknown(self, value: dict[str, Any], key: str, schema: Schema, path: str) -> None:
        if schema.get(_PRESERVE) or schema.get("additionalProperties") is True:
            return
        if not self._typed and key in ("apiVersion", "kind", "metadata") and ("." not in path or schema.get(_EMBEDDED)):
            return
        del value[key]
        self.findings.unknown.append(path)

    def _is_absent(self, schema: Schema) -> bool:
        """Whether null means that the field is not there."""
        if self._typed:
            return True
        return not schema.get("nullable") and "default" in schema

    def _visit_list(self, value: list[Any], old: Any, schema: Schema, path: str, struct: str) -> None:
        if not self._typed:
            self.findings.causes.extend(_repetitions(value, schema, path))
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return
        before = old if isinstance(old, list) else []
        for index, item in enumerate(value):
            previous = before[index] if index < len(before) else None
            value[index] = self.visit(item, previous, items, f"{path}[{index}]", struct)

    def _quantity(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise Undecodable(f"quantities must match the regular expression '{quantities.PATTERN}'")
        try:
            return quantities.canonical(value)
        except ValueError as problem:
            raise Undecodable(str(problem)) from problem

    def _type_fits(self, value: Any, schema: Schema, path: str, struct: str) -> bool:
        if value is None and schema.get("nullable"):
            return False
        wanted = schema.get("type")
        if schema.get(_INT_OR_STRING):
            fits, wanted = isinstance(value, (int, str)) and not isinstance(value, bool), "integer,string"
        else:
            fits = wanted is None or _is_of_type(value, wanted)
        limit = _INTEGER_LIMITS.get(schema.get("format", ""))
        in_range = not limit or not isinstance(value, int) or -limit <= value < limit
        if fits and in_range:
            return True
        if self._typed:
            raise Undecodable(_unmarshal_problem(value, schema, path, struct))
        self.findings.causes.extend(_misfit(value, wanted, schema, path, fits=fits))
        return fits  # a number out of range is held against the other rules too


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


def _broken_rules(value: Any, schema: Schema, path: str, *, typed: bool) -> Iterator[Cause]:
    """Name the rules of one schema node that a value of the right type breaks."""
    if "enum" in schema and value not in schema["enum"]:
        yield Cause.unsupported(path, value, [str(choice) for choice in schema["enum"]])
    match value:
        case bool():
            return
        case int() | float():
            must_be = "must be" if typed else f"{path} in body should be"
            yield from _broken_number_rules(value, schema, path, must_be)
        case str():
            yield from _broken_text_rules(value, schema, path)
        case list():
            yield from _broken_size_rules(len(value), "items", schema, path)
        case dict():
            yield from _broken_size_rules(len(value), "properties", schema, path)


def _broken_number_rules(value: float, schema: Schema, path: str, must_be: str) -> Iterator[Cause]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and (value <= least if schema.get("exclusiveMinimum") else value < least):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield Cause.invalid(path, value, f"{must_be} {words} {least}")
    if most is not None and (value >= most if schema.get("exclusiveMaximum") else value > most):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield Cause.invalid(path, value, f"{must_be} {words} {most}")
    if schema.get("multipleOf") and value % schema["multipleOf"]:
        yield Cause.invalid(path, value, f"{must_be} a multiple of {schema['multipleOf']}")


def _broken_text_rules(value: str, schema: Schema, path: str) -> Iterator[Cause]:
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {schema['maxLength']} bytes", path)
    if len(value) < schema.get("minLength", 0):
        yield Cause.invalid(path, value, f"{path} in body should be at least {schema['minLength']} chars long")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield Cause.invalid(path, value, f"{path} in body should match '{schema['pattern']}'")
    if schema.get("format") == "date-time" and not _is_time(value):
        yield Cause.wrong_type(path, value, f'{path} in body must be of type date-time: "{value}"')


def _broken_size_rules(size: int, noun: str, schema: Schema, path: str) -> Iterator[Cause]:
    most, least = schema.get(f"max{noun.title()}"), schema.get(f"min{noun.title()}", 0)
    if most is not None and size > most:
        yield Cause("FieldValueTooMany", f"Too many: {size}: must have at most {most} items", path)
    if size < least:
        yield Cause.invalid(path, size, f"{path} in body should have at least {least} {noun}")


def _repetitions(items: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    """Name the items of a set or map list that are there already."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if schema.get("x-kubernetes-list-type") not in ("set", "map"):
        return
    seen: list[Any] = []
    for index, item in enumerate(items):
        identity = {key: item.get(key) for key in keys} if keys and isinstance(item, dict) else item
        if identity in seen:
            yield Cause.duplicate(f"{path}[{index}]", identity)
        seen.append(identity)


def _is_time(text: str) -> bool:
    try:
        return "T" in text.upper() and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _is_of_type(value: Any, wanted: str) -> bool:
    match wanted:
        case "integer":
            return (isinstance(value, int) and not isinstance(value, bool)) or (
                isinstance(value, float) and value.is_integer()
            )
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case _:
            return json_type(value) == wanted


def json_type(value: Any) -> str:
    """Return the JSON name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _unmarshal_problem(value: Any, schema: Schema, path: str, struct: str) -> str:
    """Say it as Go's decoder does."""
    given = {"boolean": "bool", "integer": "number"}.get(json_type(value), json_type(value))
    if given == "number" and schema.get("type") == "integer":
        given = f"number {value}"
    where = re.sub(r"\[[^\]]*\]", "", path)
    return f"json: cannot unmarshal {given} into Go struct field {struct}.{where} of type {_go_type(schema)}"


def _go_type(schema: Schema) -> str:
    if "$ref" in schema:
        return f"v1.{schema['$ref'].rpartition('.')[2]}"
    match schema.get("type"):
        case "boolean":
            return "bool"
        case "integer":
            return str(schema.get("format", "int64"))
        case "array":
            return "[]" + _go_type(schema.get("items", {}))
        case "object" if isinstance(schema.get("additionalProperties"), Mapping):
            return "map[string]" + _go_type(schema["additionalProperties"])
        case "string" | None:
            return "string"
        case other:
            return str(other)
