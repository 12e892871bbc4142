"""Workloads: what in a manifest makes pods, how many at once, and what they look like."""

import re
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gangline.cli.manifest.documents import Document
from gangline.contract.membership import GangKey, Link, gang_key, is_linked, link_of
from gangline.contract.meta import OwnerReference
from gangline.contract.pod import Pod

TEMPLATED: Final = frozenset(
    {"Deployment", "ReplicaSet", "StatefulSet", "Job", "CronJob", "ReplicationController", "DaemonSet"}
)

_BUILT_IN: Final = frozenset({"", "apps", "batch", "extensions"})


class Workload(Struct, frozen=True):
    """A document that makes pods: `pod` as each of them will be, `count` how many at once (None: not known)."""

    document: Document
    pod: Pod
    count: int | None
    link: Link
    priority: str
    """Its PriorityClass, or its priority where it names none."""

    @property
    def gang(self) -> GangKey | None:
        """The gang that its pods are linked to."""
        return gang_key(self.link, self.pod.metadata) if is_linked(self.link) else None

    @property
    def is_ordered(self) -> bool:
        """Tell whether it makes its next pod only when the one before is ready."""
        policy = self.document.spec.get("podManagementPolicy")
        return self.document.kind == "StatefulSet" and policy != "Parallel"


_EXPECTED: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<found>[^`]*)` - at `\$\.?(?P<path>[^`]*)`")
_WORDS: Final = {"str": "a text", "int": "a whole number", "float": "a number with a point", "bool": "true or false"}
_WORDS_OF: Final = _WORDS | {"object": "a mapping", "array": "a list", "null": "nothing"}


def in_words(error: msgspec.ValidationError) -> str:
    """Say which field is wrong and what belongs there."""
    found = _EXPECTED.fullmatch(str(error))
    if found is None:
        return str(error)
    wanted = " or ".join(_WORDS_OF.get(word, word) for word in found["wanted"].split(" | ") if word != "null")
    field = found["path"].replace("[...]", "[]")
    quotes = "; write it in quotes" if found["wanted"].startswith("str") and found["found"] != "null" else ""
    quotes = "; write it without quotes" if found["wanted"].startswith("int") and found["found"] == "str" else quotes
    return f"{field} is {_WORDS_OF.get(found['found'], found['found'])}, where {wanted} belongs{quotes}"


class _Outline(Struct):
    """What every object is made of."""

    metadata: dict[str, Any] | None = None
    spec: dict[str, Any] | None = None


class WorkloadError(ValueError):
    """A workload whose pods cannot be read; the message has the field and what is wrong."""


def workload_of(document: Document, namespace: str) -> Workload | None:
    """Read a document that makes pods, None for any other kind. Raises WorkloadError."""
    if not (document.kind == "Pod" or is_templated(document)):
        return None
    try:
        msgspec.convert(document.body, _Outline)
        template = template_of(document)
        if template is None:
            path = "spec.jobTemplate.spec.template" if document.kind == "CronJob" else "spec.template"
            raise WorkloadError(f"{path} is no mapping, so that it makes no pods")
        pod = msgspec.convert({"metadata": template.get("metadata"), "spec": template.get("spec")}, Pod, strict=True)
    except msgspec.ValidationError as error:
        raise WorkloadError(in_words(error)) from error
    metadata = replace(
        pod.metadata,
        name=document.name,
        namespace=str(document.metadata.get("namespace") or namespace),
        owner_references=None if document.kind == "Pod" else (_owner(document),),
    )
    pod = replace(pod, metadata=metadata)
    return Workload(document, pod, _count(document), link_of(pod), _priority(template))


def is_templated(document: Document) -> bool:
    """Tell whether it is of a built-in kind that makes pods from a template."""
    return document.kind in TEMPLATED and document.api_version.rpartition("/")[0] in _BUILT_IN


def template_of(document: Document) -> dict[str, Any] | None:
    """Return what its pods will be: its template, or a Pod itself; None for what makes no pods."""
    if document.kind == "Pod":
        return document.body
    if document.kind not in TEMPLATED:
        return None
    spec = _job_spec(document)
    template = spec.get("template")
    return template if isinstance(template, dict) else None


def _job_spec(document: Document) -> dict[str, Any]:
    """Return the spec that has the pod template: a CronJob keeps it one level deeper."""
    if document.kind != "CronJob":
        return document.spec
    job = document.spec.get("jobTemplate")
    spec = job.get("spec") if isinstance(job, dict) else None
    return spec if isinstance(spec, dict) else {}


def _priority(template: dict[str, Any]) -> str:
    spec = template.get("spec") or {}
    return str(spec.get("priorityClassName") or spec.get("priority") or "none")


def _owner(document: Document) -> OwnerReference:
    kind = "Job" if document.kind == "CronJob" else document.kind
    return OwnerReference(
        api_version=document.api_version,
        kind=kind,
        name=document.name,
        uid=str(document.metadata.get("uid") or document.name),
        controller=True,
    )


def _count(document: Document) -> int | None:
    """Return how many of its pods there can be at once."""
    match document.kind:
        case "Pod":
            return 1
        case "DaemonSet":
            return None
        case "Job" | "CronJob":
            spec = _job_spec(document)
            parallelism, completions = _whole(spec.get("parallelism"), 1), _whole(spec.get("completions"), None)
            if parallelism is None or completions is None:
                return parallelism
            return min(parallelism, completions)
        case _:
            return _whole(document.spec.get("replicas"), 1)


def _whole(value: object, default: int | None) -> int | None:
    return value if type(value) is int else default
