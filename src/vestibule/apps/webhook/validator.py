"""The function behind ``/validate``: KataConfigs and OSCWebhookConfigs, refused with all that is wrong.

The rules are those of ``vestibule lint``. Other kinds pass: a wide registration must not be able to harm
them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vestibule.adapters.serving.server import HttpRequest, HttpResponse
from vestibule.core.mutation.sandbox import validation

_KINDS = ("KataConfig", "OSCWebhookConfig")
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def answer(request: HttpRequest) -> HttpResponse:
    """Answer one review."""
    try:
        review = _decode(request.body)
        asked = review["request"]
        uid, obj = asked["uid"], asked.get("object")
        version = review["apiVersion"]
    except (msgspec.MsgspecError, KeyError, TypeError):
        return HttpResponse(400, b"want an AdmissionReview", "text/plain")
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if isinstance(obj, dict) and obj.get("kind") in _KINDS:
        wrong = validation.of_object(str(obj["kind"]), obj)
        if wrong:
            name = f"{obj['kind']} {(obj.get('metadata') or {}).get('name', '')}"
            text = "; ".join(f"{one.path} {one.text} ({one.code})" for one in wrong)
            response = {
                "uid": uid,
                "allowed": False,
                "status": {"message": f"{name}: {text}", "code": 422, "reason": "Invalid"},
            }
    return HttpResponse(
        200, msgspec.json.encode({"apiVersion": version, "kind": "AdmissionReview", "response": response})
    )
