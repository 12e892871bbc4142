"""The lease machine: a table of what is seen and what is done, and two of them that never hold at once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangline.contract.meta import Key
from gangline.kube.wire.lease import Create, Lease, LeaseMachine, LeaseTiming, Lost, Order, StandBy, Write

KEY = Key("system", "gangline")
UTC_NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
TIMING = LeaseTiming(duration_s=15, renew_deadline_s=10.0, retry_s=2.0, call_s=4.0)


def lease(holder: str | None, *, version: str = "5", **spec: Any) -> Lease:
    body = {
        "metadata": {"namespace": "system", "name": "gangline", "resourceVersion": version},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 20, "renewTime": "2020-01-01T00:00:00.000001Z"}
        | spec,
    }
    return msgspec.convert(body, Lease)


def machine(*, held_since: float | None = None) -> LeaseMachine:
    made = LeaseMachine(KEY, "me", TIMING)
    if held_since is not None:
        made.written(lease("me", version="7"), held_since)
    return made


def order_type(order: Order) -> type[Order]:
    return type(order)


@pytest.mark.parametrize(
    ("seen", "waited_s", "order"),
    [
        pytest.param(None, 0.0, Create, id="absent"),
        pytest.param(lease(""), 0.0, Write, id="released"),
        pytest.param(lease(None), 0.0, Write, id="never-held"),
        pytest.param(msgspec.convert({"metadata": {"name": "x"}}, Lease), 0.0, Write, id="no-spec"),
        pytest.param(lease("other"), 0.0, StandBy, id="held-whatever-its-clock-says"),
        pytest.param(lease("other"), 19.9, StandBy, id="unchanged-for-less-than-its-duration"),
        pytest.param(lease("other"), 20.0, Write, id="unchanged-for-its-duration"),
        pytest.param(lease("other", leaseDurationSeconds=None), 15.0, Write, id="no-duration-means-ours"),
        pytest.param(lease("me"), 0.0, Write, id="ours-by-a-write-whose-answer-was-lost"),
    ],
)
def test_while_waiting(seen: Lease | None, waited_s: float, order: type[Order]) -> None:
    made = machine()
    made.observed(seen, 100.0)
    made.observed(seen, 100.0 + waited_s)

    assert order_type(made.next(100.0 + waited_s, UTC_NOW)) is order
    assert not made.held(100.0 + waited_s)


def test_a_renewal_by_its_holder_starts_the_wait_anew() -> None:
    made = machine()
    made.observed(lease("other"), 0.0)
    made.observed(lease("other", renewTime="2020-01-01T00:00:05.000000Z"), 19.0)

    assert made.next(38.9, UTC_NOW) == StandBy()
    assert order_type(made.next(39.0, UTC_NOW)) is Write
    assert made.holder == "other"


@pytest.mark.parametrize(
    ("seen", "now", "order"),
    [
        pytest.param(lease("me"), 9.9, Write, id="renew"),
        pytest.param(lease("me"), 10.0, Lost, id="not-renewed-in-time"),
        pytest.param(lease("other"), 1.0, Lost, id="taken-by-another"),
        pytest.param(lease(""), 1.0, Write, id="emptied-by-somebody"),
        pytest.param(None, 1.0, Create, id="deleted-by-somebody"),
    ],
)
def test_while_held(seen: Lease | None, now: float, order: type[Order]) -> None:
    made = machine(held_since=0.0)
    made.observed(seen, now)

    assert order_type(made.next(now, UTC_NOW)) is order


def test_what_is_created() -> None:
    made = machine()
    made.observed(None, 0.0)

    order = made.next(0.0, UTC_NOW)

    assert isinstance(order, Create)
    assert order.body == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": "system", "name": "gangline"},
        "spec": {
            "holderIdentity": "me",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-11-30T10:00:00.000000Z",
            "acquireTime": "2026-11-30T10:00:00.000000Z",
            "leaseTransitions": 0,
        },
    }


def test_a_takeover_is_conditional_and_counts_the_transition() -> None:
    made = machine()
    made.observed(lease("", version="9", leaseTransitions=4), 0.0)

    order = made.next(0.0, UTC_NOW)

    assert isinstance(order, Write)
    assert order.patch["metadata"] == {"resourceVersion": "9"}
    assert order.patch["spec"]["leaseTransitions"] == 5
    assert order.patch["spec"]["acquireTime"] == "2026-11-30T10:00:00.000000Z"


def test_a_renewal_says_only_what_changes() -> None:
    order = machine(held_since=0.0).next(2.0, UTC_NOW)

    assert isinstance(order, Write)
    assert order.patch == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "holderIdentity": "me",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-11-30T10:00:00.000000Z",
        },
    }


def test_a_renewal_counts_from_when_it_was_sent() -> None:
    made = machine(held_since=0.0)

    made.written(lease("me", version="8"), 3.0)

    assert made.held(12.9)
    assert not made.held(13.0)
    assert made.deadline == 13.0


def test_release_empties_the_lease_and_holds_it_no_longer() -> None:
    made = machine(held_since=0.0)

    order = made.release(UTC_NOW)

    assert order is not None
    assert order.patch["metadata"] == {"resourceVersion": "7"}
    assert order.patch["spec"]["holderIdentity"] == ""
    assert not made.held(1.0)
    assert made.release(UTC_NOW) is None


def test_what_is_not_ours_is_not_released() -> None:
    made = machine()
    made.observed(lease("other"), 0.0)

    assert made.release(UTC_NOW) is None


@pytest.mark.parametrize(
    "timing",
    [{"renew_deadline_s": 15.0}, {"retry_s": 10.0}, {"call_s": 10.0}, {"call_s": 0.0}],
    ids=["deadline-not-below-duration", "retry-not-below-deadline", "call-not-below-deadline", "no-time-for-a-call"],
)
def test_timings_that_could_let_two_hold_it_are_refused(timing: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="wanted"):
        LeaseTiming(**timing)  # type: ignore[arg-type] # one of them is an int, none of these rows has it


class Server:
    """One lease with optimistic concurrency."""

    def __init__(self) -> None:
        self.spec: dict[str, Any] | None = None
        self.version = 0

    def read(self) -> Lease | None:
        if self.spec is None:
            return None
        return msgspec.convert({"metadata": {"resourceVersion": str(self.version)}, "spec": self.spec}, Lease)

    def apply(self, order: Create | Write) -> Lease | None:
        """Return the lease as written, None for a conflict."""
        match order:
            case Create(body):
                if self.spec is not None:
                    return None
                self.spec = dict(body["spec"])
            case Write(patch):
                if self.spec is None or patch["metadata"]["resourceVersion"] != str(self.version):
                    return None
                self.spec |= patch["spec"]
        self.version += 1
        return self.read()


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["try", "try", "try", "try", "answer lost", "server away", "stalled", "release"]),
        st.sampled_from([0.5, 2.0, 5.0, 8.0]),
    ),
    min_size=5,
    max_size=40,
)


@given(steps=STEPS, skew_s=st.integers(-100_000, 100_000))
@settings(max_examples=400)
def test_safety_two_never_hold_it_at_once_nor_write_once_the_other_may(
    steps: list[tuple[int, str, float]], skew_s: int
) -> None:
    server = Server()
    machines = [LeaseMachine(KEY, f"identity-{number}", TIMING) for number in range(2)]
    alone_until = [float("-inf"), float("-inf")]
    now = 0.0
    for number, what, pause_s in steps:
        now += pause_s
        actor = machines[number]
        utc = UTC_NOW + timedelta(seconds=now + skew_s * number)
        if what == "release":
            released = actor.release(utc)
            if released is not None:
                server.apply(released)
        elif what != "server away":
            actor.observed(server.read(), now)
            order = actor.next(now, utc)
            sent_at = now
            if what == "stalled":
                now += 20.0
            if isinstance(order, Create | Write):
                written = server.apply(order)
                if written is not None and what != "answer lost":
                    actor.written(written, sent_at)
        assert not (machines[0].held(now) and machines[1].held(now))
        if what == "release" or actor.held(now):
            alone_until[number] = actor.alone_until
        assert not any(machines[1 - each].held(now) and now < alone_until[each] for each in range(2))
