"""What an earlier version of Kubernetes answers otherwise than the newest, which is the one that the sandbox imitates."""

from typing import Final

from tests.comparison.compare import Known

REFUSED: Final = ("body.details.causes", "body.message")

EARLIER: Final[dict[int, tuple[Known, ...]]] = {
    35: (
        Known("It is another version.", {"discovery/version": ("body",)}),
        Known(
            "The same is refused, in other words or with each rule asked once more or once less.",
            dict.fromkeys(
                (
                    *("pods-refused/owner-without-uid", "pods-changed/uid", "pods-status/other-uid"),
                    *("pods-deleted/finalizer-deleting", "pods-deleted/add-finalizer", "methods/review-of-nothing"),
                    *("nodes/taint-odd", "definitions/size-fraction", "groups/huge"),
                ),
                REFUSED,
            ),
        ),
        Known(
            "Columns and defaults that came later.",
            {
                "tables/definition": ("body.columnDefinitions", "body.rows[0].cells"),
                "workloads/statefulset": ("body.spec.updateStrategy",),
            },
        ),
        Known(
            "A write to the status that changes nothing, but for a spec that does not count there, is a new version.",
            {"groups/status-spec": ("body",), "groups/watched": ("body",)},
        ),
    )
}
"""By minor version."""
