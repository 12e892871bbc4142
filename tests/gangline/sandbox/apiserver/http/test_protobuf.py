"""The protobuf form of objects, as typed clients send it; `tests/real/test_protobuf.py` has a real server write it."""

from typing import Any

import pytest

from gangline.sandbox.apiserver.http.protobuf import Malformed, decode
from tests.support.protobuf import envelope, message

NAMED = message((1, "a"), (2, ""))
TIME = message((1, 1_000_000_000))
HALF_A_SECOND_LATER = message((1, 1_000_000_000), (2, 500_000_000))


def metadata(*fields: tuple[int, int | str | bytes]) -> bytes:
    return message((1, message(*fields)))


@pytest.mark.parametrize(
    ("api_version", "kind", "content", "expected"),
    [
        ("v1", "ConfigMap", metadata((1, "a"), (2, "")), {"metadata": {"name": "a"}}),
        ("v1", "ConfigMap", metadata((11, message((1, "k"), (2, "v")))), {"metadata": {"labels": {"k": "v"}}}),
        ("v1", "ConfigMap", metadata((14, "one"), (14, "two")), {"metadata": {"finalizers": ["one", "two"]}}),
        ("v1", "ConfigMap", metadata((8, TIME)), {"metadata": {"creationTimestamp": "2001-09-09T01:46:40Z"}}),
        ("v1", "ConfigMap", metadata((8, b"")), {"metadata": {}}),
        ("v1", "ConfigMap", metadata((10, 0)), {"metadata": {"deletionGracePeriodSeconds": 0}}),
        ("v1", "ConfigMap", metadata((7, 0)), {"metadata": {}}),
        ("v1", "Secret", message((2, message((1, "k"), (2, b"\xff")))), {"data": {"k": "/w=="}}),
        (
            "v1",
            "Pod",
            message((2, message((1, message((1, "v"), (2, message((2, b"")))))))),
            {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
        ),
        (
            "v1",
            "Pod",
            message((2, message((11, 0), (21, 0), (25, -5)))),
            {"spec": {"automountServiceAccountToken": False, "priority": -5}},
        ),
        (
            "v1",
            "Node",
            message((3, message((1, message((1, "cpu"), (2, message((1, "2")))))))),
            {"status": {"capacity": {"cpu": "2"}}},
        ),
        (
            "policy/v1",
            "PodDisruptionBudget",
            message((2, message((1, message((1, 1), (2, 0), (3, "50%")))))),
            {"spec": {"minAvailable": "50%"}},
        ),
        (
            "policy/v1",
            "PodDisruptionBudget",
            message((2, message((3, message((1, 0), (2, 2), (3, "")))))),
            {"spec": {"maxUnavailable": 2}},
        ),
        (
            "coordination.k8s.io/v1",
            "Lease",
            message((2, message((4, HALF_A_SECOND_LATER)))),
            {"spec": {"renewTime": "2001-09-09T01:46:40.500000Z"}},
        ),
        ("v1", "ConfigMap", message((1, NAMED), (99, "from the future")), {"metadata": {"name": "a"}}),
        ("v1", "ConfigMap", b"", {}),
        ("example.com/v1", "Gizmo", message((1, NAMED)), {}),
    ],
    ids=[
        *("text", "map", "list", "time", "no time", "zero that counts", "zero that does not", "bytes", "inline struct"),
        *("flag and negative number", "quantity", "percentage", "count", "time with a fraction", "unknown field"),
        *("nothing", "unknown kind"),
    ],
)
def test_a_message_is_read(api_version: str, kind: str, content: bytes, expected: dict[str, Any]) -> None:
    assert decode(envelope(api_version, kind, content)) == {"apiVersion": api_version, "kind": kind, **expected}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{}", "expected prefix [107 56 115 0]"),
        (b"k8s\0\x0a\xff", "unexpected EOF"),
        (envelope("v1", "ConfigMap", b"\x0a\x05a"), "unexpected EOF"),
        (envelope("v1", "ConfigMap", b"\x0b"), "illegal wireType 3"),
        (envelope("v1", "ConfigMap", message((1, message((1, b"\xff"))))), "can't decode byte 0xff"),
        (envelope("v1", "ConfigMap", message((1, 5))), "proto: "),
    ],
    ids=["json", "cut envelope", "cut message", "group", "no text", "number for a message"],
)
def test_what_is_no_message_is_refused(body: bytes, problem: str) -> None:
    with pytest.raises(Malformed) as refused:
        decode(body)

    assert problem in str(refused.value)
