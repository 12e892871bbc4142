"""Jobs and CronJobs; templates stay as they came."""

from datetime import datetime

from msgspec import Struct

from gangline.contract.meta import Condition
from gangline.contract.pod import Opaque
from gangline.sandbox.objects.meta import Meta


class ExitCodes(Struct, frozen=True, kw_only=True, rename="camel"):
    """Exit codes, of one container or of any."""

    container_name: str | None = None
    operator: str = "In"
    values: tuple[int, ...] = ()


class ConditionPattern(Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition of a pod."""

    type: str = ""
    status: str = "True"


class FailureRule(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a failure of this sort means."""

    action: str = "Count"
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] | None = None


class FailurePolicy(Struct, frozen=True, kw_only=True, rename="camel"):
    """Rules for failed pods, the first that matches counts."""

    rules: tuple[FailureRule, ...] = ()


class JobSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many pods at once, and how many in all."""

    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    active_deadline_seconds: float | None = None
    ttl_seconds_after_finished: float | None = None
    pod_failure_policy: FailurePolicy | None = None
    template: Opaque = {}


class JobStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts of the Job's pods and how it ended."""

    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    start_time: datetime | None = None
    completion_time: datetime | None = None
    conditions: tuple[Condition, ...] | None = None


class Job(Struct, frozen=True, kw_only=True, rename="camel"):
    """A Job."""

    metadata: Meta = Meta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Struct, frozen=True, kw_only=True, rename="camel"):
    """Of what a CronJob's Jobs are made."""

    metadata: Meta = Meta()
    spec: Opaque = {}


class CronJobSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """When to start which Job."""

    schedule: str = ""
    time_zone: str | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: JobTemplate = JobTemplate()


class CronJobStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which Jobs run, and when the last one was due."""

    active: tuple[Opaque, ...] | None = None
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(Struct, frozen=True, kw_only=True, rename="camel"):
    """A CronJob."""

    metadata: Meta = Meta()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
