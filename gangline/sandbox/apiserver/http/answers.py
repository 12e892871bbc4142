"""What the server answers, before it becomes HTTP: bodies, codes, headers."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from gangline.sandbox.apiserver.failures import Failure, NoSuchPath
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.verbs.lists import Page

encode = msgspec.json.Encoder(order="sorted").encode


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer."""

    body: bytes
    code: int = 200
    content_type: str = "application/json"
    retry_after_s: int | None = None
    warnings: tuple[str, ...] = ()


def document(body: Any, code: int = 200) -> Answer:
    """Return an answer from a plain value."""
    return Answer(body=encode(body), code=code)


def failure(problem: Failure) -> Answer:
    """Return an answer that refuses."""
    if isinstance(problem, NoSuchPath):
        return Answer(body=str(problem).encode(), code=problem.code, content_type="text/plain; charset=utf-8")
    return Answer(body=encode(problem.status), code=problem.code, retry_after_s=problem.retry_after_s)


def list_metadata(page: Page, *, is_custom: bool = False) -> dict[str, Any]:
    """Return the metadata of a list."""
    metadata: dict[str, Any] = {"resourceVersion": str(page.revision)}
    if page.next_token or is_custom:
        metadata["continue"] = page.next_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def list_body(kind: Kind, page: Page, items: Sequence[bytes]) -> bytes:
    """Return a list from the bytes of its items."""
    head = encode(
        {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": list_metadata(page, is_custom=kind.custom)}
    )
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"
