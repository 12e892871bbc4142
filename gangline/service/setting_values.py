"""What values a setting may have: read one from text or YAML, say what is legal, show one.

Settings are str, int, float, bool, `StrEnum`, `Literal` or `tuple[str, ...]`, with bounds as `msgspec.Meta`.
"""

import enum
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec


def bare(type_: Any) -> Any:
    """Return the type without its annotations."""
    return get_args(type_)[0] if get_origin(type_) is Annotated else type_


def is_repeatable(type_: Any) -> bool:
    """Say whether the setting holds several texts."""
    return get_origin(bare(type_)) is tuple


def choices(type_: Any) -> tuple[str, ...]:
    """Return the closed set of legal texts; empty when any text may do."""
    plain = bare(type_)
    if get_origin(plain) is Literal:
        return tuple(str(choice) for choice in get_args(plain))
    if isinstance(plain, type) and issubclass(plain, enum.Enum):
        return tuple(str(choice.value) for choice in plain)
    return {bool: ("true", "false")}.get(plain, ())


def legal(type_: Any) -> str:
    """Say in words which values the type takes."""
    if named := choices(type_):
        return "one of " + ", ".join(named)
    plain = bare(type_)
    words = {int: "a whole number", float: "a number"}.get(plain, _texts(type_) if is_repeatable(type_) else "a text")
    return " ".join([words, *_bounds(type_)])


def _texts(type_: Any) -> str:
    item, *_ = get_args(bare(type_))
    return "a list of texts, none of them empty," if _bounds(item) else "a list of texts"


def _bounds(type_: Any) -> list[str]:
    words = {"ge": "from", "gt": "above", "le": "up to", "lt": "below", "min_length": "with at least"}
    metas = [note for note in get_args(type_)[1:] if isinstance(note, msgspec.Meta)]
    return [
        f"{word} {bound:g}"
        for meta in metas
        for name, word in words.items()
        if (bound := getattr(meta, name)) is not None
    ]


def convert(type_: Any, raw: object, check: Callable[[Any], None] | None = None) -> Any:
    """Read a value from an option's or variable's text, or from what YAML made of it.

    Raises ValueError with what is legal.
    """
    if is_repeatable(type_) and isinstance(raw, str):
        raw = [part.strip() for part in raw.split(",") if part.strip()]
    if bare(type_) is str and isinstance(raw, int | float) and not isinstance(raw, bool):
        raw = str(raw)
    try:
        value = msgspec.convert(raw, type_, strict=False)
    except msgspec.ValidationError:
        raise ValueError(legal(type_)) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(legal(type_))
    if check is not None:
        check(value)
    return value


def shown(value: object) -> str:
    """Write a value as a user would type it; an absent one is `none`."""
    if isinstance(value, enum.Enum):
        value = value.value
    match value:
        case bool():
            return "true" if value else "false"
        case tuple() | list():
            return ",".join(str(part) for part in value) or "none"
        case float():
            return f"{value:g}"
        case _:
            return str(value) or "none"


def check_address(value: str) -> None:
    """Accept `host:port`, with an IPv6 host in brackets; port 0 asks the system for a free one.

    Raises ValueError with what is legal.
    """
    split_address(value)


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port` into host (without brackets) and port. Raises ValueError with what is legal."""
    host, separator, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    digits = port.isascii() and port.isdecimal()
    if not separator or not host or not digits or int(port) > 65535 or (":" in host and not bracketed):
        raise ValueError("HOST:PORT with a port from 0 to 65535; an IPv6 host stands in brackets, as in [::1]:8080")
    return host.strip("[]"), int(port)
