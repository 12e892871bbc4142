"""What kubelets and controllers tell people in Events: the words of kube-controller-manager, and no flood of them."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from gangline.kube.client import Client
from gangline.kube.recorder import EventRecorder, ObjectReference
from gangline.kube.wire.errors import ApiError
from gangline.sandbox.objects.apps import ReplicaSet, StatefulSet
from gangline.sandbox.objects.batch import CronJob, Job
from gangline.sandbox.objects.core import RunPod
from gangline.sandbox.objects.meta import Identified
from gangline.sandbox.objects.resources import RESOURCES
from gangline.sandbox.reconciling.actions import Action, Create, Delete, Note

DISTINCT: Final = 9
"""So many different sentences are told of one object for one reason; the others count as one (client-go's limit)."""
REMEMBERED: Final = 1000
"""Objects with a reason whose sentences are known; a flood over more of them is not folded."""
RATE, BURST, WAITING = 10.0, 50, 200
"""Events are for people who try something: a thousand pods must not wait for them, so most of theirs are lost."""


class Sentences(Struct, frozen=True):
    """How an owner tells what became of its children."""

    child: type[Any]
    created: str = "Created pod: {name}"
    not_created: str = "Error creating: {error}"
    deleted: str = "Deleted pod: {name}"
    not_deleted: str = "Error deleting: {error}"


SENTENCES: Final[Mapping[type[Any], Sentences]] = {
    ReplicaSet: Sentences(RunPod),
    Job: Sentences(RunPod),
    StatefulSet: Sentences(
        RunPod,
        "Create Pod {name} in StatefulSet {owner} successful",
        "Create Pod {name} in StatefulSet {owner} failed error: {error}",
        "Delete Pod {name} in StatefulSet {owner} successful",
        "Delete Pod {name} in StatefulSet {owner} failed error: {error}",
    ),
    CronJob: Sentences(
        Job, "Created job {name}", "Error creating job: {error}", "Deleted job {name}", "Deleted job: {error}"
    ),
}


def note_of(owner: Identified, action: Action, name: str, error: ApiError | None = None) -> Note | None:
    """Say what became of a child that the owner wanted made or removed; None of whatever else was written."""
    sentences = SENTENCES.get(type(owner))
    if sentences is None or action.resource != RESOURCES[sentences.child]:
        return None
    match action, error:
        case Create(), None:
            note = Note("SuccessfulCreate", sentences.created)
        case Create(), _:
            note = Note("FailedCreate", sentences.not_created, "Warning")
        case Delete(), None:
            note = Note("SuccessfulDelete", sentences.deleted)
        case Delete(), _:
            note = Note("FailedDelete", sentences.not_deleted, "Warning")
        case _:
            return None
    text = note.message.format(name=name, owner=owner.metadata.name, error=error.message if error else "")
    return Note(note.reason, text, note.type)


class Announcer:
    """Writes the Events of one component."""

    def __init__(self, client: Client, component: str) -> None:
        self._recorder = EventRecorder(
            client, component=component, instance=component, rate=RATE, burst=BURST, limit=WAITING
        )
        self._told: dict[tuple[str, str], list[str]] = {}

    def __len__(self) -> int:
        """Return how many Events wait to be written."""
        return len(self._recorder)

    def tell(self, thing: Identified, note: Note) -> None:
        """Have an Event about an object written some time, or counted, or lost."""
        metadata, resource = thing.metadata, RESOURCES[type(thing)]
        reference = ObjectReference(
            api_version=resource.api_version,
            kind=resource.kind,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
        )
        self._recorder.record(reference, note.type, note.reason, self._folded(metadata.uid, note), note.reason)

    async def run(self) -> None:
        """Write for ever."""
        await self._recorder.run()

    def _folded(self, uid: str, note: Note) -> str:
        texts = self._told.setdefault((uid, note.reason), [])
        if len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]
        if note.message in texts:
            return note.message
        if len(texts) < DISTINCT:
            texts.append(note.message)
        elif len(texts) == DISTINCT:
            texts.append(f"(combined from similar events): {note.message}")
        return texts[-1]
