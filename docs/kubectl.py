"""The table of what kubectl says of the sandbox: made of the stories that the tests tell, and of what was recorded."""

from collections.abc import Iterator

from docs.markdown import table
from tests.kubectl import recorded
from tests.kubectl.stories import STORIES
from tests.kubectl.story import Step


def rows() -> str:
    """Render a row for each sort of command, in the order of the alphabet."""
    by_row: dict[str, list[Step]] = {}
    for story in STORIES:
        for step in story.steps:
            if step.row:
                by_row.setdefault(step.row, []).append(step)
    versions = ", ".join(sorted(recorded.read(), key=lambda version: [int(part) for part in version.split(".")]))
    head = ("`kubectl ...`", "Commands", "The same with", "But")
    return table(head, ((f"`{row}`", str(len(steps)), versions, _but(steps)) for row, steps in sorted(by_row.items())))


def _but(steps: list[Step]) -> str:
    return "; ".join(dict.fromkeys(_reasons(steps)))


def _reasons(steps: list[Step]) -> Iterator[str]:
    for step in steps:
        yield from step.but.values()
        if step.apart:
            yield f"not compared: {step.apart}"
