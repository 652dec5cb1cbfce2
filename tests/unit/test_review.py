"""Bytes to a request and a verdict to bytes; what is no review gets the status the original gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.vectors import case
from vestibule import errors
from vestibule.admission import review, verdict
from vestibule.api.settings import schema

Json = dict[str, Any]
POD: Json = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}


def changed(**fields: Any) -> bytes:
    """A good review with fields of the request replaced, or removed where the value is ...."""
    full = json.loads(case.review(POD))
    for key, value in fields.items():
        if value is ...:
            del full["request"][key]
        else:
            full["request"][key] = value
    return json.dumps(full).encode()


BAD = {
    "nothing": (b"", 400),
    "no JSON": (b"{", 400),
    "trailing bytes": (case.review(POD) + b"{}", 400),
    "bad UTF-8": (b'{"apiVersion":"\xff"}', 400),
    "a lone surrogate": (case.review(POD).replace(b'"p"', b'"\\ud800"'), 400),
    "nested too deeply": (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
    "an empty object": (b"{}", 422),
    "a list": (b"[]", 422),
    "another kind": (json.dumps({"apiVersion": "v1", "kind": "Pod"}).encode(), 422),
    "another version": (case.review(POD).replace(b"admission.k8s.io/v1", b"admission.k8s.io/v9"), 422),
    "no request": (
        json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}).encode(),
        400,
    ),
    "no uid": (changed(uid=...), 422),
    "no kind": (changed(kind=...), 422),
    "no resource": (changed(resource=...), 422),
    "no userInfo": (changed(userInfo=...), 422),
    "no operation": (changed(operation=...), 422),
    "an unknown operation": (changed(operation="BREED"), 422),
    "dryRun null": (changed(dryRun=None), 422),
    "an object that is no pod": (changed(object={"kind": "Secret"}), 422),
    "a number as annotation": (changed(object={**POD, "metadata": {"annotations": {"a": 1}}}), 422),
    "a list where an object belongs": (changed(object={**POD, "spec": []}), 422),
}


@pytest.mark.parametrize("sentence", BAD)
def test_what_is_no_review_gets_a_clear_4xx(sentence: str) -> None:
    body, status = BAD[sentence]

    with pytest.raises(errors.MalformedReview) as caught:
        review.decode(body)

    assert caught.value.status == status
    assert str(caught.value).isascii()


LATE = {
    "containers that are an object": {"containers": {}},
    "a container that is a text": {"containers": ["a"]},
    "an env that is a text": {"containers": [{"name": "a", "env": "x"}]},
    "a volume without a name": {"containers": [], "volumes": [{}]},
    "an init container that is null": {"containers": [], "initContainers": [None]},
}


@pytest.mark.parametrize("sentence", LATE)
def test_a_list_of_the_wrong_shape_is_refused_when_it_is_needed(sentence: str) -> None:
    annotations = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/a"}
    pod = {"kind": "Pod", "metadata": {"name": "p", "annotations": annotations}, "spec": LATE[sentence]}
    cluster = case.cluster_of([])
    handler, recorder = case.handler_of(cluster, schema.Settings())

    response = case.post(handler, case.review(pod))

    assert response.status == 422
    assert b"request.object.spec." in response.body
    assert recorder.bad == [422]


@pytest.mark.parametrize("version", review.API_VERSIONS)
def test_the_version_that_was_asked_is_echoed(version: str) -> None:
    body = case.review(POD).replace(b"admission.k8s.io/v1", version.encode())
    decoded = review.decode(body)

    answer = json.loads(review.encode(decoded, verdict.skipped("x")))

    assert answer == {
        "apiVersion": version,
        "kind": "AdmissionReview",
        "response": {"uid": decoded.request.uid, "allowed": True},
    }


def test_a_review_of_another_kind_passes_without_its_object() -> None:
    body = changed(
        kind={"group": "", "version": "v1", "kind": "Binding"},
        object={"target": 1, "metadata": [], "spec": 3},
    )

    assert review.decode(body).request.object is None


def test_a_refusal_says_why_and_carries_code_and_reason() -> None:
    decoded = review.decode(case.review(POD))

    answer = json.loads(review.encode(decoded, verdict.refused("no role", reason="required")))

    assert answer["response"]["allowed"] is False
    assert answer["response"]["status"] == {"message": "no role", "code": 403, "reason": "Forbidden"}


def test_a_patch_is_base64_and_says_so() -> None:
    decoded = review.decode(case.review(POD))

    answer = json.loads(review.encode(decoded, verdict.patched(b"[]", providers=("aws",))))

    assert answer["response"]["patch"] == "W10="
    assert answer["response"]["patchType"] == "JSONPatch"
    assert answer["response"]["auditAnnotations"] == {"outcome": "inject", "providers": "aws"}


def test_a_uid_with_quotes_stays_a_uid() -> None:
    body = case.review(POD).replace(b"5c0a1b1e", b'\\"x\\"')

    answer = json.loads(review.encode(review.decode(body), verdict.skipped("x")))

    assert answer["response"]["uid"].startswith('"x"')


def test_unknown_fields_cost_nothing_and_break_nothing() -> None:
    body = changed(
        options={"x": [{"y": 1}]}, oldObject=None, requestKind={"a": "b"}, future={"deep": [1, 2, 3]}
    )

    assert review.decode(body).request.uid
