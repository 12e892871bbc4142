"""Table B: what the controller makes of a PodGroup and its pods.

Letters are pods: P waits, B is bound, R runs, S has succeeded, F has failed, `-` is none. Counts are
running/succeeded/failed.
"""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from gangline.contract.meta import Key
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup, PodGroupStatus
from gangline.kube.wire.resources import NAMESPACES, POD_GROUPS, PODS, REPLICA_SETS
from gangline.sandbox.kubelets.nodes import STOPPED_ANNOTATION
from tests.conformance.rows import ROWS, Row, Stage, row
from tests.support.cluster import NAMESPACE, Cluster
from tests.support.manifests import Manifest, pod, pod_group, replica_set

PHASES: Final = {"P": "Pending", "B": "Pending", "R": "Running", "S": "Succeeded", "F": "Failed"}
WORDS: Final = {"P": "waiting", "B": "bound", "R": "running", "S": "succeeded", "F": "failed"}
NODE: Final[Manifest] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-that-stands-still", "annotations": {STOPPED_ANNOTATION: "true"}},
}
"""Where pods only say that they run. On a node that does not exist they would be removed after a while."""
REPORTER: Final = "gangline.io/controller"
FINISH_LATER_S: Final = 1
"""Times have whole seconds there: a pod that ends in the second of its creation would be of an earlier run."""


class Story(Struct, frozen=True, kw_only=True):
    """A group that shows `start` at first, its pods step by step, and what it shows at each step."""

    start: str
    minimum: int | None
    steps: tuple[str, ...]
    shows: tuple[str, ...]


class Told(Struct, frozen=True, kw_only=True):
    """A row that is a story."""

    id: str
    story: Story
    given: str
    upstream: str
    ours: str = ""
    why: str = ""


def told(
    id_: str,
    start: str,
    minimum: int | None,
    steps: str,
    shows: str,
    upstream: str = "",
    why: str = "",
) -> Told:
    """A story as a row; `steps` and `shows` are joined by commas, and `upstream` is given where it shows something else."""
    story = Story(start=start, minimum=minimum, steps=tuple(steps.split(", ")), shows=tuple(shows.split(", ")))
    pods = "; then ".join(dict.fromkeys(map(in_words, story.steps)))
    given = f"{start or 'new group'}, minMember {'absent' if minimum is None else minimum}: {pods}"
    ours = ", then ".join(dict.fromkeys(story.shows))
    if upstream:
        return Told(id=id_, story=story, given=given, upstream=upstream, ours=ours, why=why)
    return Told(id=id_, story=story, given=given, upstream=ours)


def in_words(letters: str) -> str:
    """Say what pods there are."""
    numbers = Counter(WORDS[letter] for letter in letters if letter != "-")
    return ", ".join(f"{number} {word}" for word, number in numbers.items()) or "no pods"


AT_ONCE = "The phase is computed in full each time; nobody waits for a second look."
AFRESH = "Failed and Finished hold while nothing unfinished exists. A replacement or a new run is looked at afresh."

STORIES: Final = (
    told("B1", "Scheduling", 2, "RR", "Running 2/0/0"),
    told("B2", "Scheduling", 2, "RRRR", "Running 4/0/0"),
    told("B3", "Scheduling", 2, "FF", "Failed 0/0/2"),
    told("B4", "Scheduling", 2, "SS", "Finished 0/2/0"),
    told("B5", "Pending", 2, "PP, PP", "Scheduling 0/0/0, Scheduling 0/0/0"),
    told("B6", "Scheduling", 2, "PP, SP, SS", "Scheduling 0/0/0, Scheduling 0/1/0, Finished 0/2/0"),
    told("B7", "Pending", 3, "RR", "Pending 2/0/0"),
    told("B8", "Pending", 2, "PP, SS", "Scheduling 0/0/0, Finished 0/2/0"),
    told("B10", "Pending", 3, "PP", "Pending 0/0/0"),
    told("B11", "Running", 4, "PP", "Pending 0/0/0"),
    told("B14", "", 3, "BBB, RRR", "Scheduling 0/0/0, Running 3/0/0"),
    told("B15", "", 3, "RRR, SSS", "Running 3/0/0, Finished 0/3/0"),
    told("B17", "", 3, "RRR, RRF", "Running 3/0/0, Failed 2/0/1"),
    told("B19", "", 3, "", "Pending 0/0/0"),
    told("B20", "", 3, "PPP", "Scheduling 0/0/0", "Pending, then Scheduling at the second reconcile", AT_ONCE),
    told(
        "B21",
        "",
        3,
        "RRR",
        "Running 3/0/0",
        "Pending, Scheduling 0/0/0, then Running",
        "As B20; counts are refreshed in every phase.",
    ),
    told(
        "B22",
        "",
        None,
        "",
        "Pending 0/0/0",
        "Pending, Scheduling, **Finished**",
        "An absent minMember is 1: nothing has finished where nothing ran.",
    ),
    told("B23", "", None, "R", "Running 1/0/0", "**Finished** 1/0/0", "As B22."),
    told(
        "B24",
        "Running",
        3,
        "RRRRF",
        "Running 4/0/1",
        "Failed 4/0/1",
        "The gang has what it asked for. It is Failed only when the others cannot reach minMember any more.",
    ),
    told("B25", "Running", 3, "FPP", "Scheduling 0/0/1"),
    told("B26", "Running", 3, "FRP", "Scheduling 1/0/1"),
    told("B27", "Running", 3, "SSSF", "Finished 0/3/1"),
    told("B28", "Running", 3, "SSF", "Failed 0/2/1"),
    told("B30", "Running", 3, "SSP", "Scheduling 0/2/0"),
    told(
        "B31",
        "Running",
        3,
        "SSSRR, SSSSS",
        "Running 2/3/0, Finished 0/5/0",
        "Finished 2/3/0; the 2 stay in the count for ever",
        "Finished means that nothing runs any more.",
    ),
    told("B32", "Running", 3, "RRR, ", "Running 3/0/0, Pending 0/0/0"),
    told(
        "B33",
        "Running",
        3,
        "RR, ",
        "Pending 2/0/0, Pending 0/0/0",
        "Pending 2/0/0, and still 2/0/0 at the end",
        "Counts are refreshed in every phase.",
    ),
    told("B34", "Running", 3, "RR-P, RR-R", "Scheduling 2/0/0, Running 3/0/0"),
    told("B36", "Failed", 3, "-RRR", "Running 3/0/0", "stays Failed for ever", AFRESH),
    told(
        "B37",
        "Finished",
        3,
        "PPP, RRR",
        "Scheduling 0/0/0, Running 3/0/0",
        "stays Finished while they are scheduled and run",
        "As B36. Finished members of an earlier run do not count.",
    ),
)


def shown(status: PodGroupStatus) -> str:
    """Phase and counts as the tables write them: running/succeeded/failed."""
    return f"{status.phase} {status.running or 0}/{status.succeeded or 0}/{status.failed or 0}"


class Play:
    """One group and its pods on a cluster without scheduler."""

    def __init__(self, cluster: Cluster, name: str, *, namespace: str = NAMESPACE, label: bool = True) -> None:
        self.cluster = cluster
        self.name = name
        self.key = Key(namespace, name)
        self._label = name if label else None
        self._letters: dict[str, str] = {}

    @property
    def group(self) -> PodGroup:
        """As last seen."""
        return self.cluster.groups.get(self.key, PodGroup())

    async def create(self, minimum: int | None, phase: str = "", **status: Any) -> None:
        """Create the group, with a status that somebody has written before us."""
        await self.cluster.create(pod_group(self.name, minimum), namespace=self.key.namespace)
        stored = {"phase": phase, **status} if phase else status
        if stored:
            await self.cluster.client.patch(POD_GROUPS, self.key, {"status": stored}, subresource="status")

    async def edit(self, minimum: int) -> None:
        """Change minMember."""
        await self.cluster.client.patch(POD_GROUPS, self.key, {"spec": {"minMember": minimum}})

    async def set_pods(self, letters: str, owners: tuple[Manifest, ...] = ()) -> None:
        """Bring the pods into these states; those that have no letter any more are removed."""
        wanted = {f"{self.name}-{number}": letter for number, letter in enumerate(letters) if letter != "-"}
        for name in self._letters.keys() - wanted.keys():
            await self.cluster.client.delete(PODS, Key(self.key.namespace, name), grace_period_s=0)
        for name in [one for one in wanted if one not in self._letters]:
            await self._create_pod(name, owners)
        for name, letter in wanted.items():
            before = self._letters.get(name, "P")
            if before == "P" and letter != "P":
                await self._bind(name)
            if before != letter and letter in "RSF":
                await self._set_phase(name, letter)
        self._letters = wanted

    def _pod_key(self, name: str) -> Key:
        return Key(self.key.namespace, name)

    async def _create_pod(self, name: str, owners: tuple[Manifest, ...]) -> None:
        body = pod(name, self._label)
        body["metadata"]["ownerReferences"] = list(owners)
        await self.cluster.client.create(PODS, self.key.namespace, body)

    async def _bind(self, name: str) -> None:
        key = self._pod_key(name)
        one = await self.cluster.client.get(PODS, key, Pod)
        await self.cluster.client.bind(key, one.metadata.uid, NODE["metadata"]["name"])

    async def _set_phase(self, name: str, letter: str) -> None:
        status: Manifest = {"phase": PHASES[letter]}
        if letter in "SF":
            ended = datetime.now(UTC) + timedelta(seconds=FINISH_LATER_S)
            terminated = {"exitCode": int(letter == "F"), "finishedAt": ended.strftime("%Y-%m-%dT%H:%M:%SZ")}
            container = {"name": "main", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
            status["containerStatuses"] = [container | {"state": {"terminated": terminated}}]
        await self.cluster.client.patch(PODS, self._pod_key(name), {"status": status}, subresource="status")

    async def until_shown(self, expected: str) -> None:
        """Wait until the controller has looked at this spec, and the group shows this."""
        await self.cluster.until(
            lambda: (
                shown(self.group.status) == expected
                and self.group.status.observed_generation == self.group.metadata.generation
            ),
            f"{self.key} shows {expected}, not {shown(self.group.status)}",
        )


async def phases(cluster: Cluster, key: Key) -> set[str]:
    """Every phase that a group has shown."""
    stored = [
        line["object"] for line in await cluster.log() if (line["resource"], line["key"]) == ("podgroups", str(key))
    ]
    return {each["status"]["phase"] for each in stored if each.get("status", {}).get("phase")}


async def tell(cluster: Cluster, story: Story, name: str) -> AsyncIterator[None]:
    play = Play(cluster, name)
    await play.create(story.minimum, story.start)
    await play.set_pods(story.steps[0])
    yield
    await play.until_shown(story.shows[0])
    assert play.group.status.occupied_by is None, "its pods have no owners"
    for letters, expected in zip(story.steps[1:], story.shows[1:], strict=True):
        await play.set_pods(letters)
        await play.until_shown(expected)


def _register(one: Told) -> None:
    def check(cluster: Cluster) -> AsyncIterator[None]:
        return tell(cluster, one.story, one.id.lower())

    ROWS[one.id] = Row(
        id=one.id,
        given=one.given,
        upstream=one.upstream,
        ours=one.ours,
        why=one.why,
        stage=Stage.CONTROLLER,
        check=check,
    )


for _one in STORIES:
    _register(_one)


# Old groups: how long after its creation its scheduling is said to have begun


async def old(cluster: Cluster, name: str, phase: str, hours: int | None, running: int = 0) -> AsyncIterator[None]:
    play = Play(cluster, name)
    status: dict[str, Any] = {"running": running} if running else {}
    await play.create(2, phase, **status)
    if hours is not None:
        await cluster.until(lambda: play.key in cluster.groups, "the group is seen")
        created = play.group.metadata.creation_timestamp
        assert created is not None
        start = (created + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
        await cluster.client.patch(POD_GROUPS, play.key, {"status": {"scheduleStartTime": start}}, subresource="status")
    await play.set_pods("RR")
    yield
    await play.until_shown("Running 2/0/0")
    assert cluster.said_of("PodGroup", name) == []


@row(
    "B9",
    "Pending; scheduleStartTime 72 h after its creation; 2 running, minMember 2",
    "stays Pending for ever, one Timeout event per reconcile",
    "Running, no event",
    "The guard compares two stored times and never the clock. A status says what is. A timeout is an event and a "
    "condition, and the gang goes on trying.",
    stage=Stage.CONTROLLER,
)
def b9(cluster: Cluster) -> AsyncIterator[None]:
    return old(cluster, "b9", "Pending", 72)


@row("B41", "Pending; scheduleStartTime exactly 48 h after its creation; 2 running", "Running", stage=Stage.CONTROLLER)
def b41(cluster: Cluster) -> AsyncIterator[None]:
    return old(cluster, "b41", "Pending", 48)


@row("B42", "Scheduling, running 1; 72 h; 2 running", "Running", stage=Stage.CONTROLLER)
def b42(cluster: Cluster) -> AsyncIterator[None]:
    return old(cluster, "b42", "Scheduling", 72, 1)


@row("B43", "Running, running 2; 72 h; 2 running", "Running", stage=Stage.CONTROLLER)
def b43(cluster: Cluster) -> AsyncIterator[None]:
    return old(cluster, "b43", "Running", 72, 2)


@row("B44", "Pending; scheduleStartTime unset; 2 running", "Running", stage=Stage.CONTROLLER)
def b44(cluster: Cluster) -> AsyncIterator[None]:
    return old(cluster, "b44", "Pending", None)


async def owned(cluster: Cluster, name: str, owners: tuple[str, ...], stored: str | None) -> AsyncIterator[None]:
    references = []
    for one in owners:
        made = await cluster.client.create(REPLICA_SETS, NAMESPACE, replica_set(one, 0))
        identity = {"name": one, "uid": made["metadata"]["uid"]}
        references.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", **identity})
    play = Play(cluster, name)
    await play.create(2, "Pending", **({"occupiedBy": stored} if stored else {}))
    await play.set_pods("PP", tuple(references))
    yield
    await play.until_shown("Scheduling 0/0/0")
    expected = ",".join(f"{NAMESPACE}/{one}" for one in sorted(owners))
    assert (play.group.status.occupied_by or "") == expected


@row(
    "B12",
    "Pending, occupiedBy `test`; 2 waiting pods, each with an owner new-occupied",
    "occupiedBy `default/new-occupied`",
    stage=Stage.CONTROLLER,
)
def b12(cluster: Cluster) -> AsyncIterator[None]:
    return owned(cluster, "b12", ("new-occupied",), "test")


@row(
    "B13",
    "as B12, with owners new-occupied-2 and new-occupied-1",
    "`default/new-occupied-1,default/new-occupied-2`",
    stage=Stage.CONTROLLER,
)
def b13(cluster: Cluster) -> AsyncIterator[None]:
    return owned(cluster, "b13", ("new-occupied-2", "new-occupied-1"), "test")


@row(
    "B45", "Pending, occupiedBy empty; 2 waiting pods without owners", "occupiedBy stays empty", stage=Stage.CONTROLLER
)
def b45(cluster: Cluster) -> AsyncIterator[None]:
    return owned(cluster, "b45", (), None)


@row("B18", "new group, minMember 3; 3 pods without the label wait, then run", "Pending 0/0/0", stage=Stage.CONTROLLER)
async def b18(cluster: Cluster) -> AsyncIterator[None]:
    play = Play(cluster, "b18", label=False)
    await play.create(3)
    await play.set_pods("BBB")
    yield
    await play.until_shown("Pending 0/0/0")
    await play.set_pods("RRR")
    await cluster.until(lambda: cluster.running("b18") == 3, "they run")
    assert shown(play.group.status) == "Pending 0/0/0"


@row(
    "B38",
    "Failed or Finished; minMember edited from 3 to 2",
    "unchanged",
    "unchanged only while nothing unfinished exists",
    "As B36.",
    stage=Stage.CONTROLLER,
)
async def b38(cluster: Cluster) -> AsyncIterator[None]:
    ended, going, done = (Play(cluster, f"b38-{name}") for name in ("ended", "going", "done"))
    await ended.create(3, "Failed")
    await ended.set_pods("SSF")
    await going.create(3, "Failed")
    await going.set_pods("RRF")
    await done.create(3, "Finished")
    await done.set_pods("SS")
    yield
    for play in (ended, going, done):
        await play.edit(2)
    await ended.until_shown("Failed 0/2/1")
    await going.until_shown("Running 2/0/1")
    await done.until_shown("Finished 0/2/0")


@row("B39", "phase Unknown, PreScheduling or Scheduled; 3 running", "Running 3/0/0", stage=Stage.CONTROLLER)
async def b39(cluster: Cluster) -> AsyncIterator[None]:
    plays = {phase: Play(cluster, f"b39-{phase.lower()}") for phase in ("Unknown", "PreScheduling", "Scheduled")}
    for phase, play in plays.items():
        await play.create(3, phase)
        await play.set_pods("RRR")
    yield
    for play in plays.values():
        await play.until_shown("Running 3/0/0")


@row(
    "B40",
    "two namespaces with a group of one name, minMember 3, 2 waiting pods in each",
    "both Scheduling: they count each other's pods",
    "both Pending",
    "A group lives in one namespace.",
    stage=Stage.CONTROLLER,
)
async def b40(cluster: Cluster) -> AsyncIterator[None]:
    await cluster.client.create(NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b40"}})
    plays = [Play(cluster, "b40", namespace=namespace) for namespace in (NAMESPACE, "b40")]
    for play in plays:
        await play.create(3, "Pending")
        await play.set_pods("PP")
    yield
    for play in plays:
        await play.until_shown("Pending 0/0/0")
        await play.set_pods("RR")
    for play in plays:
        await play.until_shown("Pending 2/0/0")
        assert await phases(cluster, play.key) <= {"Pending"}


@row(
    "B47",
    "3 running pods first, then the group, minMember 3",
    "Running 3/0/0, with no pod event",
    stage=Stage.CONTROLLER,
)
async def b47(cluster: Cluster) -> AsyncIterator[None]:
    play = Play(cluster, "b47")
    await play.set_pods("RRR")
    yield
    await play.create(3)
    await play.until_shown("Running 3/0/0")


@row("B48", "a pod labelled with a group that does not exist", "no error, no object, no event", stage=Stage.CONTROLLER)
async def b48(cluster: Cluster) -> AsyncIterator[None]:
    play, witness = Play(cluster, "b48"), Play(cluster, "b48-witness")
    await play.set_pods("R")
    yield
    await witness.create(1)
    await witness.until_shown("Pending 0/0/0")
    assert play.key not in cluster.groups
    assert cluster.said_of("Pod", "b48-0", by=REPORTER) == cluster.said_of("PodGroup", "b48") == []
    assert await cluster.services["controller"].problems() == []


@row(
    "B51",
    "Pending, 3 running; minMember lowered from 5 to 3",
    "Scheduling, then Running",
    "Running 3/0/0 at once",
    "As B20.",
    stage=Stage.CONTROLLER,
)
async def b51(cluster: Cluster) -> AsyncIterator[None]:
    play = Play(cluster, "b51")
    await play.create(5, "Pending")
    await play.set_pods("RRR")
    yield
    await play.until_shown("Pending 3/0/0")
    await play.edit(3)
    await play.until_shown("Running 3/0/0")
    assert "Scheduling" not in await phases(cluster, play.key)


@row(
    "B52",
    "the status is written while another writer edits the spec",
    "both changes survive; at worst one retry",
    stage=Stage.CONTROLLER,
)
async def b52(cluster: Cluster) -> AsyncIterator[None]:
    play = Play(cluster, "b52")
    await play.create(1)
    yield
    for minimum in range(2, 12):
        await play.edit(minimum)
        await play.set_pods("R" * (minimum - 1))
    await play.until_shown("Pending 10/0/0")
    assert play.group.spec.min_member == 11


@row(
    "B53", "the group is deleted while its status is written", "one failed attempt, then quiet", stage=Stage.CONTROLLER
)
async def b53(cluster: Cluster) -> AsyncIterator[None]:
    names = [f"b53-{number}" for number in range(20)]
    yield
    for name in names:
        await cluster.create(pod_group(name, 1))
        await cluster.delete("PodGroup", name)
    witness = Play(cluster, "b53-witness")
    await witness.create(1)
    await witness.until_shown("Pending 0/0/0")
    await cluster.until(lambda: not {Key(NAMESPACE, name) for name in names} & cluster.groups.keys(), "all are gone")
    assert await cluster.services["controller"].problems() == []
