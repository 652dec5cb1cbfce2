"""Whether pods of a guest are served, tried there: one is created dry, and must come back with its identity.

That goes the whole way, wherever the webhook runs, and is for attachments that cannot be called from the
operator. Nothing is stored, but the guest's audit log shows it; so what was proven is tried again after an
hour, or when the registration has changed. Where a trial proves nothing the outcome is Unknown and says why:
no right to create pods, no account to run as, somebody else who serves the same pods.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestibule.api import gvk
from vestibule.kube import api_requests
from vestibule.kube import client as clients
from vestibule.kube.client import ApiResponse, Client

Object = dict[str, Any]
NAMESPACE: Final = "default"
"""Every cluster has it, and our registrations do not exclude it."""
LABEL: Final = "azure.workload.identity/use"
_VOLUME: Final = "azure-identity-token"
_POD: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "generateName": "vestibule-trial-",
        "namespace": NAMESPACE,
        "labels": {LABEL: "true"},
    },
    "spec": {
        "serviceAccountName": "default",
        # the profile restricted may be enforced there
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "trial",
                "image": "trial",
                # a quota may want them named
                "resources": {"limits": {"cpu": "10m", "memory": "16Mi"}},
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}
_KEPT: Final = {"True": 3600.0, "Unknown": 600.0, "False": 0.0}
"""Seconds that an outcome counts."""


class ProbeResult(NamedTuple):
    """What came of it, as a condition says it."""

    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


NOT_ASKED: Final = ProbeResult("Unknown", "NotAsked", "it cannot be called from the operator")


class _CachedProbe(NamedTuple):
    versions: tuple[str, ...]
    until: float
    trial: ProbeResult


class DryRunProbes:
    """Of one operator, by key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_key: dict[str, _CachedProbe] = {}

    async def outcome(
        self, key: str, client: Client, program: str, ours: Sequence[Object], others: Sequence[Object]
    ) -> ProbeResult:
        """What is known, or a trial; ``ours`` and ``others`` are the registrations of the guest. Raises
        Unavailable."""
        why = obstacle(program, ours, others)
        if why:
            return ProbeResult("Unknown", "NotTried", why)
        known = self.known(key, ours)
        if known is not None:
            return known
        trial = judged(await client.send(api_requests.create(gvk.POD, _POD, dry_run=True)), entries(ours))
        self.note(key, ours, trial)
        return trial

    def known(self, key: str, ours: Sequence[Object]) -> ProbeResult | None:
        """What a trial came to that still counts for these registrations."""
        kept = self._by_key.get(key)
        fresh = kept is not None and kept.versions == _versions(ours) and self._clock() < kept.until
        return kept.trial if kept is not None and fresh else None

    def settled(self, key: str, program: str, ours: Sequence[Object], others: Sequence[Object]) -> bool:
        """Whether a trial has told, or could tell nothing: then nobody need wait for one."""
        known = self.known(key, ours)
        return bool(obstacle(program, ours, others)) or (known is not None and known.status != "False")

    def note(self, key: str, ours: Sequence[Object], trial: ProbeResult) -> None:
        """What a trial came to."""
        self._by_key[key] = _CachedProbe(_versions(ours), self._clock() + _KEPT[trial.status], trial)

    def forget(self, key: str) -> None:
        """The request is gone."""
        self._by_key.pop(key, None)


def _versions(registrations: Sequence[Object]) -> tuple[str, ...]:
    return tuple(sorted(str(one["metadata"].get("resourceVersion")) for one in registrations))


def entries(registrations: Sequence[Object]) -> list[Object]:
    """The webhooks of registrations."""
    return [entry for one in registrations for entry in one.get("webhooks") or ()]


def obstacle(program: str, ours: Sequence[Object], others: Sequence[Object]) -> str:
    """Why a trial would prove nothing; empty when it would."""
    if program != "azwi":
        return "a pod is served only when its account names a role, and no account is made for a trial"
    for one in others:
        if any(_selects(entry) for entry in entries([one])):
            return f"MutatingWebhookConfiguration {one['metadata']['name']} serves such pods, too"
    if any((entry.get("namespaceSelector") or {}).get("matchLabels") for entry in entries(ours)):
        return "the guest narrows the registration to namespaces with a label"
    return ""


def _selects(entry: Mapping[str, Any]) -> bool:
    labels = (entry.get("objectSelector") or {}).get("matchLabels") or {}
    return LABEL in labels


def judged(answer: ApiResponse, ours: Sequence[Object]) -> ProbeResult:
    """What an answer to the trial means; ``ours`` are the webhooks that should have been called."""
    if answer.status == 201:
        pod = msgspec.json.decode(answer.body, type=dict[str, Any])
        volumes = [str(one.get("name")) for one in pod["spec"].get("volumes") or ()]
        if any(name.startswith(_VOLUME) for name in volumes):
            return ProbeResult(
                "True", "Served", f"a pod that was tried in namespace {NAMESPACE} got its identity"
            )
        why = f"a pod that was tried in namespace {NAMESPACE} came back without identity"
        return ProbeResult("False", "NotProven", why)
    said = clients.message(answer.body)
    if answer.status >= 500 and any(f'webhook "{one.get("name")}"' in said for one in ours):
        return ProbeResult("False", "NotProven", said)
    return ProbeResult(
        "Unknown", "NotTried", f"namespace {NAMESPACE}: status {answer.status} {said}".rstrip()
    )
