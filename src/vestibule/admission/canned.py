"""A canned AdmissionReview: a pod that nobody has, to see whether somebody answers, and what."""

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
    """The review, dry: whoever answers has no side effects."""
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
    """What is wrong with the answer to the review; empty when it is one. A refusal is an answer, too."""
    if status != 200:
        return f"status {status}"
    try:
        answer = msgspec.json.decode(body, type=_CannedAnswer)
    except msgspec.MsgspecError:
        return "the answer is no AdmissionReview"
    if (answer.kind, answer.api_version) != ("AdmissionReview", "admission.k8s.io/v1"):
        return f"the answer is a {answer.api_version} {answer.kind}"
    return "" if answer.response.uid == uid else "the answer is for another review"
