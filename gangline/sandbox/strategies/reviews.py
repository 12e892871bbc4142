"""Reviews of rights (`kubectl auth can-i`): everybody is an administrator, as the sandbox knows no users."""

from typing import Any, Final

from gangline.sandbox import bodies, failures
from gangline.sandbox.bodies import FieldValidation
from gangline.sandbox.failures import Cause
from gangline.sandbox.kinds import RULES_REVIEWS, Kind
from gangline.sandbox.store import Object

_HEALTH: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY: Final = (
    *("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz"),
    *("/version", "/version/"),
)
# What a cluster grants from the start to whoever is known, and to its administrators: verbs, group, resources.
_RESOURCES: Final = (
    ("create", "authorization.k8s.io", ("selfsubjectaccessreviews", "selfsubjectrulesreviews")),
    ("create", "authentication.k8s.io", ("selfsubjectreviews",)),
    ("*", "*", ("*",)),
)
_PATHS: Final = (("get", _HEALTH), ("get", _DISCOVERY), ("*", ("*",)))
_RULES: Final = {
    "resourceRules": [{"verbs": [verb], "apiGroups": [group], "resources": names} for verb, group, names in _RESOURCES],
    "nonResourceRules": [{"verbs": [verb], "nonResourceURLs": paths} for verb, paths in _PATHS],
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
