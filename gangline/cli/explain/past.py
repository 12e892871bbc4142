"""The past: what was recorded of a gang, of its pods and of who makes them."""

import re
from collections.abc import Iterator
from typing import Final

from gangline.cli.cluster.owners import Owner
from gangline.cli.cluster.survey import RecordedEvent, Survey
from gangline.cli.cluster.told import told
from gangline.cli.explain.answer import Happening
from gangline.cli.explain.case import Case, maker_of

_HAPPENINGS: Final = 8
_ROUTINE: Final = frozenset({"Pulled", "Created", "Started"})
"""What a kubelet says of every pod that goes well."""
_CANNOT_CREATE: Final = "FailedCreate"
_ALIKE: Final = re.compile(r"\b(pod:?|to|node|assigned|binding) \S+")
"""What tells the words about one pod of a gang from those about another."""


def owners_of(case: Case, survey: Survey) -> list[Owner]:
    """Return who makes pods of the gang: those that have made some, and those whose template names it."""
    makers = {maker_of(pod) for pod in case.pods}
    makers |= {(owner.kind, owner.name) for pod in case.pods if (owner := pod.metadata.controller) is not None}
    return [
        owner
        for owner in survey.owners
        if owner.metadata.namespace == case.key.namespace
        and (owner.gang == case.key or (owner.kind, owner.metadata.name) in makers)
    ]


def why_no_more_pods(case: Case, survey: Survey) -> str:
    """Say in the words of an owner why it makes no more pods; empty where none complains."""
    owners = owners_of(case, survey)
    uids = {owner.metadata.uid: owner for owner in owners}
    refused = [event for event in survey.events if event.reason == _CANNOT_CREATE and event.regarding.uid in uids]
    if refused:
        last = max(refused, key=lambda event: str(event.last_seen or ""))
        return f"{uids[last.regarding.uid].name} cannot make them: {(last.note or '').strip().rstrip('.')}"
    return next((f"{owner.name} makes no more: {owner.problem}" for owner in owners if owner.problem), "")


def happened(case: Case, survey: Survey) -> list[Happening]:
    """Return what was last recorded about the gang, its pods and their owners, repeats once, newest first."""
    found: dict[str, Happening] = {}
    for one in sorted(_recorded(case, survey), key=lambda one: str(one.at or ""), reverse=True):
        found.setdefault(_ALIKE.sub("", one.note) or one.reason, one)
    return list(found.values())[:_HAPPENINGS]


def _recorded(case: Case, survey: Survey) -> Iterator[Happening]:
    uids = {pod.metadata.uid for pod in case.pods} | {owner.metadata.uid for owner in owners_of(case, survey)}
    if case.group is not None:
        uids.add(case.group.metadata.uid)
        for condition in case.group.status.conditions or ():
            if condition.type == "TimedOut" and condition.status == "True":
                at, words = condition.last_transition_time, condition.message or ""
                yield Happening(at, "condition TimedOut", condition.reason or "", words)
    for event in survey.events:
        if event.regarding.uid in uids and event.reason not in _ROUTINE:
            yield _of_event(event)
    said = told(case.pods)
    if said is not None:
        yield Happening(said.last_transition_time, "condition PodScheduled", said.reason or "", said.message or "")


def _of_event(event: RecordedEvent) -> Happening:
    what = f"{event.regarding.kind.lower()}/{event.regarding.name}"
    return Happening(event.last_seen, what, event.reason, event.note or "")
