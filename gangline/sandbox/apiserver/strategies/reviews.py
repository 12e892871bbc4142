"""Reviews of rights (`kubectl auth can-i`): everybody is an administrator, as the sandbox knows no users."""

from typing import Any, Final

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.failures import Cause
from gangline.sandbox.apiserver.kinds import RULES_REVIEWS, Kind
from gangline.sandbox.apiserver.schema import bodies
from gangline.sandbox.apiserver.schema.bodies import FieldValidation
from gangline.sandbox.apiserver.store import Object

_RULES: Final = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def answer(kind: Kind, body: Any) -> Object:
    """Return the review with its answer; raises 400 and 422 Failures."""
    review = bodies.check_envelope(kind, "", body)
    bodies.reviewed(kind, review, None, FieldValidation.IGNORE)
    spec = review.get("spec") or {}
    if kind is RULES_REVIEWS:
        if not spec.get("namespace"):
            raise failures.bad_request("no namespace on request")
        return {**review, "spec": {}, "status": _RULES}
    if ("resourceAttributes" in spec) == ("nonResourceAttributes" in spec):
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise failures.invalid_as("", kind.group, "", [Cause.invalid("spec", None, detail)])
    return {**review, "status": {"allowed": True}}
