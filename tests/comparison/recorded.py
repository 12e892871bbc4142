"""The real server's answers, kept in `recorded.jsonl`: one line for each request, in their normal form.

python -m tests.comparison.recorded      # ask the real server again, and write them anew
"""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from tests.comparison.servers import Answers, of_real_server
from tests.controlplane.build import binaries, release

PATH: Final = Path(__file__).with_name("recorded.jsonl")


def read() -> Answers:
    """Answers by story and request."""
    found: Answers = {}
    for line in PATH.read_text().splitlines():
        name, answer = json.loads(line)
        story, _, request = name.partition("/")
        found.setdefault(story, {})[request] = answer
    return found


def write(answers: Answers) -> None:
    """Keep these answers."""
    lines = [
        _line(f"{story}/{request}", answer)
        for story, requests in answers.items()
        for request, answer in requests.items()
    ]
    PATH.write_text("".join(lines))


def _line(name: str, answer: Any) -> str:
    return json.dumps([name, answer], separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write(asyncio.run(of_real_server(binaries(release()))))
