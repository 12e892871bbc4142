"""The sandbox's API server and a real one are asked the same; what is recorded of the real one is still true."""

from pathlib import Path

from tests.comparison import recorded
from tests.comparison.compare import Findings, differences, findings
from tests.comparison.earlier import EARLIER
from tests.comparison.known import KNOWN
from tests.comparison.servers import of_real_server, of_sandbox
from tests.controlplane.build import chosen, release


async def test_the_sandbox_answers_as_a_real_server_does(built: Path) -> None:
    """As the newest one does; what was otherwise before is listed."""
    sandbox, real = await of_sandbox(), await of_real_server(built)
    found = differences(sandbox, real)

    if chosen() == release():
        assert findings(found, KNOWN) == Findings({}, {})
        assert differences(recorded.read(), real) == {}, "python -m tests.comparison.recorded records it anew"
    else:
        earlier = EARLIER[chosen().minor]
        assert findings(found, (*KNOWN, *earlier)).unlisted == {}
        assert findings(found, earlier).vanished == {}
