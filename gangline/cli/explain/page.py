"""The page: an answer as text for people, each part under its heading."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from gangline.cli.explain.answer import Answer, ClassNodes, Figures, State
from gangline.cli.terminal import age, bold, columns, duration, paragraph, screen_width

NODES_SHOWN: Final = 3
AHEAD_SHOWN: Final = 5
CLASSES_SHOWN: Final = 3
_INDENT: Final = 2
TAKERS_SHOWN: Final = 5
_CALM: Final = (State.RUNNING, State.FINISHED, State.STARTING, State.BINDING, State.JUST_CREATED)


def page(answer: Answer, now: datetime, *, wide: bool) -> Iterator[str]:
    """Yield the lines of the page; `wide` leaves no node out."""
    colour = "green" if answer.reason in _CALM else "yellow"
    waits = f", waits {duration(answer.waits_seconds)}" if answer.waits_seconds is not None else ""
    yield f"{bold(answer.subject)}: {bold(answer.reason, colour)}{waits}"
    yield from paragraph(answer.summary, _INDENT)
    yield from _part("Needs:", [*answer.needs, f"now: {_members(answer.figures)}"])
    yield from _part("Missing:", answer.missing)
    for part in answer.nodes[:CLASSES_SHOWN]:
        yield from _nodes(part, only=len(answer.nodes) == 1, wide=wide)
    if answer.takers:
        yield from _takers(answer)
    if answer.place is not None:
        yield from _queue(answer)
    if answer.happened:
        yield from _history(answer, now)
    yield from _part("Next:", [f"- {step}" for step in answer.next])
    yield from _part("Not known:", [f"- {words}" for words in answer.unknown])


def _part(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield bold(heading)
    for line in lines:
        yield from paragraph(line, _INDENT)


def _table(heading: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield bold(heading)
    yield from columns(titles, rows, indent=_INDENT, width=screen_width())


def _members(figures: Figures) -> str:
    counted = [
        (figures.waiting, "waiting"),
        (figures.bound, f"bound ({figures.running} of them running)"),
        (figures.succeeded, "succeeded"),
        (figures.failed, "failed"),
        (figures.gated, "with scheduling gates"),
        (figures.deleting, "being deleted"),
        (figures.other_scheduler, "for another scheduler"),
        (figures.unplaceable, "that cannot be placed as they are"),
    ]
    return ", ".join(f"{number} {words}" for number, words in counted if number) or "no pods"


def _nodes(part: ClassNodes, *, only: bool, wide: bool) -> Iterator[str]:
    total = sum(group.count for group in part.groups)
    heading = f"Nodes ({total}):" if only else f"Nodes ({total}) for {part.members} x {part.asks}:"
    rows = []
    for group in part.groups:
        shown = group.nodes if wide else group.nodes[:NODES_SHOWN]
        named = [f"{node.node} ({node.detail})" if node.detail else node.node for node in shown]
        more = [f"and {group.count - len(shown)} more"] if group.count > len(shown) else []
        rows.append((str(group.count), group.reason, ", ".join([*named, *more])))
    yield from _table(heading, ("NODES", "WHY", "NEAREST FIRST"), rows)


def _queue(answer: Answer) -> Iterator[str]:
    if not answer.ahead:
        yield bold("Queue: nobody is ahead")
        return
    heading = f"Queue: {len(answer.ahead)} ahead (one that does not fit holds nothing back)"
    rows = [
        (one.gang, str(one.priority), str(one.need or ""), one.turn or "", one.reason or "could start now")
        for one in answer.ahead[:AHEAD_SHOWN]
    ]
    yield from _table(heading, ("GANG", "PRIORITY", "NEEDS", "TURN", "WHY IT WAITS"), rows)


def _takers(answer: Answer) -> Iterator[str]:
    more = f", the {TAKERS_SHOWN} largest of {len(answer.takers)}" if len(answer.takers) > TAKERS_SHOWN else ""
    rows = [(one.name, one.takes, str(one.pods), str(one.priority)) for one in answer.takers[:TAKERS_SHOWN]]
    yield from _table(f"Who has the room{more}:", ("WHO", "TAKES", "PODS", "PRIORITY"), rows)


def _history(answer: Answer, now: datetime) -> Iterator[str]:
    above = answer.summary.rstrip(".")
    notes = ["(as above)" if one.note.rstrip(".") == above else one.note for one in answer.happened]
    rows = [(age(one.at, now), one.what, one.reason, note) for one, note in zip(answer.happened, notes, strict=True)]
    yield from _table("Last:", ("AGO", "OBJECT", "REASON", "NOTE"), rows)
