"""What the operator keeps beside a control plane: authorities that take over, tokens, names, rights."""

from __future__ import annotations

import base64
import copy
import datetime
import json
from typing import Any

import pytest

from tests.vectors.hypershift_given import HOSTED, NOW
from vestibule import errors
from vestibule.api import hostedwebhook
from vestibule.api.settings import schema
from vestibule.manifests import hosted_rbac, operator
from vestibule.operator.controllers.hosted import (
    ca_rollover,
    credential,
    finalize,
    platform_table,
    serving_certificate,
    status,
)
from vestibule.operator.controllers.hosted.attach_modes import AttachChoice
from vestibule.operator.controllers.hosted.ca_rollover import TrustState
from vestibule.operator.controllers.hosted.certificates import text_of
from vestibule.operator.controllers.hosted.serving_certificate import HostedServerAddress, ServingSecrets
from vestibule.pki import certificate_authority

Json = dict[str, Any]
TARGET = platform_table.ALL["hypershift"].target(HOSTED, [], NOW)
NAMES = ("webhook.svc",)
HOUR = datetime.timedelta(hours=1)


def served(before: ServingSecrets | None, lost_ca: bool = False, **seen: Any) -> ServingSecrets:
    """The next state; ``seen`` is what stands in the guest."""
    ca = None if before is None or lost_ca else before.ca
    stored = before.serving if before else None
    return serving_certificate.served(TARGET, NAMES, ca, stored, NOW, TrustState(**seen))


def leaf(found: ServingSecrets) -> str:
    return text_of(found.serving, "tls.crt")


def ca_of(found: ServingSecrets) -> str:
    return text_of(found.ca, "ca.crt")


# ── authorities ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_authority_takes_over_in_four_steps_and_no_leaf_is_served_that_nobody_trusts() -> None:
    first = served(None, endpoints={})
    old = ca_of(first)
    assert (first.step, first.bundle) == ("none", old)

    lost = served(first, lost_ca=True, published=[old], endpoints={})
    new = ca_of(lost)
    assert (lost.step, leaf(lost), lost.bundle) == ("publish", leaf(first), old + new)

    early = served(lost, published=[old, new], endpoints={}, settled=False)
    assert (leaf(early), early.bundle) == (leaf(first), old + new)

    signed = served(lost, published=[old, new], endpoints={})
    assert signed.step == "reissue"
    assert certificate_authority.signed_by(leaf(signed), new)
    assert signed.bundle == old + new

    waiting = served(signed, published=[old, new], endpoints={"a": True, "b": False})
    assert (waiting.step, waiting.bundle) == ("confirm", old + new)
    assert leaf(waiting) == leaf(signed)

    dropped = served(signed, published=[old, new], endpoints={"a": True, "b": True})
    assert (dropped.step, dropped.bundle) == ("drop", new)
    assert served(dropped, published=[new], endpoints={}).step == "none"


def test_a_leaf_that_is_lost_with_its_authority_is_made_at_once() -> None:
    first = served(None)
    both = serving_certificate.served(TARGET, NAMES, None, None, NOW, TrustState([ca_of(first)], {}))

    assert certificate_authority.signed_by(leaf(both), ca_of(both))
    assert both.bundle == ca_of(first) + ca_of(both)


def test_where_nobody_can_look_the_old_authority_stays_until_its_leaves_have_ended() -> None:
    first = served(None)
    second = serving_certificate.served(TARGET, NAMES, None, first.serving, NOW, TrustState([ca_of(first)]))
    published = TrustState([ca_of(first), ca_of(second)])
    signed = serving_certificate.served(TARGET, NAMES, second.ca, second.serving, NOW, published)

    def later(days: float) -> ServingSecrets:
        now = NOW + datetime.timedelta(days=days)
        return serving_certificate.served(TARGET, NAMES, signed.ca, signed.serving, now, published)

    assert later(50).step == "confirm"
    assert later(91).bundle in (ca_of(second), ca_of(first) + ca_of(second))
    renewed = later(91)
    after = NOW + datetime.timedelta(days=92)
    assert (
        serving_certificate.served(TARGET, NAMES, signed.ca, renewed.serving, after, published).step == "drop"
    )


def test_what_cannot_be_read_in_the_hosted_clusters_bundle_does_not_count() -> None:
    first = served(None)

    assert served(first, published=["nonsense"], endpoints={}).bundle == ca_of(first)


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────


def token(
    uid: str, *, since: datetime.datetime = NOW, life: datetime.timedelta = credential.LIFE, kid: str = "k1"
) -> str:
    claims = {
        "iat": int(since.timestamp()),
        "exp": int((since + life).timestamp()),
        "kubernetes.io": {"serviceaccount": {"uid": uid}},
    }
    parts = [json.dumps(one).encode() for one in ({"alg": "RS256", "kid": kid}, claims)] + [b"signature"]
    return ".".join(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts)


ACCOUNT = {"metadata": {"uid": "u1"}}


@pytest.mark.parametrize(
    ("stored", "hours", "good"),
    [
        (token("u1"), 1, True),
        (token("u1"), 47, True),
        (token("u1"), 49, False),
        (token("another account of the name"), 1, False),
        (token("u1", life=HOUR), 0.5, True),
        (token("u1", life=HOUR), 0.7, False),
        ("nonsense", 1, False),
        ("", 1, False),
    ],
)
def test_a_token_is_kept_for_two_thirds_of_its_life_and_for_its_very_account(
    stored: str, hours: float, good: bool
) -> None:
    secret = credential.secret(TARGET, HostedServerAddress("https://api"), stored)

    assert credential.valid_token(secret, ACCOUNT, NOW + hours * HOUR) == (stored if good else "")


@pytest.mark.parametrize(
    ("kids", "doubtful"),
    [({"k1"}, False), ({"k1", "k2"}, False), ({"k2"}, True), (set(), True), (None, False)],
)
def test_a_token_is_doubtful_when_its_key_is_not_among_those_published(
    kids: set[str] | None, doubtful: bool
) -> None:
    assert credential.doubtful(token("u1"), kids) is doubtful


def test_a_doubtful_token_stays_while_the_hosted_cluster_signs_with_its_key() -> None:
    """Keys may be left out of what is published; then a look must not mean another token."""
    stored, later = token("u1"), NOW + HOUR

    assert credential.chosen(stored, token("u1", since=later)) == stored
    assert credential.chosen(stored, other := token("u1", since=later, kid="k2")) == other
    assert credential.chosen("", other) == other
    assert credential.chosen(stored, "opaque") == "opaque"


def test_the_kubeconfig_names_the_file_with_the_token_beside_it() -> None:
    secret = credential.secret(TARGET, HostedServerAddress("https://api", "CA", "name"), "abc")
    message = json.loads(text_of(secret, "kubeconfig"))

    assert message["users"][0]["user"] == {"tokenFile": "token"}
    assert message["clusters"][0]["cluster"]["tls-server-name"] == "name"
    assert text_of(secret, "token") == "abc"


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_control_planes_of_one_namespace_do_not_share_names() -> None:
    def own(name: str) -> str:
        obj = {"kind": "TenantControlPlane", "metadata": {"name": name, "namespace": "ns"}, "spec": {}}
        return platform_table.ALL["kamaji"].target(obj, [], NOW).own

    long = "a.b" * 40
    assert TARGET.own == "workload-identity-webhook"
    assert own("t1") == "workload-identity-webhook-t1"
    assert own("a.b") == "workload-identity-webhook-a-b"
    assert len(own(long)) == 63
    assert own(long) != own(f"{long}x")


def test_an_owner_cannot_be_mistaken_for_another_kinds() -> None:
    def owner(name: str) -> str:
        return finalize.owner({"metadata": {"name": name}})

    assert owner("vestibule") == "hosted_vestibule"
    assert len(owner("x" * 253)) <= 63
    assert owner("x" * 100) != owner("x" * 101)


def test_entries_go_where_they_last() -> None:
    tenant: Json = {"kind": "TenantControlPlane", "metadata": {"name": "t"}}
    owned = copy.deepcopy(tenant)
    owned["metadata"]["ownerReferences"] = [{"kind": "KamajiControlPlane", "name": "k"}]
    reference = {"kind": "KubeadmControlPlane", "name": "c-control-plane"}
    cluster = {"kind": "Cluster", "metadata": {"name": "c"}, "spec": {"controlPlaneRef": reference}}

    assert platform_table.ALL["kamaji"].holder(tenant) is None
    assert platform_table.ALL["kamaji"].holder(owned) == ("KamajiControlPlane", "k")
    assert platform_table.ALL["clusterapi"].holder(cluster) == ("KubeadmControlPlane", "c-control-plane")


# ── status, requests, rights ────────────────────────────────────────────────────────────────────────────────


def test_available_is_what_can_be_said() -> None:
    def available(way: Any, unproven: str = "", step: ca_rollover.Step = "none") -> str:
        reported = status.attached(AttachChoice(way, ()), (), unproven, step)
        return str(next(one for one in reported if one.type == "Available"))

    assert available("deployment") == "Available=True/Serving"
    assert available("deployment", "no replica is ready") == "Available=False/NotProven"
    assert available("sidecar", "") == "Available=True/Registered"


def test_a_duration_that_is_none_is_reported() -> None:
    spec = {"target": {"flavour": "hypershift", "name": "x"}, "abandonAfter": "soon"}

    with pytest.raises(errors.InvalidInput, match=r"HostedWebhook h.*abandonAfter.*'soon'.*10m"):
        hostedwebhook.parse({"metadata": {"name": "h"}, "spec": spec})


def test_permissions_beside_control_planes_are_not_granted_unless_asked_for() -> None:
    def made(**install: Any) -> list[Json]:
        return operator.objects(schema.parse({"install": install}, "test"))

    plain, wide = made(), made(hosted=True, hostedAllNamespaces=True)
    narrow = made(hosted=True, hostedNamespaces=["a", "b"])
    assert not [one for one in plain if "hosted" in one["metadata"]["name"]]
    kinds = [one["kind"] for one in wide if one["metadata"]["name"] == "vestibule-operator-hosted"]
    assert kinds == ["ClusterRole", "ClusterRoleBinding"]
    bound = [one for one in narrow if one["metadata"]["name"] == "vestibule-operator-hosted"]
    assert [(one["kind"], one["metadata"].get("namespace")) for one in bound] == [
        ("ClusterRole", None),
        ("RoleBinding", "a"),
        ("RoleBinding", "b"),
    ]
    (deployment,) = (one for one in narrow if one["kind"] == "Deployment")
    args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[-3:] == ["--hosted", "--hosted-namespace=a", "--hosted-namespace=b"]
    assert all("*" not in rule["verbs"] + rule["resources"] for rule in hosted_rbac.rules())


def test_every_namespace_is_asked_for_by_name() -> None:
    for install in ({"hosted": True}, {"hostedAllNamespaces": True}):
        with pytest.raises(errors.InvalidSettings, match=r"install\.hosted(AllN|N)amespaces"):
            schema.parse({"install": install}, "test")
    with pytest.raises(errors.InvalidSettings, match=r"install\.hostedAllNamespaces"):
        schema.parse(
            {"install": {"hosted": True, "hostedAllNamespaces": True, "hostedNamespaces": ["a"]}}, "test"
        )
