"""Checking: from paths to findings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gangline.cli.cluster.access import Access
from gangline.cli.manifest import foreign, rules
from gangline.cli.manifest.documents import KUSTOMIZATIONS, Document, read
from gangline.cli.manifest.findings import Finding, Severity

MANY: Final = 6


class Outcome(Struct, frozen=True, kw_only=True):
    """All findings, in the order of the files, how many objects were looked at, and how they were read.

    `errors` and `warnings` count each object, also where one finding tells of many.
    `unreadable` has one line for each file of which nothing was read.
    """

    findings: tuple[Finding, ...]
    objects: int
    errors: int
    warnings: int
    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def check_files(
    paths: Sequence[str], *, namespace: str, scheduler_names: tuple[str, ...], cluster: Access | None
) -> Outcome:
    """Check files, also against a cluster where one is given. Raises Failure."""
    reading = read(paths)
    documents = reading.documents
    if cluster is None:
        manifests = rules.gather(documents, namespace, {})
        found = list(rules.findings(manifests, scheduler_names))
    else:
        from gangline.cli.cluster.reading import read_survey  # noqa: PLC0415 - slow, and only with a cluster
        from gangline.cli.cluster.session import talk  # noqa: PLC0415
        from gangline.cli.manifest import against  # noqa: PLC0415

        survey = talk(cluster, read_survey)
        manifests = rules.gather(documents, namespace, {group.metadata.key: group for group in survey.groups})
        found = [*rules.findings(manifests, scheduler_names), *against.findings(manifests, survey)]
    order = {path: place for place, path in enumerate(dict.fromkeys(one.place.file for one in documents))}
    found.sort(key=lambda one: (order[one.file], one.line, one.document))
    errors = sum(one.severity is Severity.ERROR for one in found)
    return Outcome(
        findings=tuple(_told_once(found)),
        objects=len(documents),
        errors=errors,
        warnings=len(found) - errors,
        notes=tuple(_notes(documents)),
        unreadable=reading.unreadable,
    )


def _told_once(found: Sequence[Finding]) -> Iterator[Finding]:
    """Yield one finding for many that differ in the object alone, with their number; a few are told one by one."""
    alike = Counter(map(_apart_from_the_object, found))
    told = set[Finding]()
    for one in found:
        what = _apart_from_the_object(one)
        if alike[what] < MANY:
            yield one
        elif what not in told:
            told.add(what)
            yield replace(one, more=alike[what] - 1)


def _apart_from_the_object(one: Finding) -> Finding:
    return replace(one, line=0, document=0, name="")


def _notes(documents: Sequence[Document]) -> Iterator[str]:
    """Say what was not looked into: what is to be rendered first, and pods that operators make."""
    for file in dict.fromkeys(one.place.file for one in documents):
        path = Path(file)
        if path.name in KUSTOMIZATIONS:
            directory = path.parent
            yield f"{file} is not rendered, files are read as they are; check what it makes with `kubectl kustomize {directory} | gangline check -`"
    yield from filter(None, map(foreign.note, documents))
