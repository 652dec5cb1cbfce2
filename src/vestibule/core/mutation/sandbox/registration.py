"""How the API server should call us for sandboxes: two entries, so that an outage cannot hurt other pods.

The first is for pods without a class in the chosen namespaces, the second for pods that have a Kata class;
the second is listed after the first and sees the class that was set there. The name sorts before the
peer-pods webhook's.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from vestibule.core.kinds import vocabulary
from vestibule.core.mutation.sandbox.world import ALWAYS_OUT, World

Object = dict[str, Any]
_CLASS: Final = "object.spec.runtimeClassName"
_TIMEOUT: Final = 5


def desired(found: World, *, name: str, namespace: str) -> Object | None:
    """The configuration; None when there should be none."""
    if not found.active:
        return None
    entries = []
    injection = found.webhook.runtime_class_injection
    if found.gives_classes:
        entries.append(_entry(found, "class.sandbox.vestibule.dev", f"!has({_CLASS})", name, namespace))
        if injection.enabled and injection.namespace_selector is not None and not found.rules:
            entries[0]["namespaceSelector"] = _and(
                entries[0]["namespaceSelector"], injection.namespace_selector
            )
    classes = ", ".join(f"'{one}'" for one in sorted(found.kata_classes))
    entries.append(
        _entry(
            found, "kata.sandbox.vestibule.dev", f"has({_CLASS}) && {_CLASS} in [{classes}]", name, namespace
        )
    )
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": entries,
    }


def merged(wanted: Object, ca_bundle: str) -> Object:
    """What to write: as wanted, with the CA bundle that somebody else keeps."""
    result = copy.deepcopy(wanted)
    for entry in result["webhooks"] if ca_bundle else ():
        entry["clientConfig"]["caBundle"] = ca_bundle
    return result


def _entry(found: World, entry: str, condition: str, name: str, namespace: str) -> Object:
    literal = sorted({one for one in ALWAYS_OUT if "*" not in one} | {namespace})
    prefixes = sorted(one.rstrip("*") for one in ALWAYS_OUT if one.endswith("*"))
    return {
        "name": entry,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": name, "namespace": namespace, "path": "/mutate", "port": 443}},
        "failurePolicy": found.webhook.failure_policy,
        "matchConditions": [
            {"name": "class", "expression": condition},
            *(
                {
                    "name": f"not-{prefix.rstrip('-')}",
                    "expression": f"!request.namespace.startsWith('{prefix}')",
                }
                for prefix in prefixes
            ),
        ],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {"key": vocabulary.NAMESPACE_NAME_LABEL, "operator": "NotIn", "values": literal}
            ]
        },
        "reinvocationPolicy": "IfNeeded",
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "None",
        "timeoutSeconds": _TIMEOUT,
    }


def _and(selector: Object, more: Any) -> Object:
    """Both selectors; labels are exact and expressions add up."""
    expressions = [
        {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
        for one in more.match_expressions
    ]
    both: Object = {"matchExpressions": [*selector["matchExpressions"], *expressions]}
    if more.match_labels:
        both["matchLabels"] = dict(more.match_labels)
    return both
