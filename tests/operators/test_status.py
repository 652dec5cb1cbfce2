"""What an installation's status says, and the Cloud Credential Operator's own cases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vectors import ccoctl_operator
from vestibule import errors
from vestibule.manifests.foreign_webhooks import ForeignWebhook
from vestibule.operator.controllers.webhook import desired, status
from vestibule.operator.controllers.webhook.status import InstallObservation, InstallProblem

Json = dict[str, Any]


def deployment(available: int = 2, *, rolling: bool = False, wanted: int = 2) -> Json:
    """A Deployment whose status is as given."""
    updated = wanted - 1 if rolling else wanted
    return {
        "metadata": {"generation": 1},
        "spec": {"replicas": wanted},
        "status": {
            "observedGeneration": 1,
            "replicas": wanted,
            "updatedReplicas": updated,
            "availableReplicas": available,
        },
    }


def told(seen: InstallObservation) -> list[str]:
    return [str(one) for one in ccoctl_operator.unusual(status.conditions(seen))]


FAULT = (InstallProblem("Unavailable", "no answer"),)
CASES: dict[str, tuple[InstallObservation, list[str]]] = {
    "all is well": (InstallObservation(deployment()), []),
    # vector operator-03
    "there is no Deployment": (InstallObservation(None), ["Available=False/DeploymentNotFound"]),
    "no replica is available": (
        InstallObservation(deployment(0), unproven="no replica is ready"),
        ["Available=False/DeploymentUnavailable"],
    ),
    "a rollout": (InstallObservation(deployment(1, rolling=True)), ["Progressing=True/Deploying"]),
    "faults for a minute": (InstallObservation(deployment(), FAULT, 60), []),
    "faults for more than five minutes": (
        InstallObservation(deployment(), FAULT, 301),
        ["Degraded=True/StaticResourceReconcileFailed"],
    ),
    # ours
    "a replica that does not answer": (
        InstallObservation(deployment(), unproven="10.0.0.1:8443: not trusted"),
        ["Available=False/ReviewUnanswered"],
    ),
    "not registered yet": (
        InstallObservation(deployment(), registered=False, unproven="x"),
        ["Available=False/ReviewUnanswered", "Progressing=True/Proving"],
    ),
    "asked to be stricter while nobody answers": (
        InstallObservation(deployment(), held=True, unproven="x"),
        ["Available=False/ReviewUnanswered", "Progressing=True/Proving"],
    ),
    "waiting for a certificate": (
        InstallObservation(deployment(), waiting="Secret a-tls has no certificate yet", registered=False),
        ["Available=False/NotRegistered", "Progressing=True/Waiting"],
    ),
    "a human must act": (
        InstallObservation(deployment(), (InstallProblem("ForeignObject", "ClusterRole a", stalled=True),)),
        ["Degraded=True/ForeignObject"],
    ),
    "paused in a rollout": (InstallObservation(deployment(1, rolling=True), paused=True), []),
    "a neighbour": (
        InstallObservation(deployment(), neighbours=[ForeignWebhook("c", "w", "cwii")]),
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_conditions(case: str) -> None:
    seen, expected = CASES[case]

    assert told(seen) == expected


def test_a_neighbour_is_reported() -> None:
    seen = InstallObservation(deployment(), neighbours=[ForeignWebhook("c", "w", "cwii")])
    alone = next(one for one in status.conditions(seen) if one.type == "Alone")

    assert str(alone) == "Alone=False/OtherIdentityWebhooks"
    assert "MutatingWebhookConfiguration c: w is cwii" in alone.message


@pytest.mark.parametrize(
    ("error", "reason", "stalled"),
    [
        (errors.ForeignObject("x"), "ForeignObject", True),
        (errors.InvalidInput(errors.InputProblem("a", "b", "c")), "InvalidSpec", True),
        (errors.Conflict("x"), "Conflict", False),
        (errors.Forbidden("x"), "Forbidden", False),
        (errors.NotFound("x"), "KindNotServed", False),
        (errors.Unavailable("x"), "Unavailable", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_errors_have_a_reason_each(error: errors.VestibuleError, reason: str, stalled: bool) -> None:
    found = status.problem(error)

    assert (found.reason, found.stalled) == (reason, stalled)


# ── vectors operator-01 and operator-02 ─────────────────────────────────────────────────────────────────────

KEY = "azure_tenant_id"


@pytest.mark.parametrize(
    ("case", "deploys"),
    [
        ({"secret": None}, False),
        ({"secret": {"data": {}}}, False),
        ({"secret": {"data": {KEY: "eA=="}}}, True),
        ({"secret": None, "topology": "External"}, False),
        ({"secret": {"data": {KEY: "eA=="}}, "image": ""}, False),
    ],
    ids=["no secret", "no key", "a key", "control plane elsewhere", "no image"],
)
def test_whether_there_is_anything_to_install(case: Json, deploys: bool) -> None:
    assert status.deploys(case.pop("secret"), KEY, **case) is deploys


def test_what_may_not_be_read_is_an_error() -> None:
    with pytest.raises(errors.Forbidden, match="secrets is forbidden"):
        status.deploys(None, KEY, error="secrets is forbidden")


@pytest.mark.parametrize(
    ("wanted", "nodes", "replicas", "budget"),
    [(None, 3, 2, True), (None, 1, 1, False), (None, 0, 2, True), (3, 1, 3, True), (1, 5, 1, False)],
    ids=["several nodes", "a single node", "none seen", "as asked", "one as asked"],
)
def test_replicas_and_their_budget(wanted: int | None, nodes: int, replicas: int, budget: bool) -> None:
    count = desired.replicas(wanted, nodes)

    assert (count, desired.budgeted(count)) == (replicas, budget)


@pytest.mark.parametrize(("topology", "replicas"), [("HighlyAvailable", 2), ("SingleReplica", 1), ("", 2)])
def test_replicas_follow_from_the_topology(topology: str, replicas: int) -> None:
    assert desired.replicas_for(topology) == replicas


def test_a_topology_that_is_not_known_is_an_error() -> None:
    with pytest.raises(errors.LookupFailed):
        desired.replicas_for(None)
