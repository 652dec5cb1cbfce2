"""Who issues the webhook's certificate, and what the two accounts can do: each token is stolen once.

What is rendered is applied as it is; the issuer runs with the token of its ServiceAccount.
"""

from __future__ import annotations

import base64
import copy
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.certificates_process import CertificatesProcess, token
from tests.apiserver.webhook_installation import WebhookInstallation, path_of
from tests.rig import process
from tests.rig.client import JSON_PATCH, Client, at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from vestibule.manifests import certificates_workload, install
from vestibule.pki import certificate_authority, tls_secret

Json = dict[str, Any]
REGISTRATIONS = "admissionregistration.k8s.io/v1"


@pytest.fixture
def installation(control_plane: ControlPlane, tmp_path: Path) -> Iterator[WebhookInstallation]:
    name = f"webhook-issued-{secrets.token_hex(3)}"
    created = WebhookInstallation(
        control_plane, tmp_path, name, install={"certificate": "self", "caBundle": ""}
    )
    try:
        created.apply()
        registration = created.objects["MutatingWebhookConfiguration"]
        control_plane.admin.apply(created.configuration, registration, "render", force=True).object  # noqa: B018
        yield created
    finally:
        created.close()


def issued(installation: WebhookInstallation) -> CertificatesProcess:
    installation.issued = CertificatesProcess(
        installation.plane,
        installation.folder,
        installation.name,
        installation.settings_file,
        installation.mount,
    )
    return installation.issued


def trusts(installation: WebhookInstallation) -> bool:
    """Whether the registration is there and trusts what the Secret says."""
    found, secret = (
        installation.plane.admin.get(installation.configuration),
        installation.plane.admin.get(issued_secret(installation)),
    )
    if found.status != 200 or secret.status != 200:
        return False
    reported = base64.b64decode((secret.object.get("data") or {}).get("ca.crt", "")).decode()
    bundles = [tls_secret.trusted_cas(hook) for hook in found.object["webhooks"]]
    return bool(reported) and all(one == certificate_authority.split(reported) for one in bundles)


def issued_secret(installation: WebhookInstallation) -> str:
    return at("secrets", installation.name, f"{installation.name}-tls")


def hooks(installation: WebhookInstallation) -> Json:
    return json.loads(json.dumps(installation.plane.admin.get(installation.configuration).object))  # type: ignore[no-any-return]


def enforced(installation: WebhookInstallation, client: Client) -> None:
    """Until the API server knows the policy."""
    worse = [{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 29}]

    def refused() -> bool:
        return client.patch(installation.configuration, worse, JSON_PATCH, dryRun="All").status == 403

    process.wait("the policy", refused, 20)


def test_the_token_of_the_webhook_reaches_no_secret_and_no_webhook_configuration(
    installation: WebhookInstallation,
) -> None:
    client = installation.plane.token_client(token(installation.plane, installation.name, installation.name))
    try:
        for name in (f"{installation.name}-tls", certificates_workload.signing_secret(installation.name)):
            where = at("secrets", installation.name, name)
            assert client.get(where).status == 403
            assert client.patch(where, {"data": {}}).status == 403
            assert client.delete(where).status == 403
        assert client.get(at("secrets", installation.name)).status == 403
        for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            where = at(plural, name=installation.name, api=REGISTRATIONS)
            assert client.get(where).status == 403
            assert client.patch(where, {"webhooks": []}).status == 403
            assert client.delete(where).status == 403
        lease = at("leases", installation.name, installation.name, api="coordination.k8s.io/v1")
        assert client.patch(lease, {"spec": {"holderIdentity": "me"}}).status == 403
    finally:
        client.close()
    # nor does what is rendered show replicas the key of the CA
    pod = installation.objects["Deployment"]["spec"]["template"]["spec"]
    shown = [one["secret"] for one in pod["volumes"] if "secret" in one]
    keys = [item["key"] for item in shown[0]["items"]]
    assert [one["secretName"] for one in shown] == [f"{installation.name}-tls"]
    assert keys == ["tls.crt", "tls.key"]


ATTACKS: dict[str, list[Json]] = {
    "another URL": [
        {"op": "remove", "path": "/webhooks/0/clientConfig/service"},
        {"op": "add", "path": "/webhooks/0/clientConfig/url", "value": "https://attacker.example/x"},
    ],
    "another Service": [
        {"op": "replace", "path": "/webhooks/0/clientConfig/service/namespace", "value": "attacker"}
    ],
    "another path": [{"op": "replace", "path": "/webhooks/0/clientConfig/service/path", "value": "/"}],
    "everything": [
        {"op": "replace", "path": "/webhooks/0/rules/0/resources", "value": ["*/*"]},
        {"op": "replace", "path": "/webhooks/0/rules/0/apiGroups", "value": ["*"]},
    ],
    "more rules": [
        {
            "op": "add",
            "path": "/webhooks/0/rules/-",
            "value": {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["secrets"],
            },
        }
    ],
    "every namespace": [{"op": "replace", "path": "/webhooks/0/namespaceSelector", "value": {}}],
    "no pods": [
        {"op": "replace", "path": "/webhooks/0/objectSelector", "value": {"matchLabels": {"a": "b"}}}
    ],
    "no condition": [{"op": "remove", "path": "/webhooks/0/matchConditions"}],
    "Fail": [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}],
    "no webhook": [{"op": "replace", "path": "/webhooks", "value": []}],
    "a label": [{"op": "add", "path": "/metadata/labels/a", "value": "b"}],
    "a finalizer": [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]}],
}


def test_a_stolen_token_of_the_issuer_changes_the_bundle_and_nothing_else(
    installation: WebhookInstallation,
) -> None:
    client, admin = issued(installation).client(), installation.plane.admin
    other = {
        "op": "add",
        "path": "/webhooks/-",
        "value": {**hooks(installation)["webhooks"][0], "name": "x.example.com"},
    }
    try:
        enforced(installation, client)
        for name, operations in {**ATTACKS, "one more": [other]}.items():
            answer = client.patch(installation.configuration, operations, JSON_PATCH)
            assert answer.status == 403, (name, answer.status, answer.message)
            assert "who issues certificates" in answer.message
        bundle = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": installation.bundle()}]
        assert client.patch(installation.configuration, bundle, JSON_PATCH).status == 200
        assert client.delete(installation.configuration).status == 403
        # other names, and what else is in the namespace
        assert client.get(at("secrets", installation.name)).status == 403
        assert client.get(at("secrets", "kube-system")).status == 403
        elsewhere = at("mutatingwebhookconfigurations", name="elsewhere", api=REGISTRATIONS)
        obj = copy.deepcopy(installation.objects["MutatingWebhookConfiguration"])
        obj["metadata"]["name"] = "elsewhere"
        assert client.create(at("mutatingwebhookconfigurations", api=REGISTRATIONS), obj).status == 403
        assert client.apply(elsewhere, obj, "me").status == 403
        # where it is missing, it comes back as it was rendered and in no other way
        admin.delete(installation.configuration)
        for name, operations in ATTACKS.items():
            if name == "a label":
                continue
            answer = client.apply(installation.configuration, changed(installation, operations), "me")
            assert answer.status == 403, (name, answer.status, answer.message)
        rendered = installation.objects["MutatingWebhookConfiguration"]
        assert client.apply(installation.configuration, rendered, "me").status == 201
    finally:
        client.close()


def changed(installation: WebhookInstallation, operations: list[Json]) -> Json:
    """The rendered registration after a JSON patch."""
    created: Json = json.loads(json.dumps(installation.objects["MutatingWebhookConfiguration"]))
    created["webhooks"][0].setdefault("objectSelector", {})
    for one in operations:
        *way, last = one["path"].split("/")[1:]
        place: Any = created
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        if one["op"] == "remove":
            del place[last]
        elif isinstance(place, list):
            place.append(one["value"])
        else:
            place[last] = one["value"]
    return created


def test_what_is_deleted_is_restored_and_goes_with_the_installation(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    """Granted is used, too: every verb of the issuer's roles, and none was refused."""
    plane = private_control_plane()
    created = WebhookInstallation(
        plane, tmp_path, "webhook-restored", install={"certificate": "self", "caBundle": ""}
    )
    admin = plane.admin
    created.apply()
    registration = created.objects["MutatingWebhookConfiguration"]
    admin.apply(created.configuration, registration, "render", force=True).object  # noqa: B018 - raises
    issuer = issued(created)
    try:
        issuer.start()
        process.wait("trust", lambda: trusts(created), 20)
        first = admin.get(issuer.secret).object["data"]
        assert set(first) == {"tls.crt", "tls.key", "ca.crt"}
        before = admin.get(created.configuration).object
        admin.delete(at("leases", created.name, created.name, api="coordination.k8s.io/v1"))
        admin.delete(issuer.secret)
        again = admin.wait(issuer.secret, lambda found: "tls.key" in (found.get("data") or {}))
        # the same CA signs, and nobody has to trust another
        assert again["data"]["ca.crt"] == first["ca.crt"]
        admin.delete(issuer.signing)
        admin.wait(issuer.signing, lambda found: "signer.key" in (found.get("data") or {}))
        process.wait("trust in the CA that is new", lambda: trusts(created), 20)
        old = base64.b64decode(first["ca.crt"]).decode()
        assert set(certificate_authority.split(old)) < set(
            tls_secret.trusted_cas(hooks(created)["webhooks"][0])
        )

        admin.delete(created.configuration)
        process.wait("the registration", lambda: trusts(created), 40)
        after = admin.get(created.configuration).object
        for hook in (*before["webhooks"], *after["webhooks"]):
            hook["clientConfig"].pop("caBundle", None)
        assert after["webhooks"] == before["webhooks"]
        rules = [
            *certificates_workload.near_rules(created.settings),
            *certificates_workload.cluster_rules(created.settings),
        ]
        granted = {(one, verb) for rule in rules for one in rule["resources"] for verb in rule["verbs"]}
        done, refused = used(plane, issuer.user)
        assert refused == set()
        assert granted - done == set()

        # uninstalled: what was restored goes with the ClusterRole, and nothing comes back
        assert issuer.running is not None
        issuer.running.end()
        for obj in install.objects(created.settings):
            if obj["kind"] == "ClusterRole":
                admin.delete(path_of(obj))
        admin.wait_gone(created.configuration, 60)
    finally:
        created.close()


def used(plane: ControlPlane, user: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    done: set[tuple[str, str]] = set()
    refused: set[tuple[str, str]] = set()
    for event in plane.audit.events(user=user):
        code = event.get("responseStatus", {}).get("code")
        into = refused if code == 403 else done
        into.add((event["objectRef"]["resource"], event["verb"]))
        if event["verb"] == "patch" and code == 201:
            into.add((event["objectRef"]["resource"], "create"))  # apply that creates is authorised as both
    return done, refused


def test_an_installation_of_the_version_before_is_taken_over_without_a_new_ca(
    installation: WebhookInstallation,
) -> None:
    """It kept the CA's key in the Secret that replicas read, and let them read it."""
    admin, issuer = installation.plane.admin, issued(installation)
    issuer.start()
    process.wait("trust", lambda: trusts(installation), 20)
    assert issuer.running is not None
    issuer.running.end()
    signing, serving = (admin.get(one).object["data"] for one in (issuer.signing, issuer.secret))
    # as it was
    admin.delete(issuer.signing)
    admin.patch(issuer.secret, {"data": {**signing, **serving}}).object  # noqa: B018 - raises
    role = at("roles", installation.name, installation.name, api="rbac.authorization.k8s.io/v1")
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "update"]}]
    admin.patch(role, {"rules": rules}).object  # noqa: B018 - raises

    installation.apply()  # what is rendered now, over it
    installation.issued = upgraded = CertificatesProcess(
        installation.plane,
        installation.folder,
        installation.name,
        installation.settings_file,
        installation.mount,
    )
    upgraded.start()

    admin.wait(upgraded.signing, lambda found: (found.get("data") or {}) == signing)
    admin.wait(upgraded.secret, lambda found: found["data"] == serving)
    assert not admin.get(role).object.get("rules")
    assert trusts(installation)
