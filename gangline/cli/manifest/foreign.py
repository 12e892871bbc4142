"""Objects of others: kinds that sound like ours and are not read, and definitions that do not serve what we need."""

from collections.abc import Iterator
from typing import Final

from gangline.cli.manifest.documents import Document
from gangline.cli.manifest.findings import Finding, Rule, error, warning
from gangline.cli.manifest.workloads import TEMPLATED
from gangline.contract.names import API_VERSION, GROUP, KIND, PLURAL, VERSION

_BUILT_IN: Final = frozenset({"", "apps", "batch", "extensions"})


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
    elif document.kind in TEMPLATED and group not in _BUILT_IN:
        yield warning(
            document,
            Rule.OTHER_API_GROUP,
            f"a {document.kind} of {group}/{version} is not read",
            "whatever makes its pods must give them schedulerName and the label of a PodGroup",
        )
    elif document.kind == "CustomResourceDefinition" and document.name == f"{PLURAL}.{GROUP}":
        yield from _definition(document)


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
