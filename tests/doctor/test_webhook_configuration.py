"""Judgements about the webhook configuration, the Service and the certificate, from values alone."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import pytest

from vestibule.api.settings import schema
from vestibule.checks import served_certificate, webhook_configuration
from vestibule.checks.check import Check
from vestibule.checks.served_certificate import ServedCertificate
from vestibule.checks.webhook_configuration import WebhookEntry, WebhookService
from vestibule.manifests import webhook_configurations
from vestibule.pki import certificate_authority
from vestibule.pki.leaf import CertificatePair

Json = dict[str, Any]
NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
HOST = "vestibule.vestibule-system.svc"


def ours(**hook: Any) -> WebhookEntry:
    """The registration as rendered, with fields laid over."""
    rendered = webhook_configurations.webhook_configuration(schema.Settings())
    (entry,) = rendered["webhooks"]
    return WebhookEntry("vestibule", {**entry, **hook})


def bad(checks: Any) -> dict[str, str]:
    return {one.id: one.status for one in checks if one.status in ("warn", "fail")}


def test_what_render_prints_is_well() -> None:
    assert bad(webhook_configuration.judge(ours(), "vestibule-system")) == {}


WRONG: dict[str, tuple[Json, dict[str, str]]] = {
    "updates only": (
        {
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
            ]
        },
        {"webhook.rules": "fail"},
    ),
    "too patient": ({"timeoutSeconds": 30}, {"webhook.timeout": "warn"}),
    "asked once": ({"reinvocationPolicy": "Never"}, {"webhook.reinvocation": "warn"}),
    "everything, and it may be missed": ({"namespaceSelector": {}}, {"webhook.namespaces": "warn"}),
    "everything, and nothing starts without it": (
        {"namespaceSelector": {}, "failurePolicy": "Fail"},
        {"webhook.namespaces": "fail"},
    ),
    "everything with a label, and nothing of it starts without it": (
        {"namespaceSelector": {}, "failurePolicy": "Fail", "objectSelector": {"matchLabels": {"a": "b"}}},
        {"webhook.namespaces": "warn"},
    ),
    "an opt-in by label of the namespace": ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, {}),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_a_webhook_configuration_for(sentence: str) -> None:
    hook, expected = WRONG[sentence]

    assert bad(webhook_configuration.judge(ours(**hook), "vestibule-system")) == expected


def test_the_one_that_is_ours_by_name_comes_first() -> None:
    hook = {"name": webhook_configurations.WEBHOOK_NAME}
    listed = [
        {"metadata": {"name": "a"}, "webhooks": [hook, {"name": "other"}]},
        {"metadata": {"name": "vestibule"}, "webhooks": [hook]},
        {
            "metadata": {"name": "pod-identity-webhook"},
            "webhooks": [{"name": "pod-identity-webhook.amazonaws.com"}],
        },
    ]

    assert [one.configuration for one in webhook_configuration.find(listed, "vestibule")] == [
        "vestibule",
        "a",
    ]
    (drop_in,) = webhook_configuration.find(listed, "vestibule", "pod-identity-webhook")
    assert drop_in.hook["name"] == "pod-identity-webhook.amazonaws.com"


@pytest.mark.parametrize(
    ("found", "status", "words"),
    [
        (WebhookService("a/b", exists=True, ready=3), "ok", "3 addresses"),
        (WebhookService("a/b", exists=True, ready=1), "warn", "one address"),
        (WebhookService("a/b", exists=True, ready=0, unready=2), "fail", "no address is ready, 2 are not"),
        (WebhookService("a/b", exists=True, ready=0), "fail", "no address at all"),
        (WebhookService("a/b", exists=False, ready=0), "fail", "does not exist"),
        (None, "skipped", "because"),
    ],
)
def test_a_service(found: WebhookService | None, status: str, words: str) -> None:
    check = webhook_configuration.service(ours(), found, "because")

    assert (check.status, words in check.found) == (status, True)


# ── trust ──────────────────────────────────────────────────────────────────────────────────────────────────


def made(life: datetime.timedelta = 365 * DAY) -> CertificatePair:
    return certificate_authority.new_ca("test", now=NOW, life=life)


def leaf(signer: CertificatePair, name: str = HOST, life: datetime.timedelta = 30 * DAY) -> CertificatePair:
    return certificate_authority.new_leaf(signer, [name], now=NOW, life=life)


def trusting(*signers: CertificatePair) -> WebhookEntry:
    text = "".join(one.certificate for one in signers)
    return ours(clientConfig={"caBundle": base64.b64encode(text.encode()).decode()})


def judged(
    one: WebhookEntry, served: ServedCertificate | None, now: datetime.datetime = NOW
) -> dict[str, Check]:
    checks = served_certificate.judge(
        one, served_certificate.bundle(one), served, (HOST,), now, "nobody answers"
    )
    return {check.id: check for check in checks}


def secret(certificate: str) -> ServedCertificate:
    return ServedCertificate("Secret a/b", certificate, handshake=False)


def test_what_an_authority_of_the_bundle_signed_is_trusted() -> None:
    old, new = made(), made()

    found = judged(trusting(new, old), secret(leaf(old).certificate))

    assert {id_: one.status for id_, one in found.items()} == {
        "webhook.ca-bundle": "ok",
        "webhook.trust": "ok",
        "webhook.certificate": "ok",
    }
    assert "no connection was attempted" in found["webhook.trust"].found


def test_a_leaf_with_its_authority_behind_it_is_trusted() -> None:
    signer = made()

    found = judged(trusting(signer), secret(leaf(signer).certificate + signer.certificate))

    assert found["webhook.trust"].status == "ok"


BROKEN: dict[str, tuple[Any, str]] = {
    "another authority": (lambda good: leaf(made()).certificate, "no CA in caBundle signed it"),
    "another name": (lambda good: leaf(good, "other.svc").certificate, "it names other.svc"),
    "no certificate": (lambda good: "hello", "it has no certificate"),
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_certificate_of(sentence: str) -> None:
    make, words = BROKEN[sentence]
    good = made()

    check = judged(trusting(good), secret(make(good)))["webhook.trust"]

    assert (check.status, words in check.found) == ("fail", True)


def test_dates_count() -> None:
    signer = made(10 * DAY)
    pair = leaf(signer, life=10 * DAY)
    one = trusting(signer)

    soon = judged(one, secret(pair.certificate), NOW + 8 * DAY)
    over = judged(one, secret(pair.certificate), NOW + 11 * DAY)
    early = judged(one, secret(pair.certificate), NOW - DAY)

    assert (soon["webhook.ca-bundle"].status, soon["webhook.certificate"].status) == ("warn", "warn")
    assert (over["webhook.ca-bundle"].status, over["webhook.certificate"].status) == ("fail", "fail")
    assert early["webhook.certificate"].status == "fail"


def test_bundles_that_are_none() -> None:
    broken = judged(ours(clientConfig={"caBundle": "%%%"}), None)
    empty = judged(ours(clientConfig={}), None)

    assert broken["webhook.ca-bundle"].status == "fail"
    assert empty["webhook.ca-bundle"].status == "warn"
    assert (empty["webhook.trust"].status, empty["webhook.trust"].found) == ("skipped", "nobody answers")


def test_nothing_but_the_certificate_is_taken_out_of_a_secret() -> None:
    data = {"tls.crt": base64.b64encode(b"pem").decode(), "tls.key": "broken"}

    assert served_certificate.text(data, "tls.crt") == "pem"
    assert served_certificate.text(data, "tls.key") == ""
    assert served_certificate.text(None, "tls.crt") == ""
