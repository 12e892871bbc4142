"""Reads the protobuf form of built-in kinds, in which typed clients (`kubectl create deployment`) send them.

Only reads: whoever sends it takes JSON for an answer. `types.json` has the numbers of fields. A zero that Go's JSON
would leave out is left out here.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec

from gangline.sandbox.apiserver.schema.shapes import Schema, definition_of, definitions
from gangline.sandbox.apiserver.store import Object

PREFIX: Final = b"k8s\0"
# By field number: a field (name, schema, whether a zero says something), or the table of a struct that JSON inlines.
Table = dict[int, Any]


class Malformed(ValueError):  # noqa: N818 - an answer to the client
    """The bytes are no message of the kind that they claim to be."""


def decode(body: bytes) -> Object:
    """Read a whole object with its envelope (`k8s.io/apimachinery/pkg/runtime.Unknown`); raises Malformed.

    Of a kind that is not known nothing is read but what it calls itself.
    """
    if not body.startswith(PREFIX):
        expected = " ".join(map(str, PREFIX))
        raise Malformed(f"provided data does not appear to be a protobuf message, expected prefix [{expected}]")
    try:
        envelope = dict(_fields(body[len(PREFIX) :]))
        names = {number: value.decode() for number, value in _fields(envelope.get(1, b""))}
        api_version, kind = names.get(1, ""), names.get(2, "")
        name = definition_of(api_version, kind)
        content = _message(envelope.get(2, b""), _table(name)) if name else {}
    except IndexError as problem:
        raise Malformed("unexpected EOF") from problem
    except (AttributeError, TypeError, ValueError) as problem:
        raise Malformed(f"proto: {problem}") from problem
    return {"apiVersion": api_version, "kind": kind, **content}


@cache
def _table(name: str) -> Table:
    table: Table = {}
    for field, schema in definitions()[name].get("properties", {}).items():
        *outer, last = schema.get("number", "0").rstrip("*").split(".")
        place = table
        for number in outer:
            place = place.setdefault(int(number), {})
        place[int(last)] = (field, schema, schema.get("number", "").endswith("*"))
    return table


def _message(data: bytes, table: Table) -> Object:
    found: Object = {}
    for number, raw in _fields(data):
        match table.get(number):
            case dict() as inline:
                found.update(_message(raw, inline))
            case (str(field), schema, zero_counts):
                _put(found, field, raw, schema, keeps_zero=zero_counts)
    return found


def _put(found: Object, field: str, raw: Any, schema: Schema, *, keeps_zero: bool) -> None:
    if schema.get("type") == "array":
        found.setdefault(field, []).append(_value(raw, schema["items"]))
        return
    if isinstance(schema.get("additionalProperties"), Mapping):
        entry = dict(_fields(raw))
        value = _value(entry.get(2, b""), schema["additionalProperties"])
        found.setdefault(field, {})[entry.get(1, b"").decode()] = value
        return
    value = _value(raw, schema)
    if keeps_zero or value not in ("", 0, None):
        found[field] = value


def _value(raw: Any, schema: Schema) -> Any:
    name = schema.get("$ref", "")
    match definitions()[name] if name else schema:
        case {"format": "quantity"}:
            return dict(_fields(raw)).get(1, b"").decode()
        case {"format": "date-time"}:
            return _time(dict(_fields(raw)), micros=name.endswith(".MicroTime"))
        case {"format": "byte"}:
            return b64encode(raw).decode()
        case {"x-kubernetes-int-or-string": True}:
            parts = dict(_fields(raw))
            return parts.get(3, b"").decode() if parts.get(1) else _signed(parts.get(2, 0))
        case {"x-kubernetes-preserve-unknown-fields": True}:
            return msgspec.json.decode(dict(_fields(raw)).get(1, b"null"))
        case {"type": "integer"}:
            return _signed(raw)
        case {"type": "boolean"}:
            return bool(raw)
        case {"type": "string"}:
            return raw.decode()
        case _:
            return _message(raw, _table(name) if name else {})


def _time(parts: Mapping[int, int], *, micros: bool) -> str | None:
    if not parts:
        return None
    second = datetime.fromtimestamp(_signed(parts.get(1, 0)), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{second}.{parts.get(2, 0) // 1000:06}Z" if micros else f"{second}Z"


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield field numbers with integers, or the bytes of what is longer; no built-in kind has numbers of other forms."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        match tag & 7:
            case 0:
                value, position = _varint(data, position)
                yield tag >> 3, value
            case 2:
                size, position = _varint(data, position)
                if position + size > len(data):
                    raise IndexError(position)
                yield tag >> 3, data[position : position + size]
                position += size
            case other:
                raise ValueError(f"illegal wireType {other}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, position
        shift += 7
