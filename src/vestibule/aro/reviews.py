"""AdmissionReviews of ARO objects: bytes to what is asked, findings back to bytes, and the registration.

A refusal reads like one of the API server's own, with every field as a cause of its own, for machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.aro import garbage_collection, names
from vestibule.aro.author_access import RequestUser
from vestibule.aro.findings import Findings, RuleError

Object = dict[str, Any]
PATH: Final = "/validate-aro"
SINCE: Final = "vestibule.dev/deletions-checked-since"
"""On the registration: from when on the API server asks us before something is deleted."""
_API: Final = "admission.k8s.io/v1"
_WORDS: Final = {
    "Required": ("FieldValueRequired", "Required value"),
    "Invalid": ("FieldValueInvalid", "Invalid value"),
    "Forbidden": ("FieldValueForbidden", "Forbidden"),
    "Duplicate": ("FieldValueDuplicate", "Duplicate value"),
}
_OURS: Final = ("controlPlaneEndpoint", "providerIDList")
"""Fields of specs that controllers write."""
_WARNINGS: Final = 3
"""More break clients, and nobody reads them."""
_LONGEST: Final = 200
"""Characters of one."""


class AroReview(NamedTuple):
    """One question of the API server."""

    uid: str
    operation: str
    object: Object
    """On DELETE what is deleted."""
    old: Object | None
    user: RequestUser = RequestUser()


class _AroAdmissionRequest(msgspec.Struct, rename="camel"):
    uid: str
    operation: str
    object: Object | None = None
    old_object: Object | None = None
    sub_resource: str | None = None
    user_info: RequestUser = RequestUser()


class _AroAdmissionReview(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: _AroAdmissionRequest | None = None


def decode(body: bytes) -> AroReview:
    """What these bytes ask. Raises MalformedReview."""
    try:
        review = msgspec.json.decode(body, type=_AroAdmissionReview)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.MalformedReview(400, f"body is no review: {type(error).__name__}") from error
    request = review.request
    if request is None or (review.api_version, review.kind) != (_API, "AdmissionReview"):
        raise errors.MalformedReview(
            422, f"is {review.api_version} {review.kind}, want {_API} AdmissionReview with a request"
        )
    obj = request.old_object if request.operation == "DELETE" else request.object
    if obj is None or not isinstance(obj.get("metadata"), dict):
        raise errors.MalformedReview(422, "holds no object", "request.object")
    return AroReview(request.uid, request.operation, obj, request.old_object, request.user_info)


def unchanged(asked: AroReview) -> bool:
    """Whether an update leaves alone all that users write: what is there was let in once, and nobody could
    heal it, nor let it go, if every write of ours were refused for it."""
    if asked.operation != "UPDATE" or asked.old is None:
        return False
    before, after = (_written(one) for one in (asked.old, asked.object))
    return before == after


def _written(obj: Object) -> Object:
    return {key: value for key, value in (obj.get("spec") or {}).items() if key not in _OURS}


def encode(asked: AroReview, found: Findings) -> bytes:
    """The answer."""
    response: Object = {"uid": asked.uid, "allowed": not found.errors}
    if found.errors:
        response["status"] = _status(asked.object, found.errors, deleting=asked.operation == "DELETE")
    if found.warnings:
        response["warnings"] = [_plain(text) for text in found.warnings[:_WARNINGS]]
    return msgspec.json.encode({"apiVersion": _API, "kind": "AdmissionReview", "response": response})


def _status(obj: Object, wrong: Sequence[RuleError], *, deleting: bool) -> Object:
    kind, name = str(obj.get("kind") or ""), str(obj["metadata"].get("name") or "")
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    told = [_error_text(one) for one in wrong]
    listed = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    verb = "cannot be deleted" if deleting else "is invalid"
    return {
        "status": "Failure",
        "code": 403 if deleting else 422,
        "reason": "Forbidden" if deleting else "Invalid",
        "message": f'{kind}.{group} "{name}" {verb}: {listed}',
        "details": {
            "name": name,
            "group": group,
            "kind": kind,
            "causes": [
                {"reason": _WORDS[one.type][0], "message": _text(one), "field": one.path} for one in wrong
            ],
        },
    }


def _error_text(one: RuleError) -> str:
    return f"{one.path}: {_text(one)}" if one.path else one.text


def _text(one: RuleError) -> str:
    return f"{_WORDS[one.type][1]}: {one.text}"


def _plain(text: str) -> str:
    """What passes through a header: the API server drops a text with anything else in it whole."""
    return "".join(sign if " " <= sign <= "~" else "?" for sign in text)[:_LONGEST]


def webhook_configuration(name: str, client: Object, since: str = "") -> Object:
    """Through which the API server asks us; ``client`` says where we are and whom it trusts for that,
    ``since`` from when on deletions are asked about."""
    kinds = (names.ARO_CLUSTER, names.ARO_CONTROL_PLANE, names.ARO_MACHINE_POOL)
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name, **({"annotations": {SINCE: since}} if since else {})},
        "webhooks": [
            {
                "name": "aro.vestibule.dev",
                "admissionReviewVersions": ["v1"],
                "clientConfig": client,
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": 10,
                "rules": _rules(kinds, "CREATE", "UPDATE", "DELETE"),
                # what is on its way out must be able to go, and what is there must be able to stay, whatever
                # became of the rules meanwhile
                "matchConditions": [
                    {
                        "name": "spec-changed",
                        "expression": "request.operation != 'UPDATE' || object.?spec != oldObject.?spec",
                    },
                    {
                        # people delete what they want, whether we answer or not, but for the last pool
                        "name": "deletion-to-be-checked",
                        "expression": "request.operation != 'DELETE' || "
                        f"request.kind.kind == '{names.ARO_MACHINE_POOL.kind}' || "
                        f"request.userInfo.username in {sorted(garbage_collection.COLLECTORS)}",
                    },
                    {
                        "name": "not-being-deleted",
                        "expression": "request.operation == 'DELETE' || "
                        "!has(object.metadata.deletionTimestamp)",
                    },
                ],
            }
        ],
    }


def _rules(kinds: Sequence[Kind], *operations: str) -> list[Object]:
    return [
        {
            "apiGroups": [kind.group],
            "apiVersions": [kind.version],
            "operations": list(operations),
            "resources": [kind.plural],
            "scope": "Namespaced",
        }
        for kind in kinds
    ]
