"""The kinds that an installation consists of, with what a client needs to address them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestibule.api import gvk
from vestibule.api.gvk import Kind

_ADMISSION_GROUP: Final = "admissionregistration.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"

SECRET: Final = Kind("", "v1", "Secret", "secrets")
SERVICE: Final = Kind("", "v1", "Service", "services")
NODE: Final = Kind("", "v1", "Node", "nodes", namespaced=False)
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
BUDGET: Final = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
NETWORK_POLICY: Final = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
ROLE: Final = Kind(_RBAC, "v1", "Role", "roles")
ROLE_BINDING: Final = Kind(_RBAC, "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE: Final = Kind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING: Final = Kind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
PRIORITY_CLASS: Final = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
MUTATING: Final = Kind(
    _ADMISSION_GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
VALIDATING: Final = Kind(
    _ADMISSION_GROUP,
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
POLICY: Final = Kind(
    _ADMISSION_GROUP, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
POLICY_BINDING: Final = Kind(
    _ADMISSION_GROUP,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
ISSUER: Final = Kind("cert-manager.io", "v1", "Issuer", "issuers")
CERTIFICATE: Final = Kind("cert-manager.io", "v1", "Certificate", "certificates")

NEAR: Final = (
    gvk.SERVICE_ACCOUNT,
    gvk.CONFIG_MAP,
    SECRET,
    SERVICE,
    gvk.DEPLOYMENT,
    BUDGET,
    NETWORK_POLICY,
)
"""What lives in the namespace of an installation."""
CERT_MANAGER: Final = (ISSUER, CERTIFICATE)
"""The same, where cert-manager is there."""
RBAC: Final = (ROLE, ROLE_BINDING)
"""What may live in other namespaces, too."""
WIDE: Final = (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    PRIORITY_CLASS,
    MUTATING,
    VALIDATING,
    POLICY,
    POLICY_BINDING,
)
"""What lives in no namespace."""
WEBHOOK_CONFIGURATIONS: Final = (MUTATING, VALIDATING)

_BY_NAME: Final = {(kind.api_version, kind.kind): kind for kind in (*NEAR, *CERT_MANAGER, *RBAC, *WIDE)}


def of(obj: Mapping[str, Any]) -> Kind:
    """The kind of an object of an installation; raises KeyError for any other."""
    return _BY_NAME[obj["apiVersion"], obj["kind"]]
