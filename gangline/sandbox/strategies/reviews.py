"""Access reviews (`kubectl auth can-i`): everybody may do everything, as the sandbox knows no users."""

from typing import Any

from gangline.sandbox import bodies, failures
from gangline.sandbox.failures import Cause
from gangline.sandbox.kinds import ACCESS_REVIEWS
from gangline.sandbox.store import Object


def allow(body: Any) -> Object:
    """Return the review with its answer; raises 400 and 422 Failures."""
    review = bodies.check_envelope(ACCESS_REVIEWS, "", body)
    bodies.reviewed(ACCESS_REVIEWS, review, None)
    spec = review.get("spec") or {}
    if ("resourceAttributes" in spec) == ("nonResourceAttributes" in spec):
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise failures.invalid_as("", ACCESS_REVIEWS.group, "", [Cause.invalid("spec", None, detail)])
    return {**review, "status": {"allowed": True}}
