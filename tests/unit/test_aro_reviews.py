"""Reviews of ARO objects: what is read from the wire, and how a refusal reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vestibule import errors
from vestibule.aro import reviews
from vestibule.aro.findings import Findings, RuleError

Json = dict[str, Any]
OBJECT: Json = {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "AROControlPlane",
    "metadata": {"name": "c1", "namespace": "n"},
}


def review(**request: Any) -> bytes:
    requested = {"uid": "u", "operation": "CREATE", "object": OBJECT, **request}
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": requested}
    ).encode()


def answered(found: Findings, **request: Any) -> Json:
    response: Json = json.loads(reviews.encode(reviews.decode(review(**request)), found))["response"]
    return response


def test_what_has_no_errors_passes() -> None:
    assert answered(Findings()) == {"uid": "u", "allowed": True}


def test_every_error_is_a_cause() -> None:
    found = Findings(
        (RuleError("spec.a", "Required", "is missing"), RuleError("spec.b", "Duplicate", "is there twice"))
    )
    status = answered(found)["status"]

    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == (
        'AROControlPlane.controlplane.cluster.x-k8s.io "c1" is invalid: '
        "[spec.a: Required value: is missing, spec.b: Duplicate value: is there twice]"
    )
    assert status["details"]["causes"] == [
        {"reason": "FieldValueRequired", "message": "Required value: is missing", "field": "spec.a"},
        {"reason": "FieldValueDuplicate", "message": "Duplicate value: is there twice", "field": "spec.b"},
    ]


def test_a_deletion_is_forbidden_and_is_about_what_was_there() -> None:
    found = Findings((RuleError("", "Forbidden", "the last pool"),))
    status = answered(found, operation="DELETE", object=None, oldObject=OBJECT)["status"]

    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["message"].endswith('"c1" cannot be deleted: the last pool')


def test_warnings_are_few_short_and_plain() -> None:
    found = answered(Findings(warnings=("a\nb", "x" * 500, "ü", "four")))

    assert found["warnings"] == ["a?b", "x" * 200, "?"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"apiVersion": "v1", "kind": "Pod"}', 422),
        (b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}', 422),
        (review(object=None), 422),
        (review(object={"kind": "AROCluster"}), 422),
    ],
)
def test_what_is_no_review_is_reported(body: bytes, status: int) -> None:
    with pytest.raises(errors.MalformedReview) as caught:
        reviews.decode(body)

    assert caught.value.status == status


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ({"resources": [1]}, {"resources": [1], "providerIDList": ["a"]}, True),
        ({"resources": [1]}, {"resources": [1], "controlPlaneEndpoint": {"host": "h"}}, True),
        ({"resources": [1]}, {"resources": [2]}, False),
        ({}, {"identityRef": {"name": "i"}}, False),
    ],
)
def test_what_controllers_write_is_no_change(before: Json, after: Json, same: bool) -> None:
    requested = reviews.decode(
        review(operation="UPDATE", object={**OBJECT, "spec": after}, oldObject={**OBJECT, "spec": before})
    )

    assert reviews.unchanged(requested) is same


def test_the_webhook_configuration_asks_about_all_three_kinds() -> None:
    created = reviews.webhook_configuration("n", {"url": "https://a"})
    (hook,) = created["webhooks"]
    requested = {rule["resources"][0]: rule["operations"] for rule in hook["rules"]}

    assert requested == {
        "aroclusters": ["CREATE", "UPDATE", "DELETE"],
        "arocontrolplanes": ["CREATE", "UPDATE", "DELETE"],
        "aromachinepools": ["CREATE", "UPDATE", "DELETE"],
    }
    assert (hook["failurePolicy"], hook["sideEffects"]) == ("Fail", "None")
