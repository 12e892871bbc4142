"""What `docs/coscheduling.md` says in tables, made of the rows that the tests check (`tests/conformance`)."""

import re
from typing import Final

from docs.markdown import table
from tests.conformance.rows import Report, Row, Stage
from tests.conformance.tables import ALL, ON_A_CLUSTER_TOO, REPORTS, ROWS

CHECKED: Final = {
    Stage.CORE: "core",
    Stage.CONTROLLER: "cluster",
    Stage.SHARED: "cluster",
    Stage.OWN: "cluster",
}
BEGIN: Final = "<!-- generated: {} -->"
END: Final = "<!-- end -->"


def filled(text: str) -> str:
    """Return the page with its generated parts made anew; what stands between them is kept.

    Raises ValueError where a part is not there exactly once.
    """
    for name, body in parts().items():
        begin = BEGIN.format(name)
        pattern = re.compile(f"(?<={re.escape(begin)}\n).*?(?={re.escape(END)})", re.DOTALL)
        text, times = pattern.subn(lambda _, body=body: f"\n{body}\n", text)  # type: ignore[misc]
        if times != 1:
            raise ValueError(f"docs/coscheduling.md has {times} parts {begin}, not one")
    return text


def parts() -> dict[str, str]:
    """Render every part by its name."""
    return {
        "figures": figures(),
        "differences of the API": differences("A"),
        "differences of status": differences("B"),
        "differences of scheduling": differences("QPRMFKD"),
        "all rows": every_row(),
        "reports": reports(),
    }


def figures() -> str:
    """Render how many rows there are, and how many come out differently on purpose."""
    different = sum(one.differs for one in ROWS.values())
    return table(
        ("Rows", "As in Coscheduling", "Different on purpose", "Bug reports reproduced"),
        [(str(len(ROWS)), str(len(ROWS) - different), str(different), str(len(REPORTS)))],
    )


def rows() -> list[Row]:
    """All rows, in the order of their tables."""
    return [one for one in ALL if isinstance(one, Row)]


def differences(tables: str) -> str:
    """Render what comes out differently in these tables."""
    return table(
        ("Id", "Given", "Coscheduling", "Gangline", "Why"),
        [(one.id, one.given, one.upstream, one.ours, one.why) for one in rows() if one.differs and one.id[0] in tables],
    )


def every_row() -> str:
    """Render every row; where ours is empty it comes out as upstream's."""
    return table(
        ("Id", "Given", "Coscheduling", "Gangline", "Checked on"),
        [(one.id, one.given, one.upstream, one.ours or "the same", where(one)) for one in rows()],
    )


def reports() -> str:
    """Render the bug reports."""
    ordered = sorted(REPORTS.values(), key=_by_tracker)
    lines = [(one.id, one.symptom, where(one)) for one in ordered]
    return table(("Report", "What went wrong there", "Checked on"), lines)


def where(one: Row | Report) -> str:
    """Say where a check runs."""
    if one.id in ON_A_CLUSTER_TOO:
        return f"{CHECKED[one.stage]}, cluster"
    return "sandbox" if one.sandbox else CHECKED[one.stage]


def _by_tracker(one: Report) -> tuple[str, int]:
    tracker, _, number = one.id.partition("#")
    return tracker, int(number)
