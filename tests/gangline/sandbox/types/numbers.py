"""Field numbers of the protobuf form, read from the Go structs of `k8s.io/api` and `k8s.io/apimachinery`.

A number is text: `2`; `2.5` for field 5 of a struct that JSON shows inline; `2*` for a pointer to a scalar, whose zero
says something.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:\w+\s+)?(\*?[\w.\[\]*]+)\s+`json:"([^"]*)"[^`]*protobuf:"\w+,(\d+),[^`]*`', re.MULTILINE)
_SCALARS = ("*string", "*bool", "*int32", "*int64")
Field = tuple[str, str, str]  # number, JSON name, Go type


def number(definitions: dict[str, Any], sources: Path) -> None:
    """Write the numbers into the definitions; `sources` is the directory of Go modules of k8s.io, such as `api@v0.37.2`."""
    for name, definition in definitions.items():
        package, _, kind = name.rpartition(".")
        structs = _structs(package, sources)
        for position, field, go_type in _fields(kind, structs):
            if field in definition.get("properties", {}):
                is_scalar = go_type in _SCALARS or (go_type[0] == "*" and go_type[1:] in structs[""])
                definition["properties"][field]["number"] = position + ("*" if is_scalar else "")


def _fields(kind: str, structs: dict[str, Any], prefix: str = "") -> Iterator[Field]:
    for go_type, json_name, position in structs.get(kind, ()):
        here = f"{prefix}{position}"
        name = json_name.partition(",")[0]
        if not name:
            yield from _fields(go_type.lstrip("*"), structs, f"{here}.")
        elif name:
            yield here, name, go_type


def _structs(package: str, sources: Path) -> dict[str, Any]:
    """Return the structs of a package, and its named strings at the empty key."""
    match package.split("."):
        case ["io", "k8s", "api", group, version]:
            paths = sources.glob(f"api@*/{group}/{version}/types.go")
        case ["io", "k8s", "apimachinery", "pkg", *rest]:
            paths = sources.glob(f"apimachinery@*/pkg/{'/'.join(rest)}/types.go")
        case _:
            return {}
    found = sorted(paths)
    if not found:
        return {}
    text = found[-1].read_text()
    strings = re.findall(r"^type (\w+) (?:string|int32|int64|bool)$", text, re.MULTILINE)
    return {"": set(strings), **{name: _FIELD.findall(body) for name, body in _STRUCT.findall(text)}}
