"""A ValidatingAdmissionPolicy that checks the final pod: a pod that requests an identity must have it.

It needs no server, so it reports when the webhook was down, was not called, or let a pod pass. It reads the
pod, its ServiceAccount (as a parameter: every account of the namespace is offered, and only the pod's own
counts) and its namespace; annotations of owners are not read. An error in it never stops a pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vestibule.api import annotation_keys
from vestibule.api.settings.schema import Settings

Object = dict[str, Any]
_API: Final = "admissionregistration.k8s.io/v1"
_ACTIONS: Final = {"warn": "Warn", "audit": "Audit", "deny": "Deny"}
_VARIABLES: Final = (
    ("own", "object.metadata.?annotations.orValue({})"),
    ("theirs", "params.metadata.?annotations.orValue({})"),
    ("around", "namespaceObject.metadata.?annotations.orValue({})"),
    ("concerns", "object.spec.?serviceAccountName.orValue('default') == params.metadata.name"),
    ("done", f"',' + variables.own[?'{annotation_keys.INJECTED}'].orValue('') + ','"),
    ("labels", "object.metadata.?labels.orValue({})"),
    ("names", "object.spec.containers.map(c, c.?env.orValue([]).map(e, e.name))"),
)
_NAMES: Final = {"gcp": "Google Cloud", "aws": "AWS", "az": "Azure"}


def policy(settings: Settings, selector: Object, conditions: list[Object]) -> list[Object]:
    """Policy and binding; none when it is switched off. ``selector`` and ``conditions`` say whom the webhook
    is called for."""
    action = _ACTIONS.get(settings.install.final_check)
    if action is None:
        return []
    name = f"{settings.install.name}-final"
    return [
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Ignore",
                "paramKind": {"apiVersion": "v1", "kind": "ServiceAccount"},
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": selector,
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["pods"],
                            "scope": "Namespaced",
                        }
                    ],
                },
                "matchConditions": conditions,
                "variables": [{"name": name, "expression": text} for name, text in _VARIABLES],
                "validations": [*_validations(settings)],
            },
        },
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
                "validationActions": [action],
            },
        },
    ]


def _validations(settings: Settings) -> Iterator[Object]:
    for dialect in settings.vocabularies:
        match dialect:
            case "cwii":
                for cloud, called in _NAMES.items():
                    yield _validation(
                        _requests(cloud), f"variables.done.contains(',{cloud},')", called, "cwii.dev"
                    )
            case "azwi":
                requests = f"variables.labels[?'{annotation_keys.AZWI_PREFIX}use'].orValue('') == 'true'"
                yield _validation(requests, _has(annotation_keys.ENV_AZURE_TOKEN_FILE), "Azure", "azwi")
            case "eks":
                requests = f"'{settings.eks.annotation_prefix}/role-arn' in variables.theirs"
                yield _validation(requests, _has(annotation_keys.ENV_AWS_TOKEN_FILE), "AWS", "eks")
            case "wif":
                requests = (
                    f"'{settings.wif.annotation_prefix}/workload-identity-provider' in variables.theirs"
                )
                yield _validation(
                    requests, _has(annotation_keys.ENV_GOOGLE_CREDENTIALS), "Google Cloud", "wif"
                )
            case "gke":
                requests = f"'{annotation_keys.NATIVE_GKE_SERVICE_ACCOUNT}' in variables.theirs"
                yield _validation(
                    requests, _has(annotation_keys.ENV_GOOGLE_CREDENTIALS), "Google Cloud", "gke"
                )


def _requests(cloud: str) -> str:
    """The strongest level that says something counts."""
    key = f"[?'{annotation_keys.CWII_PREFIX}{cloud}-inject']"
    return f"variables.own{key}.or(variables.theirs{key}).or(variables.around{key}).orValue('') == 'true'"


def _has(variable: str) -> str:
    return f"variables.names.exists(n, '{variable}' in n)"


def _validation(requests: str, has: str, cloud: str, dialect: str) -> Object:
    return {
        "expression": f"!variables.concerns || !({requests}) || {has}",
        "message": (
            f"the pod asks for an identity of {cloud} ({dialect}) and has none: the webhook was not "
            "called, or left it out; `vestibule explain` says why"
        ),
        "reason": "Forbidden",
    }
