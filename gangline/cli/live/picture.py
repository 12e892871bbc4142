"""The picture of a cluster as lines that fit a terminal: nodes as bars, gangs, what waits and why."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from rich.text import Text

from gangline.cli.cluster.options import Scope
from gangline.cli.cluster.survey import Profile, Survey
from gangline.cli.gangs import GangRow, brief
from gangline.cli.listing import Wanted, gang_rows
from gangline.cli.roominess import NodeRow, Shape, report_on
from gangline.cli.terminal import PHASE_STYLES, counted, duration
from gangline.contract.membership import is_linked, link_of
from gangline.contract.pod import Pod
from gangline.contract.quantity import format_amount

NARROW: Final = 64
"""Columns below which memory is left out."""
_NAME_LIMIT: Final = 30
_FULL: Final = 0.9
_BUSY: Final = 0.6
_EVERY_NODE: Final = Shape(None, None)
_BLANK: Final = Text("")


class Frame(Struct, frozen=True, kw_only=True):
    """Where the picture is shown: terminal cells, and whether block characters can be."""

    width: int
    height: int
    is_plain: bool = False


def lines(survey: Survey, frame: Frame, *, head: Sequence[str] = (), foot: str = "") -> list[Text]:
    """Draw a survey: never more lines than the frame is high, never one that is wider.

    `head` are lines above it, `foot` is the last line. What does not fit is counted.
    """
    gangs, alone = _gangs(survey), _waiting_alone(survey)
    top = [*(Text(line, style="bold" if not number else "") for number, line in enumerate(head)), _summary(survey)]
    bottom = [_BLANK, Text(foot, style="dim")] if foot else []
    left = frame.height - len(top) - len(bottom)
    below = [_rows_of(gangs, frame), _rows_of_alone(alone)]
    wanted_below = sum(2 + len(rows) for _, rows in below if rows)
    for_nodes = max(left - wanted_below, left // 2)
    drawn = [*top, *_section(*_rows_of_nodes(survey, frame), for_nodes, "node")]
    for (title, rows), noun in zip(below, ("gang", "pod"), strict=True):
        drawn += _section(title, rows, frame.height - len(bottom) - len(drawn), noun)
    return [_cut(line, frame.width) for line in [*drawn, *bottom][: frame.height]]


def _section(title: Text, rows: list[Text], height: int, noun: str) -> list[Text]:
    """Lay out a title and rows in so many lines, with a count of the rows that are left out."""
    room = height - 2
    if not rows or room < 1:
        return []
    shown = rows if len(rows) <= room else rows[: room - 1]
    more = (
        [Text(f"... and {counted(len(rows) - len(shown), noun)} more", style="dim")] if len(shown) < len(rows) else []
    )
    return [_BLANK, title, *shown, *more]


def _summary(survey: Survey) -> Text:
    phases = Counter(pod.status.phase or "Pending" for pod in survey.pods)
    told = ", ".join(f"{number} {phase}" for phase, number in sorted(phases.items()))
    pods = counted(len(survey.pods), "pod") + (f": {told}" if told else "")
    return Text(f"{counted(len(survey.nodes), 'node')}, {pods}")


def _rows_of_nodes(survey: Survey, frame: Frame) -> tuple[Text, list[Text]]:
    found = report_on(survey, _EVERY_NODE).nodes
    pods = Counter(pod.spec.node_name for pod in survey.pods if pod.status.phase not in ("Succeeded", "Failed"))
    resources = ("cpu", "memory") if frame.width >= NARROW else ("cpu",)
    figures = {
        name: max((len(_figures(row, name)) for row in found if name in row.resources), default=0) for name in resources
    }
    name_width = min(max((len(row.name) for row in found), default=0), _NAME_LIMIT, frame.width // 3)
    taken = name_width + 2 + sum(width + 3 for width in figures.values()) + 4
    bar = max(4, min(24, (frame.width - taken - (12 if frame.width >= NARROW else 0)) // len(resources)))
    head = f"{'NODE':{name_width}}  " + "".join(f"{name.upper():{bar + figures[name] + 3}}" for name in resources)
    return Text(f"{head}PODS", style="bold"), [
        _node(row, pods[row.name], resources, figures, bar, name_width, frame) for row in found
    ]


def _node(
    row: NodeRow, pods: int, resources: Sequence[str], figures: dict[str, int], bar: int, name_width: int, frame: Frame
) -> Text:
    line = Text(f"{_short(row.name, name_width):{name_width}}  ")
    for name in resources:
        amount = row.resources.get(name)
        share = 1 - amount.free / amount.allocatable if amount is not None and amount.allocatable else 0.0
        line.append_text(_bar(share, bar, is_plain=frame.is_plain))
        line.append(f" {_figures(row, name):{figures[name]}}  ")
    line.append(f"{pods:<4}")
    if row.state != "open":
        line.append(f" {row.state}", style="yellow")
    return line


def _figures(row: NodeRow, name: str) -> str:
    amount = row.resources.get(name)
    if amount is None:
        return "-"
    used = format_amount(name, amount.allocatable - amount.free)
    return f"{used}/{format_amount(name, amount.allocatable)}"


def _bar(share: float, width: int, *, is_plain: bool) -> Text:
    full, empty = ("#", ".") if is_plain else ("█", "░")
    cells = min(width, max(round(share * width), 1 if share > 0 else 0))
    style = "blue" if share >= _FULL else "cyan" if share >= _BUSY else "green"  # a full node is good news
    return Text(full * cells, style=style).append(empty * (width - cells), style="dim")


def _gangs(survey: Survey) -> list[GangRow]:
    """Return all gangs, whoever is to place them: those that wait first, the longest first of all."""
    names = {pod.spec.scheduler_name or "" for pod in survey.pods}
    found = gang_rows(survey, Wanted(Scope(None, every=True), None, None, Profile(tuple(sorted(names)))))
    return sorted(found, key=lambda row: (not row.waiting, -(row.waits_seconds or 0.0), row.namespace, row.name))


def _rows_of(gangs: Sequence[GangRow], frame: Frame) -> tuple[Text, list[Text]]:
    names = [f"{row.namespace}/{row.name}" for row in gangs]
    width = max(min(max(map(len, names), default=0), _NAME_LIMIT, frame.width // 3), 4)
    is_narrow = frame.width < NARROW
    rows = []
    for name, row in zip(names, gangs, strict=True):
        line = Text(
            f"{_short(name, width):{width}}  ", style=PHASE_STYLES.get(row.phase or "", "") if is_narrow else ""
        )
        if is_narrow:
            line.append(f"{row.running}/{row.min_member} {row.why}")
        else:
            line.append(f"{row.phase or '-':<10}", style=PHASE_STYLES.get(row.phase or "", "magenta"))
            waits = f"{row.waiting:<5}{duration(row.waits_seconds):<6}"
            line.append(f"  {row.min_member:<4}{row.running:<4}{waits}{row.why}")
        rows.append(line)
    titles = "RUN/MIN WHY" if is_narrow else "PHASE       MIN RUN WAIT FOR   WHY"
    return Text(f"{'GANG':{width}}  {titles}", style="bold"), rows


def _waiting_alone(survey: Survey) -> list[Pod]:
    waiting = [pod for pod in survey.pods if not pod.spec.node_name and pod.status.phase in (None, "Pending")]
    return sorted((pod for pod in waiting if not is_linked(link_of(pod))), key=lambda pod: pod.metadata.key)


def _rows_of_alone(pods: Sequence[Pod]) -> tuple[Text, list[Text]]:
    return Text("PODS THAT WAIT, IN NO GANG", style="bold"), [Text(f"{pod.metadata.key}  {_why(pod)}") for pod in pods]


def _why(pod: Pod) -> str:
    said = [each for each in pod.status.conditions or () if (each.type, each.status) == ("PodScheduled", "False")]
    return brief(said[0].reason, said[0].message) if said else "no scheduler has spoken"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}~"


def _cut(line: Text, width: int) -> Text:
    cut = line.copy()
    cut.truncate(width, overflow="crop")
    return cut
