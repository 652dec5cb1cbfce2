"""The custom resource definitions of ours."""

from __future__ import annotations

from typing import Any

from vestibule.core.kinds import identitypolicy
from vestibule.core.kinds.gvk import IDENTITY_POLICY, Kind
from vestibule.core.native import schema

Object = dict[str, Any]


def identity_policy() -> Object:
    """The definition of IdentityPolicy; its name is the object's, so the spec has none."""
    spec = schema.structural(identitypolicy.IdentityPolicy)
    del spec["properties"]["name"]
    spec.pop("required", None)
    columns = [
        {"name": "Priority", "type": "integer", "jsonPath": ".spec.priority"},
        {"name": "Locked", "type": "boolean", "jsonPath": ".spec.locked"},
        {"name": "Namespaces", "type": "string", "jsonPath": ".spec.match.namespaces"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    return _definition(
        IDENTITY_POLICY, "Identities and limits for many ServiceAccounts.", spec, columns, ["idp"]
    )


def _definition(kind: Kind, about: str, spec: Object, columns: list[Object], short: list[str]) -> Object:
    whole = {
        "type": "object",
        "description": about,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": short,
            },
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": whole},
                    "additionalPrinterColumns": columns,
                }
            ],
        },
    }
