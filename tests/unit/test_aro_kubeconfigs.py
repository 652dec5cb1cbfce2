"""When a kubeconfig ends: what is told, how a new one is asked for, when to look again."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import pytest
import yaml

from vestibule.aro import kubeconfigs, names
from vestibule.aro.manifest_reader import ManifestReader
from vestibule.pki import certificate_authority

Json = dict[str, Any]
BORN = datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
CONTROL_PLANE: Json = {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "AROControlPlane",
    "metadata": {"name": "c-cp", "namespace": "n", "uid": "u"},
}
HCP: Json = {
    "apiVersion": "redhatopenshift.azure.com/v1api20260630preview",
    "kind": "HcpOpenShiftCluster",
    "metadata": {"name": "c", "namespace": "n"},
    "spec": {},
}


class Reading(ManifestReader):
    """Reads kubeconfigs as well."""

    def parsed(self, text: bytes) -> Any:
        return yaml.safe_load(text)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(user: Json) -> Json:
    content = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://c"}}],
        "users": [{"name": "u", "user": user}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "c-kubeconfig",
            "namespace": "n",
            "uid": "s",
            "ownerReferences": [
                {**{key: HCP[key] for key in ("apiVersion", "kind")}, "name": "c", "uid": "h"}
            ],
        },
        "data": {"value": encoded(yaml.safe_dump(content))},
    }


@pytest.fixture(scope="module")
def certificate() -> Json:
    """Of a user, for a day."""
    signer = certificate_authority.new_ca("a", now=BORN, life=DAY)
    leaf = certificate_authority.new_leaf(signer, ["u"], now=BORN, life=DAY)
    return {"client-certificate-data": encoded(leaf.certificate), "client-key-data": encoded(leaf.key)}


def kept(user: Json, after: datetime.timedelta, **annotations: str) -> kubeconfigs.KubeconfigPlan:
    reader = Reading([secret(user)], BORN + after)
    live = {**HCP, "metadata": {**HCP["metadata"], "annotations": annotations}}
    return kubeconfigs.plan_kubeconfig(CONTROL_PLANE, HCP, live, "c", reader)


def asking(found: kubeconfigs.KubeconfigPlan) -> list[Json]:
    return [one.patch["metadata"]["annotations"] for one in found.changes if one.ref.kind == names.HCP]


def test_one_that_lasts_is_looked_at_again_in_time(certificate: Json) -> None:
    found = kept(certificate, DAY / 2)

    assert found.condition is not None
    assert (found.condition.status, found.condition.reason) == ("True", "Valid")
    assert asking(found) == []
    assert found.after is not None
    assert 0 < found.after < DAY.total_seconds() / 2


@pytest.mark.parametrize(("part", "reason"), [(0.95, "Expiring"), (1.5, "Expired")])
def test_for_one_that_ends_a_new_one_is_asked(certificate: Json, part: float, reason: str) -> None:
    found = kept(certificate, DAY * part)
    (message,) = asking(found)

    assert found.condition is not None
    assert (found.condition.status, found.condition.reason) == ("False", reason)
    assert message == {
        names.KUBECONFIG_ASKED: "2026-11-17T00:00:00Z",
        names.RECONCILE_POLICY: "skip",
        names.PREVIOUS_POLICY: "",
    }
    assert found.there


def test_it_is_asked_for_once(certificate: Json) -> None:
    requested = {names.KUBECONFIG_ASKED: "2026-11-17T00:00:00Z"}

    assert asking(kept(certificate, DAY * 0.95, **requested)) == []


def test_nothing_is_asked_for_while_the_policy_is_skip(certificate: Json) -> None:
    assert asking(kept(certificate, DAY * 0.95, **{names.RECONCILE_POLICY: "skip"})) == []


def test_a_policy_of_the_users_is_kept_in_mind(certificate: Json) -> None:
    (message,) = asking(kept(certificate, DAY * 0.95, **{names.RECONCILE_POLICY: "detach-on-delete"}))

    assert message[names.PREVIOUS_POLICY] == "detach-on-delete"


@pytest.mark.parametrize("user", [{"token": "t"}, {}])
def test_without_a_certificate_nothing_is_known(user: Json) -> None:
    found = kept(user, DAY)

    assert (found.condition, found.until, asking(found)) == (None, None, [])


def test_one_that_is_refused_is_not_copied_and_every_field_is_named(certificate: Json) -> None:
    """Whoever uses the copy, Cluster API's controllers among them, would do what it says."""
    place = {"name": "from-azure", "key": "value"}
    hcp = {**HCP, "spec": {"operatorSpec": {"secrets": {"adminCredentials": place}}}}
    written = secret({**certificate, "exec": {"command": "sh"}, "tokenFile": "/etc/passwd"})
    written["metadata"]["name"] = "from-azure"
    found = kubeconfigs.plan_kubeconfig(CONTROL_PLANE, hcp, hcp, "c", Reading([written], BORN))

    assert (found.there, found.secrets, found.changes) == (False, (), ())
    assert "Secret from-azure, key value: users[u].user.exec: " in found.problem
    assert "Secret from-azure, key value: users[u].user.tokenFile: " in found.problem
