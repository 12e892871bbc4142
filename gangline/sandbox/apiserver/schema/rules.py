"""What a schema demands of a value besides its type: closed sets, bounds, patterns, no repetitions."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.schema.shapes import Schema

RULES = frozenset(
    {
        *("enum", "format", "pattern", "minimum", "maximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "minProperties", "maxProperties"),
    }
)


def broken_rules(value: Any, schema: Schema, path: str, *, typed: bool) -> Iterator[Cause]:
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
    if schema.get("format") == "date-time" and not is_time(value):
        yield Cause.wrong_type(path, value, f'{path} in body must be of type date-time: "{value}"')


def _broken_size_rules(size: int, noun: str, schema: Schema, path: str) -> Iterator[Cause]:
    most, least = schema.get(f"max{noun.title()}"), schema.get(f"min{noun.title()}", 0)
    if most is not None and size > most:
        yield Cause("FieldValueTooMany", f"Too many: {size}: must have at most {most} items", path)
    if size < least:
        yield Cause.invalid(path, size, f"{path} in body should have at least {least} {noun}")


def repetitions(items: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
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


def is_time(text: str) -> bool:
    """Whether a text is a time with a zone."""
    try:
        return "T" in text.upper() and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
