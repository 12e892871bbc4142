"""Differences that stay, by reason. One that is not here fails, and one that is here and not there fails too."""

from typing import Final

from tests.comparison.compare import Known

KNOWN: Final[tuple[Known, ...]] = ()
