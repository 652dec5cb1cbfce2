"""The webhook configuration, as narrow as the settings allow, and the guard.

What the API server can decide by itself (mirror pods, excluded namespaces, host-network pods) never reaches
us: a call costs the API server more than it costs the webhook.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

from vestibule.api import annotation_keys
from vestibule.api.gvk import IDENTITY_POLICY
from vestibule.api.settings.schema import Settings

Object = dict[str, Any]
API: Final = "admissionregistration.k8s.io/v1"
WEBHOOK_NAME: Final = "pods.vestibule.dev"
ALWAYS_OUT: Final = ("kube-system", "kube-node-lease")
"""Namespaces no setting brings in."""
PODS_AT_CREATE: Final[Object] = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods"],
    "scope": "Namespaced",
}


def webhook_configuration(settings: Settings, conditions: Sequence[dict[str, str]] = ()) -> Object:
    """The MutatingWebhookConfiguration; ``conditions`` leave out what another one sends."""
    install, webhook = settings.install, settings.webhook
    entry: Object = {
        "name": WEBHOOK_NAME,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(settings, "/mutate"),
        "failurePolicy": webhook.failure_policy,
        "matchConditions": [*match_conditions(settings), *conditions],
        "matchPolicy": "Equivalent",
        "namespaceSelector": namespace_selector(settings),
        "reinvocationPolicy": webhook.reinvocation_policy,
        "rules": [copy.deepcopy(PODS_AT_CREATE)],
        "sideEffects": side_effects(settings),
        "timeoutSeconds": webhook.timeout_seconds,
    }
    labels = dict(webhook.object_selector)
    if settings.vocabularies == ("azwi",) and settings.azwi.require_label:
        labels[f"{annotation_keys.AZWI_PREFIX}use"] = "true"
    if labels:
        entry["objectSelector"] = {"matchLabels": dict(sorted(labels.items()))}
    meta: Object = {"name": install.name}
    annotations = ca_injection(settings)
    if annotations:
        meta["annotations"] = annotations
    return {"apiVersion": API, "kind": "MutatingWebhookConfiguration", "metadata": meta, "webhooks": [entry]}


def client_config(settings: Settings, path: str) -> Object:
    """Where the API server finds us, and the CA it should trust where that is given."""
    install = settings.install
    client: Object = {
        "service": {"name": install.name, "namespace": install.namespace, "path": path, "port": 443}
    }
    if install.ca_bundle:
        client["caBundle"] = install.ca_bundle
    return client


def side_effects(settings: Settings) -> str:
    """What a call does besides answering."""
    return "NoneOnDryRun" if settings.gcp.enabled and settings.config_map_writes else "None"


def ca_injection(settings: Settings) -> dict[str, str]:
    """Annotations for CA injection by cert-manager or OpenShift; none where the CA is given or vestibule's
    own."""
    install = settings.install
    if install.ca_bundle:
        return {}
    if install.certificate == "self":
        return {}
    if install.certificate == "cert-manager":
        return {"cert-manager.io/inject-ca-from": f"{install.namespace}/{install.name}-tls"}
    return {"service.beta.openshift.io/inject-cabundle": "true"}


def exact_out(settings: Settings) -> list[str]:
    """Namespaces that are left out by name."""
    exact = {name for name in settings.exclude.namespaces if "*" not in name}
    return sorted({*exact, *ALWAYS_OUT, settings.install.namespace})


def namespace_selector(settings: Settings) -> Object:
    out = exact_out(settings)
    selector: Object = {
        "matchExpressions": [
            {"key": annotation_keys.NAMESPACE_NAME_LABEL, "operator": "NotIn", "values": out}
        ]
    }
    if settings.webhook.namespace_selector:
        selector["matchLabels"] = dict(sorted(settings.webhook.namespace_selector.items()))
    return selector


def match_conditions(settings: Settings) -> list[dict[str, str]]:
    """CEL that cannot fail on any pod, and that 1.28 takes, where ``.?`` is not yet allowed."""
    annotations = "object.metadata.annotations"
    conditions = [
        {
            "name": "not-a-mirror-pod",
            "expression": f"!has({annotations}) || !('{annotation_keys.MIRROR_POD}' in {annotations})",
        }
    ]
    globs = sorted(name for name in settings.exclude.namespaces if "*" in name)
    if globs:
        pattern = "|".join(_regex(glob) for glob in globs)
        conditions.append(
            {
                "name": "not-an-excluded-namespace",
                "expression": f"!request.namespace.matches('^({pattern})$')",
            }
        )
    if settings.exclude.host_network and not (settings.policies or settings.identity_policies):
        # with policies such pods are sent: their authors chose the network, and limits hold nevertheless
        conditions.append(
            {
                "name": "not-on-the-host-network",
                "expression": "!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
            }
        )
    return conditions


def _regex(glob: str) -> str:
    """A name glob as RE2; names hold letters, digits, ``-`` and ``.`` alone."""
    return glob.replace(".", "[.]").replace("*", ".*")


def validating_configuration(settings: Settings) -> Object:
    """Objects that decide about many pods are validated before they are stored.

    KataConfigs and OSCWebhookConfigs pass while we are down: other operators write them, and what is broken
    is excluded by the webhook itself. IdentityPolicies do not: one that cannot be understood refuses
    identities in its scope, so it must not be stored.
    """
    install = settings.install
    entries: list[Object] = []
    if settings.sandbox.enabled:
        rules = [_cluster_scoped("kataconfiguration.openshift.io", ["kataconfigs", "oscwebhookconfigs"])]
        entries.append(validated(settings, "sandboxes.vestibule.dev", rules, "Ignore"))
    if settings.identity_policies:
        rules = [_cluster_scoped(IDENTITY_POLICY.group, [IDENTITY_POLICY.plural])]
        entries.append(validated(settings, "policies.vestibule.dev", rules, "Fail"))
    meta: Object = {"name": install.name}
    annotations = ca_injection(settings)
    if annotations:
        meta["annotations"] = annotations
    return {
        "apiVersion": API,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": meta,
        "webhooks": entries,
    }


def validates(settings: Settings) -> bool:
    """Whether there is anything to validate."""
    return settings.sandbox.enabled or settings.identity_policies


def validated(settings: Settings, name: str, rules: list[Object], failure: str) -> Object:
    """An entry of a ValidatingWebhookConfiguration."""
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(settings, "/validate"),
        "failurePolicy": failure,
        "matchPolicy": "Equivalent",
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": settings.webhook.timeout_seconds,
    }


def _cluster_scoped(group: str, resources: list[str]) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": resources,
        "scope": "Cluster",
    }


def _frozen(settings: Settings) -> list[str]:
    """The annotations we write that decide where a running pod's tokens go."""
    keys = [annotation_keys.GCP_CREDENTIALS, annotation_keys.AWS_CONFIG, annotation_keys.INJECTED]
    if not {"wif", "gke"}.isdisjoint(settings.vocabularies):
        keys.append(f"{settings.wif.annotation_prefix.rstrip('/')}/external-credentials-json")
    return keys


def guard(settings: Settings) -> list[Object]:
    """A ValidatingAdmissionPolicy that freezes the annotations we wrote, once the pod exists.

    Who may patch pods could otherwise point a running pod's credentials file at a server of theirs, and the
    kubelet would show it to the containers within a minute. Needs no server: it holds while the webhook is
    down.
    """
    name = f"{settings.install.name}-guard"
    validations = [
        {
            "expression": updated(f"{annotation('object', key)} == {annotation('oldObject', key)}"),
            "message": f"{key} was written at admission and cannot be changed on a pod",
            "reason": "Forbidden",
        }
        for key in _frozen(settings)
    ]
    validations += [
        same_prefix(_OF_CONTAINERS, "was written at admission and cannot be changed on a pod"),
        unbound([*_frozen(settings), _OF_CONTAINERS]),
    ]
    return pod_policy(name, ["UPDATE"], [], validations)


def pod_policy(
    name: str, operations: list[str], conditions: list[dict[str, str]], validations: list[dict[str, str]]
) -> list[Object]:
    """A ValidatingAdmissionPolicy over pods and what is below them, and its binding, which denies."""
    base = {"apiGroups": [""], "apiVersions": ["v1"], "scope": "Namespaced"}
    below = ["pods/ephemeralcontainers", "pods/resize", "pods/status"]
    rules: list[Object] = [
        {**base, "operations": ["UPDATE"], "resources": ["pods", *below]},
        {**base, "operations": ["CREATE"], "resources": ["pods/binding", "bindings"]},
    ]
    if "CREATE" in operations:
        rules.append({**base, "operations": ["CREATE"], "resources": ["pods"]})
    policy: Object = {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": rules},
            **({"matchConditions": conditions} if conditions else {}),
            "validations": validations,
        },
    }
    binding = {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return [policy, binding]


_OF_CONTAINERS: Final = f"{annotation_keys.GCP_CREDENTIALS}."


def updated(expression: str) -> str:
    """CEL that holds for everything but updates that break the expression."""
    return f"request.operation != 'UPDATE' || ({expression})"


def same_prefix(prefix: str, message: str) -> dict[str, str]:
    """A validation that annotations with a prefix stay as they are."""
    both = f"{_unchanged('object', 'oldObject', prefix)} && {_unchanged('oldObject', 'object', prefix)}"
    return {"expression": updated(both), "message": f"{prefix}* {message}", "reason": "Forbidden"}


def unbound(keys: Sequence[str]) -> dict[str, str]:
    """A validation that a Binding, whose annotations the API server copies onto the pod, brings none of these
    keys or prefixes."""
    ours = "object.metadata.?annotations.orValue({})"
    listed = ", ".join(f"'{key}'" for key in keys)
    return {
        "expression": f"request.operation != 'CREATE' || object.kind != 'Binding' || "
        f"{ours}.all(k, ![{listed}].exists(p, k.startsWith(p)))",
        "message": "a Binding cannot bring annotations that were decided at admission",
        "reason": "Forbidden",
    }


def _unchanged(of: str, by: str, prefix: str) -> str:
    """Every annotation with a prefix of one is the same in the other."""
    ours, theirs = (f"{which}.metadata.?annotations.orValue({{}})" for which in (of, by))
    return f"{ours}.all(k, !k.startsWith('{prefix}') || {theirs}[?k].orValue('') == {ours}[k])"


def annotation(of: str, key: str) -> str:
    """An annotation of an object in CEL; empty where it is absent."""
    return f"{of}.metadata.?annotations.orValue({{}})[?'{key}'].orValue('')"
