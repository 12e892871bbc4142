"""The watch machine against a model of a server that cuts, repeats, forgets, restores and refuses at random."""

import json
import math
from collections import Counter
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gangline.base.backoff import Backoff
from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.kube.wire.changes import Change, Observed, Progress, Removed, Synced, Unreadable
from gangline.kube.wire.errors import ApiError, Forbidden, Gone, Interrupted, ServerError, Silent, Unreachable
from gangline.kube.wire.watch import Confirm, ListPage, OpenWatch, Wait, WatchMachine
from tests.support.state_machines import run_seeded

SITUATIONS: Counter[str] = Counter()
"""What has happened in all runs of the machine."""
NAMES = st.sampled_from("abcd")
UNREADABLE_PHASE = 3
TROUBLES = [
    Forbidden("no", status=403),
    Interrupted("reset"),
    Silent("nothing heard"),
    Gone("expired", status=410),
    Unreachable("refused"),
]


def note(situation: str) -> None:
    """Count what has happened."""
    SITUATIONS[situation] += 1
    event(situation)


class ModelServer:
    """Objects, their history, and what of it is still there to be watched."""

    def __init__(self) -> None:
        self.version = 10
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.oldest = 10
        self.uids = 0

    def put(self, name: str, phase: str | int) -> None:
        self.version += 1
        old = self.objects.get(name)
        if old is None:
            self.uids += 1
            if any(item["metadata"]["name"] == name for _, _, item in self.history):
                note("an object was made again under its name")
        uid = old["metadata"]["uid"] if old else f"uid-{self.uids}"
        item = {
            "metadata": {"namespace": "team", "name": name, "uid": uid, "resourceVersion": str(self.version)},
            "status": {"phase": phase},
        }
        self.objects[name] = item
        self.history.append((self.version, "MODIFIED" if old else "ADDED", item))

    def remove(self, name: str) -> None:
        if name in self.objects:
            self.version += 1
            item = self.objects.pop(name)
            item = item | {"metadata": item["metadata"] | {"resourceVersion": str(self.version)}}
            self.history.append((self.version, "DELETED", item))

    def compact(self) -> None:
        self.oldest = self.version
        self.history = []

    def since(self, version: int) -> list[bytes]:
        """What a watch cache sends: nothing up to `version`, even where that lies in the future."""
        return [line(kind, item) for at, kind, item in self.history if at > version]


def line(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


class View:
    """What a consumer believes, built from changes alone."""

    def __init__(self) -> None:
        self.pods: dict[str, str] = {}
        self.phases: dict[str, str | int | None] = {}
        self.synced = 0

    def apply(self, changes: list[Change[Pod]], *, is_listed: bool) -> None:
        """Take in what one page of a list, or one line of a watch, has told."""
        for change in changes:
            match change:
                case Observed(item):
                    self._exists(item.metadata.key, item.metadata.uid, item.status.phase)
                case Unreadable(key=key, uid=uid):
                    note("an unreadable pod was told")
                    self._exists(key, uid, UNREADABLE_PHASE)
                case Removed(key, uid, _):
                    if is_listed:
                        note("a list told what had gone")
                    if self.pods.get(key.name) == uid:
                        del self.pods[key.name], self.phases[key.name]
                case Synced():
                    self.synced += 1
                case Progress():
                    pass

    def _exists(self, key: Key, uid: str, phase: str | int | None) -> None:
        assert self.pods.get(key.name) in {None, uid}, "another UID under the name, and no removal told"
        self.pods[key.name] = uid
        self.phases[key.name] = phase


class Watching(RuleBasedStateMachine):
    """Drives the machine as the shell does, one answer at a time."""

    @initialize()
    def begin(self) -> None:
        self.server = ModelServer()
        self.backup: tuple[int, dict[str, dict[str, Any]]] = (10, {})
        self.view = View()
        self.now = 0.0
        self.machine: WatchMachine[Pod] = WatchMachine(
            Pod, watch_seconds=(300, 600), backoff=Backoff(initial_s=0.25, limit_s=30.0)
        )
        self.order: ListPage | Confirm | OpenWatch = ListPage("", 500)
        self.listing: list[dict[str, Any]] = []
        self.listing_version = 0
        self.stream: list[bytes] | None = None
        self.delivered_to = 0
        self.told_to = 0
        self.ceiling: float = math.inf

    @rule(name=NAMES, phase=st.sampled_from(["Pending", "Running", UNREADABLE_PHASE, None]))
    def change(self, name: str, phase: str | int | None) -> None:
        if self.server.version + 1 >= self.ceiling:
            return
        if phase is None:
            self.server.remove(name)
        else:
            self.server.put(name, phase)
        self._append()

    @rule(what=st.sampled_from(["compact", "back up", "restore"]))
    def history(self, what: str) -> None:
        note(what)
        match what:
            case "compact":
                self.server.compact()
            case "back up":
                self.backup = (self.server.version, dict(self.server.objects))
            case "restore":
                self._restore()
                if self.stream is not None:
                    self._break(Interrupted("reset"))
                self._break(Unreachable("connection refused"))

    @rule(
        error=st.sampled_from([Interrupted("reset"), Silent("nothing heard"), None]), name=NAMES, follows=st.booleans()
    )
    def restore_behind_a_load_balancer(self, error: ApiError | None, name: str, *, follows: bool) -> None:
        """Nothing is seen of it but the end of a stream; then we ask before the new history has passed ours.

        Where the end was not seen for long, or the server was met away, the new history has passed ours.
        """
        if follows:
            self._follow()
        self.server.put(name, "Pending")
        self._append()
        while self.stream:
            self._line(self.stream.pop(0))
        was_open = self.stream is not None
        is_between_pages = isinstance(self.order, ListPage) and bool(self.order.continue_token)
        if not isinstance(error, Silent) and (was_open or is_between_pages):
            self.ceiling = self.listing_version if is_between_pages else self.told_to
        note("restored behind a load balancer")
        self._restore()
        if error is None and was_open:
            self.stream = None
            self.machine.ended(self.now)
            self._next()
        else:
            self._break(error or ServerError("nobody behind me", status=503))
        while self.ceiling == math.inf and self.server.version < self.told_to:
            note("the new history has passed ours")
            self.server.put(name, "Running")

    @rule(size=st.integers(1, 3), twice=st.booleans())
    def serve(self, size: int, *, twice: bool) -> None:
        """Answer what the machine asks for: a page of `size` objects, a stream, or that many lines of it."""
        if not self.stream:
            self._answer(size)
            return
        for _ in range(size):
            if self.stream:
                self._line(self.stream[0])
            if self.stream and twice:
                note("a line came twice")
                self._line(self.stream[0])
            if self.stream:
                self.stream.pop(0)

    @rule()
    def bookmark(self) -> None:
        """A bookmark comes after everything before it; none comes to who is further than the server."""
        while self.stream:
            self._line(self.stream.pop(0))
        if self.stream is not None and self.told_to <= self.server.version:
            self._line(line("BOOKMARK", {"metadata": {"resourceVersion": str(self.server.version)}}))

    @rule()
    def follow(self) -> None:
        """Come to a watch that is open, so that it can go wrong."""
        self._follow()

    @rule()
    def stop_between_pages(self) -> None:
        """Come to stand in the middle of a list."""
        for name in "ab":
            if name not in self.server.objects:
                self.change(name=name, phase="Pending")
        self._break(Gone("expired", status=410))
        while self.stream is None and not (isinstance(self.order, ListPage) and self.order.continue_token):
            self._answer(1)

    @rule(cut=st.booleans(), life=st.sampled_from([0.0, 5.0]))
    def end(self, *, cut: bool, life: float) -> None:
        if self.stream is None:
            return
        if cut and not self.stream:
            self.change(name="a", phase="Running")
        if cut and self.stream:
            note("a line was cut off")
            self._line(self.stream[0][:-20])
        self.now += life
        self.stream = None
        self.machine.ended(self.now)
        self._next()

    @rule(error=st.sampled_from(TROUBLES))
    def trouble(self, error: ApiError) -> None:
        if isinstance(self.order, ListPage) and self.order.continue_token:
            note("trouble between two pages")
        note(f"trouble: {type(error).__name__}")
        self._break(error)

    @invariant()
    def safety_synced_is_told_when_it_is_claimed(self) -> None:
        if hasattr(self, "view"):
            assert self.machine.synced == (self.view.synced > 0)

    def teardown(self) -> None:
        """progress: when the server behaves again, the view becomes the truth."""
        if not hasattr(self, "view"):
            return
        self._settle()
        assert self.view.pods == {name: item["metadata"]["uid"] for name, item in self.server.objects.items()}
        assert self.view.phases == {name: item["status"]["phase"] for name, item in self.server.objects.items()}

    def _settle(self) -> None:
        """A server that answers everything; a bookmark or, after a restore, a doubted silence ends it."""
        for _ in range(20):
            while self.stream is None:
                self._answer(500)
            self.bookmark()
            if self._at_rest():
                return
        raise AssertionError("never came to rest")

    def _follow(self) -> None:
        """Answer until a watch is open."""
        for _ in range(20):
            self._answer(3)
            if self.stream is not None:
                return
        raise AssertionError("no watch was ever opened")

    def _at_rest(self) -> bool:
        if self.stream == [] and self.machine.problem is None:
            return True
        self.end(cut=False, life=30.0)
        return False

    def _answer(self, size: int) -> None:
        if self.stream is not None:
            return
        self.ceiling = math.inf
        match self.order:
            case ListPage("", _):
                self.listing = [self.server.objects[name] for name in sorted(self.server.objects)]
                self.listing_version = self.server.version
                self._page(size)
            case ListPage(_, _) if self.listing_version > self.server.version:
                note("a token that the server has not reached")
                self._break(ServerError("Timeout: Too large resource version", status=504))
            case ListPage(_, _):
                self._page(size)
            case Confirm():
                self._confirm()
            case OpenWatch(version, _):
                self._open(int(version))

    def _confirm(self) -> None:
        page = {"metadata": {"resourceVersion": str(self.server.version)}, "items": []}
        try:
            self.machine.confirmed(json.dumps(page).encode())
        except Gone as error:
            note("a server that is less far than we are")
            self._break(error)
        else:
            self._next()

    def _restore(self) -> None:
        self.server.version, objects = self.backup
        self.server.objects = dict(objects)
        self.server.compact()

    def _page(self, size: int) -> None:
        items, self.listing = self.listing[:size], self.listing[size:]
        body = {
            "metadata": {"resourceVersion": str(self.listing_version), "continue": "more" if self.listing else ""},
            "items": items,
        }
        self.view.apply(self.machine.page(json.dumps(body).encode(), self.now), is_listed=True)
        self._next()

    def _open(self, version: int) -> None:
        if version < self.server.oldest:
            note("410 for a watch")
            self._break(Gone("too old", status=410))
            return
        self.machine.opened(self.now)
        self.told_to = version
        self.stream = self.server.since(version)
        self.delivered_to = max(version, self.server.version)

    def _append(self) -> None:
        """An open stream goes on with what happens after the version it was opened at."""
        if self.stream is not None:
            self.stream += self.server.since(self.delivered_to)
            self.delivered_to = max(self.delivered_to, self.server.version)

    def _line(self, data: bytes) -> None:
        try:
            self.view.apply(self.machine.line(data, self.now), is_listed=False)
        except ApiError as error:
            self._break(error)
        else:
            if data.endswith(b"\n"):
                self.told_to = int(json.loads(data)["object"]["metadata"]["resourceVersion"])

    def _break(self, error: ApiError) -> None:
        self.stream = None
        self.machine.failed(error, self.now)
        self._next()

    def _next(self) -> None:
        order = self.machine.next(0.5)
        while isinstance(order, Wait):
            assert order.seconds <= 30.0
            self.now += order.seconds
            order = self.machine.next(0.5)
        self.order = order


TestWatching = Watching.TestCase
TestWatching.settings = settings(max_examples=200, stateful_step_count=50)

EXPECTED = (
    "compact",
    "restore",
    "restored behind a load balancer",
    "the new history has passed ours",
    "a server that is less far than we are",
    "a token that the server has not reached",
    "trouble between two pages",
    *(f"trouble: {type(error).__name__}" for error in TROUBLES),
    "410 for a watch",
    "a line came twice",
    "a line was cut off",
    "an unreadable pod was told",
    "an object was made again under its name",
    "a list told what had gone",
)


def test_a_seeded_run_meets_every_situation() -> None:
    SITUATIONS.clear()
    run_seeded(Watching, 20261203, examples=200)

    assert [situation for situation in EXPECTED if not SITUATIONS[situation]] == []


@given(data=st.binary(max_size=200))
@settings(max_examples=300)
def test_no_bytes_do_more_than_end_the_stream(data: bytes) -> None:
    machine = WatchMachine(Pod, watch_seconds=(300, 600), backoff=Backoff(initial_s=1.0, limit_s=30.0))
    machine.page(b'{"metadata":{"resourceVersion":"1"},"items":[]}', 0.0)
    machine.opened(0.0)

    try:
        machine.line(data + b"\n", 0.0)
    except ApiError as error:
        machine.failed(error, 0.0)

    assert isinstance(machine.next(0.0), Wait | OpenWatch)
