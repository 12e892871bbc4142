"""The settings that every service has, and what the lease setting means."""

from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from gangline.base.fatal import StartError
from gangline.contract.meta import Key
from gangline.contract.names import DEFAULT_SCHEDULER_NAME
from gangline.service.setting_values import check_address
from gangline.service.settings import Setting

NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Holds the namespace of a pod that runs with a service account; absent outside a cluster."""

HttpAddress = Annotated[
    str,
    Setting("Where /healthz, /readyz, /metrics and /debug are served.", metavar="HOST:PORT", check=check_address),
]


def check_lease(value: str) -> None:
    """Accept `NAMESPACE/NAME`, `off` and `auto`. Raises ValueError with what is legal."""
    namespace, separator, name = value.partition("/")
    if value not in {"off", "auto"} and (not separator or not namespace or not name or "/" in name):
        raise ValueError("NAMESPACE/NAME, off or auto")


class ProcessSettings(Struct, frozen=True, kw_only=True):
    """Settings of any service; each service gives `http_address` its own default."""

    config: Annotated[str, Setting("YAML file with settings.", metavar="FILE")] = ""
    kubeconfig: Annotated[
        str,
        Setting(
            "Where the API server is and who we are; without it the cluster that we run in, else the usual default.",
            metavar="FILE",
        ),
    ] = ""
    context: Annotated[str, Setting("Context of the kubeconfig; without it the current one.", metavar="NAME")] = ""
    scheduler_name: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Setting("Pods that name this scheduler (`spec.schedulerName`) are ours.", metavar="NAME"),
        Meta(min_length=1),
    ] = (DEFAULT_SCHEDULER_NAME,)
    http_address: HttpAddress = "127.0.0.1:8080"
    lease: Annotated[
        str,
        Setting(
            "Lease that only one process may hold: NAMESPACE/NAME, off, or auto "
            "(in a cluster: in our own namespace; outside: off).",
            metavar="NAMESPACE/NAME",
            check=check_lease,
        ),
    ] = "auto"
    watch_s: Annotated[
        int,
        Setting("Longest life of a watch; each ends at a random time in the upper half.", unit="seconds"),
        Meta(ge=2, le=3600),
    ] = 600
    stale_s: Annotated[
        float,
        Setting(
            "A kind not heard of for longer makes the process not ready. While nothing changes an API server is heard of "
            "about once a minute.",
            unit="seconds",
        ),
        Meta(gt=0),
    ] = 180.0
    validate_s: Annotated[
        float,
        Setting(
            "How often what is remembered is compared with fresh lists, as /debug/validate does, and differences are "
            "counted in a metric; 0: only when asked.",
            unit="seconds",
        ),
        Meta(ge=0),
    ] = 0.0
    grace_s: Annotated[
        float,
        Setting("How long writes under way may take after SIGTERM.", unit="seconds"),
        Meta(ge=0, le=600),
    ] = 20.0
    log_format: Annotated[
        Literal["json", "console"], Setting("Log lines for machines (json) or for people (console).")
    ] = "json"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Setting("The least urgent level that is logged.")
    ] = "info"

    @property
    def watch_seconds(self) -> tuple[int, int]:
        """The bounds between which the length of a watch is drawn."""
        return self.watch_s // 2, self.watch_s


def lease_key(lease: str, name: str, *, namespace_file: Path = NAMESPACE_FILE) -> Key | None:
    """Return the lease to hold, or None for none; `name` is the Lease's name when the setting is `auto`.

    Raises StartError when we run in a cluster and cannot tell in which namespace.
    """
    if lease == "off":
        return None
    if lease != "auto":
        namespace, _, name = lease.partition("/")
        return Key(namespace, name)
    try:
        namespace = namespace_file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(_unknown_namespace(namespace_file, str(error))) from error
    if not namespace:
        raise StartError(_unknown_namespace(namespace_file, "it is empty"))
    return Key(namespace, name)


def _unknown_namespace(file: Path, problem: str) -> str:
    return f"our own namespace cannot be read from {file}: {problem}; name the lease: --lease=NAMESPACE/NAME, or off"
