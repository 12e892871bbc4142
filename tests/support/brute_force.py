"""Placement by trying everything, with exact integers and no arrays: what the real one is compared with.

It reads ledgers and classes, shares no code with the search, and checks rules the long way.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from gangline.contract.requests import HostPort
from gangline.contract.selectors import tolerates
from scheduler.core.model.ledger import Ledger
from scheduler.core.model.member_class import ClassId, ClassTable, MemberClass
from scheduler.core.placement import Demand

Where = Counter[tuple[ClassId, str]]
"""How many members of which class are on which node."""


class BruteForce:
    """One question: this demand on these ledgers."""

    def __init__(self, demand: Demand, ledgers: Mapping[str, Ledger], classes: ClassTable) -> None:
        self.demand = demand
        self.ledgers = ledgers
        self.classes = classes

    def most(self) -> int:
        """The largest number of members, up to the need, that fit together."""
        seen: set[frozenset[tuple[tuple[ClassId, str], int]]] = set()
        waiting: list[Where] = [Counter()]
        most = 0
        while waiting:
            placed = waiting.pop()
            most = max(most, min(self.demand.need, placed.total()))
            for wider in self._one_more(placed):
                if wider.total() <= self.demand.need and (key := frozenset(wider.items())) not in seen:
                    seen.add(key)
                    waiting.append(wider)
        return most

    def alone(self, class_id: ClassId) -> int:
        """The largest number of members of one class that fit when the rest of the gang is not there."""
        placed: Where = Counter()
        count = next(each.count for each in self.demand.classes if each.class_id == class_id)
        for name in self.ledgers:
            while placed.total() < count and self.is_feasible(placed + Counter({(class_id, name): 1})):
                placed[class_id, name] += 1
        return placed.total()

    def is_feasible(self, placed: Where) -> bool:
        """Tell whether all rules hold with these members where they are."""
        names = {name for _, name in placed}
        allowed = all(self.is_allowed(class_id, name) for class_id, name in placed)
        return allowed and all(self._has_room(name, placed) and self._has_ports(name, placed) for name in names)

    def is_allowed(self, class_id: ClassId, name: str) -> bool:
        """Tell whether members of the class may be on the node at all, whatever the room."""
        one, ledger = self.classes[class_id], self.ledgers[name]
        facts = ledger.node
        if facts is None or facts.deleting or facts.unschedulable or ledger.closed or one.unsupported:
            return False
        hard = [taint for taint in facts.taints if taint.effect in ("NoSchedule", "NoExecute")]
        if not all(tolerates(one.rules.tolerations, taint) for taint in hard):
            return False
        labels = all(facts.labels.get(key) == value for key, value in one.rules.selector)
        return labels and (class_id, name) not in self.demand.excluded

    def _one_more(self, placed: Where) -> Iterator[Where]:
        for each in self.demand.classes:
            if sum(count for (class_id, _), count in placed.items() if class_id == each.class_id) == each.count:
                continue
            for name in self.ledgers:
                wider = placed + Counter({(each.class_id, name): 1})
                if self.is_feasible(wider):
                    yield wider

    def _there(self, name: str, placed: Where) -> list[MemberClass]:
        """Everything on the node that is not in its ledger: held rooms and members."""
        held = [self.classes[hold.class_id] for hold in self.demand.holds if hold.node == name]
        members = [self.classes[class_id] for class_id, node in placed.elements() if node == name]
        return held + members

    def _has_room(self, name: str, placed: Where) -> bool:
        """Look at the resources that the members ask for, and no others."""
        ledger = self.ledgers[name]
        assert ledger.node is not None
        asked = {r for class_id, node in placed if node == name for r, _ in self.classes[class_id].requests}
        sums = Counter(ledger.used)
        for one in self._there(name, placed):
            sums.update(dict(one.requests))
        return all(sums[resource] <= ledger.node.allocatable.get(resource, 0) for resource in asked)

    def _has_ports(self, name: str, placed: Where) -> bool:
        """Look at the ports of members; what was there before may clash with itself."""
        held = [self.classes[hold.class_id] for hold in self.demand.holds if hold.node == name]
        in_use: list[HostPort] = [*self.ledgers[name].ports, *(port for one in held for port in one.host_ports)]
        for class_id, node in placed.elements():
            ports = self.classes[class_id].host_ports if node == name else ()
            if any(port.conflicts_with(other) for port in ports for other in in_use):
                return False
            in_use.extend(ports)
        return True
