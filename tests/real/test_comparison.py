"""The sandbox's API server and a real one are asked the same; what is recorded of the real one is still true."""

from pathlib import Path

from tests.comparison import recorded
from tests.comparison.compare import Findings, differences, findings
from tests.comparison.known import KNOWN
from tests.comparison.servers import of_real_server, of_sandbox


async def test_the_sandbox_answers_as_a_real_server_does(built: Path) -> None:
    sandbox, real = await of_sandbox(), await of_real_server(built)

    assert findings(differences(sandbox, real), KNOWN) == Findings({}, {})
    assert differences(recorded.read(), real) == {}, "python -m tests.comparison.recorded records it anew"
