"""``VestibuleWebhook``: one object asks for the webhook, and the operator keeps it.

Its name is the name of everything that is made for it. Where the webhook runs and how the API server reaches
it is ``target``, a union: the Service of a stand-alone installation today, other control planes later. Fields
that we do not know are left to their owner, so an object newer than us stays usable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from vestibule import errors, gostrconv

KIND: Final = "VestibuleWebhook"
FINALIZER: Final = "vestibule.dev/installed"
LONGEST_NAME: Final = 40
"""Characters; names that are made from it get up to eleven more, and a Service has 63 at most."""
MOST_PER_MINUTE: Final = 600

CertificateMode = Literal["self", "cert-manager", "service-ca", "secret"]
GuardMode = Literal["Deny", "Warn", "Audit", "Off"]
FailurePolicy = Literal["Ignore", "Fail"]
RepairMode = Literal["Off", "DryRun", "Evict"]


class _VestibuleWebhookPart(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A part of the object; unknown fields are left to their owner."""


class CertificateSpec(_VestibuleWebhookPart, frozen=True):
    """Where the serving certificate comes from."""

    mode: CertificateMode = "self"
    """``self``: a CA of our own, issued and rotated by the operator. ``cert-manager``, ``service-ca``:
    issued by cert-manager or by OpenShift. ``secret``: a Secret of yours, ``<name>-tls``."""
    ca_bundle: str = ""
    """Base64 PEM that the API server verifies us with, for ``secret``; empty: ``ca.crt`` of the Secret."""
    authority_life: str = "8760h"
    """How long a CA of our own lives; its successor is made with a third of that left."""
    leaf_life: str = "720h"
    """How long a serving certificate of our own lives; renewed with a third of that left."""
    overlap: str = "2m"
    """How long a new CA of our own is trusted before it signs."""


class ReplicaResources(_VestibuleWebhookPart, frozen=True):
    """What a replica needs."""

    cpu: str = "100m"
    """Request; there is no CPU limit, because throttling shows as latency of every pod creation."""
    memory: str = "128Mi"
    """Request and limit."""


class WebhookTarget(_VestibuleWebhookPart, frozen=True):
    """How the API server reaches the webhook."""

    type: Literal["Service", "Url"] = "Service"
    """``Service``: the one that is made. ``Url``: an address of yours that leads to the replicas."""
    url: str = ""
    """``https://HOST:PORT``, for ``Url``; the certificate is made for this host, too."""


class RepairSpec(_VestibuleWebhookPart, frozen=True):
    """What is done about pods that the webhook missed."""

    mode: RepairMode = "Off"
    """``Evict``: evict pods that a controller recreates, within disruption budgets, one pod of a workload
    at a time; eviction stops when a replacement lacks the same again. ``DryRun``: only report. Both need
    ``install.evictions`` in the settings with which the operator was rendered."""
    per_minute: int = 6
    """Evictions in a minute, at most."""
    jobs: bool = False
    """Whether pods of Jobs may be evicted, too: they begin their work again."""


class AuditSpec(_VestibuleWebhookPart, frozen=True):
    """The periodic audit of running pods: the webhook may have been unavailable when
    they were created."""

    enabled: bool = True
    """Whether anybody looks."""
    interval: str = "1h"
    """Time between two audits, at least 1s; the first comes soon after the start, and one after each
    outage of the webhook."""
    repair: RepairSpec = RepairSpec()
    """Eviction of pods that the webhook missed."""


class RequiredSecret(_VestibuleWebhookPart, frozen=True):
    """A key of a Secret without which nothing is installed yet."""

    secret: str
    """Name of the Secret, in the operator's namespace."""
    key: str
    """The key that must be there."""


class VestibuleWebhookSpec(_VestibuleWebhookPart, frozen=True):
    """``spec``."""

    image: str = ""
    """Image of the webhook; pin a digest in production. Empty: the operator's own."""
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    """Settings of the webhook, as in its settings file; without ``install`` and ``selfCertificate``."""
    replicas: int | None = None
    """Every replica serves; empty: 2, or 1 without a disruption budget on a cluster of a single node."""
    failure_policy: FailurePolicy = "Ignore"
    """``Ignore``: pods start without identity while we are down. ``Fail``: they do not start."""
    certificate: CertificateSpec = CertificateSpec()
    """Source of the serving certificate."""
    resources: ReplicaResources = ReplicaResources()
    """Requests and limits of a replica."""
    priority_class_name: str = ""
    """Priority class of the replicas; empty: one is made, above all but the system's own."""
    target: WebhookTarget = WebhookTarget()
    """How the API server reaches the webhook."""
    guard: GuardMode = "Deny"
    """What happens to a change of the annotations that we wrote on a running pod."""
    final_check: GuardMode = "Off"
    """What happens to a pod that asked for an identity and has none at the end of admission; this holds while
    the webhook is down, too."""
    audit: AuditSpec = AuditSpec()
    """Periodic check of running pods for identities and sandboxes that they lack."""
    requires: RequiredSecret | None = None
    """A Secret that must exist before anything is installed."""
    paused: bool = False
    """Leave everything as it is."""


def parse(obj: Mapping[str, Any]) -> VestibuleWebhookSpec:
    """The spec of an object; raises InvalidInput."""
    name = str((obj.get("metadata") or {}).get("name", ""))
    try:
        found = msgspec.convert(obj.get("spec") or {}, VestibuleWebhookSpec)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `")
        field = f"spec{path.rstrip('`').removeprefix('$')}"
        raise errors.InvalidInput(errors.InputProblem(f"{KIND} {name}", field, problem)) from error
    problems = []
    if (gostrconv.duration(found.audit.interval) or 0.0) < 1.0:
        wrong = f"is {found.audit.interval!r}, want a duration of at least 1s such as 30m or 1h"
        problems.append(errors.InputProblem(f"{KIND} {name}", "spec.audit.interval", wrong))
    if not 1 <= found.audit.repair.per_minute <= MOST_PER_MINUTE:
        wrong = f"is {found.audit.repair.per_minute}, want 1 to {MOST_PER_MINUTE}"
        problems.append(errors.InputProblem(f"{KIND} {name}", "spec.audit.repair.perMinute", wrong))
    if problems:
        raise errors.InvalidInput(*problems)
    return found
