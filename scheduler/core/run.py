"""The current run of a gang, by running sums: the rule of `contract.counting.current_run` at a cost that does not grow.

`Gang.validate` compares it with the contract's own count.
"""

from collections import Counter
from typing import TypeVar

from gangline.contract.counting import PodPhase
from scheduler.core.model.member import Member

K = TypeVar("K")


class Run:
    """Unfinished members by creation and Job, finished members by Job."""

    def __init__(self) -> None:
        self._created: Counter[float] = Counter()
        self._jobs: Counter[str] = Counter()
        self._finished: dict[str, dict[str, Member]] = {}
        self._succeeded: Counter[str] = Counter()

    def tally_unfinished(self, member: Member, sign: int) -> None:
        """Count an unfinished member in (1) or out (-1)."""
        tally(self._created, member.created_s, sign)
        tally(self._jobs, member.job, sign)

    def put_finished(self, member: Member) -> None:
        """Take in a finished member."""
        self._finished.setdefault(member.job, {})[member.uid] = member
        if member.phase is PodPhase.SUCCEEDED:
            tally(self._succeeded, member.job, 1)

    def take_out_finished(self, member: Member) -> None:
        """Forget a finished member."""
        of_job = self._finished[member.job]
        del of_job[member.uid]
        if not of_job:
            del self._finished[member.job]
        if member.phase is PodPhase.SUCCEEDED:
            tally(self._succeeded, member.job, -1)

    @property
    def succeeded(self) -> int:
        """How many members of the current run have succeeded."""
        return sum(number for job, number in self._succeeded.items() if self._counts_whole(job)) + sum(
            self._succeeded_since_start(job) for job in self._succeeded if not self._counts_whole(job)
        )

    def _counts_whole(self, job: str) -> bool:
        """Whoever belongs to the Job of an unfinished member counts; with none unfinished, all do."""
        return not self._created or (bool(job) and job in self._jobs)

    def _succeeded_since_start(self, job: str) -> int:
        started_s = min(self._created)
        return sum(
            1
            for member in self._finished[job].values()
            if member.phase is PodPhase.SUCCEEDED and member.finished_s is not None and member.finished_s > started_s
        )


def tally(counter: Counter[K], key: K, sign: int) -> None:
    """Add to a count that is kept only while it is not 0."""
    counter[key] += sign
    if not counter[key]:
        del counter[key]
