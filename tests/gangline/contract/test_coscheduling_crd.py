"""Our CRD beside that of scheduler-plugins: the same, and what the manual says more."""

from typing import Any, Final

import pytest

from gangline.contract.crd import crd
from tests.support import coscheduling
from tests.support.kustomize import ROOT

ADDED: Final = {"spec": {"priorityClassName"}, "status": {"scheduled", "conditions", "observedGeneration"}}

INT32_LIMITS: Final = (-(2**31), 2**31 - 1)


def version_of(definition: dict[str, Any]) -> dict[str, Any]:
    (version,) = definition["spec"]["versions"]
    found: dict[str, Any] = version
    return found


def fields_of(definition: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    """The schema of each field, but for descriptions, the limits of int32, and the spelling of the quantity's pattern."""
    properties = version_of(definition)["schema"]["openAPIV3Schema"]["properties"][part]["properties"]
    return {name: _without(schema, "description", "pattern") for name, schema in properties.items()}


def _without(schema: dict[str, Any], *names: str) -> dict[str, Any]:
    return {
        key: _without(value, *names) if isinstance(value, dict) else value
        for key, value in schema.items()
        if key not in names and value not in INT32_LIMITS
    }


@pytest.mark.parametrize("part", ADDED)
def test_every_field_of_theirs_is_ours_and_we_add_what_the_manual_says(part: str) -> None:
    ours, theirs = fields_of(crd(), part), fields_of(coscheduling.definition(), part)
    assert ours.keys() - theirs.keys() == ADDED[part]
    assert {name: ours[name] for name in theirs} == theirs
    manual = (ROOT / "docs/migration.md").read_text(encoding="utf-8")
    assert all(f"`{part}.{name}`" in manual for name in ADDED[part])


def test_names_scope_and_version_are_theirs() -> None:
    ours, theirs = crd()["spec"], coscheduling.definition()["spec"]
    assert {name: ours[name] for name in ("group", "names", "scope")} == {
        name: theirs[name] for name in ("group", "names", "scope")
    }
    for name in ("name", "served", "storage", "subresources"):
        assert version_of(crd())[name] == version_of(coscheduling.definition())[name]


def test_their_columns_are_ours_in_their_order() -> None:
    ours, theirs = (
        [column["jsonPath"] for column in version_of(each)["additionalPrinterColumns"]]
        for each in (crd(), coscheduling.definition())
    )
    assert [column for column in ours if column != ".status.scheduled"] == theirs
