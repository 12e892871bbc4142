"""Differences that stay, by reason. One that is not here fails, and one that is here and not there fails too."""

from typing import Final

from tests.comparison.compare import Known


def _worded_otherwise(*requests: str, places: tuple[str, ...] = ("body.message",)) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(requests, places)


KNOWN: Final[tuple[Known, ...]] = (
    Known(
        "Answers are JSON, as every client takes it; nobody asks for YAML or for protobuf alone.",
        {
            "methods/as-yaml": ("status", "headers", "body"),
            "tables/table-of-another-version": ("body.message", "body.details"),
            "tables/xml": ("body.message",),
        },
    ),
    Known(
        "It is another program, made by no Go compiler, at an address that its clients know.",
        {
            "discovery/version": tuple(
                f"body.{field}" for field in ("compiler", "gitCommit", "gitTreeState", "gitVersion", "goVersion")
            ),
            "discovery/api": ("body.serverAddressByClientCIDRs",),
        },
    ),
    Known(
        "No process runs in a pod, so none needs a token or the cluster's certificate mounted.",
        {"pods-created/with-account": ("body.spec.volumes", "body.spec.containers[0].volumeMounts")},
    ),
    Known(
        "There is no network, so Services have no address families.",
        {
            "maps/service": ("body.spec.ipFamilies", "body.spec.ipFamilyPolicy"),
            "maps/delete-service": ("body.spec.ipFamilies", "body.spec.ipFamilyPolicy"),
        },
    ),
    Known(
        "A bookmark says how far the stream is; clients read nothing else of it, and the rest is Go's empty struct.",
        {"watches/initial": ("body[1].object.spec", "body[1].object.status")},
    ),
    Known(
        "The wording rests on names and layouts of Go types, on how often a rule is asked, or on the bytes as they came.",
        {
            "jobs/template": ("body.details.causes[0].message", "body.message"),
            "groups/main-uid": ("body.details.causes", "body.message"),
            "lists/page-odd": ("body.message",),
            "definitions/no-kind": ("body.message",),
        },
    ),
    Known(
        "Advice to authors of manifests, in a header, that changes nothing.",
        {"pods-created/defaults": ("headers.Warning",), "definitions/other-version": ("headers.Warning",)},
    ),
    Known(
        "A new node is called not ready from its first version on there; here the controller of nodes, which is not "
        "compared, says what its conditions call for a moment later.",
        dict.fromkeys(
            (f"nodes/{name}" for name in ("create", "ready", "allocatable", "cordon")), ("body.spec.taints",)
        ),
    ),
    Known(
        "No client of ours, and no kubectl by itself, compares labels with numbers.",
        {"lists/greater": ("status", "body")},
    ),
    Known(
        "Clients that ask for all of discovery at once take it group by group where they do not get it.",
        {"discovery/aggregated-core": ("headers", "body"), "discovery/aggregated": ("headers", "body")},
    ),
    Known("Everybody may do everything, so no rule is there to name.", {"methods/rules-review": ("body.status",)}),
    Known(
        "A definition goes at once, with its objects, where a finalizer makes it wait there.",
        {"definitions/delete-definition": ("body",)},
    ),
    Known(
        "What a budget's eviction has changed is in its figures; the condition that repeats it is left out.",
        {"budgets/charged": ("body.status.conditions",)},
    ),
    Known(
        "Too large a body ends in the library for HTTP, before it is known what is asked.",
        {"maps/huge": ("headers", "body")},
    ),
    Known(
        "A resourceVersion that is no number is the client's mistake (400), where it is called the server's there (500).",
        {"watches/odd-version": ("status", "body")},
    ),
    Known(
        "What cannot be read at all is refused by another reader, in its words.",
        _worded_otherwise(
            *("lists/broken-number", "lists/broken-selector", "lists/broken-value"),
            *("lists/limit-odd", "lists/version-odd", "pods-deleted/grace-odd", "pods-deleted/options-odd"),
            *("methods/protobuf-cut", "methods/protobuf-odd", "pods-created/a-list"),
        ),
    ),
    Known(
        "The same value is refused by a rule that all kinds share, where a kind has words or a place of its own there.",
        {
            "definitions/no-storage": ("body.details",),
            **_worded_otherwise(
                *("nodes/taint-odd", "budgets/both", "budgets/selector-odd", "workloads/strategy-odd"),
                *("jobs/own-selector", "pods-refused/port", "pods-refused/topology-skew"),
                places=("body.message", "body.details"),
            ),
        },
    ),
)
