"""The phase of a PodGroup as a pure function of its previous phase, minMember and the counts of its current run.

| # | If                                                        | Phase      |
|---|-----------------------------------------------------------|------------|
| 1 | it was Finished or Failed, and U = 0                      | unchanged  |
| 2 | F > 0, S + U < min, and (U = 0 or R + S + F >= min)       | Failed     |
| 3 | S + F + U < min                                           | Pending    |
| 4 | S >= min and U = 0                                        | Finished   |
| 5 | R + S >= min                                              | Running    |
| 6 | otherwise                                                 | Scheduling |

U unfinished, R running, S succeeded, F failed, min minMember.
Where this differs from upstream's PodGroup controller: docs/coscheduling.md.
"""

from typing import Final

from gangline.contract.counting import Counts
from gangline.contract.podgroup import Phase

TERMINAL: Final = (Phase.FINISHED, Phase.FAILED)


def known_phase(phase: str | None) -> Phase | None:
    """Return the phase if it is one of ours; empty, Unknown and retired names of older releases are none (B39)."""
    try:
        return Phase(phase or "")
    except ValueError:
        return None


def next_phase(previous: Phase | None, min_member: int, counts: Counts, *, settled: bool) -> Phase:
    """Return the phase that these counts call for.

    Until the newest finish has settled, rules 2 and 4 leave the phase as it was, so that a Job between two
    waves does not flap; a group that had no phase yet takes the best of the other rules.
    """
    if previous in TERMINAL and counts.unfinished == 0:
        return previous
    failed = _has_failed(min_member, counts)
    finished = counts.succeeded >= min_member and counts.unfinished == 0
    if (failed or finished) and settled:
        return Phase.FAILED if failed else Phase.FINISHED
    if (failed or finished) and previous is not None:
        return previous
    if counts.succeeded + counts.failed + counts.unfinished < min_member:
        return Phase.PENDING
    if counts.running + counts.succeeded >= min_member:
        return Phase.RUNNING
    return Phase.SCHEDULING


def _has_failed(min_member: int, counts: Counts) -> bool:
    """Say whether members failed, the rest cannot reach minMember any more, and no start is under way."""
    started = counts.running + counts.succeeded + counts.failed
    return (
        counts.failed > 0
        and counts.succeeded + counts.unfinished < min_member
        and (counts.unfinished == 0 or started >= min_member)
    )
