"""The room on each node, and the largest gang of one shape that would fit."""

import re
from collections.abc import Sequence
from typing import Final

import click
from msgspec import Struct

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.labels import LabelTest, label_test
from gangline.cli.cluster.reading import read_survey
from gangline.cli.cluster.session import talk
from gangline.cli.cluster.survey import Survey
from gangline.cli.explain.floor import Floor
from gangline.cli.explain.room import asked
from gangline.cli.explain.standing import NodeStanding
from gangline.cli.terminal import columns, printable, screen_width
from gangline.contract.pod import Toleration
from gangline.contract.quantity import QuantityError, format_amount, parse_milli
from gangline.contract.requests import amount_of
from scheduler.core.model.ledger import Ledger, NodeFacts
from scheduler.core.model.member_class import MemberClass, NodeRules

_FIRST: Final = ("cpu", "memory", "pods")
_IN_PARTS: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Of these a member may ask for a part; of others the API server takes whole numbers alone."""
_NO_KEY: Final = re.compile(r"[=:,\s]|^$")
_NOT_SHOWN: Final = frozenset({"ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi"})


class ShapeError(ValueError):
    """A shape that cannot be; the message says which option, and what is legal."""


class Shape(Struct, frozen=True):
    """What one member asks for, None where nothing was asked; and on which nodes, by their labels."""

    member: MemberClass | None
    labels: LabelTest | None


class Amount(Struct, frozen=True):
    """How much of a resource is free, and offered in all, in the unit of contract.requests."""

    free: int
    allocatable: int


class NodeRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One node."""

    name: str
    state: str
    resources: dict[str, Amount]
    members: int | None = None
    why_not: str | None = None


class Report(Struct, frozen=True, kw_only=True, rename="camel"):
    """All nodes, and the largest gang if a shape was given."""

    nodes: tuple[NodeRow, ...]
    shape: str | None = None
    largest_gang: int | None = None
    summary: str | None = None


def shape_of(
    cpu: str | None,
    memory: str | None,
    requests: Sequence[str],
    selector: Sequence[str],
    tolerations: Sequence[str],
) -> Shape:
    """Read the options. Raises ShapeError, and UsageError for a selector."""
    asks = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    for text in requests:
        name, value = _requested(text)
        if name in asks:
            raise ShapeError(f"{name} is asked for twice, with {asks[name]} and {value}")
        asks[name] = value
    labels = label_test(",".join(selector))
    for key in filter(_NO_KEY.search, tolerations):
        raise ShapeError(f"--toleration {key!r} is no key of a taint: write --toleration nvidia.com/gpu")
    rules = NodeRules(tolerations=tuple(Toleration(key=key, operator="Exists") for key in sorted(set(tolerations))))
    if not asks:
        return Shape(None, labels)
    try:
        amounts = {name: _asked_for(name, value) for name, value in asks.items()}
    except QuantityError as error:
        raise ShapeError(str(error)) from error
    wanted = {name: amount for name, amount in amounts.items() if amount} | {"pods": 1}
    return Shape(MemberClass(requests=tuple(sorted(wanted.items())), rules=rules), labels)


def _requested(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise ShapeError(f"--request {text!r} is not NAME=QUANTITY: write --request nvidia.com/gpu=1")
    return name, value


def _asked_for(name: str, value: str) -> int:
    amount = amount_of(name, value)
    if amount < 0:
        raise ShapeError(f"{name}: a member cannot ask for {value}: give 0 or more")
    if parse_milli(value) % 1000 and not (name in _IN_PARTS or name.startswith("hugepages-")):
        raise ShapeError(f"{name}: a member cannot ask for {value}: give a whole number")
    return amount


def report(access: Access, shape: Shape) -> Report:
    """Look at a cluster. Raises Failure."""
    survey = talk(access, read_survey)
    for problem in survey.unread:
        click.echo(f"warning: not read: {printable(problem)}", err=True)
    return report_on(survey, shape)


def report_on(survey: Survey, shape: Shape) -> Report:
    """Say what is free on each node of a survey, and how many members of a shape would fit."""
    floor = Floor(survey, ())
    shown = [name for name, ledger in sorted(floor.ledgers.items()) if _is_selected(ledger, shape.labels)]
    if shape.member is None:
        return Report(nodes=tuple(_row(floor.ledgers[name], None) for name in shown))
    standings = {one.node: one for one in floor.standings(shape.member)}
    found = tuple(_row(floor.ledgers[name], standings[name]) for name in shown)
    largest, text = sum(row.members or 0 for row in found), asked(shape.member) or "no requests"
    return Report(nodes=found, shape=text, largest_gang=largest, summary=_summary(largest, text, found))


def _summary(largest: int, text: str, found: Sequence[NodeRow]) -> str:
    used = sum(1 for row in found if row.members)
    if largest:
        return (
            f"The largest gang of members with {text} that would fit now: {largest}, on {used} of {len(found)} nodes."
        )
    return f"Not one member with {text} would fit now on {len(found)} nodes."


def _is_selected(ledger: Ledger, labels: LabelTest | None) -> bool:
    return labels is None or labels(ledger.node.labels if ledger.node is not None else {})


def _row(ledger: Ledger, standing: NodeStanding | None) -> NodeRow:
    facts = ledger.node or NodeFacts()
    return NodeRow(
        name=ledger.name,
        state=_state(ledger, facts),
        resources={
            name: Amount(max(0, offered - ledger.used.get(name, 0)), offered)
            for name, offered in sorted(facts.allocatable.items())
        },
        members=standing.members if standing is not None else None,
        why_not=None if standing is None or standing.members else _why_not(standing),
    )


def _why_not(standing: NodeStanding) -> str:
    return f"{standing.reason} ({standing.detail})" if standing.detail else standing.reason


def _state(ledger: Ledger, facts: NodeFacts) -> str:
    words = [
        *(["deleting"] if facts.deleting else []),
        *(["cordoned"] if facts.unschedulable else []),
        *([f"closed: {ledger.closed}"] if ledger.closed is not None else []),
        *(
            f"{taint.key}:{taint.effect}"
            for taint in facts.taints
            if taint.effect != "PreferNoSchedule" and taint.key != "node.kubernetes.io/unschedulable"
        ),
    ]
    return ",".join(words) or "open"


def table(found: Report, *, wide: bool) -> list[str]:
    """Lay out the nodes; resources beyond CPU and memory are shown where a node has them."""
    offered = {name for row in found.nodes for name, amount in row.resources.items() if amount.allocatable}
    more = sorted(offered - set(_FIRST) - (frozenset() if wide else _NOT_SHOWN))
    names = [*_FIRST, *more]
    titles = ["NAME", "STATE", *(f"{name.upper()} FREE" for name in names)]
    cells = [[row.name, row.state, *(_amount(name, row.resources.get(name)) for name in names)] for row in found.nodes]
    if found.shape is not None:
        titles += ["MEMBERS", "WHY NOT"]
        for cell, row in zip(cells, found.nodes, strict=True):
            cell += [str(row.members), row.why_not or ""]
    return columns(titles, cells, width=screen_width())


def _amount(name: str, amount: Amount | None) -> str:
    if amount is None:
        return "-"
    return f"{format_amount(name, amount.free)}/{format_amount(name, amount.allocatable)}"
