"""The data about built-in kinds hangs together."""

from typing import Any

import pytest

from gangline.sandbox.apiserver.kinds import BUILT_IN, Kind
from gangline.sandbox.apiserver.schema.shapes import definition_of, definitions
from tests.gangline.sandbox.types.overlay import OVERLAY


def references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        return own + [name for inner in schema.values() for name in references(inner)]
    return []


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.resource_name)
def test_every_built_in_kind_has_a_shape_with_metadata(kind: Kind) -> None:
    name = definition_of(kind.api_version, kind.kind)

    assert name is not None
    assert "metadata" in definitions()[name]["properties"]
    assert ("status" in definitions()[name]["properties"]) or "status" not in kind.subresources


def test_every_reference_leads_somewhere() -> None:
    found = {name for schema in definitions().values() for name in references(schema)}

    assert found <= set(definitions())


def test_the_overlay_speaks_of_fields_that_exist() -> None:
    for name, fields in OVERLAY.items():
        for field, rules in fields.items():
            shape = definitions()[name]["properties"][field]
            assert {"type", "$ref", "x-kubernetes-int-or-string"} & set(shape), f"{name}.{field}"
            assert rules.items() <= shape.items()
