"""Pods that the webhook missed: found, told, listed and mended, on a real API server with its controllers."""

from __future__ import annotations

import datetime
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operated import Operated, operated
from tests.apiserver.witness import AWS
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

pytestmark = pytest.mark.slow

Json = dict[str, Any]
EVENTS = "events.k8s.io/v1"
EVICT = {"mode": "Evict", "perMinute": 600}


@pytest.fixture
def stand(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Operated]:
    with operated(control_plane, tmp_path, install={"evictions": True}) as made:
        yield made


def narrowed(namespace: str) -> Json:
    """Settings with which only one namespace is served: the shared cluster has others' pods."""
    return {"webhook": {"namespaceSelector": {"kubernetes.io/metadata.name": namespace}}}


def installed(stand: Operated, namespace: str, **repair: Any) -> None:
    audit = {"interval": "2s", "repair": repair or {"mode": "Off"}}
    stand.ask(settings=narrowed(namespace), audit=audit)
    stand.start("--resync", "2")
    stand.serve()
    stand.wait("Available", "True")
    wait_served(stand, namespace)


def wait_served(stand: Operated, namespace: str) -> None:
    """Until the API server calls the webhook."""
    probe = body("probe", AWS)

    def served() -> bool:
        pod = stand.admin.create(at("pods", namespace), probe, dryRun="All").object
        return "cwii.dev/injected" in pod["metadata"]["annotations"]

    process.wait("the webhook is called", served, 15)


def down(stand: Operated) -> None:
    """The webhook dies, and the operator has noticed."""
    assert stand.webhook is not None
    stand.webhook.end(signal.SIGKILL)
    stand.wait("Available", "False", seconds=20)


def up(stand: Operated, namespace: str) -> None:
    stand.serve()
    stand.wait("Available", "True", seconds=20)
    wait_served(stand, namespace)


def body(name: str, annotations: Json, **labels: str) -> Json:
    return {
        "metadata": {"name": name, "annotations": annotations, "labels": labels},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }


def deployment(stand: Operated, namespace: str, name: str, replicas: int = 1) -> None:
    template = {
        "metadata": {"labels": {"app": name}, "annotations": AWS},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    thing = {"metadata": {"name": name}, "spec": spec}
    stand.admin.create(at("deployments", namespace, api="apps/v1"), thing).object  # noqa: B018 - raises
    process.wait(f"pods of {name}", lambda: len(pods(stand, namespace, name)) == replicas, 30)


def pods(stand: Operated, namespace: str, name: str) -> list[Json]:
    found = stand.admin.list(at("pods", namespace), labelSelector=f"app={name}")
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def injected(pod: Json) -> bool:
    return "cwii.dev/injected" in pod["metadata"]["annotations"]


def told(stand: Operated, namespace: str, reason: str) -> list[Json]:
    return [one for one in stand.admin.list(at("events", namespace, api=EVENTS)) if one["reason"] == reason]


def evictions(stand: Operated, since: int) -> list[Json]:
    return [
        one
        for one in stand.plane.audit.events(since, user=stand.user, verb="create")
        if one["objectRef"].get("subresource") == "eviction"
    ]


def metric(stand: Operated, name: str, *labels: str) -> float:
    try:
        lines = stand.operators[-1].get("/metrics")[1].splitlines()
    except OSError:
        return 0.0  # it has only just been started
    found = [one for one in lines if one.startswith(name) and all(label in one for label in labels)]
    return sum(float(one.rpartition(" ")[2]) for one in found)


def command(stand: Operated, namespace: str) -> list[str]:
    return [
        *(sys.executable, "-m", "vestibule", "audit", "--kubeconfig", str(stand.plane.kubeconfig())),
        *("-n", namespace, "--webhook-configuration", stand.name),
    ]


def audit(stand: Operated, namespace: str, *words: str) -> tuple[int, Json]:
    words = (*command(stand, namespace), "-o", "json", *words)
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_pods_that_were_created_while_the_webhook_was_away_are_found_and_told(
    stand: Operated, namespace: str
) -> None:
    before = stand.admin.create(at("pods", namespace), body("early", AWS)).object
    installed(stand, namespace)
    stand.wait("PodsServed", "False", "PodsMissed")
    assert not injected(before)
    served = stand.admin.create(at("pods", namespace), body("served", AWS)).object
    assert injected(served)
    down(stand)
    deployment(stand, namespace, "web", replicas=2)
    up(stand, namespace)

    def counted() -> bool:
        return metric(stand, "vestibule_audit_pods{", "missing", "WebhookAway", stand.name) == 2

    process.wait("both pods in the metrics", counted, 20)
    words = f"3 pods of 2 workloads lack the requested identity: Deployment {namespace}/web (2), Pod "

    def summed() -> bool:
        return bool(stand.condition("PodsServed")["message"].startswith(f"{words}{namespace}/early; "))

    process.wait("both workloads in the condition", summed, 10)
    assert metric(stand, "vestibule_audit_pods{", "BeforeRegistration") == 1

    def news() -> bool:
        return {one["regarding"]["kind"] for one in told(stand, namespace, "PodsMissed")} == {
            "Deployment",
            "Pod",
        }

    process.wait("events", news, 10)
    (about,) = (
        one for one in told(stand, namespace, "PodsMissed") if one["regarding"]["kind"] == "Deployment"
    )
    assert about["regarding"]["name"] == "web"
    assert "created while the webhook was away, " in about["note"]

    code, report = audit(stand, namespace)
    assert (code, report["missed"]) == (3, 3)
    causes = {one["name"].partition("-")[0]: one["cause"] for one in report["pods"]}
    assert causes == {"web": "WebhookAway", "early": "BeforeRegistration"}
    (early,) = (one for one in report["pods"] if one["name"] == "early")
    assert (early["owner"], early["found"]) == ("", "has no aws identity")
    assert early["advice"] == f"kubectl -n {namespace} delete pod early and create it again"
    outage = stand.admin.get(stand.path).object["status"]["outages"][-1]
    assert outage["since"] <= outage["until"]

    # repair is off: nothing was evicted; and once all is told, nothing more is written
    mark = stand.plane.audit.mark()
    audited(stand)
    written = [
        one["objectRef"]["resource"]
        for one in stand.plane.audit.events(mark, user=stand.user)
        if one["verb"] not in ("get", "list", "watch") and one["objectRef"]["resource"] != "leases"
    ]
    assert written == []
    stand.ask(settings=narrowed(namespace), audit={"enabled": False})
    process.wait("the condition goes", lambda: not stand.condition("PodsServed"), 20)


def test_missed_pods_are_evicted_one_of_a_workload_at_a_time_and_budgets_count(
    stand: Operated, namespace: str
) -> None:
    installed(stand, namespace, **EVICT)
    down(stand)
    deployment(stand, namespace, "web", replicas=3)
    deployment(stand, namespace, "guarded", replicas=2)
    alone = stand.admin.create(at("pods", namespace), body("alone", AWS)).object
    budget = {
        "metadata": {"name": "guarded"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    where = at("poddisruptionbudgets", namespace, api="policy/v1")
    stand.admin.create(where, budget).object  # noqa: B018 - raises
    stand.admin.wait(f"{where}/guarded", lambda one: one.get("status", {}).get("observedGeneration"))
    # a budget counts for pods that run; nobody runs them here, so they are said to
    for one in pods(stand, namespace, "guarded"):
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        path = at("pods", namespace, one["metadata"]["name"], sub="status")
        stand.admin.patch(path, {"status": ready}).object  # noqa: B018 - raises
    mark = stand.plane.audit.mark()
    up(stand, namespace)

    def mended() -> bool:
        found = pods(stand, namespace, "web")
        return len(found) == 3 and all(map(injected, found))

    process.wait("three new pods with their identity", mended, 60)
    process.wait("the budget is told", lambda: bool(told(stand, namespace, "EvictionPostponed")), 20)
    process.wait("events", lambda: len(told(stand, namespace, "EvictedForIdentity")) == 3, 10)
    assert [injected(one) for one in pods(stand, namespace, "guarded")] == [False, False]
    kept = stand.admin.get(at("pods", namespace, "alone")).object["metadata"]["uid"]
    assert kept == alone["metadata"]["uid"]

    # one after the other: between two evictions of the workload the controller made a pod
    asked = [one for one in evictions(stand, mark) if str(one["objectRef"]["name"]).startswith("web-")]
    made = [
        one["requestReceivedTimestamp"]
        for one in stand.plane.audit.events(mark, verb="create", resource="pods")
        if one["objectRef"]["namespace"] == namespace and "subresource" not in one["objectRef"]
    ]
    assert [one["responseStatus"]["code"] for one in asked] == [201, 201, 201]
    moments = [one["requestReceivedTimestamp"] for one in asked]
    for earlier, later in itertools.pairwise(moments):
        assert any(earlier < moment < later for moment in made)
    assert metric(stand, "vestibule_audit_evictions_total", "evicted") == 3
    stand.wait("RepairWorks", "True")
    assert f"Pod {namespace}/alone" in stand.condition("PodsServed")["message"]


def audited(stand: Operated, times: int = 3) -> None:
    """Until the auditor has looked again so many times."""
    name = "vestibule_operator_reconciles_total"
    done = metric(stand, name, '"audits"')
    process.wait("more audits", lambda: metric(stand, name, '"audits"') >= done + times, 30)


def test_a_replacement_that_lacks_the_same_again_ends_the_repair(stand: Operated, namespace: str) -> None:
    installed(stand, namespace, **EVICT)
    down(stand)
    deployment(stand, namespace, "web", replicas=3)
    mark = stand.plane.audit.mark()
    # it answers reviews, and gives nobody an identity
    stand.serve("127.0.0.1", "--aws-enabled", "false")
    stand.wait("Available", "True")
    found = stand.wait("RepairWorks", "False", "ReplacementMissed", seconds=60)

    assert "lacks the same again" in found["message"]
    assert len(evictions(stand, mark)) == 1
    audited(stand)
    # another process does not begin anew
    stand.operators[-1].end()
    stand.start("--resync", "2")
    stand.plane.audit.wait(since=mark, user=stand.user, verb="list", resource="pods")

    def again() -> bool:
        return metric(stand, "vestibule_audit_pods{", "missing", stand.name) == 3

    process.wait("an audit of the new process", again, 40)
    audited(stand)
    assert len(evictions(stand, mark)) == 1
    # the webhook is mended: it goes on
    assert stand.webhook is not None
    stand.webhook.end(signal.SIGKILL)
    stand.wait("Available", "False")
    up(stand, namespace)
    process.wait("all mended", lambda: all(map(injected, pods(stand, namespace, "web"))), 60)
    stand.wait("PodsServed", "True")
    assert stand.wait("RepairWorks", "True")


def test_a_dry_run_evicts_nobody_and_the_pace_is_kept(stand: Operated, namespace: str) -> None:
    installed(stand, namespace, mode="DryRun", perMinute=20)
    down(stand)
    for name in ("a", "b", "c"):
        deployment(stand, namespace, name)
    before = {one["metadata"]["uid"] for one in stand.admin.list(at("pods", namespace))}
    mark = stand.plane.audit.mark()
    up(stand, namespace)
    process.wait("three events", lambda: len(told(stand, namespace, "WouldEvict")) == 3, 40)

    assert {one["metadata"]["uid"] for one in stand.admin.list(at("pods", namespace))} == before
    moments = [
        datetime.datetime.fromisoformat(one["requestReceivedTimestamp"]) for one in evictions(stand, mark)[:3]
    ]
    for earlier, later in itertools.pairwise(moments):
        assert (later - earlier).total_seconds() > 2.9


def test_without_the_right_to_evict_nobody_is_evicted_and_it_is_told(
    control_plane: ControlPlane, tmp_path: Path, namespace: str
) -> None:
    with operated(control_plane, tmp_path) as stand:
        installed(stand, namespace, **EVICT)
        down(stand)
        deployment(stand, namespace, "web")
        up(stand, namespace)
        found = stand.wait("RepairWorks", "False", "Forbidden")

        assert "install.evictions" in found["message"]


def test_the_command_lists_and_mends(stand: Operated, namespace: str) -> None:
    installed(stand, namespace)
    assert audit(stand, namespace)[0] == 0
    down(stand)
    deployment(stand, namespace, "web", replicas=2)
    job = {
        "metadata": {"name": "once"},
        "spec": {"template": {"metadata": {"labels": {"app": "once"}, "annotations": AWS}, "spec": SPEC}},
    }
    stand.admin.create(at("jobs", namespace, api="batch/v1"), job).object  # noqa: B018 - raises
    process.wait("the pod of the job", lambda: bool(pods(stand, namespace, "once")), 20)
    code, away = audit(stand, namespace, "--fix", "--yes", "--per-minute", "600")
    assert code == 3
    assert [one["result"] for one in away["evictions"]] == ["evicted", "missed"]
    assert "lacks the same again" in away["ended"]
    up(stand, namespace)
    stale = stand.admin.create(at("pods", namespace), body("stale", AWS)).object
    changed = {"metadata": {"annotations": {"cwii.dev/aws-role-arn": f"{AWS['cwii.dev/aws-role-arn']}-b"}}}
    stand.admin.patch(at("pods", namespace, "stale"), changed).object  # noqa: B018 - raises

    shown = subprocess.run(
        [*command(stand, namespace), "-o", "table"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (shown.returncode, shown.stdout.split()[:3]) == (3, ["NAMESPACE", "POD", "OWNER"])
    assert "3 lack the requested identity, 1 are stale (--all lists them)" in shown.stdout
    code, dry = audit(stand, namespace, "--fix", "--dry-run", "--per-minute", "600")
    assert (code, [one["result"] for one in dry["evictions"]]) == (3, ["would-evict", "would-evict"])
    code, done = audit(stand, namespace, "--fix", "--yes", "--per-minute", "600")
    results = [one["result"] for one in done["evictions"]]
    assert sorted(results) == ["evicted", "evicted", "replaced", "replaced"]
    assert code == 3  # the pod of the Job
    code, after = audit(stand, namespace)
    assert (code, [one["owner"] for one in after["pods"]]) == (3, ["Job once"])
    assert all(map(injected, pods(stand, namespace, "web")))
    code, everything = audit(stand, namespace, "--all")
    (kept,) = (one for one in everything["pods"] if one["name"] == "stale")
    assert (kept["state"], kept["cause"]) == ("stale", "ChangedSince")
    found = stand.admin.get(at("pods", namespace, "stale")).object["metadata"]["uid"]
    assert found == stale["metadata"]["uid"]


SPEC = {"restartPolicy": "Never", "containers": [{"name": "app", "image": "a"}]}
