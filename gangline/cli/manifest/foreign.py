"""Objects of others: kinds that sound like ours and are not read, and definitions that do not serve what we need."""

from collections.abc import Iterator
from typing import Any, Final

from gangline.cli.manifest.documents import Document
from gangline.cli.manifest.findings import Finding, Rule, error, warning
from gangline.cli.manifest.workloads import TEMPLATED, is_templated
from gangline.contract.names import API_VERSION, GROUP, KIND, PLURAL, VERSION

_TEMPLATES: Final = frozenset({"PodTemplate"})
_CURE: Final = "whatever makes its pods must give them schedulerName and the label of a PodGroup"


def findings(document: Document) -> Iterator[Finding]:
    """Yield what is not read of others, and a definition of ours without the version that is used."""
    group, _, version = document.api_version.rpartition("/")
    if document.kind == KIND and document.api_version != API_VERSION:
        words = f"a PodGroup of {document.api_version or 'no apiVersion'} is not read"
        if group in ("", GROUP):
            yield error(document, Rule.OTHER_API_GROUP, words, f"write apiVersion: {API_VERSION}")
        else:
            cure = f"if it is meant for this scheduler, write apiVersion: {API_VERSION}"
            yield warning(document, Rule.OTHER_API_GROUP, words, cure)
    elif document.kind in TEMPLATED and not is_templated(document):
        yield warning(
            document,
            Rule.OTHER_API_GROUP,
            f"a {document.kind} of {group}/{version} is not read",
            _CURE,
        )
    elif document.kind == "CustomResourceDefinition" and document.name == f"{PLURAL}.{GROUP}":
        yield from _definition(document)


def note(document: Document) -> str | None:
    """Say of a kind that we do not know, and that has pod templates in it, that they are not looked at."""
    if document.kind in TEMPLATED or document.kind in _TEMPLATES or not _has_template(document.body):
        return None
    return f"{document.place}: the pod templates of {document.kind}/{document.name} are not read; {_CURE}"


def _has_template(body: dict[str, Any]) -> bool:
    waiting: list[Any] = [body]
    seen = set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an alias stands for what was looked at
            continue
        seen.add(id(node))
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            template = node.get("template")
            spec = template.get("spec") if isinstance(template, dict) else None
            if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
                return True
            waiting += node.values()
    return False


def _definition(document: Document) -> Iterator[Finding]:
    versions = document.spec.get("versions")
    served = [
        str(one.get("name"))
        for one in (versions if isinstance(versions, list) else [])
        if isinstance(one, dict) and one.get("served")
    ]
    if VERSION not in served:
        yield error(
            document,
            Rule.CRD_VERSION,
            f"it serves {', '.join(served) or 'no version'}, and both services ask for {VERSION}",
            f"serve {VERSION} too",
        )
