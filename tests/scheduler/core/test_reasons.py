"""The sentence that a waiting pod says."""

from typing import Any

import pytest
from msgspec.structs import replace

from scheduler.core.reasons import ClassVerdict, Missing, NodeReason, Shortfall, Unplaced, insufficient, sentence


def _verdict(class_id: int, *reasons: tuple[str, int], fits: int = 6) -> ClassVerdict:
    return ClassVerdict(class_id=class_id, node_reasons=reasons, fits=fits)


_CPU, _TAINT, _PODS = insufficient("cpu"), NodeReason.TAINT, insufficient("pods")
_HALF = Unplaced(
    node_count=50,
    need=10,
    classes=(_verdict(0, (_CPU, 30), (_TAINT, 20)),),
    fitting=6,
    exact=True,
    missing=(Missing(0, 4, (("cpu", 8000),)),),
    shortfall=(),
    wake=frozenset(),
    wake_resources=frozenset(),
    rows_scanned=50,
)
_NODES = "0/50 nodes are available: 30 Insufficient cpu, 20 node(s) had untolerated taint(s)."


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param({}, f"{_NODES} 6 of 10 members fit; 4 more need 8 cpu each.", id="half a gang"),
        pytest.param(
            {"fitting": 9, "missing": (Missing(0, 1, (("cpu", 500), ("memory", 2**31))),)},
            f"{_NODES} 9 of 10 members fit; 1 more needs 500m cpu and 2Gi memory.",
            id="one missing",
        ),
        pytest.param(
            {"need": 1, "fitting": 0, "missing": (Missing(0, 1, (("cpu", 8000),)),)},
            f"{_NODES} It needs 8 cpu.",
            id="a single pod",
        ),
        pytest.param(
            {"classes": (_verdict(0, (_TAINT, 50), fits=0),), "fitting": 0, "missing": (Missing(0, 10, ()),)},
            "0/50 nodes are available: 50 node(s) had untolerated taint(s). 0 of 10 members fit; 10 more find no node.",
            id="rules alone",
        ),
        pytest.param(
            {"need": 1, "classes": (_verdict(0, (_TAINT, 50)),), "fitting": 0, "missing": (Missing(0, 1, ()),)},
            "0/50 nodes are available: 50 node(s) had untolerated taint(s).",
            id="a single pod and rules alone",
        ),
        pytest.param(
            {"node_count": 0, "classes": (_verdict(0),), "fitting": 0, "missing": (Missing(0, 10, ()),)},
            "0/0 nodes are available: the cluster has none. 0 of 10 members fit; 10 more find no node.",
            id="no nodes",
        ),
        pytest.param(
            {"exact": False},
            f"{_NODES} Room was found for 6 of 10 members; 4 more need 8 cpu each.",
            id="not proven",
        ),
        pytest.param(
            {
                "classes": (_verdict(3, (_CPU, 50)), _verdict(5, (_PODS, 50)), _verdict(7, (_CPU, 50))),
                "missing": (
                    Missing(3, 2, (("cpu", 8000),)),
                    Missing(5, 1, (("pods", 1),)),
                    Missing(7, 1, (("cpu", 4000),)),
                ),
            },
            "0/50 nodes are available: 50 Insufficient cpu. 6 of 10 members fit; 2 more need 8 cpu each, "
            "1 more needs a free pod slot (50 Too many pods), 1 more needs 4 cpu.",
            id="several classes",
        ),
        pytest.param(
            {"fitting": 10, "missing": (), "shortfall": (Shortfall("cpu", 64_000, 40_000),), "obstructed": True},
            "minResources asks for 64 cpu, usable nodes have 40 cpu free. Each member fits; "
            "node autoscalers will not act on this.",
            id="minResources alone",
        ),
        pytest.param(
            {"shortfall": (Shortfall("cpu", 64_000, 40_000), Shortfall("memory", 2**40, 0))},
            f"{_NODES} 6 of 10 members fit; 4 more need 8 cpu each. "
            "minResources asks for 64 cpu and 1Ti memory, usable nodes have 40 cpu and 0 memory free.",
            id="minResources and room",
        ),
        pytest.param(
            {"obstructed": True},
            f"{_NODES} 6 of 10 members fit; 4 more need 8 cpu each. Each member fits alone but not together "
            "beside what is held for other gangs; node autoscalers will not act on this.",
            id="held",
        ),
        pytest.param(
            {"obstructed": True, "classes": (_verdict(0, (_CPU, 49), (NodeReason.KEPT_APART, 1), fits=0),)},
            "0/50 nodes are available: 49 Insufficient cpu, 1 node(s) refused this gang's pods a moment ago. "
            "6 of 10 members fit; 4 more need 8 cpu each. There would be room but for what is held for other gangs "
            "or kept apart; node autoscalers will not act on this.",
            id="kept apart",
        ),
        pytest.param(
            {
                "classes": tuple(_verdict(number, (NodeReason.NODE_AFFINITY, 50)) for number in range(4)),
                "missing": tuple(Missing(number, 1, ()) for number in range(4)),
            },
            "0/50 nodes are available: 50 node(s) didn't match Pod's node affinity/selector. "
            "6 of 10 members fit; 4 more find no node.",
            id="several classes that lack the same",
        ),
        pytest.param(
            {
                "classes": tuple(_verdict(number, (_CPU, 50)) for number in range(900)),
                "missing": tuple(Missing(number, 2, (("cpu", 1000 * number + 1000),)) for number in range(900)),
            },
            "0/50 nodes are available: 50 Insufficient cpu. 6 of 10 members fit; 2 more need 1 cpu each, "
            "2 more need 2 cpu each, 2 more need 3 cpu each, 2 more need 4 cpu each, "
            "1792 more that ask for something else find no room.",
            id="more classes than anybody reads",
        ),
        pytest.param(
            {
                "need": 1,
                "classes": (_verdict(0, *((f"Insufficient r{number}", 50) for number in range(9))),),
                "missing": (Missing(0, 1, tuple((f"r{number}", 1) for number in range(10))),),
            },
            "0/50 nodes are available: 50 Insufficient r0, 50 Insufficient r1, 50 Insufficient r2, 50 Insufficient r3, "
            "50 Insufficient r4, 50 Insufficient r5, 50 Insufficient r6, 50 Insufficient r7 and 1 other reason. "
            "It needs 1 r0 and 1 r1 and 1 r2 and 1 r3 and 1 r4 and 1 r5 and 1 r6 and 1 r7 and 2 other resources.",
            id="more resources than anybody reads",
        ),
    ],
)
def test_the_sentence_says_what_stands_in_the_way(changes: dict[str, Any], text: str) -> None:
    assert sentence(replace(_HALF, **changes)) == text
