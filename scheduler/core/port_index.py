"""Which rows have which host ports in use."""

from collections.abc import Iterable

from gangline.contract.requests import HostPort
from scheduler.core.arrays import Row


class PortIndex:
    """Host ports by row, and rows by protocol and port number."""

    __slots__ = ("_ports", "_rows")

    def __init__(self) -> None:
        self._ports: dict[Row, frozenset[HostPort]] = {}
        self._rows: dict[tuple[str, int], set[Row]] = {}

    def write(self, row: Row, ports: Iterable[HostPort]) -> None:
        """Replace the ports in use on a row."""
        self._forget(row)
        in_use = frozenset(ports)
        if not in_use:
            return
        self._ports[row] = in_use
        for port in in_use:
            self._rows.setdefault((port.protocol, port.port), set()).add(row)

    def _forget(self, row: Row) -> None:
        for port in self._ports.pop(row, ()):
            rows = self._rows.get((port.protocol, port.port), set())
            rows.discard(row)
            if not rows:
                self._rows.pop((port.protocol, port.port), None)

    def ports_of(self, row: Row) -> frozenset[HostPort]:
        """Return the ports in use on a row."""
        return self._ports.get(row, frozenset())

    def conflicts(self, asked: Iterable[HostPort]) -> set[Row]:
        """Return the rows where one of the ports cannot be had."""
        return {
            row
            for port in asked
            for row in self._rows.get((port.protocol, port.port), ())
            if any(port.conflicts_with(other) for other in self._ports[row])
        }
