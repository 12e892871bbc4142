"""The CustomResourceDefinition of PodGroup, built from its Structs: `python -m gangline.contract.crd` prints it.

The schema is structural, has no CEL, requires no field of a PodGroup, and keeps nothing that it does not name.
"""

import inspect
import sys
from typing import Any, Final

import yaml
from msgspec.inspect import (
    DateTimeType,
    DictType,
    FloatType,
    IntType,
    Metadata,
    NoneType,
    StrType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from gangline.contract import names
from gangline.contract.meta import ObjectMeta
from gangline.contract.podgroup import PodGroup
from gangline.contract.quantity import PATTERN

Schema = dict[str, Any]

_API_VERSION: Final = "Version of the schema that this object is written in: `scheduling.x-k8s.io/v1alpha1`."
_KIND: Final = "Kind of this object: `PodGroup`."
_QUANTITY: Final[Schema] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": PATTERN,
    "x-kubernetes-int-or-string": True,
}
_COLUMNS: Final = (
    ("Phase", "string", ".status.phase"),
    ("MinMember", "integer", ".spec.minMember"),
    ("Scheduled", "integer", ".status.scheduled"),
    ("Running", "integer", ".status.running"),
    ("Succeeded", "integer", ".status.succeeded"),
    ("Failed", "integer", ".status.failed"),
    ("Age", "date", ".metadata.creationTimestamp"),
)


def crd() -> dict[str, Any]:
    """Return the CustomResourceDefinition as an object for the API server."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.PLURAL}.{names.GROUP}"},
        "spec": {
            "group": names.GROUP,
            "names": {
                "kind": names.KIND,
                "listKind": f"{names.KIND}List",
                "plural": names.PLURAL,
                "singular": names.KIND.lower(),
                "shortNames": ["pg", "pgs"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": names.VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": name, "type": type_, "jsonPath": path} for name, type_, path in _COLUMNS
                    ],
                    "schema": {"openAPIV3Schema": _root_schema()},
                }
            ],
        },
    }


def rendered() -> str:
    """Return the CustomResourceDefinition as YAML, the same text every time."""
    return "# Written by `make generate` from gangline/contract/podgroup.py.\n" + yaml.safe_dump(
        crd(), sort_keys=False, width=100
    )


def _root_schema() -> Schema:
    schema = _schema(type_info(PodGroup))
    envelope = {
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
    }
    return {**schema, "properties": envelope | schema["properties"]}


def _schema(type_: Type) -> Schema:
    match type_:
        case Metadata():
            return _with_extra(_schema(type_.type), type_.extra_json_schema or {})
        case UnionType():
            return _union_schema(type_)
        case StructType():
            return _struct_schema(type_)
        case VarTupleType():
            return {"type": "array", "items": _schema(type_.item_type)}
        case DictType():
            return {"type": "object", "additionalProperties": _schema(type_.value_type)}
        case IntType():
            return {"type": "integer", "format": "int32"}
        case StrType():
            return {"type": "string"}
        case DateTimeType():
            return {"type": "string", "format": "date-time"}
        case _:
            raise TypeError(f"{type_!r} has no form in a CustomResourceDefinition")


def _union_schema(union: UnionType) -> Schema:
    members = [member for member in union.types if not isinstance(member, NoneType)]
    if {type(member) for member in members} == {StrType, IntType, FloatType}:
        return dict(_QUANTITY)
    if len(members) != 1:
        raise TypeError(f"{union!r} has no form in a CustomResourceDefinition")
    return _schema(members[0])


def _struct_schema(struct: StructType) -> Schema:
    if struct.cls is ObjectMeta:
        return {"type": "object"}
    return {
        "description": _paragraph(struct.cls),
        "type": "object",
        "properties": {field.encode_name: _schema(field.type) for field in struct.fields},
    }


def _with_extra(schema: Schema, extra: Schema) -> Schema:
    """Add what a field says of itself; the keys of a list that is a map are required of its items."""
    description = {"description": extra["description"]} if "description" in extra else {}
    combined = description | schema | extra
    if "x-kubernetes-list-map-keys" in extra:
        combined["items"] = {**schema["items"], "required": list(extra["x-kubernetes-list-map-keys"])}
    return combined


def _paragraph(documented: type) -> str:
    """Return the docstring with its lines joined; blank lines stay paragraphs."""
    paragraphs = inspect.cleandoc(documented.__doc__ or "").split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


if __name__ == "__main__":
    sys.stdout.write(rendered())
