"""Names that both services, their users and other tools read: groups, labels, annotations."""

from typing import Final

GROUP: Final = "scheduling.x-k8s.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "PodGroup"
PLURAL: Final = "podgroups"
DEFAULT_SCHEDULER_NAME: Final = "gangline"

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
"""Coscheduling since v0.25."""
LEGACY_POD_GROUP_LABEL: Final = "pod-group.scheduling.sigs.k8s.io"
"""Coscheduling v0.19 to v0.24; Koordinator and ACK today."""
GROUP_NAME_ANNOTATION: Final = "scheduling.k8s.io/group-name"
"""kube-batch and Volcano."""
GROUP_MIN_MEMBER_ANNOTATION: Final = "scheduling.k8s.io/group-min-member"
"""kube-batch's shadow PodGroup."""
POD_TEMPLATE_HASH_LABEL: Final = "pod-template-hash"
