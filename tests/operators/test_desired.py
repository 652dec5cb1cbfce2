"""The objects of an installation: what follows from each field of its object."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import pytest

from vestibule import errors
from vestibule.api import vestibulewebhook
from vestibule.api.vestibulewebhook import CertificateSpec
from vestibule.manifests import kinds
from vestibule.operator.controllers.webhook import certificates, desired
from vestibule.pki import certificate_authority, rotation, tls_secret

Json = dict[str, Any]
NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
BUNDLE = base64.b64encode(b"bundle").decode()


def made(count: int = 2, **spec: Any) -> dict[str, Json]:
    """The objects by kind; the first of each."""
    requested = vestibulewebhook.parse({"metadata": {"name": "v"}, "spec": {"image": "i", **spec}})
    settings = desired.settings("v", "n", requested, requested.image, count, BUNDLE)
    expected = desired.objects(settings, requested, None)
    found: dict[str, Json] = {}
    for one in (*expected.base, *expected.registrations):
        kinds.of(one)  # every one of them can be addressed
        found.setdefault(one["kind"], one)
    return found


def hook(objects: dict[str, Json]) -> Json:
    found: Json = objects["MutatingWebhookConfiguration"]["webhooks"][0]
    return found


def test_a_bare_object_gets_everything() -> None:
    assert list(made()) == [
        "PriorityClass",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
    ]


def test_replicas_see_their_own_pair_only_and_may_read_no_secret() -> None:
    objects = made()
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (tls,) = (one["secret"] for one in pod["volumes"] if one["name"] == "tls")

    assert [one["key"] for one in tls["items"]] == ["tls.crt", "tls.key"]
    assert not any("secrets" in rule["resources"] for rule in objects["ClusterRole"]["rules"])


def test_one_replica_has_no_budget() -> None:
    assert "PodDisruptionBudget" not in made(1)


@pytest.mark.parametrize(
    ("guard", "actions"), [("Deny", ["Deny"]), ("Warn", ["Warn", "Audit"]), ("Audit", ["Audit"])]
)
def test_the_guard_does_as_it_is_reported(guard: str, actions: list[str]) -> None:
    binding = made(guard=guard)["ValidatingAdmissionPolicyBinding"]

    assert binding["spec"]["validationActions"] == actions


def test_the_guard_can_be_off() -> None:
    assert "ValidatingAdmissionPolicy" not in made(guard="Off")


def test_the_final_check_does_as_it_is_reported_and_the_guard_stays() -> None:
    requested = vestibulewebhook.parse({"metadata": {"name": "v"}, "spec": {"finalCheck": "Warn"}})
    expected = desired.objects(desired.settings("v", "n", requested, "i", 2, BUNDLE), requested, None)
    actions = {
        one["metadata"]["name"]: one["spec"]["validationActions"]
        for one in expected.base
        if one["kind"] == "ValidatingAdmissionPolicyBinding"
    }

    assert actions == {"v-guard": ["Deny"], "v-final": ["Warn"]}


def test_a_class_of_ones_own_makes_none() -> None:
    objects = made(priorityClassName="system-cluster-critical")

    assert "PriorityClass" not in objects
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == "system-cluster-critical"


def test_an_address_is_registered_as_such() -> None:
    requested = {"type": "Url", "url": "https://hook.example:8443"}
    client = hook(made(target=requested))["clientConfig"]

    assert client == {"caBundle": BUNDLE, "url": "https://hook.example:8443/mutate"}


def test_the_failure_policy_is_as_asked() -> None:
    assert hook(made(failurePolicy="Fail"))["failurePolicy"] == "Fail"


@pytest.mark.parametrize(
    ("mode", "annotation"),
    [
        ("self", None),
        ("secret", None),
        ("cert-manager", "cert-manager.io/inject-ca-from"),
        ("service-ca", "service.beta.openshift.io/inject-cabundle"),
    ],
)
def test_who_keeps_the_bundle_is_named_and_the_proven_one_is_there(mode: str, annotation: str | None) -> None:
    objects = made(certificate={"mode": mode})
    meta = objects["MutatingWebhookConfiguration"]["metadata"]

    assert list(meta.get("annotations", {})) == ([annotation] if annotation else [])
    assert hook(objects)["clientConfig"]["caBundle"] == BUNDLE
    assert ("Certificate" in objects) == (mode == "cert-manager")


def test_only_settings_that_are_read_at_the_start_roll_replicas() -> None:
    def mark(**settings: Any) -> str:
        template = made(settings=settings)["Deployment"]["spec"]["template"]
        return str(template["metadata"]["annotations"][desired.SERVING])

    assert mark(tokenExpirationSeconds=1200) == mark()
    assert mark(serving={"maxInflight": 7}) != mark()


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"settings": {"install": {}}}, "spec.settings.install"),
        ({"settings": {"selfCertificate": {}}}, "spec.settings.selfCertificate"),
        ({"settings": {"webhook": {"failurePolicy": "Fail"}}}, "spec.settings.webhook.failurePolicy"),
        ({"settings": {"tokenExpirationSecond": 1}}, "tokenExpirationSecond"),
        ({"image": ""}, "spec.image"),
        ({"resources": {"cpu": "much"}}, "install.cpu"),
        ({"certificate": {"leafLife": "long"}}, "selfCertificate.leafLife"),
        ({"replicas": "two"}, "spec.replicas"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_reported_with_its_path(spec: Json, path: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        made(**spec)

    assert path in str(caught.value)


# ── certificates ────────────────────────────────────────────────────────────────────────────────────────────

NAMES = ("v.n.svc",)
LIVES = rotation.CertificateLifetimes()


def registration(bundle: str) -> Json:
    return {"webhooks": [{"clientConfig": {"caBundle": tls_secret.encoded(bundle)}}]}


def held(served: certificates.CertificateFacts) -> tuple[Json, Json]:
    """The two Secrets."""
    return {"data": served.signing}, {"data": served.serving}


def test_what_is_kept_is_left_as_it_is() -> None:
    first = certificates.ours(None, None, [], NAMES, NOW, LIVES)
    second = certificates.ours(*held(first), [registration(first.bundle)], NAMES, NOW, LIVES)

    assert second == first
    assert first.again is not None
    assert 19 * 86400 < first.again < 21 * 86400


def test_a_lost_secret_keeps_the_trust_in_what_replicas_still_serve() -> None:
    first = certificates.ours(None, None, [], NAMES, NOW, LIVES)
    second = certificates.ours(None, None, [registration(first.bundle)], NAMES, NOW, LIVES)

    assert len(certificate_authority.split(second.bundle)) == 2
    assert set(certificate_authority.split(first.bundle)) < set(certificate_authority.split(second.bundle))


def test_a_new_authority_signs_only_when_every_webhook_configuration_trusts_it() -> None:
    lives = rotation.CertificateLifetimes(
        datetime.timedelta(days=9), datetime.timedelta(days=3), datetime.timedelta(minutes=2)
    )
    first = certificates.ours(None, None, [], NAMES, NOW, lives)
    late = NOW + datetime.timedelta(days=7)
    second = certificates.ours(*held(first), [registration(first.bundle)], NAMES, late, lives)
    assert second.signing is not None
    assert len(certificate_authority.split(second.bundle)) == 2
    assert second.again == 1  # the leaf is due, too
    later = late + datetime.timedelta(minutes=3)
    both = [registration(second.bundle), registration(first.bundle)]
    waits = certificates.ours(*held(second), both, NAMES, later, lives)
    signs = certificates.ours(*held(second), both[:1], NAMES, later, lives)

    assert waits.signing is not None
    assert signs.signing is not None
    assert "next-signer.key" in waits.signing
    assert "next-signer.key" not in signs.signing


@pytest.mark.parametrize(
    ("requested", "data", "service_ca", "waiting"),
    [
        ({"mode": "cert-manager"}, None, None, "Secret v-tls has no certificate yet"),
        ({"mode": "cert-manager"}, {"tls.crt": "", "tls.key": ""}, None, "Secret v-tls has no certificate"),
        ({"mode": "secret"}, "whole", None, ""),
        ({"mode": "cert-manager"}, "without ca", None, "Secret v-tls has no ca.crt"),
        ({"mode": "service-ca"}, "without ca", None, "the service CA is not known yet"),
        ({"mode": "service-ca"}, "without ca", {"data": {"service-ca.crt": "PEM"}}, ""),
    ],
)
def test_what_others_keep_is_waited_for(
    requested: Json, data: Any, service_ca: Json | None, waiting: str
) -> None:
    if isinstance(data, str):
        stored = certificates.ours(None, None, [], NAMES, NOW, LIVES).serving
        assert stored is not None
        data = {key: stored[key] for key in ("tls.crt", "tls.key", *(["ca.crt"] if data == "whole" else []))}
    found = certificates.theirs(CertificateSpec(**requested), "v", {"data": data}, service_ca)

    assert found.waiting.startswith(waiting)
    assert bool(found.bundle) == (not waiting)
