"""Writes the statuses of PodGroups, as they have been decided."""

from typing import Any, Final

import msgspec
import structlog
from msgspec import Struct

from controller.core.patch import StatusPatch, pruned_fields, status_patch
from controller.metrics import Metrics, Outcome
from gangline.contract.meta import ObjectMeta
from gangline.contract.podgroup import PodGroup, PodGroupStatus
from gangline.kube.client import Client
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
