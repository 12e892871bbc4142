"""Attempts: what one way of placing a gang has come to."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from scheduler.core.arrays import Counts, Rows
from scheduler.core.events import Scoring
from scheduler.core.search.candidates import Candidates, capacity
from scheduler.core.search.choice import choose
from scheduler.core.snapshot import Snapshot, Trial


class Share(Struct, frozen=True, eq=False):
    """Where members of one class go: `counts` of them to each of the rows."""

    candidates: Candidates
    rows: Rows
    counts: Counts

    @property
    def placed(self) -> int:
        """How many members these are."""
        return int(self.counts.sum())


class Attempt(Struct, frozen=True, eq=False):
    """`placed` members find room together; `is_best` when it is proven that no attempt can place more.

    `rows_scanned` counts a row once for each time that it was looked at on the way.
    """

    shares: tuple[Share, ...]
    placed: int
    rows_scanned: int
    is_best: bool = False

    def take(self, trial: Trial) -> None:
        """Use up the room."""
        for share in self.shares:
            trial.take(share.rows, share.counts, share.candidates.request)

    def placed_of(self, candidates: Candidates) -> int:
        """Return how many members of one class find room."""
        return sum(share.placed for share in self.shares if share.candidates is candidates)


def fill(snapshot: Snapshot, order: Sequence[Candidates], need: int, scoring: Scoring) -> Attempt:
    """Place class after class, each as many of its members as are needed and fit beside the earlier ones."""
    shares: list[Share] = []
    rows_scanned = 0
    with snapshot.trial() as trial:
        for candidates in order:
            wanted = min(candidates.count, need - _total(shares))
            if not wanted:
                break
            if shares:
                trial.take(shares[-1].rows, shares[-1].counts, shares[-1].candidates.request)
            members = capacity(snapshot, candidates)
            rows_scanned += len(members)
            shares.append(Share(candidates, *choose(snapshot, candidates, members, wanted, scoring)))
    return Attempt(tuple(shares), _total(shares), rows_scanned)


def _total(shares: Iterable[Share]) -> int:
    return sum(share.placed for share in shares)
