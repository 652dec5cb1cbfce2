"""Whether what was applied is what is wanted, from the API server's own list of who owns what."""

from __future__ import annotations

from typing import Any

import pytest

from vestibule.aro import managed_fields

Json = dict[str, Any]
WANTED: Json = {
    "apiVersion": "network.azure.com/v1",
    "kind": "VirtualNetwork",
    "metadata": {"name": "v", "ownerReferences": [{"uid": "u1", "kind": "AROCluster"}]},
    "spec": {"location": "eastus", "owner": {"name": "rg"}, "list": ["a"], "empty": {}},
}
OWNED: Json = {
    "f:metadata": {"f:ownerReferences": {'k:{"uid":"u1"}': {}}},
    "f:spec": {"f:location": {}, "f:owner": {"f:name": {}}, "f:list": {}, "f:empty": {}},
}


def live(owned: Json | None = None, **entry: Any) -> Json:
    full = {
        "manager": "us",
        "operation": "Apply",
        "apiVersion": "network.azure.com/v1",
        "fieldsV1": OWNED if owned is None else owned,
        **entry,
    }
    other = {"manager": "aso", "operation": "Update", "fieldsV1": {"f:spec": {"f:theirs": {}}}}
    return {**WANTED, "metadata": {"name": "v", "managedFields": [other, full]}}


CASES: dict[str, tuple[Json, str]] = {
    "all of it is wanted": (live(), ""),
    "nobody applied it": ({**WANTED, "metadata": {}}, "was never applied"),
    "somebody else applied it": (live(manager="them"), "was never applied"),
    "we only changed it": (live(operation="Update"), "was never applied"),
    "only its status was ours": (live(subresource="status"), "was never applied"),
    "in another version": (live(apiVersion="network.azure.com/v0"), "was applied as network.azure.com/v0"),
    "with a field that left": (live({"f:spec": {"f:tags": {".": {}, "f:a": {}}}}), "holds spec.tags"),
    "with a field below one that stays": (
        live({"f:spec": {"f:owner": {"f:armId": {}}}}),
        "holds spec.owner.armId",
    ),
    "with an owner that left": (
        live({"f:metadata": {"f:ownerReferences": {'k:{"uid":"u2"}': {}}}}),
        'holds metadata.ownerReferences.{"uid":"u2"}',
    ),
    "with an item that stays": (live({"f:spec": {"f:list": {'v:"a"': {}}}}), ""),
    "with an item that left": (live({"f:spec": {"f:list": {'v:"b"': {}}}}), 'holds spec.list."b"'),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_applied_is_compared_with_what_is_wanted(case: str) -> None:
    found, why = CASES[case]

    assert managed_fields.stale(found, WANTED, "us") == why
