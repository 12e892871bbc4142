"""Stock kubectl, an old and a new one: what it says is what it says of a real control plane.

What it says there is kept in `recorded.json`; with `--backend=real` these tests ask the real one again.
"""

from pathlib import Path

import pytest

from tests.kubectl import recorded
from tests.kubectl.running import Said, tell
from tests.kubectl.stories import STORIES
from tests.support import tools


@pytest.mark.parametrize("version", sorted(tools.KUBECTLS))
async def test_kubectl_says_what_it_says_of_a_real_server(version: str, tmp_path: Path) -> None:
    expected = recorded.read()[version]

    said = await tell(STORIES, tmp_path, version)

    assert said.keys() == expected.keys()
    differing: Said = {title: lines for title, lines in said.items() if lines != expected[title]}
    assert differing == {title: expected[title] for title in differing}
