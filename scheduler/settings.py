"""The scheduler's settings; `docs/settings.md` is generated from them."""

from typing import Annotated

from msgspec import Meta

from gangline.service.process_settings import HttpAddress, ProcessSettings
from gangline.service.settings import Setting
from scheduler.core.events import Scoring


class Settings(ProcessSettings, frozen=True, kw_only=True):
    """Everything that can be set, read once at start."""

    http_address: HttpAddress = "127.0.0.1:8080"
    scoring: Annotated[
        Scoring,
        Setting("Which feasible node is preferred: the fullest (pack) or the emptiest (spread)."),
    ] = Scoring.PACK
    budget_gangs: Annotated[
        bool,
        Setting(
            "Let a PodDisruptionBudget with an integer minAvailable set the quorum of its owner's pods "
            "(kube-batch's oldest form)."
        ),
    ] = False
    bind_concurrency: Annotated[
        int,
        Setting("Binds in flight at once; at most this many gangs are partly bound at any moment."),
        Meta(ge=1, le=512),
    ] = 32
    condition_rate: Annotated[
        float,
        Setting("Pod conditions written per second at most.", unit="writes per second"),
        Meta(gt=0),
    ] = 200.0
    event_rate: Annotated[
        float,
        Setting("Kubernetes Events written per second at most; what is more is dropped and counted."),
        Meta(gt=0),
    ] = 100.0
