"""Everything a cluster needs to run the webhook, as plain objects in the order they should be applied.

Pure and deterministic: the same settings give the same objects. The webhook's own namespace,
``kube-system`` and ``kube-node-lease`` are always out of its reach, so that it can never keep itself from
starting.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.api import annotation_keys
from vestibule.api.settings.schema import Settings
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.manifests import (
    certificates_workload,
    crds,
    post_check,
    rbac,
    sandbox_webhooks,
    webhook_configurations,
    workload,
)

Object = dict[str, Any]
OWNER: Final = "vestibule"
"""What the managed-by label of our objects says."""


def objects(settings: Settings, found: SandboxPolicy | None = None) -> list[Object]:
    """All objects, given what the cluster says about sandboxes, as far as that is known; raises
    InvalidSettings when the settings contradict each other."""
    _check(settings)
    for_sandboxes = sandbox_webhooks.desired(settings, found)
    install = settings.install
    configurations = [
        webhook_configurations.webhook_configuration(settings, sandbox_webhooks.sent_here(settings, found)),
        *([for_sandboxes] if for_sandboxes else []),
        *(
            [webhook_configurations.validating_configuration(settings)]
            if webhook_configurations.validates(settings)
            else []
        ),
    ]
    configurations = [_labelled(obj, install.name) for obj in configurations]
    issuer = certificates_workload.objects(settings, configurations) if install.certificate == "self" else []
    certificate = _cert_manager(settings) if install.certificate == "cert-manager" else []
    rendered = [
        _namespace(settings),
        *([crds.identity_policy()] if settings.identity_policies else []),
        *(crds.sandboxes() if settings.sandbox.enabled else []),
        *issuer,
        *rbac.objects(settings),
        *rbac.initdata(settings, found),
        *([] if install.settings else [_settings_map(settings)]),
        *certificate,
        *workload.objects(settings),
        *configurations,
        *(
            [*webhook_configurations.guard(settings), *sandbox_webhooks.guard(settings, found)]
            if install.guard
            else []
        ),
        *post_check.policy(
            settings,
            webhook_configurations.namespace_selector(settings),
            webhook_configurations.match_conditions(settings),
        ),
    ]
    return [_labelled(obj, install.name) for obj in rendered]


def weaknesses(settings: Settings) -> list[str]:
    """What an administrator should know about the settings before they are applied."""
    if (settings.policies or settings.identity_policies) and settings.webhook.failure_policy == "Ignore":
        return [
            "policies limit identities, and webhook.failurePolicy is 'Ignore': while the webhook does not "
            "answer, pods pass without being judged; want 'Fail' where limits must hold always"
        ]
    return []


def _check(settings: Settings) -> None:
    install = settings.install
    problems = []
    if install.certificate == "secret" and not install.ca_bundle:
        problems.append(
            errors.InputProblem(
                "settings",
                "install.caBundle",
                "is empty, want the base64 PEM of the CA when install.certificate is 'secret'",
            )
        )
    if problems:
        raise errors.InvalidSettings(*problems)


def _namespace(settings: Settings) -> Object:
    name = settings.install.namespace
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


_OWN_SECTIONS: Final = ("install", "webhook")


def _settings_map(settings: Settings) -> Object:
    """What differs from the defaults and matters to the process; sections about the installation stay out."""
    data = changed_settings(settings)
    for section in _OWN_SECTIONS:
        data.pop(section, None)
    if settings.install.certificate == "self":
        name, namespace = settings.install.name, settings.install.namespace
        data["selfCertificate"] = {
            **data.get("selfCertificate", {}),  # how long its certificates live
            "secret": f"{name}-tls",
            "webhookConfiguration": name,
            "lease": name,
            "names": [f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local"],
        }
        if settings.sandbox.enabled:
            data["selfCertificate"]["sandboxConfiguration"] = sandbox_webhooks.name(settings)
        if webhook_configurations.validates(settings):
            data["selfCertificate"]["validatingConfiguration"] = name
    if settings.install.client_ca and not settings.serving.client_ca:
        data["serving"] = {**data.get("serving", {}), "clientCa": workload.CLIENT_CA_FILE}
    if settings.install.namespace != type(settings.install)().namespace:
        data["install"] = {"namespace": settings.install.namespace}
    text = msgspec.json.format(msgspec.json.encode(data, order="sorted"), indent=2).decode()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": workload.settings_name(settings), "namespace": settings.install.namespace},
        "data": {workload.SETTINGS_FILE: text + "\n"},
    }


def changed_settings(settings: Settings) -> dict[str, Any]:
    """The settings that differ from the default, as in a settings file."""
    complete: dict[str, Any] = msgspec.to_builtins(settings)
    default: dict[str, Any] = msgspec.to_builtins(Settings())
    return _non_default(complete, default)


def _non_default(given: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in given.items():
        if value == default[key]:
            continue
        nested = isinstance(value, dict) and isinstance(default[key], dict) and default[key]
        found[key] = _non_default(value, default[key]) if nested else value
    return found


def _cert_manager(settings: Settings) -> list[Object]:
    """A CA of our own and a leaf from it: the CA stays while leaves come and go, so no renewal breaks
    the trust."""
    name, namespace = settings.install.name, settings.install.namespace
    api = "cert-manager.io/v1"
    algorithm = {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"}
    host = f"{name}.{namespace}.svc"
    return [
        _object(api, "Issuer", f"{name}-selfsigned", namespace, spec={"selfSigned": {}}),
        _object(
            api,
            "Certificate",
            f"{name}-ca",
            namespace,
            spec={
                "isCA": True,
                "commonName": f"{name}-ca",
                "secretName": f"{name}-ca",
                "duration": "87600h",
                "privateKey": algorithm,
                "issuerRef": {"kind": "Issuer", "name": f"{name}-selfsigned"},
            },
        ),
        _object(api, "Issuer", f"{name}-ca", namespace, spec={"ca": {"secretName": f"{name}-ca"}}),
        _object(
            api,
            "Certificate",
            f"{name}-tls",
            namespace,
            spec={
                "secretName": f"{name}-tls",
                "duration": "720h",
                "renewBefore": "240h",
                "privateKey": algorithm,
                "dnsNames": [host, f"{host}.cluster.local"],
                "issuerRef": {"kind": "Issuer", "name": f"{name}-ca"},
            },
        ),
    ]


def _object(api: str, kind: str, name: str, namespace: str, **more: Any) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


def _labelled(obj: Object, name: str) -> Object:
    labels = {
        "app.kubernetes.io/name": "vestibule",
        "app.kubernetes.io/instance": name,
        annotation_keys.MANAGED_BY: OWNER,
    }
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "labels": {**labels, **meta.get("labels", {})}}}
