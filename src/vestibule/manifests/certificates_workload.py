"""Who issues the webhook's certificate where no operator does: a Deployment and an account of its own.

The webhook's replicas have no permission on Secrets or webhook configurations. This account may write
two Secrets and our webhook configurations, all by name, and a ValidatingAdmissionPolicy limits what it may do
to the latter: change the ``caBundle``, and create one that is missing exactly as it was rendered. What it
creates is owned by the webhook's ClusterRole, so that it goes with the installation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestibule.api.settings.schema import Settings
from vestibule.manifests import sandbox_webhooks, webhook_configurations, workload

Object = dict[str, Any]
CONFIGURATIONS_FILE: Final = "registrations.json"
_DIRECTORY: Final = "/etc/certificates"
_RBAC: Final = "rbac.authorization.k8s.io"
_GROUP: Final = "admissionregistration.k8s.io"
_PORT: Final = 8080
_MUTATING: Final = "mutatingwebhookconfigurations"
_VALIDATING: Final = "validatingwebhookconfigurations"
PLURALS: Final = {"MutatingWebhookConfiguration": _MUTATING, "ValidatingWebhookConfiguration": _VALIDATING}
FIELDS: Final = (
    "admissionReviewVersions",
    "failurePolicy",
    "matchConditions",
    "matchPolicy",
    "name",
    "namespaceSelector",
    "objectSelector",
    "reinvocationPolicy",
    "rules",
    "sideEffects",
    "timeoutSeconds",
)
"""Fields of a webhook, but for ``clientConfig``."""
_DEFAULTS: Final[Object] = {"namespaceSelector": {}, "objectSelector": {}}
"""What the API server fills in."""


def name(settings: Settings) -> str:
    """Of everything that is the issuer's."""
    return f"{settings.install.name}-certificates"


def signing_secret(installation: str) -> str:
    """The Secret with the CA and its key; no replica mounts it."""
    return f"{installation}-authority"


def user(settings: Settings) -> str:
    """Who the issuer is to the API server."""
    return f"system:serviceaccount:{settings.install.namespace}:{name(settings)}"


def objects(settings: Settings, configurations: Sequence[Object]) -> list[Object]:
    """All of it; ``configurations`` are the webhook configurations as they are rendered."""
    own, namespace, base = name(settings), settings.install.namespace, settings.install.name
    subject = {"kind": "ServiceAccount", "name": own, "namespace": namespace}
    return [
        _object("v1", "ServiceAccount", own, namespace, automountServiceAccountToken=False),
        *_bound("ClusterRole", own, "", cluster_rules(settings), subject),
        *_bound("Role", own, namespace, near_rules(settings), subject),
        # both exist from the start, so that they are removed with the installation
        _object("v1", "Secret", signing_secret(base), namespace),
        _object("v1", "Secret", f"{base}-tls", namespace),
        _object("coordination.k8s.io/v1", "Lease", base, namespace),
        _object("v1", "ConfigMap", own, namespace, data={CONFIGURATIONS_FILE: listed(configurations)}),
        *(policy(settings, configurations) if settings.install.guard else []),
        _network_policy(settings),
        _deployment(settings),
    ]


def listed(configurations: Sequence[Object]) -> str:
    """The webhook configurations as a file."""
    return msgspec.json.encode(configurations, order="sorted").decode() + "\n"


def near_rules(settings: Settings) -> list[Object]:
    """What it may do in the namespace."""
    base = settings.install.name
    return [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [signing_secret(base), f"{base}-tls"],
            "verbs": ["create", "get", "patch", "update"],
        },
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [base],
            "verbs": ["create", "get", "patch", "update"],
        },
    ]


def cluster_rules(settings: Settings) -> list[Object]:
    """What it may do in the whole cluster; creating by name is for server-side apply alone."""
    base = settings.install.name
    verbs = ["create", "get", "patch"]
    sandbox_names = [sandbox_webhooks.name(settings)] if settings.sandbox.enabled else []
    rules = [
        {
            "apiGroups": [_GROUP],
            "resources": [_MUTATING],
            "resourceNames": [base, *sandbox_names],
            "verbs": verbs,
        }
    ]
    if webhook_configurations.validates(settings):
        rules.append(
            {"apiGroups": [_GROUP], "resources": [_VALIDATING], "resourceNames": [base], "verbs": verbs}
        )
    owner = {"apiGroups": [_RBAC], "resources": ["clusterroles"], "resourceNames": [base], "verbs": ["get"]}
    return [*rules, owner]


# ── the policy ──────────────────────────────────────────────────────────────────────────────────────────────


def policy(settings: Settings, configurations: Sequence[Object]) -> list[Object]:
    """What the issuer's account may write of a webhook configuration."""
    own = name(settings)
    same = " && ".join(f"h.?{field} == o.?{field}" for field in FIELDS)
    client = " && ".join(f"h.clientConfig.?{one} == o.clientConfig.?{one}" for one in ("service", "url"))
    meta = " && ".join(
        f"object.metadata.?{field} == oldObject.metadata.?{field}"
        for field in ("annotations", "finalizers", "labels", "ownerReferences")
    )
    return [
        {
            "apiVersion": webhook_configurations.API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": own},
            "spec": {
                "failurePolicy": "Fail",
                "matchConditions": [
                    {"name": "the-issuer", "expression": f"request.userInfo.username == '{user(settings)}'"}
                ],
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "resourceRules": [
                        {
                            "apiGroups": [_GROUP],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE", "UPDATE", "DELETE"],
                            "resources": [_MUTATING, _VALIDATING],
                            "scope": "Cluster",
                        }
                    ],
                },
                "validations": [
                    {
                        "expression": "request.operation != 'DELETE'",
                        "message": "who issues certificates deletes no webhook configuration",
                        "reason": "Forbidden",
                    },
                    {
                        "expression": "request.operation != 'UPDATE' || ("
                        "has(object.webhooks) && has(oldObject.webhooks) && "
                        "object.webhooks.map(h, h.name) == oldObject.webhooks.map(o, o.name) && "
                        "object.webhooks.all(h, oldObject.webhooks.exists(o, o.name == h.name && "
                        f"{client} && {same})) && {meta})",
                        "message": "who issues certificates changes the caBundle of a webhook configuration "
                        "and nothing else",
                        "reason": "Forbidden",
                    },
                    {
                        "expression": created(settings, configurations),
                        "message": "who issues certificates creates a webhook configuration as it was "
                        "rendered and no other",
                        "reason": "Forbidden",
                    },
                ],
            },
        },
        {
            "apiVersion": webhook_configurations.API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": own},
            "spec": {"policyName": own, "validationActions": ["Deny"]},
        },
    ]


def created(settings: Settings, configurations: Sequence[Object]) -> str:
    """CEL that holds for a new webhook configuration that is equal to a rendered one."""
    either = " || ".join(equal(one) for one in configurations) or "false"
    owner = (
        "object.metadata.?ownerReferences.orValue([]).all(r, "
        f"r.kind == 'ClusterRole' && r.name == '{settings.install.name}')"
    )
    return f"request.operation != 'CREATE' || !has(object.metadata.finalizers) && {owner} && ({either})"


def equal(configuration: Object) -> str:
    """CEL that holds for an object with these webhooks, whatever their caBundle."""
    hooks = configuration["webhooks"]
    conditions = [
        f"request.resource.resource == '{PLURALS[configuration['kind']]}'",
        f"object.metadata.name == '{configuration['metadata']['name']}'",
        f"has(object.webhooks) && size(object.webhooks) == {len(hooks)}",
    ]
    for index, hook in enumerate(hooks):
        here = f"object.webhooks[{index}]"
        defaults = {**_DEFAULTS, **({"reinvocationPolicy": "Never"} if _mutating(configuration) else {})}
        for field in FIELDS:
            value = hook.get(field, defaults.get(field))
            conditions.append(f"{here}.?{field} == {_optional(value)}")
        conditions.append(f"!has({here}.clientConfig.url)")
        conditions.append(f"{here}.clientConfig.?service == {_optional(hook['clientConfig']['service'])}")
    return f"({' && '.join(conditions)})"


def _optional(value: Any) -> str:
    """A field that has this value, or is not there: a field that is missing is no error."""
    return "optional.none()" if value is None else f"optional.of({literal(value)})"


def _mutating(configuration: Object) -> bool:
    return bool(configuration["kind"] == "MutatingWebhookConfiguration")


def literal(value: Any) -> str:
    """A value as CEL writes it: JSON, escaped as Helm's ``toJson`` does, but that the values of a map must be
    of one type, or be declared as dyn."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{literal(key)}:dyn({literal(one)})' for key, one in sorted(value.items()))}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(literal, value))}]"
    text = msgspec.json.encode(value).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


# ── the workload ────────────────────────────────────────────────────────────────────────────────────────────


def selector(settings: Settings) -> dict[str, str]:
    """Labels of its pods; no Service of the webhook selects them."""
    return {
        "app.kubernetes.io/name": "vestibule-certificates",
        "app.kubernetes.io/instance": settings.install.name,
    }


def _deployment(settings: Settings) -> Object:
    own, labels = name(settings), selector(settings)
    probe = {"scheme": "HTTP", "port": "metrics"}
    container = {
        "name": "certificates",
        "image": settings.install.image,
        "args": [
            "certificates",
            f"--settings={workload.SETTINGS_DIRECTORY}/{workload.SETTINGS_FILE}",
            f"--registrations={_DIRECTORY}/{CONFIGURATIONS_FILE}",
            f"--metrics-addr=0.0.0.0:{_PORT}",
        ],
        "env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        "ports": [{"name": "metrics", "containerPort": _PORT, "protocol": "TCP"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", **probe}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "settings", "mountPath": workload.SETTINGS_DIRECTORY, "readOnly": True},
            {"name": "registrations", "mountPath": _DIRECTORY, "readOnly": True},
            {"name": "token", "mountPath": workload.TOKEN_DIRECTORY, "readOnly": True},
        ],
    }
    pod = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "securityContext": {
            "runAsGroup": 65532,
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "serviceAccountName": own,
        "terminationGracePeriodSeconds": 10,
        "volumes": [
            {"name": "settings", "configMap": {"name": workload.settings_name(settings)}},
            {"name": "registrations", "configMap": {"name": own}},
            workload.token_volume(),
        ],
    }
    return _object(
        "apps/v1",
        "Deployment",
        own,
        settings.install.namespace,
        spec={
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    )


def _network_policy(settings: Settings) -> Object:
    """In: scrapes. Out: DNS and the API server."""
    return _object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        name(settings),
        settings.install.namespace,
        spec={
            "podSelector": {"matchLabels": selector(settings)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": "metrics"}]}],
            "egress": workload.egress(),
        },
    )


def _bound(kind: str, own: str, namespace: str, rules: list[Object], subject: Object) -> list[Object]:
    meta = {"name": own, **({"namespace": namespace} if namespace else {})}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": dict(meta),
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": own},
            "subjects": [subject],
        },
    ]


def _object(api: str, kind: str, own: str, namespace: str, **more: Any) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": own, "namespace": namespace}, **more}
