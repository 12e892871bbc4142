"""Words that are almost ours: labels and fields that nobody reads because they are misspelt or stand elsewhere."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gangline.cli.manifest.documents import Document
from gangline.cli.manifest.findings import Finding, Rule, error, warning
from gangline.cli.manifest.workloads import template_of
from gangline.contract.crd import crd
from gangline.contract.names import (
    GROUP_MIN_MEMBER_ANNOTATION,
    GROUP_NAME_ANNOTATION,
    LEGACY_POD_GROUP_LABEL,
    POD_GROUP_LABEL,
)

_LABELS: Final = (POD_GROUP_LABEL, LEGACY_POD_GROUP_LABEL)
_ANNOTATIONS: Final = (GROUP_NAME_ANNOTATION, GROUP_MIN_MEMBER_ANNOTATION)
_FORMS: Final = (("labels", _LABELS), ("annotations", _ANNOTATIONS))
_ALIKE: Final = 0.9


def in_metadata(document: Document) -> Iterator[Finding]:
    """Yield keys of a workload's pods that are almost ours, and keys that stand on the workload and not on its pods."""
    template = template_of(document)
    if template is None:
        return
    on_pods = _mapping(template.get("metadata"))
    for place, ours in _FORMS:
        keys = _mapping(on_pods.get(place))
        for key in keys:
            yield from _almost(document, place, str(key), ours)
        if template is not document.body:
            yield from _misplaced(document, place, keys, ours)


def _almost(document: Document, place: str, key: str, ours: Sequence[str]) -> Iterator[Finding]:
    """Yield a key that resembles ours, or is ours in the other place: an annotation as a label does nothing."""
    every = (*_LABELS, *_ANNOTATIONS)
    close = difflib.get_close_matches(key, ours, n=1, cutoff=_ALIKE)
    if key in every and key not in ours:
        other = next(other for other, keys in _FORMS if key in keys)
        yield error(document, Rule.MISPLACED, f"{key} stands in {place}, where nobody reads it", f"put it into {other}")
    elif key not in every and close:
        yield warning(document, Rule.MISSPELT, f"nobody reads {key} in {place}", f"{close[0]} may be meant")


def _misplaced(document: Document, place: str, on_pods: Mapping[Any, Any], ours: Sequence[str]) -> Iterator[Finding]:
    for key in _mapping(document.metadata.get(place)):
        if key in ours and key not in on_pods:
            yield error(
                document,
                Rule.MISPLACED,
                f"{key} stands on the {document.kind} and not on its pods, so they belong to no gang",
                f"put it into metadata.{place} of the pod template",
            )


def in_group(document: Document) -> Iterator[Finding]:
    """Yield fields of a PodGroup's spec that it does not have; kubectl refuses them too."""
    known = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    for field in document.spec:
        if field not in known:
            close = difflib.get_close_matches(str(field), known, n=1)
            cure = f"{close[0]} may be meant" if close else f"it has {', '.join(sorted(known))}"
            yield error(document, Rule.UNKNOWN_FIELD, f"spec has no field {field}", cure)


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
