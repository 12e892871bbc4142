"""The sandbox answers as a real server did; `tests/real/test_comparison.py` asks both."""

import asyncio

import pytest

from tests.comparison import recorded
from tests.comparison.compare import Findings, Known, differences, findings
from tests.comparison.known import KNOWN
from tests.comparison.servers import Answers, of_sandbox
from tests.comparison.stories import STORIES


@pytest.fixture(scope="module")
def found() -> Findings:
    return findings(differences(asyncio.run(of_sandbox()), recorded.read()), KNOWN)


@pytest.mark.parametrize("story", [story.name for story in STORIES])
def test_the_sandbox_answers_as_recorded(found: Findings, story: str) -> None:
    assert {name: places for name, places in found.unlisted.items() if name.startswith(f"{story}/")} == {}
    assert {name: places for name, places in found.vanished.items() if name.startswith(f"{story}/")} == {}


def test_what_is_listed_is_asked() -> None:
    asked = {f"{story.name}/{request.name}" for story in STORIES for request in story.requests}

    assert {name for each in KNOWN for name in each.places} <= asked


ONE: Answers = {"story": {"get": {"status": 200, "headers": {}, "body": {"spec": {"a": 1, "b": [1, 2]}}}}}
OTHER: Answers = {"story": {"get": {"status": 200, "headers": {}, "body": {"spec": {"a": 2, "b": [1, 2]}}}}}


@pytest.mark.parametrize(
    ("known", "unlisted", "vanished"),
    [
        ((), ["story/get"], {}),
        ((Known("why", {"story/get": ("body.spec.a",)}),), [], {}),
        ((Known("why", {"story/get": ("body",)}),), [], {}),
        ((Known("why", {"story/get": ("body.spec.b",)}),), ["story/get"], {"story/get": ("body.spec.b",)}),
        ((Known("why", {"story/get": ("body", "status")}),), [], {"story/get": ("status",)}),
        ((Known("why", {"story/get": ("body",), "story/put": ("body",)}),), [], {"story/put": ("body",)}),
    ],
    ids=["not listed", "listed", "listed above", "another place listed", "one place too many", "another request"],
)
def test_what_is_not_listed_and_what_is_listed_in_vain_is_found(
    known: tuple[Known, ...], unlisted: list[str], vanished: dict[str, tuple[str, ...]]
) -> None:
    result = findings(differences(ONE, OTHER), known)

    assert (list(result.unlisted), result.vanished) == (unlisted, vanished)
