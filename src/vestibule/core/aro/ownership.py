"""Whose an object is. Ours is what we applied for this very owner; nothing else is written or deleted.

The owner is the controller in ``ownerReferences``. Where somebody took the reference away, our own record
counts: an annotation with the uid of the owner, which the API server says that we applied. Objects that the
controllers whose place we take left behind in a pause have no such record; they are recognised by the policy
that a pause applies, and only if the owner's status lists them as applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vestibule.core.aro import embedded, names
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.world import Change, Ref


def ref(obj: Object) -> Ref:
    """Where a live object is."""
    what = embedded.of(obj)
    meta = obj["metadata"]
    return Ref(what.group, what.kind, str(meta.get("namespace") or ""), meta["name"], what.version)


def change(obj: Object, patch: Object) -> Change:
    """A merge patch of a live object, which the API server refuses for any other object of its name."""
    uid = obj["metadata"].get("uid")
    if uid:
        patch = {**patch, "metadata": {**(patch.get("metadata") or {}), "uid": uid}}
    return Change(ref(obj), patch)


def references(obj: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All owners of an object."""
    for one in (obj.get("metadata") or {}).get("ownerReferences") or ():
        if isinstance(one, Mapping):
            yield one


def controller(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Who controls an object."""
    return next((one for one in references(obj) if one.get("controller") is True), None)


def owner_reference(subject: Object) -> Object:
    """The reference that makes something ours."""
    meta = subject["metadata"]
    return {
        "apiVersion": subject["apiVersion"],
        "kind": subject["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controlled(subject: Mapping[str, Any], obj: Mapping[str, Any]) -> bool:
    """Whether this owner controls an object."""
    holder = controller(obj)
    return holder is not None and bool(holder.get("uid")) and holder["uid"] == subject["metadata"].get("uid")


def ours(subject: Mapping[str, Any], obj: Mapping[str, Any]) -> bool:
    """Whether an embedded object was created for this owner."""
    if controller(obj) is not None:
        return controlled(subject, obj)
    recorded = _annotations(obj).get(names.CREATED_FOR)
    if recorded is not None:
        return recorded == subject["metadata"].get("uid") and _applied(obj, names.CREATED_FOR)
    return (
        _annotations(obj).get(names.RECONCILE_POLICY) == names.SKIP
        and _applied(obj, names.RECONCILE_POLICY)
        and _listed_as_applied(subject, obj)
    )


def policy_applied(obj: Mapping[str, Any]) -> bool:
    """Whether a controller of our name wrote the policy of an object."""
    return _applied(obj, names.RECONCILE_POLICY, "Apply", "Update")


def _applied(obj: Mapping[str, Any], key: str, *operations: str) -> bool:
    """Whether we wrote an annotation, by what the API server says."""
    return any(
        one.get("manager") == names.MANAGER
        and one.get("operation") in (operations or ("Apply",))
        and f"f:{key}" in (embedded.value(one, "fieldsV1.f:metadata.f:annotations") or {})
        for one in (obj.get("metadata") or {}).get("managedFields") or ()
    )


def _listed_as_applied(subject: Mapping[str, Any], obj: Mapping[str, Any]) -> bool:
    """Whether the owner's status lists an object, and not as one that was left alone."""
    identity = embedded.identity(obj)
    for one in embedded.value(subject, "status.resources") or ():
        found = embedded.value(one, "resource") or {}
        if (found.get("group"), found.get("kind"), found.get("name")) == identity:
            return one.get("reason") not in (names.NOT_APPLIED, names.REFUSED)
    return False


def _annotations(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
