"""The shape of kubectl's output: what differs between two runs on one server is replaced by what it is."""

import re
from collections.abc import Iterable
from typing import Final

_REPLACED: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<date>"),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r'((?:resourceVersion|sinceRevision)"?: "?)\d+'), r"\1<revision>"),
    (re.compile(r"\b(?:10|172\.16)(?:\.\d{1,3}){2,3}\b"), "<address>"),
    (re.compile(r"\b(web-)[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), r"\1<hash>-<end>"),
    (re.compile(r"\b(web-)[bcdfghjklmnpqrstvwxz2456789]{8,10}\b"), r"\1<hash>"),
    (re.compile(r"(pod-template-hash[=:] ?)[bcdfghjklmnpqrstvwxz2456789]{8,10}\b"), r"\1<hash>"),
    (re.compile(r"\b((?:sum|crew|made)-(?:\d-)?)[bcdfghjklmnpqrstvwxz2456789]{5}\b"), r"\1<end>"),
    (re.compile(r"(?<![\w.])(?:\d+(?:y(?:\d+d)?|d(?:\d+h)?|h(?:\d+m)?|m\d+s|s)|[2-9]m)(?: ago)?\b"), "<age>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"), "<time>"),
    (re.compile(r"(Resource Version: +)\d+"), r"\1<revision>"),
    (re.compile(r"(?:<invalid>|<unknown>)(?= )"), "<age>"),
    (re.compile(r"/tmp/[\w/.-]+"), "<file>"),
    (re.compile(r"(uid=|hash: |controller-uid[=:] ?)[0-9a-f-]+"), r"\1<uid>"),
    (re.compile(r"\bweb-[ab]\b"), "web-<which>"),
    (re.compile(r"[ \t]{2,}|\t"), "  "),
)


def shape(text: str, but: Iterable[str] = (), *, is_sorted: bool = False) -> list[str]:
    """Return the lines of an output in their normal form, without those that match a pattern of `but`."""
    for pattern, word in _REPLACED:
        text = pattern.sub(word, text)
    left_out = [re.compile(each) for each in but]
    lines = [line.rstrip() for line in text.splitlines()]
    lines = [line for line in lines if not any(each.search(line) for each in left_out)]
    return sorted(lines) if is_sorted else lines
