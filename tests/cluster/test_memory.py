"""What is special to the cluster in memory: whole objects, field owners, faults."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vestibule import errors
from vestibule.api import gvk
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.ports import UNKNOWN, WatchEvent


def config_map(name: str = "creds", **data: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "team-a"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def apply(cluster: MemoryCluster, manager: str, *, force: bool = False, **data: Any) -> None:
    asyncio.run(cluster.apply(config_map(**data), field_manager=manager, force=force))


def data_of(cluster: MemoryCluster) -> Any:
    obj = cluster.object(gvk.CONFIG_MAP, "team-a", "creds")
    assert obj is not None
    return obj["data"]


# ── contents ──────────────────────────────────────────────────────────────────────────────────────────────


def test_objects_are_copied_on_the_way_in_and_out() -> None:
    mine = config_map(a="1")
    cluster = MemoryCluster([mine])

    mine["data"]["a"] = "changed outside"
    data_of(cluster)["a"] = "changed outside"

    assert data_of(cluster) == {"a": "1"}


def test_a_namespaced_object_without_a_namespace_is_in_default() -> None:
    cluster = MemoryCluster([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app"}}])

    found = cluster.peek(gvk.SERVICE_ACCOUNT, "default", "app")

    assert str(found) == "ServiceAccount default/app"


def test_kinds_nobody_knows_and_known_names_in_foreign_groups_are_ignored() -> None:
    cluster = MemoryCluster(
        [
            {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "x"}},
            {"apiVersion": "example.com/v1", "kind": "Job", "metadata": {"name": "x"}},
        ]
    )

    assert cluster.objects(gvk.JOB) == []


def test_objects_of_a_kind_come_in_order() -> None:
    cluster = MemoryCluster([config_map("b"), config_map("a")])

    assert [obj["metadata"]["name"] for obj in cluster.objects(gvk.CONFIG_MAP)] == ["a", "b"]


def test_replacing_everything_tells_only_what_changed() -> None:
    cluster = MemoryCluster([config_map("same"), config_map("changed", a="1"), config_map("gone")])
    heard: list[WatchEvent] = []
    cluster.subscribe(heard.append)

    cluster.replace_all([config_map("same"), config_map("changed", a="2"), config_map("new")])

    reported = {(event.change, event.source.name) for event in heard}
    assert {("deleted", "gone"), ("modified", "changed"), ("added", "new")} == reported


# ── server-side apply ─────────────────────────────────────────────────────────────────────────────────────


def test_apply_adds_to_what_others_wrote() -> None:
    cluster = MemoryCluster([config_map(theirs="1")])

    apply(cluster, "us", ours="2")

    assert data_of(cluster) == {"theirs": "1", "ours": "2"}


def test_apply_of_the_same_value_shares_the_field() -> None:
    cluster = MemoryCluster([config_map(a="1")])

    apply(cluster, "us", a="1")
    apply(cluster, "us")

    assert data_of(cluster) == {"a": "1"}


def test_a_conflict_names_the_field_and_its_owner_and_changes_nothing() -> None:
    cluster = MemoryCluster()
    cluster.put(config_map(a="1"), field_manager="kubectl")

    with pytest.raises(errors.Conflict, match=r"as us conflicts over data\.a \(owned by kubectl\)"):
        apply(cluster, "us", a="2", b="3")

    assert data_of(cluster) == {"a": "1"}
    assert cluster.applied == []


def test_force_takes_the_field_and_the_next_apply_needs_none() -> None:
    cluster = MemoryCluster([config_map(a="1")])

    apply(cluster, "us", force=True, a="2")
    apply(cluster, "us", a="3")

    assert data_of(cluster) == {"a": "3"}


def test_a_field_that_its_only_manager_lets_go_of_is_removed() -> None:
    cluster = MemoryCluster()

    apply(cluster, "us", a="1", b="2")
    apply(cluster, "us", b="2")

    assert data_of(cluster) == {"b": "2"}


def test_who_edits_a_field_owns_it() -> None:
    cluster = MemoryCluster()
    apply(cluster, "us", a="1", b="1")
    cluster.put(config_map(a="edited", b="1"), field_manager="kubectl-edit")

    with pytest.raises(errors.Conflict, match=r"data\.a \(owned by kubectl-edit\)$"):
        apply(cluster, "us", a="1", b="1")


def test_a_mapping_that_becomes_a_scalar_is_a_conflict_over_what_is_inside() -> None:
    cluster = MemoryCluster([config_map(a={"b": "1"})])

    with pytest.raises(errors.Conflict, match=r"data\.a\.b"):
        apply(cluster, "us", a="scalar")
    apply(cluster, "us", force=True, a="scalar")

    assert data_of(cluster) == {"a": "scalar"}


def test_an_empty_mapping_is_applied_and_later_filled() -> None:
    cluster = MemoryCluster()

    apply(cluster, "us", a={})
    apply(cluster, "us", a={"b": "1"})

    assert data_of(cluster) == {"a": {"b": "1"}}


def test_what_was_applied_is_kept_in_order_as_it_was_sent() -> None:
    cluster = MemoryCluster([config_map(theirs="1")])

    apply(cluster, "us", a="1")
    apply(cluster, "us", b="2")

    assert cluster.applied == [config_map(a="1"), config_map(b="2")]


def test_an_unknown_kind_cannot_be_applied() -> None:
    with pytest.raises(errors.InvalidInput, match="'v1' 'Secret': cannot be applied"):
        asyncio.run(MemoryCluster().apply({"apiVersion": "v1", "kind": "Secret"}, field_manager="us"))


# ── faults ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("status", "raised"), [(403, errors.Forbidden), (500, errors.LookupFailed)])
def test_a_faulted_read_is_unknown_to_the_cache_and_fails_at_the_reader(
    status: int, raised: type[Exception]
) -> None:
    cluster = MemoryCluster([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}])
    cluster.fault("GET", "namespaces", "team-a", status)

    assert cluster.peek(gvk.NAMESPACE, "", "team-a") is UNKNOWN
    assert cluster.peek(gvk.NAMESPACE, "", "team-b") is None
    with pytest.raises(raised, match="Namespace team-a"):
        asyncio.run(cluster.get(gvk.NAMESPACE, "", "team-a"))


@pytest.mark.parametrize(
    ("status", "raised"), [(403, errors.Forbidden), (409, errors.Conflict), (503, errors.Unavailable)]
)
def test_a_faulted_write_fails_for_every_name_under_the_glob(status: int, raised: type[Exception]) -> None:
    cluster = MemoryCluster()
    cluster.fault("PATCH", "configmaps", "*", status)

    with pytest.raises(raised, match="ConfigMap team-a/creds"):
        apply(cluster, "us", a="1")

    assert cluster.applied == []
    assert cluster.peek(gvk.CONFIG_MAP, "team-a", "creds") is None


def test_a_healed_cluster_has_no_faults() -> None:
    cluster = MemoryCluster()
    cluster.fault("GET", "namespaces", "*", 500)

    cluster.heal()

    assert cluster.peek(gvk.NAMESPACE, "", "team-a") is None
