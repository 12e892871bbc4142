"""Writes protobuf messages for tests, field by field."""

PREFIX = b"k8s\0"


def field(number: int, value: int | str | bytes) -> bytes:
    """A field with an integer (or boolean), a text or a message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value % 2**64)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A message of these fields."""
    return b"".join(field(number, value) for number, value in fields)


def envelope(api_version: str, kind: str, content: bytes) -> bytes:
    """A whole object, as clients send it."""
    return PREFIX + message((1, message((1, api_version), (2, kind))), (2, content), (3, ""), (4, ""))


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
