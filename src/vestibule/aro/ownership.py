"""Whose an object is. Ours is what we applied for this very owner; nothing else is written or deleted.

The owner is the controller in ``ownerReferences``. Where somebody took the reference away, our own record
counts: an annotation with the uid of the owner, which the API server says that we applied. Both are on the
object itself and hold the uid of one owner. The owner's own fields, its status included, prove nothing:
whoever may write the owner could claim any object. What has neither reference nor record, such as objects
that a paused upstream controller applied, is taken over only by the annotation ``vestibule.dev/adopt``, for
which the webhook checks the permissions of its author.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vestibule.aro import embedded, names
from vestibule.aro.embedded import Object
from vestibule.aro.ports import MergePatch, ObjectRef


def ref(obj: Object) -> ObjectRef:
    """Where a live object is."""
    what = embedded.of(obj)
    meta = obj["metadata"]
    return ObjectRef(what.group, what.kind, str(meta.get("namespace") or ""), meta["name"], what.version)


def change(obj: Object, patch: Object) -> MergePatch:
    """A merge patch of a live object, which the API server refuses for any other object of its name."""
    uid = obj["metadata"].get("uid")
    if uid:
        patch = {**patch, "metadata": {**(patch.get("metadata") or {}), "uid": uid}}
    return MergePatch(ref(obj), patch)


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
    return bool(recorded) and recorded == subject["metadata"].get("uid") and _applied(obj, names.CREATED_FOR)


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


def _annotations(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
