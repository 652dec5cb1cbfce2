"""The contract of the cluster ports: what every back end promises, whatever it is made of.

``ClusterContract`` is the suite; a class that adds a ``backend`` fixture runs it. The live API server does so
in ``tests/apiserver/test_contract.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.contract.backends import EMBEDDED, Backend

from vestibule import errors
from vestibule.api import gvk
from vestibule.injection import facts
from vestibule.kube.ports import UNKNOWN, WatchEvent

Json = dict[str, Any]


def account(namespace: str, name: str = "app", **annotations: str) -> Json:
    keyed = {f"cwii.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    meta = {"name": name, "namespace": namespace, "annotations": keyed}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def config_map(namespace: str, **data: str) -> Json:
    meta = {"name": "creds", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def workload(kind: str, namespace: str, name: str, **meta: Any) -> Json:
    """A workload that makes no pods."""
    labels = {"app": "d"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    more = {"paused": True} if kind == "Deployment" else {}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels, **meta},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod, **more},
    }


class ClusterContract:
    """The suite."""

    @pytest.fixture
    def team(self, backend: Backend) -> str:
        """A namespace of the test's own."""
        return backend.namespace("team-a")

    def test_a_back_end_that_is_ready_says_so(self, backend: Backend) -> None:
        assert backend.cluster.synced

    def test_reader_and_cache_give_the_same_object(self, backend: Backend, team: str) -> None:
        backend.create(account(team, aws_inject="true"))

        peeked = backend.peek(gvk.SERVICE_ACCOUNT, team, "app")
        read = backend.run(backend.cluster.get(gvk.SERVICE_ACCOUNT, team, "app"))

        assert facts.source(account(team, aws_inject="true")) == peeked == read

    def test_what_does_not_exist_is_none_and_not_unknown(self, backend: Backend, team: str) -> None:
        assert backend.peek(gvk.SERVICE_ACCOUNT, team, "nobody") is backend.absent
        assert backend.run(backend.cluster.get(gvk.SERVICE_ACCOUNT, team, "nobody")) is None
        # an absence is never cached: the object may be there when the next pod comes
        assert backend.peek(gvk.SERVICE_ACCOUNT, team, "nobody") is backend.absent

    def test_what_was_absent_a_moment_ago_is_seen_when_it_comes(self, backend: Backend, team: str) -> None:
        assert backend.run(backend.cluster.get(gvk.SERVICE_ACCOUNT, team, "app")) is None

        backend.create(account(team))

        assert backend.peek(gvk.SERVICE_ACCOUNT, team, "app") == facts.source(account(team))

    def test_the_same_name_in_another_namespace_is_another_object(self, backend: Backend, team: str) -> None:
        other = backend.namespace("team-b")
        backend.create(account(team))

        assert backend.peek(gvk.SERVICE_ACCOUNT, other, "app") is backend.absent
        assert backend.run(backend.cluster.get(gvk.SERVICE_ACCOUNT, other, "app")) is None

    def test_the_same_name_of_another_kind_is_another_object(self, backend: Backend, team: str) -> None:
        backend.create(account(team))

        assert backend.peek(gvk.CONFIG_MAP, team, "app") is backend.absent
        assert backend.run(backend.cluster.get(gvk.CONFIG_MAP, team, "app")) is None

    def test_cluster_scoped_objects_are_found_without_a_namespace(self, backend: Backend, team: str) -> None:
        backend.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})

        found = backend.peek(gvk.NAMESPACE, "", team)

        # an API server labels namespaces with their name
        assert isinstance(found, facts.SourceObject)
        assert (found.kind, found.namespace, found.name, found.annotations) == ("Namespace", "", team, ())
        assert backend.run(backend.cluster.get(gvk.NAMESPACE, "", team)) == found

    def test_owner_references_are_read(self, backend: Backend, team: str) -> None:
        (deployment,) = backend.create(workload("Deployment", team, "d", uid="u"))
        uid = deployment["metadata"]["uid"]
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": uid, "controller": True}
        (created,) = backend.create(workload("ReplicaSet", team, "d-1", uid="v", ownerReferences=[owner]))

        found = backend.run(backend.cluster.get(gvk.REPLICA_SET, team, "d-1"))

        assert found is not None
        assert (facts.OwnerRef("apps/v1", "Deployment", "d", uid, True),) == found.owners
        assert found.uid == created["metadata"]["uid"] != uid

    def test_a_subscriber_hears_of_creation_change_and_deletion(self, backend: Backend, team: str) -> None:
        heard: list[WatchEvent] = []
        backend.listen(team, heard.append)

        backend.create(account(team, aws_inject="true"))
        backend.create(account(team, aws_inject="false"))
        backend.delete(gvk.SERVICE_ACCOUNT, team, "app")

        on, off = (facts.source(account(team, aws_inject=word)) for word in ("true", "false"))
        assert heard == [
            WatchEvent("added", gvk.SERVICE_ACCOUNT, on),
            WatchEvent("modified", gvk.SERVICE_ACCOUNT, off),
            WatchEvent("deleted", gvk.SERVICE_ACCOUNT, off),
        ]

    def test_a_subscriber_that_reads_back_sees_the_new_state(self, backend: Backend, team: str) -> None:
        seen: list[object] = []
        backend.listen(team, lambda event: seen.append(backend.cluster.peek(event.kind, team, "app")))

        backend.create(account(team))
        backend.delete(gvk.SERVICE_ACCOUNT, team, "app")

        assert seen == [facts.source(account(team)), backend.absent]

    def test_who_unsubscribed_hears_nothing_more(self, backend: Backend, team: str) -> None:
        heard: list[WatchEvent] = []
        unsubscribe = backend.listen(team, heard.append)

        unsubscribe()
        unsubscribe()
        backend.create(account(team))

        assert heard == []

    def test_what_is_written_again_unchanged_is_no_event(self, backend: Backend, team: str) -> None:
        backend.create(account(team))
        heard: list[WatchEvent] = []
        backend.listen(team, heard.append)

        backend.create(account(team))

        assert heard == []

    def test_an_applied_object_exists(self, backend: Backend, team: str) -> None:
        backend.run(backend.cluster.apply(config_map(team, a="1"), field_manager="us"))

        found = backend.run(backend.cluster.get(gvk.CONFIG_MAP, team, "creds"))
        assert found is not None
        assert facts.source(config_map(team)) == msgspec.structs.replace(found, uid="")

    @pytest.mark.parametrize("kind", [gvk.CONFIG_MAP, gvk.SERVICE_ACCOUNT], ids=str)
    def test_applying_twice_is_no_conflict_and_one_event(
        self, backend: Backend, team: str, kind: gvk.Kind
    ) -> None:
        obj = config_map(team, a="1") if kind is gvk.CONFIG_MAP else account(team)
        name = obj["metadata"]["name"]
        heard: list[WatchEvent] = []
        backend.listen(team, heard.append)

        backend.run(backend.cluster.apply(obj, field_manager="us"))
        backend.run(backend.cluster.apply(obj, field_manager="us"))
        backend.create(account(team, "last"))

        reported = [(event.source.name, event.change) for event in heard]
        assert reported == [*([(name, "added")] if kind in backend.watched else []), ("last", "added")]

    def test_a_field_that_another_user_holds_is_a_conflict_unless_forced(
        self, backend: Backend, team: str
    ) -> None:
        backend.create(config_map(team, a="theirs"))

        with pytest.raises(errors.Conflict, match=f"ConfigMap {team}/creds"):
            backend.run(backend.cluster.apply(config_map(team, a="ours"), field_manager="us"))
        backend.run(backend.cluster.apply(config_map(team, a="ours"), field_manager="us", force=True))

    def test_what_is_applied_outlives_changes_of_other_objects(self, backend: Backend, team: str) -> None:
        backend.run(backend.cluster.apply(config_map(team, a="1"), field_manager="us"))

        backend.create(account(team))

        assert backend.peek(gvk.CONFIG_MAP, team, "creds") is not None
        assert backend.run(backend.cluster.get(gvk.CONFIG_MAP, team, "creds")) is not None


class TestEmbedded(ClusterContract):
    """Memory, and a directory of manifests."""

    @pytest.fixture(params=EMBEDDED)
    def backend(self, request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
        return EMBEDDED[request.param](tmp_path)

    def test_whoever_knows_everything_never_says_unknown(self, backend: Backend) -> None:
        assert backend.absent is not UNKNOWN
        assert [backend.peek(kind, "team-a", "nobody") for kind in gvk.KNOWN] == [None] * len(gvk.KNOWN)
