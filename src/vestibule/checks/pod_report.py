"""What was found about all pods, as checks: each pod with its owner, its age, why, and how to mend it."""

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
"""Why a pod is not as it should be; few, since metrics count by them."""


class PodController(NamedTuple):
    """What makes a pod anew: the reference that stands on it."""

    kind: str
    name: str
    uid: str


class PodEntry(NamedTuple):
    """One pod that is not as it should be."""

    namespace: str
    name: str
    owner: str
    age: float
    """Seconds."""
    difference: PodDrift
    reason: str
    advice: str
    unselected: str = ""
    """The selector of the registration that leaves the pod out; empty when it is sent to us."""
    cause: Cause = "Unknown"
    uid: str = ""
    maker: PodController | None = None
    ready: bool = False

    @property
    def missed(self) -> bool:
        """Whether it lacks what it asks for, and a pod made anew would have it."""
        return self.difference.state in ("missing", "partial") and not self.unselected

    def item(self) -> dict[str, Any]:
        """As machines read it."""
        return {
            "namespace": self.namespace,
            "name": self.name,
            "owner": self.owner,
            "ageSeconds": round(self.age),
            "clouds": list(self.difference.clouds),
            "found": self.difference.text,
            "cause": self.cause,
            "reason": self.reason,
            "advice": self.advice,
        }


class PodCounts(NamedTuple):
    """How many pods were looked at."""

    seen: int = 0
    """Alive and looked at."""
    served: int = 0
    """Of these, those that ask for an identity."""
    unread: tuple[str, ...] = ()
    """Pods that could not be decided, and why."""


_RESTARTED: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def entry(
    pod: Object,
    difference: PodDrift,
    owner: tuple[str, str],
    registration: WebhookEntry | None,
    namespace_labels: Mapping[str, str],
    now: datetime.datetime,
    outages: Sequence[Outage] = (),
) -> PodEntry:
    """One difference of one pod, with all that is known about it. ``owner`` is kind and name, or empty;
    ``outages`` are times when the webhook is known to have been away."""
    meta = pod["metadata"]
    created = _moment(str(meta.get("creationTimestamp") or ""))
    left_out = registration.selects(meta.get("labels") or {}, namespace_labels) if registration else ""
    cause, reason = _reason(difference, registration, left_out, created, outages)
    reference = running_pods.controller(pod)
    return PodEntry(
        meta["namespace"],
        meta["name"],
        " ".join(owner) if owner[0] else "",
        (now - created).total_seconds() if created else 0.0,
        difference,
        reason,
        _advice(meta["namespace"], meta["name"], owner, difference),
        left_out,
        cause,
        str(meta.get("uid") or ""),
        PodController(*(str(reference.get(key, "")) for key in ("kind", "name", "uid")))
        if reference
        else None,
        running_pods.ready(pod),
    )


def _reason(
    difference: PodDrift,
    registration: WebhookEntry | None,
    left_out: str,
    created: datetime.datetime | None,
    outages: Sequence[Outage],
) -> tuple[Cause, str]:
    if difference.state in ("refused", "unserved"):
        return "NotServable", "annotations or settings say so today"
    if difference.state == "stale":
        return "ChangedSince", "annotations, settings or policies have changed since it was created"
    if registration is None:
        return "NotRegistered", "no webhook is registered"
    if left_out:
        return "NotSelected", f"the {left_out} of {registration.about} leaves it out"
    since = _moment(registration.created)
    if created and since and created < since:
        return "BeforeRegistration", f"created before {registration.about} was"
    away = next((one for one in outages if created and one.covers(created)), None)
    if away is not None and not registration.fails:
        return "WebhookAway", f"created while the webhook was away, {away}"
    if difference.state == "partial":
        text = "containers were added, or annotations have changed, after the webhook was asked"
        return "ContainersAdded", text
    if registration.fails:
        return "AskedLater", "annotations were added after it was created"
    text = "created while no webhook answered (failurePolicy is Ignore), or before its annotations were there"
    return "Unknown", text


def _advice(namespace: str, name: str, owner: tuple[str, str], difference: PodDrift) -> str:
    if difference.state in ("refused", "unserved"):
        return "vestibule explain tells what to mend"
    kind, owner_name = owner
    if kind in _RESTARTED:
        return f"kubectl -n {namespace} rollout restart {kind.lower()}/{owner_name}"
    again = "; its controller makes it anew" if kind else " and create it again"
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


_MISSING: Final = _ReportKind(
    ("missing", "partial"), "an identity is asked for and not there", "make them anew"
)
_STALE: Final = _ReportKind(("stale",), "made otherwise today", "make them anew when it suits")
_REFUSED: Final = _ReportKind(("refused",), "refused today", "mend their annotations before they restart")
_UNSERVED: Final = _ReportKind(("unserved",), "asked for and not to be served", "mend their annotations")


def judge(tally: PodCounts, entries: Sequence[PodEntry], about: str, *, whole: bool) -> Iterator[Check]:
    """The checks about pods; ``whole`` says whether the registration alone decides who is served (an
    original's way), so that pods it leaves out ask for nothing."""
    sent = [one for one in entries if not one.unselected]
    left_out = [
        one
        for one in entries
        if one.unselected and one.difference.state in ("missing", "partial") and not whole
    ]
    looked = f"{tally.seen} pods looked at, {tally.served} ask for an identity"
    found = _of(_MISSING, sent)
    if found:
        yield fail(
            "pods.missing", about, _words(found, _MISSING), "none", _MISSING.advice, items=_items(found)
        )
    elif tally.served or not tally.unread:
        yield ok("pods.missing", about, f"{looked}, and none lacks it")
    for id_, kind in (("pods.stale", _STALE), ("pods.refused", _REFUSED), ("pods.unserved", _UNSERVED)):
        found = _of(kind, sent)
        if found:
            yield warn(id_, about, _words(found, kind), "none", kind.advice, items=_items(found))
        elif id_ == "pods.stale":
            yield ok(id_, about, "none carries what today's decision would not give")
    if left_out:
        text = f"an identity is asked for and the registration leaves the pod out: {_many(left_out)}"
        advice = "widen webhook.namespaceSelector or webhook.objectSelector, or remove the annotations"
        yield warn("pods.unselected", about, text, "none", advice, items=_items(left_out))
    if tally.unread:
        text = f"{len(tally.unread)} pods could not be decided: {tally.unread[0]}"
        yield skipped("pods.unread", about, text, "look again, or with more rights")


def _of(kind: _ReportKind, entries: Sequence[PodEntry]) -> list[PodEntry]:
    return [one for one in entries if one.difference.state in kind.states]


def _items(entries: Sequence[PodEntry]) -> tuple[dict[str, Any], ...]:
    return tuple(one.item() for one in entries)


def _words(entries: Sequence[PodEntry], kind: _ReportKind) -> str:
    return f"{kind.words}: {_many(entries)}"


def _many(entries: Sequence[PodEntry]) -> str:
    names = {(one.namespace, one.name) for one in entries}
    return f"{len(names)} pod{'s' * (len(names) != 1)}"


def owner(pod: Object, levels: Sequence[Any]) -> tuple[str, str]:
    """Kind and name of what makes the pod anew: the workload that was read, or else the reference."""
    found = next((level for level in levels if level.level == "owner"), None)
    if found is not None:
        return found.kind, found.name
    reference = running_pods.controller(pod)
    return (str(reference["kind"]), str(reference["name"])) if reference else ("", "")
