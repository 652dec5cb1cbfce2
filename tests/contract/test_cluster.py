"""The contract of the cluster ports: what every back end promises, whatever it is made of."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends import BACKENDS, Backend

from vestibule import errors
from vestibule.adapters.cluster.ports import Event
from vestibule.core.kinds import gvk
from vestibule.core.mutation import facts


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return BACKENDS[request.param](tmp_path)


def account(name: str = "app", namespace: str = "team-a", **annotations: str) -> dict[str, Any]:
    keyed = {f"cwii.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    meta = {"name": name, "namespace": namespace, "annotations": keyed}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def config_map(**data: str) -> dict[str, Any]:
    meta = {"name": "creds", "namespace": "team-a"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def test_a_back_end_that_is_ready_says_so(backend: Backend) -> None:
    assert backend.cluster.synced


def test_reader_and_cache_give_the_same_object(backend: Backend) -> None:
    backend.create(account(aws_inject="true"))

    peeked = backend.cluster.peek(gvk.SERVICE_ACCOUNT, "team-a", "app")
    read = asyncio.run(backend.cluster.get(gvk.SERVICE_ACCOUNT, "team-a", "app"))

    assert facts.source(account(aws_inject="true")) == peeked == read


def test_what_does_not_exist_is_none_and_not_unknown(backend: Backend) -> None:
    assert backend.cluster.peek(gvk.SERVICE_ACCOUNT, "team-a", "nobody") is None
    assert asyncio.run(backend.cluster.get(gvk.SERVICE_ACCOUNT, "team-a", "nobody")) is None


def test_the_same_name_in_another_namespace_is_another_object(backend: Backend) -> None:
    backend.create(account(namespace="team-a"))

    assert backend.cluster.peek(gvk.SERVICE_ACCOUNT, "team-b", "app") is None


def test_the_same_name_of_another_kind_is_another_object(backend: Backend) -> None:
    backend.create(account())

    assert backend.cluster.peek(gvk.CONFIG_MAP, "team-a", "app") is None


def test_cluster_scoped_objects_are_found_without_a_namespace(backend: Backend) -> None:
    backend.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})

    found = backend.cluster.peek(gvk.NAMESPACE, "", "team-a")

    assert facts.Source("Namespace", "", "team-a") == found


def test_owner_references_are_read(backend: Backend) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u", "controller": True}
    meta = {"name": "d-1", "namespace": "team-a", "uid": "v", "ownerReferences": [owner]}
    backend.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta})

    found = asyncio.run(backend.cluster.get(gvk.REPLICA_SET, "team-a", "d-1"))

    assert found is not None
    assert (facts.OwnerRef("apps/v1", "Deployment", "d", "u", True),) == found.owners
    assert found.uid == "v"


def test_a_subscriber_hears_of_creation_change_and_deletion(backend: Backend) -> None:
    heard: list[Event] = []
    backend.cluster.subscribe(heard.append)

    backend.create(account(aws_inject="true"))
    backend.create(account(aws_inject="false"))
    backend.delete(gvk.SERVICE_ACCOUNT, "team-a", "app")

    on, off = facts.source(account(aws_inject="true")), facts.source(account(aws_inject="false"))
    assert heard == [
        Event("added", gvk.SERVICE_ACCOUNT, on),
        Event("modified", gvk.SERVICE_ACCOUNT, off),
        Event("deleted", gvk.SERVICE_ACCOUNT, off),
    ]


def test_a_subscriber_that_reads_back_sees_the_new_state(backend: Backend) -> None:
    seen: list[object] = []
    backend.cluster.subscribe(lambda event: seen.append(backend.cluster.peek(event.kind, "team-a", "app")))

    backend.create(account())
    backend.delete(gvk.SERVICE_ACCOUNT, "team-a", "app")

    assert seen == [facts.source(account()), None]


def test_who_unsubscribed_hears_nothing_more(backend: Backend) -> None:
    heard: list[Event] = []
    unsubscribe = backend.cluster.subscribe(heard.append)

    unsubscribe()
    unsubscribe()
    backend.create(account())

    assert heard == []


def test_what_is_written_again_unchanged_is_no_event(backend: Backend) -> None:
    backend.create(account())
    heard: list[Event] = []
    backend.cluster.subscribe(heard.append)

    backend.create(account())

    assert heard == []


def test_an_applied_object_exists(backend: Backend) -> None:
    asyncio.run(backend.cluster.apply(config_map(a="1"), field_manager="us"))

    assert facts.source(config_map()) == asyncio.run(backend.cluster.get(gvk.CONFIG_MAP, "team-a", "creds"))


def test_applying_twice_is_no_conflict_and_one_event(backend: Backend) -> None:
    heard: list[Event] = []
    backend.cluster.subscribe(heard.append)

    asyncio.run(backend.cluster.apply(config_map(a="1"), field_manager="us"))
    asyncio.run(backend.cluster.apply(config_map(a="1"), field_manager="us"))

    assert [event.change for event in heard] == ["added"]


def test_a_field_that_somebody_else_holds_is_a_conflict_unless_forced(backend: Backend) -> None:
    backend.create(config_map(a="theirs"))

    with pytest.raises(errors.Conflict, match="ConfigMap team-a/creds"):
        asyncio.run(backend.cluster.apply(config_map(a="ours"), field_manager="us"))
    asyncio.run(backend.cluster.apply(config_map(a="ours"), field_manager="us", force=True))


def test_what_is_applied_outlives_changes_of_other_objects(backend: Backend) -> None:
    asyncio.run(backend.cluster.apply(config_map(a="1"), field_manager="us"))

    backend.create(account())

    assert backend.cluster.peek(gvk.CONFIG_MAP, "team-a", "creds") is not None
