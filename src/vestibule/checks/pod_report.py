"""The result of a pod scan as checks: each pod with its owner, age, cause and fix."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.api.downtime import Outage
from vestibule.checks import running_pods
from vestibule.checks.check import Check, fail, ok, skipped, warn
from vestibule.checks.running_pods import Object, PodDrift, State
from vestibule.checks.webhook_configuration import WebhookEntry

Cause = Literal[
    "NotRegistered",
    "NotSelected",
    "BeforeRegistration",
    "WebhookAway",
    "ContainersAdded",
    "AskedLater",
    "Unknown",
    "ChangedSince",
    "NotServable",
]
"""Why a pod has drifted; a small set, because it is a metric label."""


class PodController(NamedTuple):
    """The controller owner reference of a pod."""

    kind: str
    name: str
    uid: str


class PodEntry(NamedTuple):
    """One pod that has drifted."""

    namespace: str
    name: str
    owner: str
    age: float
    """Seconds."""
    drift: PodDrift
    reason: str
    advice: str
    unselected: str = ""
    """The selector that excludes the pod; empty if the API server sends it to the webhook."""
    cause: Cause = "Unknown"
    uid: str = ""
    controller: PodController | None = None
    ready: bool = False

    @property
    def missed(self) -> bool:
        """Whether it lacks the requested identity and a recreated pod would have it."""
        return self.drift.state in ("missing", "partial") and not self.unselected

    def item(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "namespace": self.namespace,
            "name": self.name,
            "owner": self.owner,
            "ageSeconds": round(self.age),
            "clouds": list(self.drift.clouds),
            "found": self.drift.text,
            "cause": self.cause,
            "reason": self.reason,
            "advice": self.advice,
        }


class PodCounts(NamedTuple):
    """How many pods were scanned."""

    seen: int = 0
    """Running pods that were scanned."""
    served: int = 0
    """Of these, those that request an identity."""
    unread: tuple[str, ...] = ()
    """Pods that could not be decided, and why."""


_RESTARTED: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def entry(
    pod: Object,
    drift: PodDrift,
    owner: tuple[str, str],
    webhook: WebhookEntry | None,
    namespace_labels: Mapping[str, str],
    now: datetime.datetime,
    outages: Sequence[Outage] = (),
) -> PodEntry:
    """One drift of one pod, with its cause and fix. ``owner`` is kind and name, or empty;
    ``outages`` are periods in which the webhook is known to have been unavailable."""
    meta = pod["metadata"]
    created = _moment(str(meta.get("creationTimestamp") or ""))
    left_out = webhook.selects(meta.get("labels") or {}, namespace_labels) if webhook else ""
    cause, reason = _reason(drift, webhook, left_out, created, outages)
    reference = running_pods.controller(pod)
    return PodEntry(
        meta["namespace"],
        meta["name"],
        " ".join(owner) if owner[0] else "",
        (now - created).total_seconds() if created else 0.0,
        drift,
        reason,
        _advice(meta["namespace"], meta["name"], owner, drift),
        left_out,
        cause,
        str(meta.get("uid") or ""),
        PodController(*(str(reference.get(key, "")) for key in ("kind", "name", "uid")))
        if reference
        else None,
        running_pods.ready(pod),
    )


def _reason(
    drift: PodDrift,
    webhook: WebhookEntry | None,
    left_out: str,
    created: datetime.datetime | None,
    outages: Sequence[Outage],
) -> tuple[Cause, str]:
    if drift.state in ("refused", "unserved"):
        return "NotServable", "the current annotations or settings cause it"
    if drift.state == "stale":
        return "ChangedSince", "annotations, settings or policies have changed since it was created"
    if webhook is None:
        return "NotRegistered", "there is no webhook configuration"
    if left_out:
        return "NotSelected", f"the {left_out} of {webhook.about} excludes it"
    since = _moment(webhook.created)
    if created and since and created < since:
        return "BeforeRegistration", f"created before {webhook.about} was"
    away = next((one for one in outages if created and one.covers(created)), None)
    if away is not None and not webhook.fails:
        return "WebhookAway", f"created while the webhook was unavailable, {away}"
    if drift.state == "partial":
        text = "containers were added or annotations changed after the webhook was called"
        return "ContainersAdded", text
    if webhook.fails:
        return "AskedLater", "annotations were added after it was created"
    text = "created while no webhook answered (failurePolicy is Ignore), or before its annotations were set"
    return "Unknown", text


def _advice(namespace: str, name: str, owner: tuple[str, str], drift: PodDrift) -> str:
    if drift.state in ("refused", "unserved"):
        return "vestibule explain shows what to fix"
    kind, owner_name = owner
    if kind in _RESTARTED:
        return f"kubectl -n {namespace} rollout restart {kind.lower()}/{owner_name}"
    again = "; its controller recreates it" if kind else " and create it again"
    return f"kubectl -n {namespace} delete pod {name}{again}"


def _moment(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


class _ReportKind(NamedTuple):
    states: tuple[State, ...]
    words: str
    advice: str


_MISSING: Final = _ReportKind(("missing", "partial"), "the requested identity is missing", "recreate them")
_STALE: Final = _ReportKind(("stale",), "would be created differently today", "recreate them when convenient")
_REFUSED: Final = _ReportKind(
    ("refused",), "would be refused today", "fix their annotations before they restart"
)
_UNSERVED: Final = _ReportKind(
    ("unserved",), "request an identity that cannot be injected", "fix their annotations"
)


def judge(
    tally: PodCounts, entries: Sequence[PodEntry], about: str, *, selectors_decide: bool
) -> Iterator[Check]:
    """The checks about pods; ``selectors_decide``: the selectors alone decide which pods are mutated, as with
    the upstream webhooks, so that excluded pods request nothing."""
    sent = [one for one in entries if not one.unselected]
    left_out = [
        one
        for one in entries
        if one.unselected and one.drift.state in ("missing", "partial") and not selectors_decide
    ]
    summary = f"{tally.seen} pods scanned, {tally.served} request an identity"
    found = _of(_MISSING, sent)
    if found:
        yield fail(
            "pods.missing", about, _words(found, _MISSING), "none", _MISSING.advice, items=_items(found)
        )
    elif tally.served or not tally.unread:
        yield ok("pods.missing", about, f"{summary}, none lacks it")
    for id_, kind in (("pods.stale", _STALE), ("pods.refused", _REFUSED), ("pods.unserved", _UNSERVED)):
        found = _of(kind, sent)
        if found:
            yield warn(id_, about, _words(found, kind), "none", kind.advice, items=_items(found))
        elif id_ == "pods.stale":
            yield ok(id_, about, "no pod carries an outdated identity")
    if left_out:
        text = f"an identity is requested, but the webhook configuration excludes the pod: {_many(left_out)}"
        advice = "widen webhook.namespaceSelector or webhook.objectSelector, or remove the annotations"
        yield warn("pods.unselected", about, text, "none", advice, items=_items(left_out))
    if tally.unread:
        text = f"{len(tally.unread)} pods could not be decided: {tally.unread[0]}"
        yield skipped("pods.unread", about, text, "scan again, or with more permissions")


def _of(kind: _ReportKind, entries: Sequence[PodEntry]) -> list[PodEntry]:
    return [one for one in entries if one.drift.state in kind.states]


def _items(entries: Sequence[PodEntry]) -> tuple[dict[str, Any], ...]:
    return tuple(one.item() for one in entries)


def _words(entries: Sequence[PodEntry], kind: _ReportKind) -> str:
    return f"{kind.words}: {_many(entries)}"


def _many(entries: Sequence[PodEntry]) -> str:
    names = {(one.namespace, one.name) for one in entries}
    return f"{len(names)} pod{'s' * (len(names) != 1)}"


def owner(pod: Object, levels: Sequence[Any]) -> tuple[str, str]:
    """Kind and name of the pod's owner: the workload that was read, or else the owner reference."""
    found = next((level for level in levels if level.level == "owner"), None)
    if found is not None:
        return found.kind, found.name
    reference = running_pods.controller(pod)
    return (str(reference["kind"]), str(reference["name"])) if reference else ("", "")
