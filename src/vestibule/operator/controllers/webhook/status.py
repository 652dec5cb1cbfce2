"""What an installation's status says, from what was seen and done. Pure.

As the Cloud Credential Operator tells it: Available (somebody serves), Progressing (a rollout, or something
is waited for), Degraded (it has failed for five minutes, or a human must act). ``Reconciled`` says whether
the last look went well, and its moment survives a restart; ``Alone`` tells of other identity webhooks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import conditions as conditions_
from vestibule.api.conditions import Condition, no, yes
from vestibule.manifests.foreign_webhooks import ForeignWebhook
from vestibule.operator import failure_policy

Object = Mapping[str, Any]
PATIENCE: Final = 300.0
"""Seconds that faults may last before the installation is called degraded."""
TYPES: Final = ("Available", "Progressing", "Degraded", "Reconciled", "Alone")
READY: Final = ("Available", "Reconciled")
"""What the condition ``Ready`` sums up."""


class InstallProblem(NamedTuple):
    """Something that kept us from the desired state."""

    reason: str
    message: str
    stalled: bool = False
    """Whether a human must act."""


class InstallObservation(NamedTuple):
    """What a look found and did."""

    deployment: Object | None = None
    problems: tuple[InstallProblem, ...] = ()
    failing_for: float = 0.0
    """Seconds since looks have been failing."""
    waiting: str = ""
    """What is waited for before the webhook can be registered; empty when nothing is."""
    unproven: str = ""
    """Why the round trip to the replicas failed; empty when it did not."""
    registered: bool = True
    """Whether the API server calls us."""
    held: bool = False
    """Whether ``Ignore`` stays until the webhook answers, though ``Fail`` is asked for."""
    neighbours: Sequence[ForeignWebhook] = ()
    paused: bool = False


def problem(error: errors.VestibuleError) -> InstallProblem:
    """How an error is told, in one place."""
    if isinstance(error, errors.ForeignObject):
        return InstallProblem("ForeignObject", str(error), stalled=True)
    if isinstance(error, errors.InvalidInput):
        return InstallProblem("InvalidSpec", "; ".join(map(str, error.problems)), stalled=True)
    if isinstance(error, errors.Forbidden):
        return InstallProblem("Forbidden", str(error))
    if isinstance(error, errors.NotFound):
        return InstallProblem("KindNotServed", str(error))
    if isinstance(error, errors.Conflict):
        return InstallProblem("Conflict", str(error))
    return InstallProblem("Unavailable", str(error))


def conditions(seen: InstallObservation) -> list[Condition]:
    """All of them."""
    return [_available(seen), _progressing(seen), _degraded(seen), _reconciled(seen), _alone(seen)]


def faults(seen: InstallObservation, before: Sequence[dict[str, Any]] | None) -> list[Condition]:
    """The same when the look ended early: what is known about the installation stays as it is."""
    told = [_degraded(seen), _reconciled(seen)]
    if conditions_.find(before, "Available") is None:
        told.insert(0, Condition("Available", "Unknown", seen.problems[0].reason, "nothing is known yet"))
    return told


def rolling(deployment: Object) -> bool:
    """Whether a rollout is under way."""
    status = deployment.get("status") or {}
    meta, spec = deployment.get("metadata") or {}, deployment.get("spec") or {}
    wanted = int(spec.get("replicas", 1))
    updated = int(status.get("updatedReplicas") or 0)
    known = conditions_.find(status.get("conditions"), "Progressing") or {}
    return (
        int(status.get("observedGeneration") or 0) < int(meta.get("generation") or 0)
        or updated < wanted
        or int(status.get("replicas") or 0) > updated
        or known.get("reason") in ("NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated")
    )


def _available(seen: InstallObservation) -> Condition:
    if seen.deployment is None:
        return no("Available", "DeploymentNotFound", "there is no Deployment")
    if not (seen.deployment.get("status") or {}).get("availableReplicas") and seen.unproven:
        return no("Available", "DeploymentUnavailable", f"no replica is available; {seen.unproven}")
    if seen.unproven:
        return no("Available", "ReviewUnanswered", seen.unproven)
    if not seen.registered:
        return no("Available", "NotRegistered", "the API server does not call the webhook yet")
    return yes("Available", "AsExpected", "replicas answer reviews, and the API server calls them")


def _progressing(seen: InstallObservation) -> Condition:
    if seen.paused:
        return no("Progressing", "Paused", "spec.paused: everything is left as it is")
    if seen.waiting:
        return yes("Progressing", "Waiting", seen.waiting)
    if seen.held:
        return yes("Progressing", "Proving", f"{failure_policy.WAITS}: {seen.unproven}")
    if seen.deployment is not None and rolling(seen.deployment):
        return yes("Progressing", "Deploying", "replicas are being rolled out")
    if not seen.registered:
        return yes("Progressing", "Proving", f"not registered before it answers: {seen.unproven}")
    return no("Progressing", "AsExpected")


def _degraded(seen: InstallObservation) -> Condition:
    stalled = [one for one in seen.problems if one.stalled]
    if stalled:
        return yes("Degraded", stalled[0].reason, _listed(stalled))
    if seen.problems and seen.failing_for > PATIENCE:
        return yes("Degraded", "StaticResourceReconcileFailed", _listed(seen.problems))
    return no("Degraded", "AsExpected")


def _reconciled(seen: InstallObservation) -> Condition:
    if seen.problems:
        return no("Reconciled", seen.problems[0].reason, _listed(seen.problems))
    return yes("Reconciled", "AsExpected")


def _alone(seen: InstallObservation) -> Condition:
    if not seen.neighbours:
        return yes("Alone", "AsExpected")
    told = "; ".join(
        f"MutatingWebhookConfiguration {one.configuration}: {one.webhook} is {one.product}"
        for one in seen.neighbours
    )
    return no("Alone", "OtherIdentityWebhooks", f"{told}: a pod that both know gets both, or half of each")


def _listed(problems: Sequence[InstallProblem]) -> str:
    return "; ".join(dict.fromkeys(one.message for one in problems))


# ── as the Cloud Credential Operator decides ────────────────────────────────────────────────────────────────


def deploys(
    secret: Mapping[str, Any] | None, key: str, *, topology: str = "", image: str = "given", error: str = ""
) -> bool:
    """Whether there is anything to install: a control plane that is elsewhere has its own webhook, and a
    secret that is required must have its key. Raises Forbidden when that is not known."""
    if topology == "External" or not image:
        return False
    if error:
        raise errors.Forbidden(error)
    return bool(((secret or {}).get("data") or {}).get(key))
