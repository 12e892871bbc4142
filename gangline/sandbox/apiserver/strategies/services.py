"""Services: they are kept and shown; nothing gives them addresses or sends them traffic."""

from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write


def _prepare(write: Write) -> None:
    spec = write.new.setdefault("spec", {})
    for port in spec.get("ports") or ():
        port.setdefault("targetPort", port.get("port"))
    if spec.get("clusterIP"):
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
    write.new.setdefault("status", {}).setdefault("loadBalancer", {})


def _broken_rules(write: Write) -> list[Cause]:
    spec = write.new["spec"]
    needs_ports = spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName"
    return [Cause.required("spec.ports")] if needs_ports and not spec.get("ports") else []


STRATEGY = Strategy(prepare=_prepare, validate=_broken_rules)
