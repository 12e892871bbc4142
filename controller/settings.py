"""Settings of the controller."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from gangline.service.process_settings import HttpAddress, ProcessSettings
from gangline.service.settings import Setting


class StatusOwner(StrEnum):
    """Who writes the status of PodGroups."""

    GANGLINE = "gangline"
    OTHER = "other"


class Settings(ProcessSettings, frozen=True, kw_only=True):
    """What the controller can be told."""

    http_address: HttpAddress = "127.0.0.1:8081"
    status_owner: Annotated[
        StatusOwner,
        Setting("Who writes the status of PodGroups; with other, this process only watches and measures."),
    ] = StatusOwner.GANGLINE
    workers: Annotated[int, Setting("Status writes that may be under way at once."), Meta(ge=1, le=64)] = 4
    coalesce_s: Annotated[
        float,
        Setting("How long changes of one PodGroup are gathered before its status is computed.", unit="seconds"),
        Meta(ge=0, le=10),
    ] = 0.05
    try_all_fields_s: Annotated[
        float,
        Setting("How often status fields that the CRD of the cluster has dropped are tried again.", unit="seconds"),
        Meta(gt=0, le=86_400),
    ] = 300.0
