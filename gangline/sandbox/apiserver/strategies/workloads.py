"""ReplicaSets, Deployments, StatefulSets, DaemonSets, Jobs and CronJobs: selectors, templates, what may not change."""

from collections.abc import Iterator
from functools import partial

from gangline.sandbox import schedules
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.schema import jsonpath
from gangline.sandbox.apiserver.store import Object
from gangline.sandbox.apiserver.strategies.podrules import spec_problems
from gangline.sandbox.apiserver.strategies.podtemplates import default_containers
from gangline.sandbox.apiserver.strategies.strategy import Strategy, Write, changed

_JOB_UID_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid")
_JOB_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")
# Those of a Job itself; the template of a CronJob has none.
_JOB_DEFAULTS = {
    "parallelism": 1,
    "backoffLimit": 6,
    "manualSelector": False,
    "completionMode": "NonIndexed",
    "suspend": False,
}


def _prepare(write: Write) -> None:
    template = _template(write.new)
    if "spec" in template:
        default_containers(template["spec"])
    strategy = (write.new.get("spec") or {}).get("strategy") or {}
    if strategy.get("type") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {"maxUnavailable": "25%", "maxSurge": "25%"})


def _prepare_job(write: Write) -> None:
    _prepare(write)
    spec, metadata = write.new.setdefault("spec", {}), write.new["metadata"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    replacement = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    write.new["spec"] = spec = {**_JOB_DEFAULTS, "podReplacementPolicy": replacement, **spec}
    if write.old is not None or spec["manualSelector"]:
        return
    labels = dict.fromkeys(_JOB_UID_LABELS, metadata["uid"])
    labels |= dict.fromkeys(_JOB_NAME_LABELS, metadata["name"])
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    template["labels"] = {**(template.get("labels") or {}), **labels}
    metadata.setdefault("labels", dict(template["labels"]))
    spec.setdefault("selector", {}).setdefault("matchLabels", {})[_JOB_UID_LABELS[0]] = metadata["uid"]


def _template(item: Object) -> Object:
    spec = item.get("spec") or {}
    template: Object = spec.get("template") or {}
    return _template(spec["jobTemplate"]) if "jobTemplate" in spec else template


def _broken_job_rules(write: Write) -> Iterator[Cause]:
    spec, pod_spec = write.new.get("spec") or {}, _template(write.new).get("spec") or {}
    if not spec.get("manualSelector") and set(_wanted(spec)) != {_JOB_UID_LABELS[0]}:
        yield Cause.invalid("spec.selector", spec.get("selector"), "`selector` not auto-generated")
    yield from spec_problems(pod_spec, "spec.template.spec")
    if pod_spec.get("restartPolicy") not in ("OnFailure", "Never"):
        yield Cause.required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        yield Cause.required("spec.completions", "when completion mode is Indexed")
    yield from changed(write, "spec.selector", "spec.completions")
    if write.old and not jsonpath.first(write.old, "spec.suspend"):
        yield from changed(write, "spec.template")


def _broken_cron_job_rules(write: Write) -> Iterator[Cause]:
    spec, due = write.new.get("spec") or {}, partial(schedules.next_after, moment=write.state.now())
    for field, read in (("schedule", due), ("timeZone", schedules.zone)):
        try:
            if field in spec:
                read(spec[field])
        except ValueError as problem:
            yield Cause.invalid(f"spec.{field}", spec[field], str(problem))


def _broken_rules(write: Write) -> Iterator[Cause]:
    template, spec = _template(write.new), write.new.get("spec") or {}
    selector = spec.get("selector")
    labels = (template.get("metadata") or {}).get("labels")
    if selector is None:
        yield Cause.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Cause.invalid("spec.selector", selector, "empty selector is invalid for deployment")
    if selector is None or any((labels or {}).get(key) != each for key, each in _wanted(spec).items()):
        yield Cause.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    yield from spec_problems(template.get("spec") or {}, "spec.template.spec")
    if (template.get("spec") or {}).get("restartPolicy") not in (None, "Always"):
        yield Cause.unsupported("spec.template.spec.restartPolicy", template["spec"]["restartPolicy"], ("Always",))
    yield from changed(write, "spec.selector")


def _wanted(spec: Object) -> dict[str, str]:
    return (spec.get("selector") or {}).get("matchLabels") or {}


WORKLOAD = Strategy(prepare=_prepare, validate=_broken_rules)
JOB = Strategy(prepare=_prepare_job, validate=_broken_job_rules)
CRON_JOB = Strategy(prepare=_prepare, validate=_broken_cron_job_rules)
