"""``AzureClusterIdentity``: who an AROControlPlane is in Azure, and whether it may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.core.aro import embedded, names, subject
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.world import Ref, World
from vestibule.core.kinds import labels

TYPES: Final = (
    "ServicePrincipal",
    "ManualServicePrincipal",
    "ServicePrincipalCertificate",
    "UserAssignedMSI",
    "WorkloadIdentity",
    "UserAssignedIdentityCredential",
)


class NotAllowed(errors.VestibuleError):
    """The identity cannot be used: it is not there, or not for this namespace."""


def reference(obj: Object) -> Ref | None:
    """The identity that an AROControlPlane names; None: it leaves credentials to Azure Service Operator."""
    found = embedded.value(obj, "spec.identityRef")
    if not isinstance(found, Mapping):
        return None
    where = str(found.get("namespace") or subject.namespace(obj))
    return Ref(names.INFRASTRUCTURE, "AzureClusterIdentity", where, str(found.get("name") or ""))


_BORROWED: Final = {
    "UserAssignedMSI": "spec.type",
    "WorkloadIdentity": "spec.type",
    "UserAssignedIdentityCredential": "spec.userAssignedIdentityCredentialsPath",
}
"""Types that log in with what the operator's own pod has, and the field that says so."""


def borrowed(spec: Mapping[str, Any]) -> str:
    """The field by which an identity logs in with what is the operator's own, its account or a file of its
    file system; empty when it brings its credentials along."""
    if spec.get("certPath"):
        return "spec.certPath"
    return _BORROWED.get(str(spec.get("type")), "")


def misplaced(spec: Mapping[str, Any], ref: Ref, operator: str) -> str:
    """Why an identity is not used, whomever it allows; empty when it is. Everybody can write one in a
    namespace of theirs: it reaches Secrets of that namespace alone, and what is the operator's own only from
    the operator's namespace."""
    where = str(embedded.value(spec, "clientSecret.namespace") or ref.namespace)
    if where != ref.namespace:
        return (
            f"{ref}: spec.clientSecret.namespace is {where!r}, want {ref.namespace!r}: an identity reads "
            "Secrets of its own namespace only"
        )
    field = borrowed(spec)
    if field and ref.namespace != operator:
        value = spec.get(field.removeprefix("spec."))
        return (
            f"{ref}: {field} is {value!r}, which logs in with what is the operator's own: such an identity "
            f"counts in namespace {operator!r} only; move it there and name it in spec.identityRef.namespace"
        )
    return ""


def checked(obj: Object, ref: Ref, world: World) -> Object:
    """The identity, if this namespace may use it. Raises NotAllowed with what to do."""
    identity = world.get(ref)
    if identity is None:
        raise NotAllowed(f"{ref} does not exist: create it, or remove spec.identityRef")
    kind = embedded.value(identity, "spec.type")
    if kind not in TYPES:
        raise NotAllowed(f"{ref}: spec.type is {kind!r}, want one of {', '.join(TYPES)}")
    if not allows(identity, subject.namespace(obj), world):
        raise NotAllowed(
            f"{ref}: spec.allowedNamespaces does not allow namespace {subject.namespace(obj)!r}: add it there"
        )
    return identity


def allows(identity: Mapping[str, Any], namespace: str, world: World) -> bool:
    """Nobody is allowed without ``allowedNamespaces``; everybody if it is empty."""
    allowed = embedded.value(identity, "spec.allowedNamespaces")
    if not isinstance(allowed, Mapping):
        return False
    if not allowed:
        return True
    if namespace in (allowed.get("list") or ()):
        return True
    selector = allowed.get("selector")
    if not isinstance(selector, Mapping):
        return False
    try:
        meant = msgspec.convert(selector, labels.Selector)
    except msgspec.ValidationError:
        return False
    found = world.get(Ref("", "Namespace", "", namespace, "v1"))
    return found is not None and labels.matches(meant, subject.labels_of(found))
