"""What the shapes do not say: defaults and closed sets of built-in kinds, by definition and field, as data."""

from typing import Any, Final

_SCHEME: Final = {"scheme": {"default": "HTTP"}}
_PROBE: Final = {"default": 1}

# Go writes these although they are empty.
_NULL: Final = {"default": None}
_EMPTY: Final = {"default": ""}
_NODE_INFO: Final = (
    *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"),
    *("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
)

OVERLAY: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "io.k8s.api.core.v1.PodSpec": {
        "restartPolicy": {"default": "Always", "enum": ["Always", "OnFailure", "Never"]},
        "dnsPolicy": {
            "default": "ClusterFirst",
            "enum": ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        },
        "schedulerName": {"default": "default-scheduler"},
        "securityContext": {"default": {}},
        "terminationGracePeriodSeconds": {"default": 30},
    },
    "io.k8s.api.core.v1.Container": {
        "terminationMessagePath": {"default": "/dev/termination-log"},
        "terminationMessagePolicy": {"default": "File", "enum": ["File", "FallbackToLogsOnError"]},
        "imagePullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
        "resources": {"default": {}},
    },
    "io.k8s.api.core.v1.ContainerPort": {
        "containerPort": {"minimum": 1, "maximum": 65535},
        "hostPort": {"minimum": 0, "maximum": 65535},
        "protocol": {"default": "TCP", "enum": ["SCTP", "TCP", "UDP"]},
    },
    "io.k8s.api.core.v1.PodCondition": {"lastProbeTime": _NULL, "lastTransitionTime": _NULL},
    "io.k8s.api.core.v1.ContainerStatus": {"lastState": {"default": {}}},
    "io.k8s.api.core.v1.HostPathVolumeSource": {"type": _EMPTY},
    "io.k8s.api.core.v1.Node": {"spec": {"default": {}}},
    "io.k8s.api.core.v1.NodeStatus": {
        "daemonEndpoints": {"default": {"kubeletEndpoint": {"Port": 0}}},
        "nodeInfo": {"default": dict.fromkeys(_NODE_INFO, "")},
    },
    "io.k8s.api.core.v1.NodeCondition": {"lastHeartbeatTime": _NULL, "lastTransitionTime": _NULL},
    "io.k8s.api.core.v1.Event": {
        "eventTime": _NULL,
        "firstTimestamp": _NULL,
        "lastTimestamp": _NULL,
        "reportingComponent": _EMPTY,
        "reportingInstance": _EMPTY,
        "source": {"default": {}},
    },
    "io.k8s.api.events.v1.Event": {
        "eventTime": _NULL,
        "deprecatedFirstTimestamp": _NULL,
        "deprecatedLastTimestamp": _NULL,
        "deprecatedSource": {"default": {}},
    },
    "io.k8s.api.coordination.v1.Lease": {"spec": {"default": {}}},
    "io.k8s.api.coordination.v1.LeaseSpec": {
        "leaseDurationSeconds": {"minimum": 0, "exclusiveMinimum": True},
        "leaseTransitions": {"minimum": 0},
    },
    "io.k8s.api.core.v1.Taint": {"effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]}},
    "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement": {
        "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
    },
    "io.k8s.api.core.v1.Toleration": {
        "operator": {"enum": ["Equal", "Exists"]},
        "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
    },
    "io.k8s.api.core.v1.TopologySpreadConstraint": {
        "maxSkew": {"minimum": 0, "exclusiveMinimum": True},
        "whenUnsatisfiable": {"enum": ["DoNotSchedule", "ScheduleAnyway"]},
    },
    "io.k8s.api.core.v1.Probe": {
        "timeoutSeconds": _PROBE,
        "periodSeconds": {"default": 10},
        "successThreshold": _PROBE,
        "failureThreshold": {"default": 3},
    },
    "io.k8s.api.core.v1.HTTPGetAction": _SCHEME,
    "io.k8s.api.core.v1.ObjectFieldSelector": {"apiVersion": {"default": "v1"}},
    "io.k8s.api.core.v1.ConfigMapVolumeSource": {"defaultMode": {"default": 420}},
    "io.k8s.api.core.v1.SecretVolumeSource": {"defaultMode": {"default": 420}},
    "io.k8s.api.core.v1.DownwardAPIVolumeSource": {"defaultMode": {"default": 420}},
    "io.k8s.api.core.v1.ProjectedVolumeSource": {"defaultMode": {"default": 420}},
    "io.k8s.api.core.v1.Secret": {"type": {"default": "Opaque"}},
    "io.k8s.api.core.v1.ServiceSpec": {
        "type": {"default": "ClusterIP", "enum": ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]},
        "sessionAffinity": {"default": "None"},
        "internalTrafficPolicy": {"default": "Cluster"},
    },
    "io.k8s.api.core.v1.ServicePort": {"protocol": {"default": "TCP"}},
    "io.k8s.api.core.v1.PersistentVolumeClaimSpec": {"volumeMode": {"default": "Filesystem"}},
    "io.k8s.api.apps.v1.ReplicaSetSpec": {"replicas": {"default": 1, "minimum": 0}},
    "io.k8s.api.apps.v1.DeploymentSpec": {
        "replicas": {"default": 1, "minimum": 0},
        "strategy": {"default": {}},
        "revisionHistoryLimit": {"default": 10},
        "progressDeadlineSeconds": {"default": 600},
    },
    "io.k8s.api.apps.v1.DeploymentStrategy": {
        "type": {"default": "RollingUpdate", "enum": ["Recreate", "RollingUpdate"]},
    },
    "io.k8s.api.apps.v1.RollingUpdateDeployment": {
        "maxSurge": {"default": "25%"},
        "maxUnavailable": {"default": "25%"},
    },
    "io.k8s.api.apps.v1.StatefulSetSpec": {
        "replicas": {"default": 1, "minimum": 0},
        "podManagementPolicy": {"default": "OrderedReady", "enum": ["OrderedReady", "Parallel"]},
        "updateStrategy": {
            "default": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "partition": 0}}
        },
        "revisionHistoryLimit": {"default": 10},
        "persistentVolumeClaimRetentionPolicy": {"default": {"whenDeleted": "Retain", "whenScaled": "Retain"}},
    },
    "io.k8s.api.batch.v1.JobSpec": {
        "parallelism": {"minimum": 0},
        "completions": {"minimum": 0},
        "backoffLimit": {"minimum": 0},
        "completionMode": {"enum": ["Indexed", "NonIndexed"]},
        "podReplacementPolicy": {"enum": ["Failed", "TerminatingOrFailed"]},
    },
    "io.k8s.api.batch.v1.JobTemplateSpec": {"metadata": {"default": {}}},
    "io.k8s.api.core.v1.PodTemplateSpec": {"metadata": {"default": {}}},
    "io.k8s.api.batch.v1.CronJobSpec": {
        "concurrencyPolicy": {"default": "Allow", "enum": ["Allow", "Forbid", "Replace"]},
        "suspend": {"default": False},
        "successfulJobsHistoryLimit": {"default": 3},
        "failedJobsHistoryLimit": {"default": 1},
    },
    "io.k8s.api.policy.v1.PodDisruptionBudgetStatus": {
        field: {"default": 0} for field in ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    },
    "io.k8s.api.apps.v1.ReplicaSetStatus": {"replicas": {"default": 0}},
    "io.k8s.api.apps.v1.StatefulSetStatus": {"replicas": {"default": 0}, "availableReplicas": {"default": 0}},
    "io.k8s.api.scheduling.v1.PriorityClass": {
        "value": {"default": 0},
        "preemptionPolicy": {"default": "PreemptLowerPriority", "enum": ["PreemptLowerPriority", "Never"]},
    },
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec": {
        "conversion": {"default": {"strategy": "None"}},
        "scope": {"enum": ["Cluster", "Namespaced"]},
    },
}

_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
CHECKED_BY_STRATEGIES: Final = (
    *(f"io.k8s.api.apps.v1.{kind}Spec" for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    "io.k8s.api.batch.v1.JobSpec",
    "io.k8s.api.core.v1.PodSpec",
    *(f"{_EXTENSIONS}.CustomResourceDefinition{part}" for part in ("Names", "Spec")),
)
