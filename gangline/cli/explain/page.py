"""The page: an answer as text for people, each part under its heading."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from gangline.cli.explain.answer import Answer, ClassNodes, Figures, State
from gangline.cli.terminal import age, columns, duration

if TYPE_CHECKING:
    from rich.console import RenderableType

NODES_SHOWN: Final = 3
AHEAD_SHOWN: Final = 5
CLASSES_SHOWN: Final = 3
TAKERS_SHOWN: Final = 5
_CALM: Final = (State.RUNNING, State.FINISHED, State.STARTING, State.BINDING, State.JUST_CREATED)


def page(answer: Answer, now: datetime, *, wide: bool) -> Iterator["RenderableType"]:
    """Yield the parts of the page; `wide` leaves no node out."""
    from rich.text import Text  # noqa: PLC0415 - only commands that draw pay for it

    style = "green" if answer.reason in _CALM else "yellow"
    waits = f", waits {duration(answer.waits_seconds)}" if answer.waits_seconds is not None else ""
    yield Text.assemble((answer.subject, "bold"), ": ", (answer.reason, f"bold {style}"), waits)
    yield from _lines([answer.summary])
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


def _part(heading: str, lines: Sequence[str]) -> Iterator["RenderableType"]:
    from rich.text import Text  # noqa: PLC0415

    if lines:
        yield Text(heading, style="bold")
        yield from _lines(lines)


def _lines(lines: Sequence[str]) -> Iterator["RenderableType"]:
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    for line in lines:
        yield Padding(Text(line), (0, 0, 0, 2))


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


def _nodes(part: ClassNodes, *, only: bool, wide: bool) -> Iterator["RenderableType"]:
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    total = sum(group.count for group in part.groups)
    yield Text(f"Nodes ({total}):" if only else f"Nodes ({total}) for {part.members} x {part.asks}:", style="bold")
    rows = []
    for group in part.groups:
        shown = group.nodes if wide else group.nodes[:NODES_SHOWN]
        named = [f"{node.node} ({node.detail})" if node.detail else node.node for node in shown]
        more = [f"and {group.count - len(shown)} more"] if group.count > len(shown) else []
        rows.append((str(group.count), group.reason, ", ".join([*named, *more])))
    yield Padding(columns(("NODES", "WHY", "NEAREST FIRST"), rows), (0, 0, 0, 2))


def _queue(answer: Answer) -> Iterator["RenderableType"]:
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not answer.ahead:
        yield Text("Queue: nobody is ahead", style="bold")
        return
    yield Text(f"Queue: {len(answer.ahead)} ahead (one that does not fit holds nothing back)", style="bold")
    rows = [
        (one.gang, str(one.priority), str(one.need or ""), one.turn or "", one.reason or "could start now")
        for one in answer.ahead[:AHEAD_SHOWN]
    ]
    yield Padding(columns(("GANG", "PRIORITY", "NEEDS", "TURN", "WHY IT WAITS"), rows), (0, 0, 0, 2))


def _takers(answer: Answer) -> Iterator["RenderableType"]:
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    more = f", the {TAKERS_SHOWN} largest of {len(answer.takers)}" if len(answer.takers) > TAKERS_SHOWN else ""
    yield Text(f"Who has the room{more}:", style="bold")
    rows = [(one.name, one.takes, str(one.pods), str(one.priority)) for one in answer.takers[:TAKERS_SHOWN]]
    yield Padding(columns(("WHO", "TAKES", "PODS", "PRIORITY"), rows), (0, 0, 0, 2))


def _history(answer: Answer, now: datetime) -> Iterator["RenderableType"]:
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    yield Text("Last:", style="bold")
    above = answer.summary.rstrip(".")
    notes = ["(as above)" if one.note.rstrip(".") == above else one.note for one in answer.happened]
    rows = [(age(one.at, now), one.what, one.reason, note) for one, note in zip(answer.happened, notes, strict=True)]
    yield Padding(columns(("AGO", "OBJECT", "REASON", "NOTE"), rows), (0, 0, 0, 2))
