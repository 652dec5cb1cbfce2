"""``AzureClusterIdentity``: who an AROControlPlane is in Azure, and whether it may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.api import label_selectors
from vestibule.aro import embedded, lifecycle, names
from vestibule.aro.embedded import Object
from vestibule.aro.ports import ClusterReader, ObjectRef

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


def reference(obj: Object) -> ObjectRef | None:
    """The identity that an AROControlPlane names; None: it leaves credentials to Azure Service Operator."""
    found = embedded.value(obj, "spec.identityRef")
    if not isinstance(found, Mapping):
        return None
    where = str(found.get("namespace") or lifecycle.namespace(obj))
    return ObjectRef(names.INFRASTRUCTURE, "AzureClusterIdentity", where, str(found.get("name") or ""))


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


def misplaced(spec: Mapping[str, Any], ref: ObjectRef, operator: str) -> str:
    """Why an identity is not used, whomever it allows; empty when it is. Everybody can write one in a
    namespace of theirs: it reaches Secrets of that namespace alone, and what is the operator's own only from
    the operator's namespace."""
    return next((f"{ref}: {field} {text}" for field, text in _misplaced(spec, ref.namespace, operator)), "")


def _misplaced(spec: Mapping[str, Any], namespace: str, operator: str) -> Iterator[tuple[str, str]]:
    """Fields that reach beyond the namespace of an identity, and what is wrong with each."""
    secret = spec.get("clientSecret")
    if secret is not None and not isinstance(secret, Mapping):
        yield "spec.clientSecret", f"is {secret!r}, want an object with name and namespace"
    where = embedded.value(spec, "clientSecret.namespace")
    if where not in (None, "", namespace):
        text = f"is {where!r}, want {namespace!r}: an identity reads Secrets of its own namespace only"
        yield "spec.clientSecret.namespace", text
    field = borrowed(spec)
    if field and namespace != operator:
        value = spec.get(field.removeprefix("spec."))
        yield (
            field,
            f"is {value!r}, which logs in with what is the operator's own: such an identity counts in "
            f"namespace {operator!r} only; move it there and name it in spec.identityRef.namespace",
        )


def problems(identity: Object, operator: str) -> Iterator[tuple[str, str]]:
    """Why an identity is not used, whomever it allows: all fields, each with what is wrong. ``operator`` is
    the operator's own namespace."""
    spec = identity.get("spec")
    if not isinstance(spec, Mapping):
        yield "spec", "is missing or no object, want an object"
        return
    kind = spec.get("type")
    if kind not in TYPES:
        yield "spec.type", _wrong_type(kind)
    yield from _misplaced(spec, lifecycle.namespace(identity), operator)


def _wrong_type(kind: object) -> str:
    return f"is {kind!r}, want one of {', '.join(TYPES)}"


def checked(obj: Object, ref: ObjectRef, reader: ClusterReader) -> Object:
    """The identity, if this namespace may use it. Raises NotAllowed with what to do."""
    identity = reader.get(ref)
    if identity is None:
        raise NotAllowed(f"{ref} does not exist: create it, or remove spec.identityRef")
    kind = embedded.value(identity, "spec.type")
    if kind not in TYPES:
        raise NotAllowed(f"{ref}: spec.type {_wrong_type(kind)}")
    if not allows(identity, lifecycle.namespace(obj), reader):
        raise NotAllowed(
            f"{ref}: spec.allowedNamespaces does not allow namespace {lifecycle.namespace(obj)!r}: add it "
            "there"
        )
    return identity


def allows(identity: Mapping[str, Any], namespace: str, reader: ClusterReader) -> bool:
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
        meant = msgspec.convert(selector, label_selectors.LabelSelector)
    except msgspec.ValidationError:
        return False
    found = reader.get(ObjectRef("", "Namespace", "", namespace, "v1"))
    return found is not None and label_selectors.matches(meant, lifecycle.labels_of(found))
