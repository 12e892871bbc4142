import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import asyncio, logging, sys, warnings
import structlog
from gangline.service.logging import configure

configure({format!r}, {level!r})
log = structlog.get_logger()
{body}
"""


def logged(body: str, *, format_: str = "json", level: str = "info") -> str:
    """Run a process that logs; logging is the process's own, so each test has its own process."""
    program = PROGRAM.format(body=body, format=format_, level=level)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


def line(body: str, **options: str) -> dict[str, Any]:
    value = json.loads(logged(body, **options))
    assert isinstance(value, dict)
    return value


def test_a_line_has_event_level_time_in_utc_and_context() -> None:
    found = line("structlog.contextvars.bind_contextvars(step=7)\nlog.info('gang_bound', gang='a/b', members=8)")

    time = found.pop("timestamp")
    assert time.endswith("Z")
    assert found == {"event": "gang_bound", "level": "info", "gang": "a/b", "members": 8, "step": 7}


def test_the_level_filters_ours_and_theirs() -> None:
    assert logged("log.info('x')\nlogging.getLogger('aiohttp').info('y')", level="warning") == ""
    assert line("log.debug('x')", level="debug")["event"] == "x"


def test_what_libraries_log_has_the_same_form() -> None:
    found = line("logging.getLogger('aiohttp.server').error('lost %s', 'it', extra={'peer': 'p'})")

    assert {key: found[key] for key in ("event", "level", "logger", "peer")} == {
        "event": "lost it",
        "level": "error",
        "logger": "aiohttp.server",
        "peer": "p",
    }


def test_libraries_do_not_drown_us_at_debug() -> None:
    assert logged("logging.getLogger('asyncio').debug('x')", level="debug") == ""


def test_warnings_are_logged() -> None:
    assert "careful" in line("warnings.warn('careful')")["event"]


@pytest.mark.parametrize("who", ["log", "logging.getLogger('asyncio')"])
def test_a_traceback_stays_in_the_line_and_shows_no_local_values(who: str) -> None:
    found = line(
        f"def f():\n    pin = '27' + '1828'\n    raise ValueError('broken')\n"
        f"try:\n    f()\nexcept ValueError:\n    {who}.exception('died')"
    )

    assert "ValueError: broken" in found["exception"]
    assert "271828" not in json.dumps(found)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("token='abc'", {"token": "[hidden]"}),
        ("client_secret=b'abc'", {"client_secret": "[hidden]"}),
        ("headers='Authorization: Bearer abc.def=='", {"headers": "Authorization: Bearer [hidden]"}),
        ("note='x' * 5000", {"note": "x" * 4096 + "... (5000 characters)"}),
        ("odd={1: object}", {"odd": {"1": "<class 'object'>"}}),
        ("odd=chr(0xd800)", {"odd": "\ud800"}),
        ("odd={(1, 2): 3}", {"odd": {}}),
        ("odd={'a'}", {"odd": ["a"]}),
        ("odd=float('nan')", {"odd": None}),
        ("odd=b'\\xff'", {"odd": "/w=="}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_value_makes_a_line_and_no_secret_gets_into_it(fields: str, expected: dict[str, object]) -> None:
    assert expected.items() <= line(f"log.info('x', {fields})").items()


def test_people_get_plain_lines() -> None:
    text = logged(
        "log.info('gang_bound', gang='a/b')\nlogging.getLogger('aiohttp').warning('theirs')\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    log.exception('died')",
        format_="console",
    )

    first, second, *rest = text.splitlines()
    assert "gang_bound" in first
    assert "gang=a/b" in first
    assert "theirs" in second
    assert rest[-1] == "ZeroDivisionError: division by zero"
