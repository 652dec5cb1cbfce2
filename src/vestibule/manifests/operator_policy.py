"""What the operator's account may write of webhook configurations, whatever its roles say. Pure.

What an installation registers follows from its object, so it cannot be compared with something rendered
beforehand; but it is never about anything else than pods and the kinds of ours, and leads to a Service of the
operator's namespace or to an https address. A stolen token cannot be used to send Secrets elsewhere.
"""

from __future__ import annotations

from typing import Any, Final

from vestibule.manifests import webhook_configurations

Object = dict[str, Any]
_GROUPS: Final = (
    "",
    "controlplane.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
    "kataconfiguration.openshift.io",
    "vestibule.dev",
)
"""Groups of what is sent to us; of the first one it is pods."""


_PODS: Final = ("pods", "pods/ephemeralcontainers", "pods/resize", "pods/status")
"""What of pods is sent to us; never what carries a session, such as ``pods/exec``."""


def objects(name: str, namespace: str) -> list[Object]:
    """The policy and its binding; ``name`` is the operator's, and its account's."""
    groups = ", ".join(f"'{one}'" for one in _GROUPS)
    below = ", ".join(f"'{one}'" for one in _PODS)
    pods = f"(!('' in r.apiGroups) || r.resources.all(x, x in [{below}]))"
    rules = (
        f"h.?rules.orValue([]).all(r, r.apiGroups.all(g, g in [{groups}]) && "
        f"r.resources.all(x, !x.contains('*')) && {pods})"
    )
    leads = (
        f"h.clientConfig.?service.?namespace.orValue('{namespace}') == '{namespace}' && "
        "h.clientConfig.?url.orValue('https://').startsWith('https://')"
    )
    return [
        {
            "apiVersion": webhook_configurations.API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConditions": [
                    {
                        "name": "the-operator",
                        "expression": "request.userInfo.username == "
                        f"'system:serviceaccount:{namespace}:{name}'",
                    }
                ],
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "resourceRules": [
                        {
                            "apiGroups": ["admissionregistration.k8s.io"],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE", "UPDATE"],
                            "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
                            "scope": "Cluster",
                        }
                    ],
                },
                "validations": [
                    {
                        "expression": f"object.?webhooks.orValue([]).all(h, {rules})",
                        "message": "the operator registers webhooks for pods and kinds of ours alone",
                        "reason": "Forbidden",
                    },
                    {
                        "expression": f"object.?webhooks.orValue([]).all(h, {leads})",
                        "message": "the operator registers webhooks of its own namespace, or at an https "
                        "address",
                        "reason": "Forbidden",
                    },
                ],
            },
        },
        {
            "apiVersion": webhook_configurations.API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]
