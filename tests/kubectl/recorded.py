"""What kubectl says of a real control plane, kept in `recorded.json`, in its normal form.

python -m tests.kubectl.recorded      # ask the real control plane again, and write it anew
"""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Final

from tests.kubectl.running import Said, tell
from tests.kubectl.stories import STORIES
from tests.support import backends, tools

PATH: Final = Path(__file__).with_name("recorded.json")


def read() -> dict[str, Said]:
    """What was said, by version of kubectl."""
    found: dict[str, Said] = json.loads(PATH.read_text())
    return found


async def record() -> None:
    """Ask with every version of kubectl."""
    backends.choose("real")
    said: dict[str, Said] = {}
    failed = True
    try:
        for version in tools.KUBECTLS:
            with tempfile.TemporaryDirectory() as directory:
                said[version] = await tell(STORIES, Path(directory), version)
        failed = False
    finally:
        await backends.chosen().close(failed=failed)
    PATH.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    asyncio.run(record())
