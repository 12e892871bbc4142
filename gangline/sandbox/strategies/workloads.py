"""ReplicaSets, Deployments, StatefulSets, DaemonSets and Jobs: selectors, templates and what may not change."""

from collections.abc import Iterator

from gangline.sandbox.failures import Cause, quoted
from gangline.sandbox.store import Object
from gangline.sandbox.strategies.podrules import spec_problems
from gangline.sandbox.strategies.podtemplates import default_containers
from gangline.sandbox.strategies.strategy import Strategy, Write

_JOB_UID_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid")
_JOB_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")


def _prepare(write: Write) -> None:
    template = _template(write.new)
    if "spec" in template:
        default_containers(template["spec"])


def _prepare_job(write: Write) -> None:
    _prepare(write)
    if write.old is not None:
        return
    spec, metadata = write.new.setdefault("spec", {}), write.new["metadata"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    if spec["manualSelector"] or "template" not in spec:
        return
    labels = dict.fromkeys(_JOB_UID_LABELS, metadata["uid"])
    labels |= dict.fromkeys(_JOB_NAME_LABELS, metadata["name"])
    template = spec["template"].setdefault("metadata", {})
    template["labels"] = {**(template.get("labels") or {}), **labels}
    spec.setdefault("selector", {}).setdefault("matchLabels", {})[_JOB_UID_LABELS[0]] = metadata["uid"]


def _template(item: Object) -> Object:
    spec = item.get("spec") or {}
    template: Object = spec.get("template") or {}
    return template


def _broken_rules(write: Write) -> list[Cause]:
    return [] if write.subresource else list(_problems(write))


def _broken_job_rules(write: Write) -> list[Cause]:
    if write.subresource:
        return []
    problems = list(spec_problems(_template(write.new).get("spec") or {}, "spec.template.spec"))
    policy = (_template(write.new).get("spec") or {}).get("restartPolicy")
    if policy not in ("OnFailure", "Never"):
        problems.append(Cause.unsupported("spec.template.spec.restartPolicy", policy or "", ("OnFailure", "Never")))
    if write.old is not None:
        is_suspended = bool((write.old.get("spec") or {}).get("suspend"))
        frozen = ("selector", "completions", *(() if is_suspended else ("template",)))
        problems.extend(_immutable(write, frozen))
    return problems


def _problems(write: Write) -> Iterator[Cause]:
    template = _template(write.new)
    selector = write.new["spec"].get("selector") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Cause.invalid("spec.selector", selector, "empty selector is invalid for deployment")
    elif any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        yield Cause.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if not (template.get("spec") or {}).get("containers"):
        yield Cause.required("spec.template.spec.containers")
    yield from spec_problems(template.get("spec") or {}, "spec.template.spec")
    if (template.get("spec") or {}).get("restartPolicy") not in (None, "Always"):
        yield Cause.unsupported("spec.template.spec.restartPolicy", template["spec"]["restartPolicy"], ("Always",))
    if write.old is not None:
        yield from _immutable(write, ("selector",))


def _immutable(write: Write, fields: tuple[str, ...]) -> Iterator[Cause]:
    old = (write.old or {}).get("spec") or {}
    for field in fields:
        value = write.new["spec"].get(field)
        if value != old.get(field):
            yield Cause("FieldValueInvalid", f"Invalid value: {quoted(value)}: field is immutable", f"spec.{field}")


WORKLOAD = Strategy(prepare=_prepare, validate=_broken_rules)
JOB = Strategy(prepare=_prepare_job, validate=_broken_job_rules)
