"""The function behind ``/validate``: IdentityPolicies, KataConfigs and OSCWebhookConfigs, refused with all
that is wrong, and changes to confidential pods where no policy of the API server guards them.

The rules are those of ``vestibule lint``. Other kinds pass: a wide webhook configuration must not be able to
harm them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vestibule import errors
from vestibule.api import identitypolicy, kata
from vestibule.httpserver.server import HttpRequest, HttpResponse
from vestibule.injection.sandbox import validation

_KINDS = ("KataConfig", "OSCWebhookConfig")
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def answer(request: HttpRequest) -> HttpResponse:
    """Answer one review."""
    try:
        review = _decode(request.body)
        admission_request = review["request"]
        uid, obj = admission_request["uid"], admission_request.get("object")
        version = review["apiVersion"]
    except (msgspec.MsgspecError, KeyError, TypeError):
        return HttpResponse(400, b"want an AdmissionReview", "text/plain")
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    text = ""
    if isinstance(obj, dict) and obj.get("kind") == "Pod":
        text = _changed(obj, admission_request.get("oldObject"))
    elif isinstance(obj, dict) and not _is_deleted(obj):
        text = _refusal(obj)
    if text:
        status = {"message": text, "code": 422, "reason": "Invalid"}
        response = {"uid": uid, "allowed": False, "status": status}
    return HttpResponse(
        200, msgspec.json.encode({"apiVersion": version, "kind": "AdmissionReview", "response": response})
    )


def _changed(pod: dict[str, Any], before: object) -> str:
    """Which annotation of a confidential pod was changed after admission; empty: none. Asked only for pods of
    confidential namespaces, and only where the cluster has no ValidatingAdmissionPolicies."""
    if not isinstance(before, dict):
        return ""
    old, new = _annotations(before), _annotations(pod)
    for key in sorted({*old, *new}):
        if key.startswith(kata.PREFIX) and old.get(key, "") != new.get(key, ""):
            return f"{key} was decided at admission and cannot be changed on a pod of this namespace"
    return ""


def _annotations(pod: dict[str, Any]) -> dict[str, Any]:
    meta = pod.get("metadata")
    found = meta.get("annotations") if isinstance(meta, dict) else None
    return found if isinstance(found, dict) else {}


def _is_deleted(obj: dict[str, Any]) -> bool:
    """Whether only finalizers are removed any more; a broken object must be able to go."""
    meta = obj.get("metadata")
    return isinstance(meta, dict) and bool(meta.get("deletionTimestamp"))


def _refusal(obj: dict[str, Any]) -> str:
    """Everything that is wrong with an object, in one text; empty when nothing is."""
    kind = str(obj.get("kind"))
    meta = obj.get("metadata")
    name = f"{kind} {meta.get('name', '') if isinstance(meta, dict) else ''}"
    if kind == identitypolicy.KIND:
        try:
            identitypolicy.of_object(obj)
        except errors.InvalidInput as error:
            return f"{name}: " + "; ".join(f"spec.{one.field} {one.text}" for one in error.problems)
    elif kind in _KINDS:
        wrong = validation.of_object(kind, obj)
        if wrong:
            return f"{name}: " + "; ".join(f"{one.path} {one.text} ({one.code})" for one in wrong)
    return ""
