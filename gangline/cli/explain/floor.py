"""The floor: the members of a survey, and its nodes with what is charged to them."""

from collections.abc import Iterable, Mapping

import numpy as np

from gangline.cli.cluster.survey import Survey
from gangline.cli.explain.standing import NodeStanding, roomy, ruled_out, too_full
from gangline.contract.counting import is_finished
from gangline.contract.membership import Budget, gang_budget
from gangline.contract.node import Node
from gangline.contract.quantity import QuantityError
from scheduler.core.filters.closed import is_open
from scheduler.core.filters.host_ports import has_free_ports
from scheduler.core.filters.node_facts import first_failure, reason_of
from scheduler.core.filters.resources import lacking, room
from scheduler.core.model.ledger import Ledger, NodeFacts, facts_of
from scheduler.core.model.member import Member, MemberReader
from scheduler.core.model.member_class import ClassTable, MemberClass
from scheduler.core.reasons import NodeReason
from scheduler.core.snapshot import Snapshot


class Floor:
    """The members of a survey, and its nodes with what is charged to them."""

    def __init__(self, survey: Survey, scheduler_names: Iterable[str]) -> None:
        self.classes = ClassTable()
        self.members: dict[str, Member] = {}
        self.ledgers: dict[str, Ledger] = {}
        self._snapshot = Snapshot(self.classes, max(1, len(survey.nodes)))
        for node in survey.nodes:
            self._add_node(node.metadata.name, node)
        reader, names, budgets = MemberReader(self.classes), tuple(scheduler_names), _budgets(survey)
        for pod in survey.pods:
            member = reader.member_of(pod, names, budgets.get(pod.metadata.namespace, ()))
            self.members[member.uid] = member
            self._charge(member, member.node)
        for ledger in self.ledgers.values():
            self._snapshot.write_row(ledger)

    def charge(self, binds: Mapping[str, str]) -> None:
        """Count these waiting pods, by UID, on nodes where they are not yet."""
        for uid, node in binds.items():
            self._charge(self.members[uid], node)
        for node in set(binds.values()):
            self._snapshot.write_row(self.ledgers[node])

    def _add_node(self, name: str, node: Node) -> None:
        ledger = self.ledgers[name] = Ledger(name)
        try:
            ledger.node = facts_of(node)
        except QuantityError as error:
            ledger.node = NodeFacts()
            ledger.closed = str(error)

    def _charge(self, member: Member, node: str) -> None:
        ledger = self.ledgers.get(node)
        if ledger is None or is_finished(member):
            return
        ledger.charge(member.uid, member.class_id, self.classes[member.class_id])
        if member.template.unmeasured:
            ledger.closed = f"pod {member.key} asks for a quantity that cannot be read"

    def standings(self, member_class: MemberClass) -> list[NodeStanding]:
        """Say of each node how it stands to members of this class, by node name."""
        class_id = self.classes.acquire(member_class)
        try:
            request = self._snapshot.request_of(class_id)
            rows = self._snapshot.rows()
            codes = self._snapshot.judged(first_failure, member_class.rules)[rows]
            opened = is_open(self._snapshot, rows)
            ports = has_free_ports(self._snapshot, rows, request)
            lacks = lacking(self._snapshot, rows, request)
            fits = room(self._snapshot, rows, request)
            if member_class.host_ports:
                fits = np.minimum(fits, 1)
            names = self._snapshot.names(rows)
        finally:
            self.classes.release(class_id)
        found = []
        for index, name in enumerate(names):
            ledger = self.ledgers[name]
            if codes[index]:
                found.append(ruled_out(ledger, member_class, reason_of(int(codes[index])), int(fits[index])))
            elif not opened[index]:
                found.append(NodeStanding(name, NodeReason.CLOSED, ledger.closed or "", 0, 0.0))
            elif not ports[index]:
                taken = ", ".join(str(port.port) for port in member_class.host_ports)
                found.append(NodeStanding(name, NodeReason.HOST_PORT, f"port {taken} is taken", 0, 0.0))
            elif lacked := [resource for resource, mask in lacks.items() if mask[index]]:
                found.append(too_full(ledger, dict(member_class.requests), lacked))
            else:
                found.append(roomy(name, int(fits[index])))
        return found


def _budgets(survey: Survey) -> dict[str, list[Budget]]:
    found: dict[str, list[Budget]] = {}
    for budget in filter(None, map(gang_budget, survey.budgets)):
        found.setdefault(budget.namespace, []).append(budget)
    return found
