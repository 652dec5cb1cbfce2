"""AdmissionReview: bytes to a Request, a Verdict back to bytes.

Only the fields that we read are decoded, in one pass; skipping is the cheapest thing a JSON parser does.
The lists of the pod spec stay raw until something is to be injected, so a pod that requests nothing is
never decoded in full. The pod is never encoded again: the response is a patch.
"""

from __future__ import annotations

import functools
from typing import Final, Literal

import msgspec

from vestibule import errors
from vestibule.admission import verdict as verdicts

ABSENT: Final = msgspec.Raw()


class _Wire(msgspec.Struct, gc=False):
    """Base of what is read from the wire; without cycles, so the garbage collector need not know it."""


class OwnerReference(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """One ``metadata.ownerReferences`` entry."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class PodMeta(_Wire, rename="camel"):
    """``metadata`` of the pod."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    annotations: dict[str, str] | None = None
    labels: msgspec.Raw = ABSENT
    owner_references: list[OwnerReference] | None = None


class PodOS(_Wire):
    """``spec.os``."""

    name: str = ""


class PodSpec(_Wire, rename="camel"):
    """``spec`` of the pod; the lists wait as raw JSON (``null`` counts as absent everywhere)."""

    service_account_name: str | None = None
    host_network: bool | None = None
    runtime_class_name: str | None = None
    node_selector: dict[str, str] | None = None
    os: PodOS | None = None
    volumes: msgspec.Raw = ABSENT
    containers: msgspec.Raw = ABSENT
    init_containers: msgspec.Raw = ABSENT


class Pod(_Wire, rename="camel"):
    """The admitted object; the API server sends none without ``metadata`` and ``spec``, and a patch needs
    both."""

    metadata: PodMeta
    spec: PodSpec
    kind: str | None = None


class KindName(_Wire):
    """``request.kind``; group and version are those of the webhook configuration."""

    kind: str


class UndecodedObject(_Wire):
    """An object that must be there, and of which nothing is read."""


class AdmissionRequest(_Wire, rename="camel"):
    """The question: may this object pass, and how should it look?"""

    uid: str
    kind: KindName
    resource: UndecodedObject
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    user_info: UndecodedObject
    object: Pod | None = None
    namespace: str | None = None
    name: str | None = None
    sub_resource: str | None = None
    dry_run: bool = False


class _AdmissionReview(_Wire, rename="camel"):
    api_version: str
    kind: str
    request: AdmissionRequest | None = None


class _RequestOfAnyKind(AdmissionRequest):
    object: msgspec.Raw = ABSENT  # type: ignore[assignment]


class _ReviewOfAnyKind(_Wire, rename="camel"):
    api_version: str
    kind: str
    request: _RequestOfAnyKind | None = None


class DecodedReview(_Wire):
    """A decoded review: the request, and the apiVersion that the answer must echo."""

    request: AdmissionRequest
    api_version: str


def labels(pod: Pod) -> dict[str, str] | None:
    """The pod's labels; None when there are none to add to. What is no text is left out."""
    raw = pod.metadata.labels
    found = None if raw is ABSENT else msgspec.json.decode(raw)
    if not isinstance(found, dict):
        return None
    return {key: value for key, value in found.items() if isinstance(value, str)}


_decode = msgspec.json.Decoder(_AdmissionReview).decode
_decode_any_kind = msgspec.json.Decoder(_ReviewOfAnyKind).decode

API_VERSIONS: Final = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")


def decode(body: bytes) -> DecodedReview:
    """The review in these bytes.

    Raises MalformedReview: 400 when the bytes are no JSON or there is no request, 422 when a field has the
    wrong shape. A review of another kind than Pod decodes with ``object`` None: it is answered, never
    mutated.
    """
    try:
        if not body.isascii():
            body.decode()  # the decoder does not look at text that it skips, and some is read later
        review = _decode(body)
    except msgspec.ValidationError as error:
        return _another_kind(body, error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.MalformedReview(400, f"body is not JSON: {_first_line(error)}") from error
    request = review.request
    if review.kind != "AdmissionReview" or review.api_version not in API_VERSIONS:
        raise errors.MalformedReview(
            422,
            f"is {review.api_version!r} {review.kind!r}, want {' or '.join(API_VERSIONS)} AdmissionReview",
            "kind",
        )
    if request is None:
        raise errors.MalformedReview(400, "is missing, want an AdmissionRequest", "request")
    if request.kind.kind != "Pod":
        request.object = None
    elif request.object is not None and request.object.kind not in (None, "Pod"):
        raise errors.MalformedReview(422, f"is {request.object.kind!r}, want 'Pod'", "request.object.kind")
    return DecodedReview(request, review.api_version)


def _another_kind(body: bytes, cause: msgspec.ValidationError) -> DecodedReview:
    """A review that is no review of a pod may still be one of something else, which passes untouched."""
    try:
        review = _decode_any_kind(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise errors.MalformedReview(422, _first_line(cause)) from cause
    if review.request is None or review.request.kind.kind == "Pod" or review.api_version not in API_VERSIONS:
        raise errors.MalformedReview(422, _first_line(cause)) from cause
    request = review.request
    request.object = None  # type: ignore[assignment]
    return DecodedReview(request, review.api_version)


def _first_line(error: BaseException) -> str:
    return verdicts.ascii_line(str(error), 200)


class _ResponseStatus(_Wire, omit_defaults=True):
    message: str
    code: int = 0
    reason: str = ""


class _AdmissionResponse(_Wire, rename="camel", omit_defaults=True):
    uid: str
    allowed: bool = msgspec.field()
    status: _ResponseStatus | None = None
    patch: bytes = b""
    patch_type: str = ""
    warnings: list[str] = msgspec.field(default_factory=list)
    audit_annotations: dict[str, str] = msgspec.field(default_factory=dict)


class _ReviewResponse(_Wire, rename="camel"):
    api_version: str
    kind: str
    response: _AdmissionResponse


_encode = msgspec.json.Encoder().encode
_VERSIONS: Final = {version: _encode(version) for version in API_VERSIONS}
_PLAIN: Final = b'{"apiVersion":%b,"kind":"AdmissionReview","response":{"uid":%b,"allowed":true}}'
_PATCHED: Final = (
    b'{"apiVersion":%b,"kind":"AdmissionReview","response":{"uid":%b,"allowed":true,'
    b'"patchType":"JSONPatch","patch":"%b"%b}}'
)


@functools.lru_cache(64)
def _audit(providers: tuple[str, ...]) -> bytes:
    return b',"auditAnnotations":' + _encode({"outcome": "inject", "providers": ",".join(providers)})


_REASONS: Final = {400: "BadRequest", 403: "Forbidden", 422: "Invalid"}


def encode(review: DecodedReview, verdict: verdicts.Verdict, *, report: bool = True) -> bytes:
    """The response; ``report=False`` leaves out warnings and audit annotations, as the upstream webhooks
    do."""
    if not verdict.findings:
        # the two answers that nearly every pod gets, without the detour over an object
        if verdict.outcome == "skip":
            return _PLAIN % (_VERSIONS[review.api_version], _encode(review.request.uid))
        if verdict.outcome == "inject":
            return _PATCHED % (
                _VERSIONS[review.api_version],
                _encode(review.request.uid),
                verdict.sent.base64,
                _audit(verdict.providers) if report else b"",
            )
    response = _AdmissionResponse(review.request.uid, verdict.outcome != "deny")
    if verdict.patch:
        response.patch = verdict.patch
        response.patch_type = "JSONPatch"
    if verdict.outcome == "deny":
        response.status = _ResponseStatus(verdict.message, verdict.code, _REASONS.get(verdict.code, ""))
    if report:
        if verdict.findings:
            response.warnings = verdicts.warnings(verdict)
        if verdict.outcome != "skip" or verdict.findings:
            response.audit_annotations = audit_annotations(verdict)
    return _encode(_ReviewResponse(review.api_version, "AdmissionReview", response))


def denial(body: bytes, message: str, code: int) -> bytes:
    """The upstream webhooks' response to an unusable body: a denial if it is a review nevertheless; else one
    without a version, which callers treat as a failure."""
    try:
        review = _decode_any_kind(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        review = None
    if review is None or review.request is None:
        return _encode({"response": {"uid": "", "allowed": False, "status": _ResponseStatus(message, code)}})
    response = _AdmissionResponse(review.request.uid, allowed=False, status=_ResponseStatus(message, code))
    return _encode(_ReviewResponse(review.api_version, "AdmissionReview", response))


def audit_annotations(verdict: verdicts.Verdict) -> dict[str, str]:
    """What the API server's audit log should hold: outcome, clouds, and every finding in full."""
    notes: dict[str, str] = {"outcome": verdict.outcome}
    if verdict.providers:
        notes["providers"] = ",".join(verdict.providers)
    if verdict.findings:
        notes["findings"] = "; ".join(finding.text for finding in verdict.findings)[:4096]
    return notes
