"""The normal form of an answer: what may differ between two runs is replaced by where it was seen first.

- A UID or a resourceVersion becomes `<uid of create>`: equality between answers stays visible, the value does not.
- An object that an earlier answer showed becomes `<object of create>`, so a difference is told once.
- Revisions of lists, continue tokens, random ends of names and times become words; times in 2001 are the requests' own.
- Ages in tables become a word, and what a column means is left out: it is the documentation of the API.
- managedFields are kept only where a manager has applied: the sandbox does not show who wrote the others. They are
  sorted by manager, as the server's order depends on the second.
- A refused patch quotes the whole object, and a refused change of a pod what differs: left out.
- The causes of a refusal are sorted, and its message does not repeat them: the server's order is that of a Go map.
  Rules of access are sorted for the same reason.
- Discovery keeps what the sandbox serves: that it serves less is its nature.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final

from gangline.sandbox.apiserver.kinds import BUILT_IN

if TYPE_CHECKING:
    from tests.comparison.sending import Answer

_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"(?!2001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_GENERATED: Final = re.compile(r"\b(made-|kube-api-access-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_AGE: Final = re.compile(r"(\d+[ms])+|\d+[yd]\d*d?")
_QUOTED_OBJECT: Final = re.compile(r'(?<=Invalid value: )"\{.*\}"(?=: )')
_QUOTED_DIFFERENCE: Final = re.compile(r"\n@@(?:.|\n)*?(?=\]\Z|\Z)")
_REVISIONS: Final = re.compile(
    r'(?<=in record \()\d+|(?<=resource version: )\d{2,}|(?<=current: )\d+|(?<=resourceVersion: ")\d+|(?<=\()\d+(?=\)$)'
)
_SERVED: Final = {kind.plural for kind in BUILT_IN} | {"podgroups", "widgets", "gauges"}
_GROUPS: Final = {kind.group for kind in BUILT_IN} | {"scheduling.x-k8s.io"}


class Normal:
    """What one story has seen so far."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], str] = {}
        self._objects: dict[str, str] = {}

    def form(self, name: str, answer: "Answer") -> dict[str, Any]:
        """Return the answer to a request in its normal form."""
        body = self._value(_discovered(answer.body), name, "")
        return {"status": answer.status, "headers": answer.headers, "body": body}

    def _value(self, value: Any, name: str, path: str) -> Any:
        match value:
            case dict():
                return self._known(self._object(value, name, path), name, path)
            case list():
                return [self._value(inner, name, f"{path}[{index}]") for index, inner in enumerate(value)]
            case str():
                return self._text(value, name, path)
            case _:
                return value

    def _known(self, value: dict[str, Any], name: str, path: str) -> Any:
        """Name an object that was seen before, with or without its kind as lists have it."""
        if not isinstance(value.get("metadata"), dict) or "uid" not in value["metadata"]:
            return value
        has_kind = "kind" in value
        text = json.dumps({key: inner for key, inner in value.items() if key not in ("apiVersion", "kind")})
        label = f"<object of {name}{':' if path else ''}{path}>"
        known = self._objects.setdefault(text, label)
        return value if known == label else known + ("" if has_kind else " without kind")

    def _object(self, value: dict[str, Any], name: str, path: str) -> dict[str, Any]:
        is_list = "items" in value or value.get("kind") == "Table"
        shown: dict[str, Any] = {}
        for key, inner in sorted(value.items()):
            here = f"{path}.{key}" if path else key
            if key == "managedFields":
                if _is_applied(inner):
                    entries = sorted(inner, key=lambda entry: (entry["operation"], entry["manager"]))
                    shown[key] = self._value(entries, name, here)
                continue
            if key == "resourceVersion" and isinstance(inner, str) and inner.isdigit() and inner != "0":
                shown[key] = self._label("rv", inner, name, here)
            elif key == "continue" and inner:
                shown[key] = "<token>"
            elif is_list and key == "metadata":
                shown[key] = self._value({**inner, "resourceVersion": "<list>"}, name, here)
            elif key == "columnDefinitions" and inner:
                shown[key] = [
                    {field: column[field] for field in sorted(column) if field != "description"} for column in inner
                ]
            elif key == "cells":
                shown[key] = ["<age>" if _is_age(cell) else self._value(cell, name, here) for cell in inner]
            elif key == "serverAddress":
                shown[key] = "<address>"
            else:
                shown[key] = self._value(inner, name, here)
        for rules in ("resourceRules", "nonResourceRules"):
            if rules in shown:
                shown[rules] = sorted(shown[rules], key=json.dumps)
        return _with_sorted_causes(shown)

    def _text(self, text: str, name: str, path: str) -> str:
        if path.endswith("message"):
            text = _QUOTED_DIFFERENCE.sub("", _QUOTED_OBJECT.sub('"<object>"', text))
        text = _UID.sub(lambda found: self._label("uid", found[0], name, path), text)
        text = _REVISIONS.sub("<revision>", text) if not path or path.endswith("message") else text
        text = _TIME.sub(lambda found: "<microtime>" if found[1] else "<time>", text)
        return _GENERATED.sub(r"\1?????", text)

    def _label(self, what: str, value: str, name: str, path: str) -> str:
        where = path.removesuffix(".uid").removesuffix(".resourceVersion").removesuffix("metadata").strip(".")
        return self._labels.setdefault((what, value), f"<{what} of {name}{':' if where else ''}{where}>")


def _with_sorted_causes(shown: dict[str, Any]) -> dict[str, Any]:
    causes = (shown.get("details") or {}).get("causes") if shown.get("kind") == "Status" else None
    if causes and len(causes) > 1:
        shown["details"]["causes"] = sorted(causes, key=lambda cause: (cause.get("field", ""), cause["message"]))
        shown["message"] = shown["message"].partition(" is invalid: [")[0] + " is invalid: [...]"
    return shown


def _is_age(cell: object) -> bool:
    return isinstance(cell, str) and _AGE.fullmatch(cell) is not None


def _is_applied(entries: object) -> bool:
    return isinstance(entries, list) and any(entry.get("operation") == "Apply" for entry in entries)


def _discovered(body: Any) -> Any:
    """Keep of a discovery document what the sandbox serves, in an order that says nothing."""
    match body:
        case {"kind": "APIResourceList", "resources": list(resources)}:
            kept = [_shown(each) for each in resources if _is_served(each["name"])]
            return {**body, "resources": sorted(kept, key=lambda each: str(each["name"]))}
        case {"kind": "APIGroupList", "groups": list(groups)}:
            kept = [_newest(each) for each in groups if each["name"] in _GROUPS]
            return {**body, "groups": sorted(kept, key=lambda each: str(each["name"]))}
        case {"kind": "APIGroupDiscoveryList", "items": list(items)}:
            kept = [_newest(each) for each in items if each["metadata"].get("name", "") in _GROUPS]
            return {**body, "items": sorted(kept, key=lambda each: str(each["metadata"].get("name", "")))}
        case {"kind": "APIGroup"}:
            return _newest(body)
        case _:
            return body


_SUBRESOURCES: Final = {"", "status", "scale", "binding", "eviction", "finalize"}


def _is_served(name: str) -> bool:
    plural, _, subresource = name.partition("/")
    return plural in _SERVED and subresource in _SUBRESOURCES


def _newest(group: dict[str, Any]) -> dict[str, Any]:
    """One version, and of its resources those that are served."""
    version = group["versions"][0]
    if "resources" in version:
        kept = [_shown(each) for each in version["resources"] if each["resource"] in _SERVED]
        version = {**version, "resources": sorted(kept, key=lambda each: str(each["resource"]))}
    return {**group, "versions": [version]}


def _shown(resource: dict[str, Any]) -> dict[str, Any]:
    """A resource without the hash that only a server upgrading its storage needs."""
    shown = {key: value for key, value in resource.items() if key != "storageVersionHash"}
    if "subresources" in shown:
        kept = [each for each in shown.pop("subresources") if each["subresource"] in _SUBRESOURCES]
        shown |= {"subresources": kept} if kept else {}
    return shown
