"""Kinds that commands know by name, spelled as kubectl spells them."""

import re
from typing import Final

from gangline.kube.wire.resources import DEPLOYMENTS, JOBS, NAMESPACES, POD_GROUPS, PODS, REPLICA_SETS, Resource

STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")
OWNERS: Final = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, JOBS)
POD: Final = "pod"
POD_GROUP: Final = "podgroup"
_ALIASES: Final = {
    POD: ("pods", "po"),
    POD_GROUP: ("podgroups", "pg", "pgs", "podgroup.scheduling.x-k8s.io", "podgroups.scheduling.x-k8s.io"),
    "job": ("jobs", "job.batch", "jobs.batch"),
    "deployment": ("deployments", "deploy", "deployment.apps", "deployments.apps"),
    "replicaset": ("replicasets", "rs", "replicaset.apps", "replicasets.apps"),
    "statefulset": ("statefulsets", "sts", "statefulset.apps", "statefulsets.apps"),
}
KINDS: Final = tuple(_ALIASES)
_VERSION: Final = re.compile(r"\.v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?(?=\.)")
_KIND_OF: Final = {word: kind for kind, aliases in _ALIASES.items() for word in (kind, *aliases)}
_RESOURCES: Final = {one.kind.lower(): one for one in (*OWNERS, POD_GROUPS, PODS, NAMESPACES)}


def kind_of(word: str) -> str | None:
    """Return the kind that a word such as `po`, `jobs` or `jobs.v1.batch` means, None for any other."""
    return _KIND_OF.get(_VERSION.sub("", word.lower()))


def resource_of(word: str) -> Resource | None:
    """Return what to list for such a word, or for `namespace`."""
    return _RESOURCES.get(kind_of(word) or word)
