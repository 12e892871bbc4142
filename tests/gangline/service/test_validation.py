"""What is told of a service's memory that differs from what is so."""

from collections.abc import Awaitable, Callable

import msgspec
import pytest
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry, Gauge
from structlog.testing import capture_logs

from gangline.service.validation import Validation, lasting


def telling(*answers: list[str] | Exception) -> Callable[[], Awaitable[list[str]]]:
    """Give these answers, one after the other."""
    left = list(answers)

    async def compare() -> list[str]:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return compare


@pytest.fixture
def problems() -> Gauge:
    return Gauge("problems", "Problems.", registry=CollectorRegistry())


def value(gauge: Gauge) -> float:
    [family] = gauge.collect()
    return family.samples[0].value


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([[]], [], id="nothing-and-it-is-not-asked-again"),
        pytest.param([["a"], []], [], id="a-watch-was-behind"),
        pytest.param([["a", "b"], ["b", "c"]], ["b"], id="what-stays"),
    ],
)
@pytest.mark.looptime
async def test_only_what_lasts_is_told(answers: list[list[str]], expected: list[str]) -> None:
    assert await lasting(telling(*answers)) == expected


async def test_an_answer_tells_counts_and_logs(problems: Gauge) -> None:
    checked = Validation(telling(["pod a differs", "pod b differs"], []), problems, cannot=OSError)
    with capture_logs() as lines:
        answer = await checked.answer(make_mocked_request("GET", "/debug/validate"))

    assert msgspec.json.encode(answer) == b'{"problems":["pod a differs","pod b differs"]}'
    assert value(problems) == 2
    assert [(line["event"], line["count"], line["first"]) for line in lines] == [("cache_problems", 2, "pod a differs")]

    await checked.watch()
    assert value(problems) == 0


async def test_not_being_able_to_compare_counts_nothing(problems: Gauge) -> None:
    problems.set(3)
    checked = Validation(telling(OSError("refused"), OSError("refused")), problems, cannot=OSError)

    answer = await checked.answer(make_mocked_request("GET", "/debug/validate"))
    with capture_logs() as lines:
        await checked.watch()

    assert answer == {"problems": ["cannot list: refused"]}
    assert [(line["event"], line["problem"]) for line in lines] == [("cannot_validate", "refused")]
    assert value(problems) == 3


async def test_what_is_a_bug_is_not_swallowed(problems: Gauge) -> None:
    checked = Validation(telling(ValueError("bug")), problems, cannot=OSError)

    with pytest.raises(ValueError, match="bug"):
        await checked.watch()
