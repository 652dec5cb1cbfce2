"""A canned AdmissionReview of a pod that does not exist, to probe a webhook."""

from __future__ import annotations

from typing import Any, Final

import msgspec

NAMESPACE: Final = "canary"
POD: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "canary",
        "namespace": NAMESPACE,
        "labels": {"azure.workload.identity/use": "true"},
    },
    "spec": {"serviceAccountName": "canary", "containers": [{"name": "canary", "image": "canary"}]},
}


def review(uid: str = "canary") -> bytes:
    """The review, as a dry run: no side effects."""
    request = {
        "uid": uid,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "userInfo": {"username": "canary"},
        "namespace": NAMESPACE,
        "dryRun": True,
        "object": POD,
    }
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    )


class _CannedResponse(msgspec.Struct):
    uid: str
    allowed: bool


class _CannedAnswer(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    response: _CannedResponse


def problem(status: int, body: bytes, uid: str) -> str:
    """What is wrong with the response to the review; empty when it is valid. A denial is a valid response."""
    if status != 200:
        return f"status {status}"
    try:
        answer = msgspec.json.decode(body, type=_CannedAnswer)
    except msgspec.MsgspecError:
        return "the response is no AdmissionReview"
    if (answer.kind, answer.api_version) != ("AdmissionReview", "admission.k8s.io/v1"):
        return f"the response is a {answer.api_version} {answer.kind}"
    return "" if answer.response.uid == uid else "the response is for another review"
