"""Records Kubernetes Events about PodGroups."""

from gangline.contract.meta import Key, epoch_seconds
from gangline.contract.podgroup import PodGroup, PodGroupStatus
from gangline.kube.recorder import EventRecorder, ObjectReference
from gangline.kube.wire.changes import Unreadable
from gangline.kube.wire.resources import POD_GROUPS


class Announcer:
    """Records the few events that a PodGroup gets, each once."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder
        self._timed_out: dict[str, float] = {}

    def timed_out(self, group: PodGroup, status: PodGroupStatus, timeout_s: int) -> bool:
        """Announce that scheduling takes too long; say whether this was news.

        The event's name comes from the UID and the start, so that after a restart the second create is refused.
        """
        uid, start_time = group.metadata.uid, status.schedule_start_time
        start_s = 0.0 if start_time is None else epoch_seconds(start_time)
        if self._timed_out.get(uid) == start_s:
            return False
        self._timed_out[uid] = start_s
        self._warn(
            group.metadata.key,
            uid,
            reason="Timeout",
            note=f"not scheduled within {timeout_s} s; scheduling goes on",
            action="Scheduling",
            name=f"timeout-{uid}-{int(start_s)}",
        )
        return True

    def foreign_writer(self, group: PodGroup, quiet_s: float) -> None:
        """Announce that another writer owns this status for a while."""
        self._warn(
            group.metadata.key,
            group.metadata.uid,
            reason="ForeignStatusWriter",
            note=f"another writer keeps changing phase or counts back; this status is left to it for {quiet_s:.0f} s. "
            "Stop one of the two: --status-owner=other makes this controller only watch",
            action="GivingWay",
        )

    def unreadable(self, version: Unreadable) -> None:
        """Announce that this version of a PodGroup cannot be read."""
        self._warn(
            version.key,
            version.uid,
            reason="PodGroupInvalid",
            note=f"cannot be read, its status stays as it is: {version.message}",
            action="Reading",
        )

    def forget(self, uid: str) -> None:
        """Drop what is known of a PodGroup that is gone."""
        self._timed_out.pop(uid, None)

    def _warn(self, key: Key, uid: str, *, reason: str, note: str, action: str, name: str | None = None) -> None:
        regarding = ObjectReference.of(POD_GROUPS.kind, key.namespace, key.name, uid)
        self._recorder.record(regarding, "Warning", reason, note, action, name=name)
