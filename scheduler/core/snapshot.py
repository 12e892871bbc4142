"""The snapshot: what is free on every node, as columns derived from the ledgers.

`write_row` is the only writer. A row belongs to one node name while its Node object lives and is recycled afterwards;
a dead row has no room. Whoever asks for rows uses them within that call: plans name nodes.

Trials are the way to try something: what they take is put back when they end, whatever ends them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from operator import add
from typing import Self

import numpy as np
from msgspec import Struct

from gangline.contract.requests import HostPort
from scheduler.core.arrays import AMOUNT_LIMIT, Amounts, Codes, Counts, Mask, Ranks, Row, Rows
from scheduler.core.columns import Columns
from scheduler.core.model.ledger import Ledger, NodeFacts
from scheduler.core.model.member_class import ClassId, ClassTable, MemberClass, NodeRules
from scheduler.core.name_order import NameOrder
from scheduler.core.node_traits import NodeTraits
from scheduler.core.port_index import PortIndex
from scheduler.core.verdicts import Judge, Verdicts


class Request(Struct, frozen=True, eq=False):
    """A member class as the columns see it.

    `lines` are (resource, line, amount), the line None where no node lists the resource;
    `amounts` has one figure for each line of the columns.
    """

    lines: tuple[tuple[str, int | None, int], ...]
    amounts: tuple[int, ...]
    host_ports: tuple[HostPort, ...]


class Snapshot:
    """Columns over the nodes that have a Node object."""

    def __init__(self, classes: ClassTable, capacity: int = 64) -> None:
        self._classes = classes
        self._columns = Columns(capacity)
        self._row_of: dict[str, Row] = {}
        self._nodes = NodeTraits()
        self._dead: list[Row] = []
        self._closed: Mask = np.zeros(capacity, np.bool_)
        self._marks: Mask = np.zeros(capacity, np.bool_)
        self._order = NameOrder()
        self._ports = PortIndex()
        self._verdicts = Verdicts(self._nodes, capacity)
        self._trials: list[Trial] = []

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self._row_of)

    @property
    def node_names(self) -> AbstractSet[str]:
        """Names of the nodes that have a row."""
        return self._row_of.keys()

    def write_row(self, ledger: Ledger) -> None:
        """Make the node's row say what the ledger says; a ledger without Node object has no row."""
        self._refuse_in_trial()
        facts = ledger.node
        if facts is None:
            self.drop_row(ledger.name)
            return
        row = self._row_of.get(ledger.name)
        if row is None:
            row = self._add_row(ledger.name, facts)
        elif facts != self._nodes.facts[row]:
            self._verdicts.write(row, ledger.name, facts)
        self._columns.write(row, facts.allocatable, ledger.used)
        self._closed[row] = ledger.closed is not None
        self._ports.write(row, ledger.ports)

    def drop_row(self, name: str) -> None:
        """Forget the node; a name without row is no error."""
        self._refuse_in_trial()
        row = self._row_of.pop(name, None)
        if row is None:
            return
        self._columns.clear(row)
        self._closed[row] = False
        self._ports.write(row, ())
        self._order.remove(row)
        self._dead.append(row)

    @contextmanager
    def trial(self) -> Iterator["Trial"]:
        """Try things on the columns; everything is put back at the end. Trials may stand inside trials."""
        trial = Trial(self._columns, self._marks, self._trials)
        self._trials.append(trial)
        try:
            yield trial
        finally:
            self._trials.pop()
            trial.put_back()

    def rows(self) -> Rows:
        """Return the rows of all nodes, by name."""
        return self._order.rows()

    def ranks(self) -> Ranks:
        """Return per row its node's place in the order of names."""
        return self._order.ranks()

    def names(self, rows: Rows) -> list[str]:
        """Return the names of the nodes that have these rows."""
        return [self._nodes.names[row] for row in rows.tolist()]

    def find(self, names: Iterable[str]) -> Rows:
        """Return the rows of the nodes with these names, in their order; names without a row are left out."""
        return np.array([self._row_of[name] for name in names if name in self._row_of], np.intp)

    def request_of(self, class_id: ClassId) -> Request:
        """Return what a member of the class takes from the columns; amounts as large as AMOUNT_LIMIT fit nowhere."""
        member_class = self._classes[class_id]
        line_of = self._columns.line_of
        lines = tuple((name, line_of(name), min(amount, AMOUNT_LIMIT)) for name, amount in member_class.requests)
        amounts = [0] * self._columns.line_count
        for _, line, amount in lines:
            if line is not None:
                amounts[line] = amount
        return Request(lines, tuple(amounts), member_class.host_ports)

    def class_of(self, class_id: ClassId) -> MemberClass:
        """Return the member class with this id."""
        return self._classes[class_id]

    def line_of(self, resource: str) -> int | None:
        """Line of a resource in `free` and `allocatable`, None when no node lists it."""
        return self._columns.line_of(resource)

    @property
    def free(self) -> Amounts:
        """What is free, resources x capacity; below 0 where more is used than there is. To be read only."""
        return self._columns.free

    @property
    def allocatable(self) -> Amounts:
        """What nodes have to give, resources x capacity. To be read only."""
        return self._columns.allocatable

    @property
    def closed(self) -> Mask:
        """Rows where nothing may be placed, whatever the room."""
        return self._closed

    def port_conflicts(self, request: Request) -> Rows:
        """Return the rows where one of the host ports is in use, by what the ledgers or the open trials say."""
        if not request.host_ports:
            return np.zeros(0, np.intp)
        in_use = self._ports.conflicts(request.host_ports)
        for trial in self._trials:
            in_use |= trial.port_conflicts(request)
        return np.array(sorted(in_use), np.intp)

    def judged(self, judge: Judge, rules: NodeRules) -> Codes:
        """Return per row what the judge says of these rules; asked again only about nodes whose facts have changed."""
        return self._verdicts.judged(judge, rules)

    def validate(self, names: Sequence[str], ledgers: Mapping[str, Ledger]) -> list[str]:
        """Tell what of these nodes differs from a snapshot built anew from the ledgers, in words."""
        fresh = Snapshot(self._classes, len(names))
        for name in names:
            if name in ledgers:
                fresh.write_row(ledgers[name])
        problems = [
            f"node {name}: the snapshot has {self._describe(name)}, its ledger makes {fresh._describe(name)}"
            for name in names
            if self._describe(name) != fresh._describe(name)
        ]
        return problems + self._validate_verdicts(fresh)

    def _refuse_in_trial(self) -> None:
        if self._trials:
            raise RuntimeError("a snapshot cannot be written while a trial is open: end the trial first")

    def _add_row(self, name: str, facts: NodeFacts) -> Row:
        row = self._dead.pop() if self._dead else Row(len(self._nodes.names))
        if row == self._columns.capacity:
            self._grow()
        self._row_of[name] = row
        self._order.add(row, name)
        self._verdicts.write(row, name, facts)
        return row

    def _grow(self) -> None:
        self._columns.grow()
        self._closed = np.concatenate([self._closed, np.zeros_like(self._closed)])
        self._marks = np.zeros(self._columns.capacity, np.bool_)
        self._verdicts.grow()

    def _describe(self, name: str) -> dict[str, object] | None:
        row = self._row_of.get(name)
        if row is None:
            return None
        return {
            "room": self._columns.describe(row),
            "facts": self._nodes.facts[row],
            "closed": bool(self._closed[row]),
            "ports": sorted(self._ports.ports_of(row)),
        }

    def _validate_verdicts(self, fresh: Self) -> list[str]:
        problems = []
        for judge, rules in self._verdicts.questions():
            codes, fresh_codes = self.judged(judge, rules), fresh.judged(judge, rules)
            for name in sorted(self._row_of.keys() & fresh._row_of.keys()):
                code, fresh_code = int(codes[self._row_of[name]]), int(fresh_codes[fresh._row_of[name]])
                if code != fresh_code:
                    problems.append(f"node {name}: remembered verdict {code} is {fresh_code} when asked again")
        return problems


class Trial:
    """Something that is being tried on the columns of one snapshot."""

    __slots__ = ("_before", "_columns", "_marks", "_open", "_ports")

    def __init__(self, columns: Columns, marks: Mask, open_trials: "list[Trial]") -> None:
        self._columns = columns
        self._marks = marks
        self._open = open_trials
        self._before: list[tuple[Rows, Amounts]] = []
        self._ports: dict[tuple[str, int], list[tuple[HostPort, Rows]]] = {}

    def take(self, rows: Rows, counts: Counts, request: Request) -> None:
        """Use up room for so many members in each row.

        Raises ValueError when a row comes twice, OverflowError when the amounts cannot be counted, RuntimeError
        when this is not the innermost open trial: what is taken last is put back first.
        """
        self._refuse_unless_innermost()
        self._marks[rows] = True
        is_unique = np.count_nonzero(self._marks) == len(rows)
        self._marks[rows] = False
        if not is_unique:
            raise ValueError(f"rows {sorted(rows.tolist())} are not unique: add up the counts of each row first")
        self._before.append((rows, self._columns.take(rows, counts, request.amounts)))
        self._take_ports(rows, request)

    def take_each(self, rows: Rows, requests: Sequence[Request]) -> None:
        """Use up room for one member in each row, of one request each; a row may come more than once.

        Raises RuntimeError when this is not the innermost open trial.
        """
        self._refuse_unless_innermost()
        sums: dict[int, list[int]] = {}
        for row, request in zip(rows.tolist(), requests, strict=True):
            known = sums.get(row)
            sums[row] = list(map(add, known, request.amounts)) if known is not None else list(request.amounts)
            if request.host_ports:
                self._take_ports(np.array([row], np.intp), request)
        if sums:
            unique = np.array(list(sums), np.intp)
            wanted = [[min(amount, AMOUNT_LIMIT) for amount in amounts] for amounts in sums.values()]
            self._before.append((unique, self._columns.lower(unique, np.array(wanted, np.int64).T)))

    def _take_ports(self, rows: Rows, request: Request) -> None:
        for port in request.host_ports:
            self._ports.setdefault((port.protocol, port.port), []).append((port, rows))

    def _refuse_unless_innermost(self) -> None:
        if not self._open or self._open[-1] is not self:
            raise RuntimeError("only the innermost open trial can take: end the ones inside it first")

    def port_conflicts(self, request: Request) -> set[Row]:
        """Return the rows where this trial has taken one of the request's host ports."""
        return {
            Row(row)
            for port in request.host_ports
            for other, rows in self._ports.get((port.protocol, port.port), ())
            if port.conflicts_with(other)
            for row in rows.tolist()
        }

    def put_back(self) -> None:
        """Undo all, the last first."""
        while self._before:
            self._columns.put_back(*self._before.pop())
