"""What a dry pod in a guest proves, and when it proves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vestibule.kube.client import ApiResponse
from vestibule.operator.controllers.hosted import dryrun_probe, status
from vestibule.operator.controllers.hosted.attach_modes import AttachChoice
from vestibule.operator.controllers.hosted.dryrun_probe import ProbeResult

Json = dict[str, Any]
OURS: list[Json] = [
    {"metadata": {"name": "ours", "resourceVersion": "1"}, "webhooks": [{"name": "azwi.example"}]}
]


def pod(*volumes: str) -> ApiResponse:
    body = {"spec": {"volumes": [{"name": name} for name in volumes]}}
    return ApiResponse(201, json.dumps(body).encode())


def said(status: int, message: str) -> ApiResponse:
    return ApiResponse(status, json.dumps({"kind": "Status", "message": message}).encode())


CALLED = 'Internal error occurred: failed calling webhook "azwi.example": no route'
ANSWERS: dict[str, tuple[ApiResponse, str, str]] = {
    "served": (pod("kube-api-access-x", "azure-identity-token"), "True", "Served"),
    "not served": (pod("kube-api-access-x"), "False", "NotProven"),
    "no volume at all": (ApiResponse(201, b'{"spec":{}}'), "False", "NotProven"),
    "the API server cannot call it": (said(500, CALLED), "False", "NotProven"),
    "it cannot call another": (said(500, CALLED.replace("azwi", "other")), "Unknown", "NotTried"),
    "no right": (said(403, 'pods is forbidden: User "x" cannot create'), "Unknown", "NotTried"),
    "no account": (said(403, 'serviceaccount "default" not found'), "Unknown", "NotTried"),
    "a webhook that takes no dry run": (said(400, "does not support dry run"), "Unknown", "NotTried"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_to_a_trial(case: str) -> None:
    answer, expected, reason = ANSWERS[case]
    found = dryrun_probe.judged(answer, dryrun_probe.entries(OURS))

    assert (found.status, found.reason) == (expected, reason)
    assert found.message


def test_what_keeps_a_trial_from_proving_anything() -> None:
    other: Json = {
        "metadata": {"name": "theirs"},
        "webhooks": [{"name": "t", "objectSelector": {"matchLabels": {dryrun_probe.LABEL: "true"}}}],
    }
    narrow: Json = {**OURS[0], "webhooks": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]}
    plain: Json = {"metadata": {"name": "plain"}, "webhooks": [{"name": "p"}]}

    assert dryrun_probe.obstacle("azwi", OURS, [plain]) == ""
    assert "names a role" in dryrun_probe.obstacle("eks", OURS, [])
    assert dryrun_probe.obstacle("azwi", OURS, [plain, other]) == (
        "MutatingWebhookConfiguration theirs serves such pods, too"
    )
    assert "narrows" in dryrun_probe.obstacle("azwi", [narrow], [])


def test_a_proof_counts_for_an_hour_and_for_its_webhook_configuration() -> None:
    clock = [0.0]
    trials = dryrun_probe.DryRunProbes(lambda: clock[0])
    good, bad = ProbeResult("True", "Served", ""), ProbeResult("False", "NotProven", "")
    newer = [{**OURS[0], "metadata": {"name": "ours", "resourceVersion": "2"}}]

    def known(at: float, ours: list[Json]) -> ProbeResult | None:
        clock[0] = at
        return trials.known("k", ours)

    assert known(0, OURS) is None
    trials.note("k", OURS, bad)
    assert known(0, OURS) is None  # tried again at the next look
    trials.note("k", OURS, good)
    assert known(3599, OURS) == good
    assert known(3599, newer) is None
    assert known(3601, OURS) is None
    trials.note("k", OURS, good)
    trials.forget("k")
    assert known(3602, OURS) is None


def test_available_follows_the_trial() -> None:
    def available(tried: ProbeResult) -> str:
        unproven = tried.message if tried.status == "False" else ""
        reported = status.attached(AttachChoice("sidecar", ()), (), unproven, "none", tried)
        return ", ".join(str(one) for one in reported if one.type in ("Available", "Verified"))

    assert available(ProbeResult("True", "Served", "")) == "Verified=True/Served, Available=True/Serving"
    assert available(ProbeResult("Unknown", "NotTried", "why")) == (
        "Verified=Unknown/NotTried, Available=True/Registered"
    )
    assert available(ProbeResult("False", "NotProven", "why")) == (
        "Verified=False/NotProven, Available=False/NotProven"
    )
