"""What a test run has used so far: which backend answered, and how much memory each program took at most."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

REAL: Final = "real"
SANDBOX: Final = "sandbox"

answers: Final[Counter[str]] = Counter()
"""How often a real API server has answered, and a sandbox been started as the backend, for tests of this process."""
peaks_kib: Final[dict[str, int]] = {}
"""The most memory that a process of each program had resident, in KiB; of several, that of the largest."""


def peak_kib(process: int | str = "self") -> int:
    """Return the most that a process has had resident, in KiB; 0 where there is no /proc, or no such process."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) if found else 0


def note_peak(program: str, kib: int) -> None:
    """Keep the largest of each program."""
    peaks_kib[program] = max(peaks_kib.get(program, 0), kib)
