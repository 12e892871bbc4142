"""Attempts: what one way of placing a gang has come to."""

from collections.abc import Sequence

from msgspec import Struct

from scheduler.core.arrays import Counts, Rows
from scheduler.core.events import Scoring
from scheduler.core.model.member_class import ClassId
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

    def placed_by_class(self) -> dict[ClassId, int]:
        """Return how many members of each class find room; classes without any may be left out."""
        return {share.candidates.class_id: share.placed for share in self.shares}


def fill(snapshot: Snapshot, order: Sequence[Candidates], need: int, scoring: Scoring) -> Attempt:
    """Place class after class, each as many of its members as are needed and fit beside the earlier ones."""
    shares: list[Share] = []
    placed = rows_scanned = 0
    with snapshot.trial() as trial:
        for candidates in order:
            wanted = min(candidates.count, need - placed)
            if not wanted:
                break
            if shares:
                trial.take(shares[-1].rows, shares[-1].counts, shares[-1].candidates.request)
            members = capacity(snapshot, candidates)
            rows_scanned += len(members)
            shares.append(Share(candidates, *choose(snapshot, candidates, members, wanted, scoring)))
            placed += shares[-1].placed
    return Attempt(tuple(shares), placed, rows_scanned)
