"""Writes what has been decided: statuses of PodGroups, and events about them."""

from typing import Any, Final

import msgspec
import structlog
from msgspec import Struct

from controller.core.patch import StatusPatch, pruned_fields, status_patch
from controller.metrics import Metrics, Outcome
from gangline.contract.meta import Key, ObjectMeta, epoch_seconds
from gangline.contract.podgroup import PodGroup, PodGroupStatus
from gangline.kube.client import Client
from gangline.kube.recorder import EventRecorder, ObjectReference
from gangline.kube.wire.changes import Unreadable
from gangline.kube.wire.errors import ApiError, Conflict, Forbidden, NotFound, Unauthorized, is_denied
from gangline.kube.wire.resources import POD_GROUPS

FIELD_MANAGER: Final = "gangline-controller"

log = structlog.get_logger()


class Written(Struct, frozen=True, kw_only=True):
    """What became of a write; `stored` is the PodGroup as the API server has it now, where it has said so."""

    outcome: Outcome
    stored: PodGroup | None = None
    retry_after_s: float = 0.0


class StatusWriter:
    """Patches the status subresource with what differs, and only at the version that was looked at."""

    def __init__(self, client: Client, metrics: Metrics) -> None:
        self._client = client
        self._metrics = metrics
        self.pruned: frozenset[str] = frozenset()
        """Status fields that the CRD in the cluster does not have, as far as is known."""
        self._reported: frozenset[str] = frozenset()
        self.problem: str | None = None
        """Why the API server does not let us write; None once it does."""

    async def write(self, group: PodGroup, wanted: PodGroupStatus) -> Written:
        """Make the status of this PodGroup the wanted one. Never raises ApiError."""
        patch = status_patch(group.status, wanted, ignored=self.pruned)
        if not patch:
            return Written(outcome=Outcome.UNCHANGED)
        meta = group.metadata
        # The version alone tells this PodGroup from another of its name: the API server ignores the UID here.
        precondition = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        try:
            reply = await self._client.patch(
                POD_GROUPS,
                meta.key,
                {"metadata": precondition, "status": patch},
                subresource="status",
                field_manager=FIELD_MANAGER,
            )
        except NotFound as error:
            return await self._not_found(meta, error)
        except ApiError as error:
            return self._failed(error)
        self.problem = None
        self._learn(patch, reply)
        log.debug("status_written", fields=sorted(patch), phase=wanted.phase)
        return Written(outcome=Outcome.WRITTEN, stored=_decoded(reply))

    async def _not_found(self, meta: ObjectMeta, error: NotFound) -> Written:
        """404 means that the PodGroup is gone, or that its kind has no status; a list can tell, which we may read."""
        itself = f"metadata.name={meta.name}"
        try:
            found, _ = await self._client.list(POD_GROUPS, PodGroup, namespace=meta.namespace, field_selector=itself)
        except ApiError as not_listed:
            return self._failed(not_listed)
        if meta.uid not in {group.metadata.uid for group in found}:
            return self._failed(error)
        self.problem = "the PodGroups of this cluster have no status subresource; apply the CRD of this release"
        log.warning("status_not_written", outcome=Outcome.REFUSED.value, error=self.problem)
        return Written(outcome=Outcome.REFUSED)

    def _failed(self, error: ApiError) -> Written:
        outcome = _outcome(error)
        if isinstance(error, Forbidden | Unauthorized) and not is_denied(error):  # of rights the client tells
            self.problem = f"the status of PodGroups cannot be written: {error}"
        if outcome not in {Outcome.CONFLICT, Outcome.LOST}:
            log.warning("status_not_written", outcome=outcome.value, error=str(error))
        return Written(outcome=outcome, retry_after_s=error.retry_after_s or 0.0)

    def try_all_fields(self) -> bool:
        """Leave nothing out any more, since the CRD may have been replaced; say whether anything was."""
        was_pruned, self.pruned = bool(self.pruned), frozenset()
        return was_pruned

    def _learn(self, patch: StatusPatch, reply: dict[str, Any]) -> None:
        """Leave fields that the CRD in the cluster drops, upstream's own for instance, out for a while."""
        status = reply.get("status")
        self.pruned |= pruned_fields(patch, status if isinstance(status, dict) else {})
        pruned = self.pruned - self._reported
        if pruned:
            self._reported |= pruned
            self._metrics.pruned_fields.inc(len(pruned))
            log.warning("status_fields_pruned", fields=sorted(pruned), cure="apply the CRD of this release")


def _outcome(error: ApiError) -> Outcome:
    match error:
        case Conflict():
            return Outcome.CONFLICT
        case NotFound():
            return Outcome.LOST
        case _:
            return Outcome.UNANSWERED if error.transient else Outcome.REFUSED


def _decoded(reply: dict[str, Any]) -> PodGroup | None:
    try:
        return msgspec.convert(reply, PodGroup)
    except msgspec.ValidationError:
        return None


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
            note=f"cannot be read, its status stays as it is: {version.message}"[:1000],
            action="Reading",
        )

    def forget(self, uid: str) -> None:
        """Drop what is known of a PodGroup that is gone."""
        self._timed_out.pop(uid, None)

    def _warn(self, key: Key, uid: str, *, reason: str, note: str, action: str, name: str | None = None) -> None:
        regarding = ObjectReference(
            api_version=POD_GROUPS.api_version,
            kind=POD_GROUPS.kind,
            namespace=key.namespace,
            name=key.name,
            uid=uid,
        )
        self._recorder.record(regarding, "Warning", reason, note, action, name=name)
