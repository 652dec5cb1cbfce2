"""What an audit adds up to, who may be evicted, what became of it, and when the next one is due."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from vestibule import errors
from vestibule.api import downtime, vestibulewebhook
from vestibule.checks import pod_report
from vestibule.checks.pod_report import Cause, PodController, PodCounts, PodEntry
from vestibule.checks.running_pods import PodDrift, State
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.diagnose.audit import eviction_rules
from vestibule.diagnose.audit.eviction_rules import EvictedPod
from vestibule.diagnose.audit.summary import AuditSummary
from vestibule.operator.controllers.audit.schedule import AuditSchedule

Json = dict[str, Any]
SET = PodController("ReplicaSet", "web-1", "rs")


def entry(
    name: str = "p",
    owner: str = "Deployment web",
    state: State = "missing",
    cause: Cause = "WebhookAway",
    maker: PodController | None = SET,
    **more: Any,
) -> PodEntry:
    difference = PodDrift(state, ("aws",), "has no aws identity")
    return PodEntry("a", name, owner, 1.0, difference, "why", "do", "", cause, f"uid-{name}", maker, **more)


# ── what is said ───────────────────────────────────────────────────────────────────────────────────────────


def test_pods_are_counted_by_workload_and_cause() -> None:
    summary = AuditSummary()
    for one in (entry("p1"), entry("p2"), entry("alone", "", cause="Unknown", maker=None)):
        summary.add(one)
    summary.add(entry("old", state="stale", cause="ChangedSince"))
    summary.add(entry("out")._replace(unselected="objectSelector", cause="NotSelected"))
    reported = summary.condition(PodCounts(9, 5))

    assert str(reported) == "PodsServed=False/PodsMissed"
    assert reported.message.startswith(
        "3 pods of 2 workloads lack the requested identity: Deployment a/web (2), Pod a/alone;"
    )
    assert summary.counts == {
        ("missing", "WebhookAway"): 2,
        ("missing", "Unknown"): 1,
        ("stale", "ChangedSince"): 1,
        ("missing", "NotSelected"): 1,
    }


def test_nothing_missed_is_well_and_what_is_kept_is_bounded() -> None:
    assert str(AuditSummary().condition(PodCounts(9, 5))) == "PodsServed=True/AsExpected"
    many = AuditSummary()
    for number in range(5000):
        many.add(entry(f"p{number}", f"Deployment w{number}"))

    assert (many.missed, len(many.hits), len(many.candidates)) == (5000, 1000, 1000)
    assert "and 995 more" in many.condition(PodCounts()).message


# ── why ────────────────────────────────────────────────────────────────────────────────────────────────────

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
AWAY = downtime.parse([{"since": "2026-01-01T10:00:00Z", "until": "2026-01-01T10:10:00Z"}, {"since": "?"}])


@pytest.mark.parametrize(
    ("created", "policy", "cause"),
    [
        ("2026-01-01T10:05:00Z", "Ignore", "WebhookAway"),
        ("2026-01-01T09:59:10Z", "Ignore", "WebhookAway"),
        ("2026-01-01T11:00:00Z", "Ignore", "Unknown"),
        ("2026-01-01T10:05:00Z", "Fail", "AskedLater"),
        ("2025-12-01T00:00:00Z", "Ignore", "BeforeRegistration"),
    ],
)
def test_the_cause_is_reported_apart(created: str, policy: str, cause: str) -> None:
    pod = {"metadata": {"namespace": "a", "name": "p", "creationTimestamp": created}}
    registered = WebhookEntry("v", {"failurePolicy": policy}, "2025-12-31T00:00:00Z")
    missing = PodDrift("missing", ("aws",), "has no aws identity")

    assert pod_report.entry(pod, missing, ("", ""), registered, {}, NOW, AWAY).cause == cause


def test_outages_are_noted_when_they_begin_and_end() -> None:
    def available(status: str, instant: str) -> Json:
        return {"type": "Available", "status": status, "lastTransitionTime": instant}

    first = available("True", "2026-01-01T00:00:00Z")
    gone = available("False", "2026-01-01T10:00:00Z")
    back = available("True", "2026-01-01T10:10:00Z")

    assert downtime.noted(None, None, gone) == []  # it was never there
    assert downtime.noted(None, gone, first) == []
    begun = downtime.noted(None, first, gone)
    assert begun == [{"since": "2026-01-01T10:00:00Z"}]
    assert downtime.noted(begun, gone, gone) == begun
    ended = downtime.noted(begun, gone, back)
    assert ended == [{"since": "2026-01-01T10:00:00Z", "until": "2026-01-01T10:10:00Z"}]
    many = [{"since": str(number), "until": "x"} for number in range(10)]
    assert len(downtime.noted(many, first, gone)) == downtime.MOST


# ── repair ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_pods_that_were_missed_and_are_recreated_may_be_evicted() -> None:
    job = entry(maker=PodController("Job", "j", "u"))

    assert eviction_rules.eligible(entry()) == ""
    assert eviction_rules.eligible(entry(state="stale", cause="ChangedSince")) != ""
    assert eviction_rules.eligible(entry(cause="AskedLater")) != ""
    assert eviction_rules.eligible(entry(maker=None)) == "no controller recreates it"
    assert eviction_rules.eligible(job) == "it belongs to a Job"
    assert eviction_rules.eligible(job, jobs=True) == ""
    assert "which is not a known controller" in eviction_rules.eligible(
        entry(maker=PodController("Tower", "t", "u"))
    )
    assert eviction_rules.eligible(entry()._replace(unselected="objectSelector")) != ""


def pod(uid: str, *, ready: bool = False, **meta: Any) -> Json:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": {"uid": uid, "name": uid, **meta}, "status": {"conditions": conditions}}


def test_a_workload_spares_a_pod_when_it_has_all_of_them() -> None:
    maker = {"spec": {"replicas": 2}}

    assert eviction_rules.is_complete(maker, [pod("a"), pod("b")])
    assert not eviction_rules.is_complete(maker, [pod("a")])
    assert not eviction_rules.is_complete(maker, [pod("a"), pod("b"), pod("c", deletionTimestamp="now")])
    assert eviction_rules.is_complete({"spec": {}}, [pod("a")])  # a DaemonSet


def test_what_became_of_an_eviction() -> None:
    gone = EvictedPod(entry(), 0.0, frozenset({"a", "b"}))
    ran = EvictedPod(entry(ready=True), 0.0, frozenset({"a", "b"}))

    assert eviction_rules.became(gone, [pod("b")], (), 1.0) == "waiting"
    assert eviction_rules.became(gone, [pod("b"), pod("c")], (), 1.0) == "replaced"
    assert eviction_rules.became(gone, [pod("b"), pod("c")], {"c"}, 1.0) == "missed"
    assert eviction_rules.became(ran, [pod("b"), pod("c")], (), 1.0) == "waiting"
    assert eviction_rules.became(ran, [pod("b"), pod("c", ready=True)], (), 1.0) == "replaced"
    assert eviction_rules.became(gone, [pod("b")], (), 301.0) == "gone"


# ── when ───────────────────────────────────────────────────────────────────────────────────────────────────


def installation(status: str, instant: str) -> Json:
    return {
        "status": {"conditions": [{"type": "Available", "status": status, "lastTransitionTime": instant}]}
    }


def test_an_audit_comes_soon_then_by_the_interval_and_when_the_webhook_is_back() -> None:
    due = AuditSchedule()
    existing, away, back = (installation(*one) for one in (("True", "t1"), ("False", "t2"), ("True", "t3")))

    assert not due.noted(existing, 3600.0, 0.0)
    assert 60.0 <= due.left(0.0) <= 120.0
    assert due.noted(existing, 3600.0, 120.0)
    due.ended(3600.0, 130.0)
    assert 2880.0 <= due.left(130.0) <= 3600.0
    assert not due.noted(away, 3600.0, 200.0)
    assert due.left(200.0) > 2000.0
    assert not due.noted(back, 3600.0, 300.0)
    assert due.left(300.0) <= 5.0
    due.ended(3600.0, 310.0)
    assert not due.noted(back, 60.0, 320.0)  # a shorter interval counts at once
    assert due.left(320.0) <= 60.0


def test_what_is_asked_for_is_checked() -> None:
    audit = {"interval": "never", "repair": {"mode": "Evict", "perMinute": 0}}

    with pytest.raises(errors.InvalidInput) as caught:
        vestibulewebhook.parse({"metadata": {"name": "v"}, "spec": {"audit": audit}})
    assert [one.field for one in caught.value.problems] == [
        "spec.audit.interval",
        "spec.audit.repair.perMinute",
    ]
    requested = vestibulewebhook.parse({"spec": {}}).audit
    assert (requested.enabled, requested.interval, requested.repair.mode) == (True, "1h", "Off")
