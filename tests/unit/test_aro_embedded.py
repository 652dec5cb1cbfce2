"""Which entries of an ARO object are used: a finite list of kinds, in the owner's namespace, and nothing
else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit import aro
from vestibule import errors
from vestibule.api import aso
from vestibule.aro import aso_resources, author_access, embedded, names, ownership, validation
from vestibule.aro.author_access import RequestUser, RequiredAccess
from vestibule.aro.manifest_reader import ManifestReader

Json = dict[str, Any]
GROUP: Json = {
    "apiVersion": "resources.azure.com/v1api20200601",
    "kind": "ResourceGroup",
    "metadata": {"name": "rg"},
    "spec": {"location": "eastus"},
}


def owner(*entries: Any, **meta: Any) -> Json:
    return {
        "apiVersion": names.ARO_CLUSTER.api_version,
        "kind": "AROCluster",
        "metadata": {"name": "c", "namespace": "team", "uid": "u", **meta},
        "spec": {"resources": list(entries)},
    }


def nested(levels: int) -> Json:
    created: Json = {}
    for _ in range(levels):
        created = {"a": [created]}
    return created


NO_OBJECTS: list[Any] = [5, 0, "", "x", False, [], [1], None]
NO_TEXTS: list[Any] = [0, 5, False, [], {}, {"a": "b"}]
BAD: list[tuple[Any, str]] = [
    (None, "spec.resources[0]"),
    ("text", "spec.resources[0]"),
    ([], "spec.resources[0]"),
    ({}, "spec.resources[0].apiVersion"),
    ({**GROUP, "apiVersion": 1}, "spec.resources[0].apiVersion"),
    ({**GROUP, "apiVersion": "resources.azure.com"}, "spec.resources[0].apiVersion"),
    ({**GROUP, "apiVersion": "resources.azure.com/v1/../../x"}, "spec.resources[0].apiVersion"),
    ({**GROUP, "apiVersion": "v1/resources.azure.com"}, "spec.resources[0].kind"),
    ({**GROUP, "kind": "resourcegroup"}, "spec.resources[0].kind"),
    ({**GROUP, "kind": "ResourceGroup\n"}, "spec.resources[0].kind"),
    ({**GROUP, "apiVersion": "v1", "kind": "Secret"}, "spec.resources[0].kind"),
    (
        {**GROUP, "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"},
        "spec.resources[0].kind",
    ),
    ({**GROUP, "metadata": None}, "spec.resources[0].metadata"),
    ({**GROUP, "metadata": {"name": ".."}}, "spec.resources[0].metadata.name"),
    ({**GROUP, "metadata": {"name": "a/b"}}, "spec.resources[0].metadata.name"),
    ({**GROUP, "metadata": {"name": "a\n"}}, "spec.resources[0].metadata.name"),
    ({**GROUP, "metadata": {"name": "a" * 254}}, "spec.resources[0].metadata.name"),
    ({**GROUP, "metadata": {"name": "a", "namespace": "other"}}, "spec.resources[0].metadata.namespace"),
    ({**GROUP, "metadata": {"name": "a", "namespace": ["team"]}}, "spec.resources[0].metadata.namespace"),
    ({**GROUP, "metadata": {"name": "a", "labels": []}}, "spec.resources[0].metadata.labels"),
    ({**GROUP, "metadata": {"name": "a", "labels": {"a": None}}}, "spec.resources[0].metadata.labels"),
    ({**GROUP, "metadata": {"name": "a", "annotations": {"a": 1}}}, "spec.resources[0].metadata.annotations"),
    ({**GROUP, "spec": nested(5000)}, "spec.resources[0]"),
    *[({**GROUP, "spec": value}, "spec.resources[0].spec") for value in NO_OBJECTS],
    *[
        ({**GROUP, "metadata": {"name": "a", "namespace": value}}, "spec.resources[0].metadata.namespace")
        for value in NO_TEXTS
    ],
]


@pytest.mark.parametrize(("entry", "path"), BAD)
def test_what_may_not_be_embedded_is_never_used(entry: Any, path: str) -> None:
    full = owner(entry, GROUP)

    assert path in {fault.path for fault in embedded.malformed(full)}
    assert embedded.resources(full) == [GROUP]
    (refused,) = embedded.refused(full)
    assert path in str(refused)


@pytest.mark.parametrize("namespace", ["", None, "team"])
def test_the_owners_namespace_may_be_named(namespace: str | None) -> None:
    entry = {**GROUP, "metadata": {"name": "a", "namespace": namespace}}

    assert embedded.resources(owner(entry)) == [entry]


def test_no_more_entries_than_a_definition_allows() -> None:
    full = owner(*[{**GROUP, "metadata": {"name": f"rg{number}"}} for number in range(300)])

    assert len(embedded.resources(full)) == embedded.MOST
    assert "holds 300 entries" in str(embedded.refused(full)[-1])


def test_kinds_that_are_added_count() -> None:
    permitted = aso.permitted(["network.azure.com/NatGateway/natgateways"], "--aro-kind")
    entry = {**GROUP, "apiVersion": "network.azure.com/v1api20220701", "kind": "NatGateway"}

    assert embedded.resources(owner(entry), permitted) == [entry]
    assert embedded.resources(owner(entry)) == []


@pytest.mark.parametrize(
    "value",
    [
        "*",
        "*/*/*",
        "network.azure.com/*/natgateways",
        "network.azure.com/NatGateway/*",
        "network.azure.com/NatGateway",
        "rbac.authorization.k8s.io/ClusterRole/clusterroles",
        "/Secret/secrets",
        "azure.com.example/A/as",
        "network.azure.com/NatGateway/natgateways\n",
        "network.azure.com/VirtualNetwork/secrets",
    ],
)
def test_nobody_adds_wildcards_or_kinds_of_others(value: str) -> None:
    with pytest.raises(errors.InvalidSettings, match="--aro-kind"):
        aso.permitted([value], "--aro-kind")


# ── what is applied ─────────────────────────────────────────────────────────────────────────────────────────


def settled(whole: Json, *live: Json) -> aso_resources.ReconcilePlan:
    return aso_resources.settle(whole, embedded.resources(whole), ManifestReader(live))


def acknowledged() -> Json:
    return {names.OWNED_KINDS: "ResourceGroup.v1api20200601.resources.azure.com"}


def there(whole: Json, name: str = "rg", **meta: Any) -> Json:
    created = {"name": name, "namespace": "team", "uid": f"live-{name}", **meta}
    if not meta:
        created["ownerReferences"] = [ownership.owner_reference(whole)]
    return {**GROUP, "metadata": created}


def test_of_the_metadata_only_name_labels_and_annotations_are_taken() -> None:
    meta = {
        "name": "rg",
        "labels": {"a": "b"},
        "annotations": {"c": "d", names.CREATED_FOR: "another", names.PREVIOUS_POLICY: "x"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "n"}],
        "finalizers": ["example.com/never"],
        "managedFields": [],
        "generateName": "x",
    }
    full = owner({**GROUP, "metadata": meta, "status": {}}, annotations=acknowledged())
    (created,) = settled(full).desired

    assert created["metadata"] == {
        "name": "rg",
        "namespace": "team",
        "labels": {"a": "b"},
        "annotations": {"c": "d", names.CREATED_FOR: "u"},
        "ownerReferences": [ownership.owner_reference(full)],
    }
    assert "status" not in created
    assert {fault.path for fault in embedded.surplus({**GROUP, "metadata": meta}, "p")} == {
        "p.metadata.ownerReferences",
        "p.metadata.finalizers",
        "p.metadata.managedFields",
        "p.metadata.generateName",
        f"p.metadata.annotations[{names.CREATED_FOR}]",
        f"p.metadata.annotations[{names.PREVIOUS_POLICY}]",
    }


@pytest.mark.parametrize("field", ["status", "data", "stringData", "webhooks", "Spec", ""])
def test_other_fields_of_an_entry_are_refused_when_written_and_never_applied(field: str) -> None:
    full = owner({**GROUP, field: {"a": "b"}}, annotations=acknowledged())
    found = validation.review("CREATE", full, None, ManifestReader([]))
    (created,) = settled(full).desired

    assert [one.path for one in found.errors] == [f"spec.resources[0].{field}"]
    assert "want apiVersion, kind, metadata and spec" in found.errors[0].text
    assert set(created) == {"apiVersion", "kind", "metadata", "spec"}


def test_a_refused_entry_is_reported_and_deletes_nothing() -> None:
    """The object of an entry that can be read no more is not taken for one that left the list."""
    full = owner(
        {**GROUP, "metadata": {"name": "old", "annotations": {"a": 1}}}, GROUP, annotations=acknowledged()
    )
    found = settled(full, there(full, "old"), there(full))

    assert [one["metadata"]["name"] for one in found.desired] == ["rg"]
    assert (found.deletions, found.leaving) == ((), ())
    (refused,) = [one for one in found.resources() if one.get("reason") == names.REFUSED]
    assert refused["resource"]["name"] == "old"
    assert "want texts only" in refused["message"]
    assert [one.reason for one in found.events(full)] == [names.REFUSED]
    assert found.events({**full, "status": {"resources": found.resources()}}) == ()


def test_kinds_outside_the_list_are_forgotten_and_never_listed() -> None:
    kinds = "ClusterRole.v1.rbac.authorization.k8s.io;ResourceGroup.v1api20200601.resources.azure.com"
    full = owner(GROUP, annotations={names.OWNED_KINDS: kinds})
    found = settled(full)

    assert found.owned == acknowledged()[names.OWNED_KINDS]


def test_an_annotation_that_cannot_be_read_is_written_anew_and_keeps_no_deletion() -> None:
    full = owner(GROUP, annotations={names.OWNED_KINDS: "nonsense"})
    found = settled(full, there(full))
    assert (found.desired, found.deletions) == ((), ())
    assert "nonsense" in found.unread
    assert found.owned == acknowledged()[names.OWNED_KINDS]
    gone = owner(GROUP, annotations={names.OWNED_KINDS: "nonsense"}, deletionTimestamp="2026-01-01T00:00:00Z")
    left = aso_resources.settle(gone, [], ManifestReader([there(gone)]))

    assert [one["metadata"]["name"] for one in left.deletions] == ["rg"]
    assert left.unread == ""


APPLIED = {"manager": names.MANAGER, "operation": "Apply"}


@pytest.mark.parametrize(
    "meta",
    [
        {"managedFields": [APPLIED]},
        {"annotations": {names.CREATED_FOR: "u"}},
        {"annotations": {names.CREATED_FOR: "u"}, "managedFields": [APPLIED]},
        {"annotations": {names.CREATED_FOR: "other"}},
        {"ownerReferences": [{"uid": "other", "controller": True}]},
        {"ownerReferences": [{"uid": "u"}]},
        {"annotations": {names.RECONCILE_POLICY: names.SKIP}, "managedFields": [APPLIED]},
    ],
)
def test_nothing_is_ours_for_what_anybody_can_write(meta: Json) -> None:
    full = owner(GROUP, annotations=acknowledged())
    entry = {
        "resource": {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "rg"},
        "ready": True,
    }
    full["status"] = {"resources": [entry]}
    live = there(full, **{"labels": {}, **meta})

    assert not ownership.ours(full, live)
    assert settled(full, live).desired == ()


@pytest.mark.parametrize("deleted", [False, True], ids=["while it lives", "while it is deleted"])
@pytest.mark.parametrize("adopt", [False, True], ids=["not adopted", "adopted"])
def test_a_status_proves_no_ownership_and_only_an_adoption_takes_an_object_over(
    adopt: bool, deleted: bool
) -> None:
    """Everything here is what a tenant can write: the status of the owner, a policy, the field manager."""
    annotations = {"annotations": {names.ADOPT: "true"}} if adopt else {}
    gone: Json = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    entry = {**GROUP, "metadata": {"name": "rg", **annotations}}
    full = owner(entry, annotations=acknowledged(), **gone)
    forged = {
        "resource": {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "rg"},
        "ready": True,
    }
    full["status"] = {"resources": [forged]}
    fields: Json = {"f:metadata": {"f:annotations": {f"f:{names.RECONCILE_POLICY}": {}}}}
    live = there(
        full,
        annotations={names.RECONCILE_POLICY: names.SKIP},
        managedFields=[{**APPLIED, "fieldsV1": fields}],
    )
    assert not ownership.ours(full, live)
    found = aso_resources.settle(full, [] if deleted else [entry], ManifestReader([live]))
    assert (found.deletions, found.changes) == ((), ())
    assert [one["metadata"]["name"] for one in found.desired] == (["rg"] if adopt and not deleted else [])


def test_an_object_that_left_the_list_is_not_deleted_for_what_the_status_says() -> None:
    full = owner(annotations=acknowledged())
    fields: Json = {"f:metadata": {"f:annotations": {f"f:{names.RECONCILE_POLICY}": {}}}}
    live = there(
        full,
        annotations={names.RECONCILE_POLICY: names.SKIP},
        managedFields=[{**APPLIED, "fieldsV1": fields}],
    )
    resource = {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "rg"}
    full["status"] = {"resources": [{"resource": resource, "ready": True}]}
    found = settled(full, live)

    assert (found.deletions, found.leaving, found.changes) == ((), (), ())


# ── authors ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_permissions_are_needed_for_what_is_new_or_changed() -> None:
    other = {**GROUP, "metadata": {"name": "other"}}
    changed = {**GROUP, "spec": {"location": "westus"}}
    create = RequiredAccess("create", "resources.azure.com", "resourcegroups")
    needed = author_access.needed

    assert needed(owner(GROUP), None, aso.STANDARD) == {create: ["spec.resources[0]"]}
    assert needed(owner(GROUP, other), owner(other, GROUP), aso.STANDARD) == {}
    assert needed(owner(other, GROUP), owner(GROUP), aso.STANDARD) == {create: ["spec.resources[0]"]}
    assert needed(owner(changed), owner(GROUP), aso.STANDARD) == {create: ["spec.resources[0]"]}
    assert needed(owner({**GROUP, "kind": "Secret"}), None, aso.STANDARD) == {}


def test_who_adopts_needs_to_change_and_to_delete() -> None:
    entry = {**GROUP, "metadata": {"name": "rg", "annotations": {names.ADOPT: "true"}}}
    found = author_access.needed(owner(entry), None, aso.STANDARD)

    assert [(one.verb, one.name) for one in found] == [("create", ""), ("patch", "rg"), ("delete", "rg")]


def test_a_question_says_who_and_where() -> None:
    user = RequestUser("u", "1", ("g",), {"k": ["v"]})
    requested = author_access.question(user, RequiredAccess("create", "g.azure.com", "as"), "team")

    assert requested["spec"] == {
        "user": "u",
        "uid": "1",
        "groups": ["g"],
        "extra": {"k": ["v"]},
        "resourceAttributes": {
            "namespace": "team",
            "verb": "create",
            "group": "g.azure.com",
            "resource": "as",
        },
    }


def test_a_sound_cluster_needs_permissions_on_what_it_is_made_of() -> None:
    found = author_access.needed(aro.objects()["AROCluster"], None, aso.STANDARD)

    assert {one.plural for one in found} == {
        one.plural for one in aso.SHIPPED if not one.group.startswith("redhatopenshift")
    }
