"""Custom resources and their definitions, and server-side apply."""

from typing import Any, Final

from tests.comparison.story import TABLE, Story, delete, get, patch, post, put, story, watch
from tests.support.rest import pod

API_VERSION: Final = "scheduling.x-k8s.io/v1alpha1"
SCHEMA: Final = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
                "note": {"type": "string", "maxLength": 3, "pattern": "^a"},
                "parts": {"type": "array", "maxItems": 2, "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "named": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "value": {"type": "number"}},
                    },
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True},
                "gone": {"type": "string", "nullable": True},
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "seen": {"type": "boolean"}}},
    },
}


def definition(plural: str, kind: str, **version: Any) -> dict[str, Any]:
    name = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": [plural[:2]]},
            "versions": [{**name, **version}],
        },
    }


def changed(field: str, value: Any) -> dict[str, Any]:
    made = definition("gadgets", "Gadget")
    return {**made, "spec": {**made["spec"], field: value}}


def of(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def group(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


WIDGETS: Final = "/apis/example.com/v1/namespaces/{ns}/widgets"
VALUES: Final[dict[str, dict[str, Any]]] = {
    "small": {"size": 0},
    "large": {"size": 10},
    "size-text": {"size": "x"},
    "size-fraction": {"size": 1.5},
    "size-whole-fraction": {"size": 2.0},
    "size-null": {"size": None},
    "no-size": {},
    "color": {"size": 1, "color": "blue"},
    "color-null": {"size": 1, "color": None},
    "note-long": {"size": 1, "note": "abcd"},
    "note-pattern": {"size": 1, "note": "b"},
    "many-parts": {"size": 1, "parts": ["a", "b", "c"]},
    "same-parts": {"size": 1, "parts": ["a", "a"]},
    "parts-object": {"size": 1, "parts": {}},
    "named-twice": {"size": 1, "named": [{"name": "a"}, {"name": "a"}]},
    "nameless": {"size": 1, "named": [{"value": 1}]},
    "free": {"size": 1, "free": {"a": {"b": [1, None]}}},
    "port-text": {"size": 1, "port": "80%"},
    "port-object": {"size": 1, "port": {}},
    "gone-null": {"size": 1, "gone": None},
    "unknown": {"size": 1, "odd": 1},
    "several": {"size": 0, "color": "blue", "note": "b"},
}

DEFINITIONS: Final = story(
    "definitions",
    post(
        "create",
        "definitions",
        definition(
            "widgets",
            "Widget",
            subresources={"status": {}},
            additionalPrinterColumns=[
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                {
                    "name": "Seen",
                    "type": "boolean",
                    "jsonPath": ".status.seen",
                    "description": "whether",
                    "priority": 1,
                },
                {"name": "Made", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            ],
        ),
    ),
    get("served", WIDGETS, until=200),
    get("established", "definitions/widgets.example.com"),
    get("listed", "/apis/example.com/v1", until=200),
    post("plain", WIDGETS, of("Widget", "plain", size=1), until=201),
    *(post(name, WIDGETS, of("Widget", name, **spec)) for name, spec in VALUES.items()),
    post("no-spec", WIDGETS, {**of("Widget", "x"), "spec": None}),
    post("spec-list", WIDGETS, {**of("Widget", "x"), "spec": []}),
    post("unknown-strictly", WIDGETS, of("Widget", "x", size=1, odd=1), fieldValidation="Strict"),
    post("other-kind", WIDGETS, of("Gadget", "x", size=1)),
    post("other-version", WIDGETS, {**of("Widget", "x", size=1), "apiVersion": "example.com/v2"}),
    post("no-kind", WIDGETS, {"metadata": {"name": "x"}, "spec": {"size": 1}}),
    patch("grow", f"{WIDGETS}/plain", {"spec": {"size": 2}}),
    patch("grow-too-far", f"{WIDGETS}/plain", {"spec": {"size": 20}}),
    patch("strategic", f"{WIDGETS}/plain", {"spec": {"size": 3}}, "strategic"),
    patch("json", f"{WIDGETS}/plain", [{"op": "add", "path": "/spec/color", "value": "green"}], "json"),
    get("no-scale", f"{WIDGETS}/plain/scale"),
    patch("status", f"{WIDGETS}/plain/status", {"status": {"replicas": 1, "seen": True}}),
    patch("status-wrong", f"{WIDGETS}/plain/status", {"status": {"replicas": "x"}}),
    get("table", WIDGETS, accept=TABLE, fieldSelector="metadata.name=plain"),
    get("list", WIDGETS, limit="1"),
    get("field-unknown", WIDGETS, fieldSelector="spec.size=1"),
    delete("delete-one", f"{WIDGETS}/plain"),
    watch("watched", WIDGETS, "plain", fieldSelector="metadata.name=plain"),
    post("again", "definitions", definition("widgets", "Widget")),
    patch("kind-changed", "definitions/widgets.example.com", {"spec": {"names": {"kind": "Wodget"}}}),
    patch("scope-changed", "definitions/widgets.example.com", {"spec": {"scope": "Cluster"}}),
    post("wrong-name", "definitions", {**definition("gadgets", "Gadget"), "metadata": {"name": "x.example.com"}}),
    post("no-storage", "definitions", definition("gadgets", "Gadget", storage=False)),
    post("no-schema", "definitions", definition("gadgets", "Gadget", schema=None)),
    post(
        "schema-without-type",
        "definitions",
        definition("gadgets", "Gadget", schema={"openAPIV3Schema": {"properties": {}}}),
    ),
    post("scope-odd", "definitions", changed("scope", "Galaxy")),
    post("no-versions", "definitions", changed("versions", [])),
    post("no-names", "definitions", changed("names", {})),
    post("group-empty", "definitions", changed("group", "")),
    delete("delete-definition", "definitions/widgets.example.com"),
    get("gone", WIDGETS, until=404),
)

GROUPS: Final = story(
    "groups",
    post("create", "podgroups", group("g", minMember=3)),
    post("again", "podgroups", group("g", minMember=3)),
    post("zero", "podgroups", group("x", minMember=0)),
    post("text", "podgroups", group("x", minMember="x")),
    post("huge", "podgroups", group("x", minMember=2**40)),
    post("no-min-member", "podgroups", group("x")),
    post("no-spec", "podgroups", {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": {"name": "bare"}}),
    post("resources", "podgroups", group("resources", minMember=1, minResources={"cpu": "1", "memory": 1024})),
    post("resources-odd", "podgroups", group("x", minMember=1, minResources={"cpu": "much"})),
    post("timeout", "podgroups", group("timeout", minMember=1, scheduleTimeoutSeconds=10)),
    post("unknown", "podgroups", group("unknown", minMember=1, odd=2)),
    post("kind", "podgroups", {**group("x", minMember=1), "kind": "X"}),
    post("with-status", "podgroups", {**group("with-status", minMember=1), "status": {"phase": "Running"}}),
    patch("status", "podgroups/g/status", {"status": {"phase": "Running", "running": 3}}),
    patch("status-same", "podgroups/g/status", {"status": {"phase": "Running", "running": 3}}),
    patch("status-main", "podgroups/g", {"status": {"phase": "Failed"}}),
    patch("status-phase", "podgroups/g/status", {"status": {"phase": "Odd"}}),
    patch("status-text", "podgroups/g/status", {"status": {"running": "x"}}),
    patch("status-stale", "podgroups/g/status", {"metadata": {"resourceVersion": "1"}, "status": {"phase": "Failed"}}),
    patch("status-uid", "podgroups/g/status", {"metadata": {"uid": "other"}, "status": {"phase": "Failed"}}),
    patch("main-uid", "podgroups/g", {"metadata": {"uid": "other"}, "spec": {"minMember": 4}}),
    patch("status-spec", "podgroups/g/status", {"spec": {"minMember": 9}, "metadata": {"labels": {"a": "b"}}}),
    patch("spec", "podgroups/g", {"spec": {"minMember": 4}}),
    patch("strategic", "podgroups/g", {"spec": {"minMember": 4}}, "strategic"),
    put("put-without-version", "podgroups/g", group("g", minMember=5)),
    put(
        "put",
        "podgroups/g",
        {**group("g", minMember=5), "metadata": {"name": "g", "resourceVersion": "$spec.metadata.resourceVersion"}},
    ),
    get("table", "podgroups", accept=TABLE, fieldSelector="metadata.name=g"),
    get("list", "podgroups", fieldSelector="metadata.name=g"),
    delete("delete", "podgroups/g"),
    delete("delete-all", "podgroups"),
    watch("watched", "podgroups", "create", fieldSelector="metadata.name=g"),
)


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


POD: Final = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
MISSHAPEN: Final[dict[str, dict[str, Any]]] = {
    "metadata-text": {"metadata": "x"},
    "owner-text": {"metadata": {"name": "p", "ownerReferences": ["x"]}},
    "spec-text": {"spec": "x"},
    "containers-text": {"spec": {"containers": "x"}},
    "container-text": {"spec": {"containers": ["x"]}},
    "container-null": {"spec": {"containers": [None]}},
}
APPLIES: Final[Story] = story(
    "applies",
    patch("no-manager", "configmaps/a", config("a", k="v"), "apply"),
    patch("new", "configmaps/a", config("a", k="v"), "apply", fieldManager="one"),
    patch("same", "configmaps/a", config("a", k="v"), "apply", fieldManager="one"),
    patch("other-field", "configmaps/a", config("a", l="w"), "apply", fieldManager="two"),
    patch("conflict", "configmaps/a", config("a", k="x"), "apply", fieldManager="two"),
    patch("forced", "configmaps/a", config("a", k="x", l="w"), "apply", fieldManager="two", force="true"),
    patch("shared", "configmaps/a", config("a", k="x"), "apply", fieldManager="one"),
    patch("dropped", "configmaps/a", config("a", k="x"), "apply", fieldManager="two"),
    patch("written", "configmaps/a", {"data": {"k": "y"}}, fieldManager="writer"),
    patch("against-writer", "configmaps/a", config("a", k="z"), "apply", fieldManager="one"),
    post("posted", "configmaps", config("b", k="v"), fieldManager="poster"),
    patch("against-poster", "configmaps/b", config("b", k="w"), "apply", fieldManager="one"),
    patch("beside-poster", "configmaps/b", config("b", k="v", l="w"), "apply", fieldManager="one"),
    patch("over-poster", "configmaps/b", config("b", k="w"), "apply", fieldManager="one", force="true"),
    patch(
        "managed-fields",
        "configmaps/a",
        {**config("a"), "metadata": {"managedFields": [{}]}},
        "apply",
        fieldManager="one",
    ),
    patch("no-kind", "configmaps/a", {"metadata": {"name": "a"}}, "apply", fieldManager="one"),
    patch("unknown-field", "configmaps/a", {**config("a"), "odd": 1}, "apply", fieldManager="one"),
    *(patch(name, "pods/p", {**POD, **fields}, "apply", fieldManager="one") for name, fields in MISSHAPEN.items()),
    patch("pod", "pods/p", pod("p", labels={"a": "b"}), "apply", fieldManager="one"),
    patch("pod-label", "pods/p", pod("p", labels={"c": "d"}), "apply", fieldManager="one"),
    patch(
        "pod-condition",
        "pods/p/status",
        {"apiVersion": "v1", "kind": "Pod", "status": {"conditions": [{"type": "a.b/c", "status": "True"}]}},
        "apply",
        fieldManager="two",
    ),
    post("group-posted", "podgroups", group("g", minMember=3), fieldManager="poster"),
    patch("group-against-poster", "podgroups/g", group("g", minMember=5), "apply", fieldManager="one"),
    patch("group-same", "podgroups/g", group("g", minMember=3), "apply", fieldManager="one"),
    patch("group-status", "podgroups/g/status", {"status": {"phase": "Running"}}, fieldManager="controller"),
    patch("group-new", "podgroups/h", group("h", minMember=3), "apply", fieldManager="one"),
    patch("group-wrong", "podgroups/i", group("i", minMember=0), "apply", fieldManager="one"),
    patch("group-fields", "podgroups/h", group("h", minMember=3, odd=1), "apply", fieldManager="one"),
)

STORIES: Final = (DEFINITIONS, GROUPS, APPLIES)
