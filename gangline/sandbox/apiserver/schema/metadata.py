"""Rules for metadata that hold for all kinds: names, labels, annotations, owners, finalizers."""

import re
from collections.abc import Iterator
from typing import Any

from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import Kind

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"
_ANNOTATIONS_LIMIT_BYTES = 256 * 1024
_LABEL_NAMED = ("namespaces", "services")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_PATH_NAMED = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation "
    f"is '{_LABEL_VALUE}')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)


def broken_rules(kind: Kind, metadata: dict[str, Any], old: dict[str, Any] | None = None) -> Iterator[Cause]:
    """Name what is wrong with an object's metadata, new or changed."""
    yield from _name_problems(kind, metadata.get("name", ""))
    yield from label_problems(metadata.get("labels") or {}, "metadata.labels")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        yield from key_problems(key.lower(), "metadata.annotations")
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT_BYTES:
        detail = f"Too long: may not be more than {_ANNOTATIONS_LIMIT_BYTES} bytes"
        yield Cause("FieldValueTooLong", detail, "metadata.annotations")
    yield from _owner_problems(metadata.get("ownerReferences") or [])
    finalizers = metadata.get("finalizers") or []
    for index, name in enumerate(finalizers):
        yield from key_problems(name, "metadata.finalizers")
        if kind.group == "" and "/" not in name and name not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield Cause.invalid(f"metadata.finalizers[{index}]", name, detail)
    if old and metadata.get("deletionTimestamp"):
        added = [name for name in finalizers if name not in (old.get("finalizers") or ())]
        if added:
            listed = " ".join(f'"{name}"' for name in added)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers "
            yield Cause.forbidden("metadata.finalizers", f"{detail}[]string{{{listed.replace(' ', ', ')}}}")


def _name_problems(kind: Kind, name: str) -> Iterator[Cause]:
    if kind.plural in _PATH_NAMED:
        return
    if not kind.custom and kind.plural in _LABEL_NAMED:
        if "." in name:
            yield Cause.invalid("metadata.name", name, "must not contain dots")
        else:
            yield from dns_label_problems(name, "metadata.name")
    else:
        yield from subdomain_problems(name, "metadata.name")


def dns_label_problems(name: str, field: str) -> Iterator[Cause]:
    """Check a name against RFC 1123 labels."""
    if len(name) > 63:
        yield Cause.invalid(field, name, "must be no more than 63 bytes")
    if not re.fullmatch(_LABEL, name):
        yield Cause.invalid(field, name, _LABEL_RULE)


def subdomain_problems(name: str, field: str) -> Iterator[Cause]:
    """Check a name against RFC 1123 subdomains."""
    if len(name) > 253:
        yield Cause.invalid(field, name, "must be no more than 253 characters")
    if not re.fullmatch(_SUBDOMAIN, name):
        yield Cause.invalid(field, name, _SUBDOMAIN_RULE)


def label_problems(labels: dict[str, str], field: str) -> Iterator[Cause]:
    """Check label keys and values."""
    for key, value in labels.items():
        yield from key_problems(key, field)
        if len(value) > 63:
            yield Cause.invalid(field, value, "must be no more than 63 bytes")
        if not re.fullmatch(_LABEL_VALUE, value):
            yield Cause.invalid(field, value, _VALUE_RULE)


def key_problems(key: str, field: str) -> Iterator[Cause]:
    """Check a qualified name: a name, or a subdomain, a slash and a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and not prefix:
        yield Cause.invalid(field, key, "prefix part must be non-empty")
    elif prefix and not re.fullmatch(_SUBDOMAIN, prefix):
        yield Cause.invalid(field, key, f"prefix part {_SUBDOMAIN_RULE}")
    if not name:
        yield Cause.invalid(field, key, "name part must be non-empty")
    elif len(name) > 63:
        yield Cause.invalid(field, key, "name part must be no more than 63 bytes")
    if not re.fullmatch(_QUALIFIED, name):
        yield Cause.invalid(field, key, _KEY_RULE)


def _owner_problems(owners: list[dict[str, Any]]) -> Iterator[Cause]:
    for index, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield Cause.required(f"metadata.ownerReferences[{index}].{field}", "must not be empty")
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        names = " and ".join(f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        detail = f"Only one reference can have Controller set to true. Found {names}"
        yield Cause.invalid("metadata.ownerReferences", len(owners), detail)
