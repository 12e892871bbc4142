"""Findings: what is wrong with a manifest, where, and what to write instead."""

from enum import StrEnum

from msgspec import Struct

from gangline.cli.manifest.documents import Document


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """The gang will not start as it is written."""
    WARNING = "warning"
    """It may start, and not as was probably meant."""


class Rule(StrEnum):
    """What was looked at; a word for programs."""

    UNREADABLE = "unreadable"
    INVALID_LINK = "invalid-link"
    GROUP_MISSING = "group-missing"
    OTHER_API_GROUP = "other-api-group"
    MIN_MEMBER = "min-member"
    TOO_FEW_PODS = "too-few-pods"
    ORDERED = "ordered-statefulset"
    SCHEDULER_NAME = "scheduler-name"
    MIXED_PRIORITIES = "mixed-priorities"
    QUANTITY = "invalid-quantity"
    UNSUPPORTED = "unsupported-requirement"
    MISSPELT = "misspelt-key"
    MISPLACED = "misplaced-key"
    UNKNOWN_FIELD = "unknown-field"
    TWICE = "defined-twice"
    GROUP_UNUSED = "group-unused"
    NODE_NAME = "node-name"
    CRD_VERSION = "crd-version"
    NO_NODE = "fits-no-node"
    GANG_TOO_LARGE = "gang-too-large"


class Finding(Struct, frozen=True, kw_only=True):
    """One finding; `cure` is what to do, and `more` of how many other objects of this kind and file it is true."""

    file: str
    line: int
    document: int
    kind: str
    name: str
    severity: Severity
    rule: Rule
    message: str
    cure: str = ""
    more: int = 0

    def __str__(self) -> str:
        whose = f"{self.kind}/{self.name} and {self.more:,} more" if self.more else f"{self.kind}/{self.name}"
        where = f"{self.file}:{self.line}: {self.severity}: {whose}: {self.message}"
        return f"{where}; {self.cure} [{self.rule}]" if self.cure else f"{where} [{self.rule}]"


def error(document: Document, rule: Rule, message: str, cure: str = "") -> Finding:
    """Report what keeps a gang from starting."""
    return _finding(document, Severity.ERROR, rule, message, cure)


def warning(document: Document, rule: Rule, message: str, cure: str = "") -> Finding:
    """Report what may not be meant."""
    return _finding(document, Severity.WARNING, rule, message, cure)


def _finding(document: Document, severity: Severity, rule: Rule, message: str, cure: str) -> Finding:
    place = document.place
    return Finding(
        file=place.file,
        line=place.line,
        document=place.document,
        kind=document.kind or "object",
        name=document.name,
        severity=severity,
        rule=rule,
        message=message.rstrip("."),
        cure=cure,
    )
