"""How a caller wants to see objects (the Accept header): whole or as a table."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count

from msgspec import Struct

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.http.answers import encode, list_body, list_metadata
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.schema import forms
from gangline.sandbox.apiserver.store import Object, Version
from gangline.sandbox.apiserver.tables import tables
from gangline.sandbox.apiserver.verbs.lists import Page

_JSON = ("application/json", "application/*", "*/*")


class View(Struct, frozen=True, kw_only=True):
    """One way to show objects: `one` for answers, `many` for lists, `event` for watch events."""

    one: Callable[[Version], bytes]
    many: Callable[[Page], bytes]
    event: Callable[[Version], bytes]


def view_of(accept: str, kind: Kind, now: Callable[[], datetime], *, whole_rows: bool = False) -> View:
    """Choose the first form of the Accept header that is served; raises 406. Rows of tables have the whole objects."""
    for choice in accept.split(",") if accept else [""]:
        media_type, *parameters = [part.strip() for part in choice.split(";")]
        wanted = dict(part.partition("=")[::2] for part in parameters)
        if media_type and media_type not in _JSON:
            continue
        match wanted.get("as", ""), wanted.get("v", "v1"):
            case "", _:
                return _whole(kind)
            case "Table", "v1":
                return _table(kind, now, whole_rows=whole_rows)
    raise failures.not_acceptable()


def _whole(kind: Kind) -> View:
    convert, form = forms.reader(kind), kind.api_version

    def one(version: Version) -> bytes:
        return version.json(form, convert)

    def item(version: Version) -> bytes:
        """As lists have it: the kind of built-in items is that of the list."""
        return one(version) if kind.custom else version.json(f"{form} item", lambda shown: _bare(shown, convert))

    return View(one=one, event=one, many=lambda page: list_body(kind, page, [item(v) for v in page.versions]))


def _bare(item: Object, convert: Callable[[Object], Object] | None) -> Object:
    shown = convert(item) if convert else item
    return {key: value for key, value in shown.items() if key not in ("apiVersion", "kind")}


def _table(kind: Kind, now: Callable[[], datetime], *, whole_rows: bool) -> View:
    events = count()

    def rows(items: Sequence[Object], metadata: Object, *, head: bool) -> bytes:
        return encode(tables.table(kind, items, now(), metadata=metadata, whole=whole_rows, head=head))

    def one(version: Version) -> bytes:
        return rows([version.object], {"resourceVersion": str(version.revision)}, head=True)

    def event(version: Version) -> bytes:
        return rows([version.object], {"resourceVersion": str(version.revision)}, head=next(events) == 0)

    def many(page: Page) -> bytes:
        return rows([version.object for version in page.versions], list_metadata(page), head=True)

    return View(one=one, many=many, event=event)
