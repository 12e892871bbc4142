"""Which kind has which strategy."""

from gangline.sandbox.kinds import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Kind
from gangline.sandbox.strategies import definitions, namespaces, pods
from gangline.sandbox.strategies.strategy import GENERIC, Strategy

_BUILT_IN = {
    PODS.resource: pods.STRATEGY,
    NAMESPACES.resource: namespaces.STRATEGY,
    CUSTOM_RESOURCE_DEFINITIONS.resource: definitions.STRATEGY,
}


def strategy_of(kind: Kind) -> Strategy:
    """The kind's strategy; the generic one does nothing of its own."""
    return _BUILT_IN.get(kind.resource, GENERIC)
