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

from tests.apiserver.admitted_pod import AWS
from tests.apiserver.operator_installation import OperatorInstallation, operator_installed
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

pytestmark = pytest.mark.slow

Json = dict[str, Any]
EVENTS = "events.k8s.io/v1"
EVICT = {"mode": "Evict", "perMinute": 600}


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> Iterator[OperatorInstallation]:
    with operator_installed(control_plane, tmp_path, install={"evictions": True}) as created:
        yield created


def narrowed(namespace: str) -> Json:
    """Settings with which only one namespace is served: the shared cluster has others' pods."""
    return {"webhook": {"namespaceSelector": {"kubernetes.io/metadata.name": namespace}}}


def installed(environment: OperatorInstallation, namespace: str, **repair: Any) -> None:
    audit = {"interval": "2s", "repair": repair or {"mode": "Off"}}
    environment.ask(settings=narrowed(namespace), audit=audit)
    environment.start("--resync", "2")
    environment.serve()
    environment.wait("Available", "True")
    wait_served(environment, namespace)


def wait_served(environment: OperatorInstallation, namespace: str) -> None:
    """Until the API server calls the webhook."""
    probe = body("probe", AWS)

    def served() -> bool:
        pod = environment.admin.create(at("pods", namespace), probe, dryRun="All").object
        return "cwii.dev/injected" in pod["metadata"]["annotations"]

    process.wait("the webhook is called", served, 15)


def down(environment: OperatorInstallation) -> None:
    """The webhook dies, and the operator has noticed."""
    assert environment.webhook is not None
    environment.webhook.end(signal.SIGKILL)
    environment.wait("Available", "False", seconds=20)


def up(environment: OperatorInstallation, namespace: str) -> None:
    environment.serve()
    environment.wait("Available", "True", seconds=20)
    wait_served(environment, namespace)


def body(name: str, annotations: Json, **labels: str) -> Json:
    return {
        "metadata": {"name": name, "annotations": annotations, "labels": labels},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }


def deployment(environment: OperatorInstallation, namespace: str, name: str, replicas: int = 1) -> None:
    template = {
        "metadata": {"labels": {"app": name}, "annotations": AWS},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    obj = {"metadata": {"name": name}, "spec": spec}
    environment.admin.create(at("deployments", namespace, api="apps/v1"), obj).object  # noqa: B018 - raises
    process.wait(f"pods of {name}", lambda: len(pods(environment, namespace, name)) == replicas, 30)


def pods(environment: OperatorInstallation, namespace: str, name: str) -> list[Json]:
    found = environment.admin.list(at("pods", namespace), labelSelector=f"app={name}")
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def injected(pod: Json) -> bool:
    return "cwii.dev/injected" in pod["metadata"]["annotations"]


def told(environment: OperatorInstallation, namespace: str, reason: str) -> list[Json]:
    return [
        one for one in environment.admin.list(at("events", namespace, api=EVENTS)) if one["reason"] == reason
    ]


def evictions(environment: OperatorInstallation, since: int) -> list[Json]:
    return [
        one
        for one in environment.plane.audit.events(since, user=environment.user, verb="create")
        if one["objectRef"].get("subresource") == "eviction"
    ]


def metric(environment: OperatorInstallation, name: str, *labels: str) -> float:
    try:
        lines = environment.operators[-1].get("/metrics")[1].splitlines()
    except OSError:
        return 0.0  # it has only just been started
    found = [one for one in lines if one.startswith(name) and all(label in one for label in labels)]
    return sum(float(one.rpartition(" ")[2]) for one in found)


def command(environment: OperatorInstallation, namespace: str) -> list[str]:
    return [
        *(sys.executable, "-m", "vestibule", "audit", "--kubeconfig", str(environment.plane.kubeconfig())),
        *("-n", namespace, "--webhook-configuration", environment.name),
    ]


def audit(environment: OperatorInstallation, namespace: str, *words: str) -> tuple[int, Json]:
    words = (*command(environment, namespace), "-o", "json", *words)
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_pods_that_were_created_while_the_webhook_was_away_are_found_and_reported(
    environment: OperatorInstallation, namespace: str
) -> None:
    before = environment.admin.create(at("pods", namespace), body("early", AWS)).object
    installed(environment, namespace)
    environment.wait("PodsServed", "False", "PodsMissed")
    assert not injected(before)
    served = environment.admin.create(at("pods", namespace), body("served", AWS)).object
    assert injected(served)
    down(environment)
    deployment(environment, namespace, "web", replicas=2)
    up(environment, namespace)

    def counted() -> bool:
        return metric(environment, "vestibule_audit_pods{", "missing", "WebhookAway", environment.name) == 2

    process.wait("both pods in the metrics", counted, 20)
    words = f"3 pods of 2 workloads lack the requested identity: Deployment {namespace}/web (2), Pod "

    def summed() -> bool:
        return bool(environment.condition("PodsServed")["message"].startswith(f"{words}{namespace}/early; "))

    process.wait("both workloads in the condition", summed, 10)
    assert metric(environment, "vestibule_audit_pods{", "BeforeRegistration") == 1

    def news() -> bool:
        return {one["regarding"]["kind"] for one in told(environment, namespace, "PodsMissed")} == {
            "Deployment",
            "Pod",
        }

    process.wait("events", news, 10)
    (about,) = (
        one for one in told(environment, namespace, "PodsMissed") if one["regarding"]["kind"] == "Deployment"
    )
    assert about["regarding"]["name"] == "web"
    assert "created while the webhook was unavailable, " in about["note"]

    code, report = audit(environment, namespace)
    assert (code, report["missed"]) == (3, 3)
    causes = {one["name"].partition("-")[0]: one["cause"] for one in report["pods"]}
    assert causes == {"web": "WebhookAway", "early": "BeforeRegistration"}
    (early,) = (one for one in report["pods"] if one["name"] == "early")
    assert (early["owner"], early["found"]) == ("", "has no aws identity")
    assert early["advice"] == f"kubectl -n {namespace} delete pod early and create it again"
    outage = environment.admin.get(environment.path).object["status"]["outages"][-1]
    assert outage["since"] <= outage["until"]

    # repair is off: nothing was evicted; and once all is told, nothing more is written
    mark = environment.plane.audit.mark()
    audited(environment)
    written = [
        one["objectRef"]["resource"]
        for one in environment.plane.audit.events(mark, user=environment.user)
        if one["verb"] not in ("get", "list", "watch") and one["objectRef"]["resource"] != "leases"
    ]
    assert written == []
    environment.ask(settings=narrowed(namespace), audit={"enabled": False})
    process.wait("the condition goes", lambda: not environment.condition("PodsServed"), 20)


def test_missed_pods_are_evicted_one_of_a_workload_at_a_time_and_budgets_count(
    environment: OperatorInstallation, namespace: str
) -> None:
    installed(environment, namespace, **EVICT)
    down(environment)
    deployment(environment, namespace, "web", replicas=3)
    deployment(environment, namespace, "guarded", replicas=2)
    alone = environment.admin.create(at("pods", namespace), body("alone", AWS)).object
    budget = {
        "metadata": {"name": "guarded"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    where = at("poddisruptionbudgets", namespace, api="policy/v1")
    environment.admin.create(where, budget).object  # noqa: B018 - raises
    environment.admin.wait(f"{where}/guarded", lambda one: one.get("status", {}).get("observedGeneration"))
    # a budget counts for pods that run; nobody runs them here, so they are said to
    for one in pods(environment, namespace, "guarded"):
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        path = at("pods", namespace, one["metadata"]["name"], sub="status")
        environment.admin.patch(path, {"status": ready}).object  # noqa: B018 - raises
    mark = environment.plane.audit.mark()
    up(environment, namespace)

    def repaired() -> bool:
        found = pods(environment, namespace, "web")
        return len(found) == 3 and all(map(injected, found))

    process.wait("three new pods with their identity", repaired, 60)
    process.wait("the budget is told", lambda: bool(told(environment, namespace, "EvictionPostponed")), 20)
    process.wait("events", lambda: len(told(environment, namespace, "EvictedForIdentity")) == 3, 10)
    assert [injected(one) for one in pods(environment, namespace, "guarded")] == [False, False]
    stored = environment.admin.get(at("pods", namespace, "alone")).object["metadata"]["uid"]
    assert stored == alone["metadata"]["uid"]

    # one after the other: between two evictions of the workload the controller made a pod
    requested = [
        one for one in evictions(environment, mark) if str(one["objectRef"]["name"]).startswith("web-")
    ]
    created = [
        one["requestReceivedTimestamp"]
        for one in environment.plane.audit.events(mark, verb="create", resource="pods")
        if one["objectRef"]["namespace"] == namespace and "subresource" not in one["objectRef"]
    ]
    assert [one["responseStatus"]["code"] for one in requested] == [201, 201, 201]
    moments = [one["requestReceivedTimestamp"] for one in requested]
    for earlier, later in itertools.pairwise(moments):
        assert any(earlier < instant < later for instant in created)
    assert metric(environment, "vestibule_audit_evictions_total", "evicted") == 3
    environment.wait("RepairWorks", "True")
    assert f"Pod {namespace}/alone" in environment.condition("PodsServed")["message"]


def audited(environment: OperatorInstallation, times: int = 3) -> None:
    """Until the auditor has looked again so many times."""
    name = "vestibule_operator_reconciles_total"
    done = metric(environment, name, '"audits"')
    process.wait("more audits", lambda: metric(environment, name, '"audits"') >= done + times, 30)


def test_a_replacement_that_lacks_the_same_again_ends_the_repair(
    environment: OperatorInstallation, namespace: str
) -> None:
    installed(environment, namespace, **EVICT)
    down(environment)
    deployment(environment, namespace, "web", replicas=3)
    mark = environment.plane.audit.mark()
    # it answers reviews, and gives nobody an identity
    environment.serve("127.0.0.1", "--aws-enabled", "false")
    environment.wait("Available", "True")
    found = environment.wait("RepairWorks", "False", "ReplacementMissed", seconds=60)

    assert "lacks the same identity again" in found["message"]
    assert len(evictions(environment, mark)) == 1
    audited(environment)
    # another process does not begin anew
    environment.operators[-1].end()
    environment.start("--resync", "2")
    environment.plane.audit.wait(since=mark, user=environment.user, verb="list", resource="pods")

    def again() -> bool:
        return metric(environment, "vestibule_audit_pods{", "missing", environment.name) == 3

    process.wait("an audit of the new process", again, 40)
    audited(environment)
    assert len(evictions(environment, mark)) == 1
    # the webhook is mended: it goes on
    assert environment.webhook is not None
    environment.webhook.end(signal.SIGKILL)
    environment.wait("Available", "False")
    up(environment, namespace)
    process.wait("all mended", lambda: all(map(injected, pods(environment, namespace, "web"))), 60)
    environment.wait("PodsServed", "True")
    assert environment.wait("RepairWorks", "True")


def test_a_dry_run_evicts_nobody_and_the_pace_is_kept(
    environment: OperatorInstallation, namespace: str
) -> None:
    installed(environment, namespace, mode="DryRun", perMinute=20)
    down(environment)
    for name in ("a", "b", "c"):
        deployment(environment, namespace, name)
    before = {one["metadata"]["uid"] for one in environment.admin.list(at("pods", namespace))}
    mark = environment.plane.audit.mark()
    up(environment, namespace)
    process.wait("three events", lambda: len(told(environment, namespace, "WouldEvict")) == 3, 40)

    assert {one["metadata"]["uid"] for one in environment.admin.list(at("pods", namespace))} == before
    moments = [
        datetime.datetime.fromisoformat(one["requestReceivedTimestamp"])
        for one in evictions(environment, mark)[:3]
    ]
    for earlier, later in itertools.pairwise(moments):
        assert (later - earlier).total_seconds() > 2.9


def test_without_the_right_to_evict_nobody_is_evicted_and_it_is_reported(
    control_plane: ControlPlane, tmp_path: Path, namespace: str
) -> None:
    with operator_installed(control_plane, tmp_path) as environment:
        installed(environment, namespace, **EVICT)
        down(environment)
        deployment(environment, namespace, "web")
        up(environment, namespace)
        found = environment.wait("RepairWorks", "False", "Forbidden")

        assert "install.evictions" in found["message"]


def test_the_command_lists_and_mends(environment: OperatorInstallation, namespace: str) -> None:
    installed(environment, namespace)
    assert audit(environment, namespace)[0] == 0
    down(environment)
    deployment(environment, namespace, "web", replicas=2)
    job = {
        "metadata": {"name": "once"},
        "spec": {"template": {"metadata": {"labels": {"app": "once"}, "annotations": AWS}, "spec": SPEC}},
    }
    environment.admin.create(at("jobs", namespace, api="batch/v1"), job).object  # noqa: B018 - raises
    process.wait("the pod of the job", lambda: bool(pods(environment, namespace, "once")), 20)
    code, away = audit(environment, namespace, "--fix", "--yes", "--per-minute", "600")
    assert code == 3
    assert [one["result"] for one in away["evictions"]] == ["evicted", "missed"]
    assert "lacks the same identity again" in away["ended"]
    up(environment, namespace)
    stale = environment.admin.create(at("pods", namespace), body("stale", AWS)).object
    changed = {"metadata": {"annotations": {"cwii.dev/aws-role-arn": f"{AWS['cwii.dev/aws-role-arn']}-b"}}}
    environment.admin.patch(at("pods", namespace, "stale"), changed).object  # noqa: B018 - raises

    shown = subprocess.run(
        [*command(environment, namespace), "-o", "table"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (shown.returncode, shown.stdout.split()[:3]) == (3, ["NAMESPACE", "POD", "OWNER"])
    assert "3 lack the requested identity, 1 are stale (--all lists them)" in shown.stdout
    code, dry = audit(environment, namespace, "--fix", "--dry-run", "--per-minute", "600")
    assert (code, [one["result"] for one in dry["evictions"]]) == (3, ["would-evict", "would-evict"])
    code, done = audit(environment, namespace, "--fix", "--yes", "--per-minute", "600")
    results = [one["result"] for one in done["evictions"]]
    assert sorted(results) == ["evicted", "evicted", "replaced", "replaced"]
    assert code == 3  # the pod of the Job
    code, after = audit(environment, namespace)
    assert (code, [one["owner"] for one in after["pods"]]) == (3, ["Job once"])
    assert all(map(injected, pods(environment, namespace, "web")))
    code, everything = audit(environment, namespace, "--all")
    (stored,) = (one for one in everything["pods"] if one["name"] == "stale")
    assert (stored["state"], stored["cause"]) == ("stale", "ChangedSince")
    found = environment.admin.get(at("pods", namespace, "stale")).object["metadata"]["uid"]
    assert found == stale["metadata"]["uid"]


SPEC = {"restartPolicy": "Never", "containers": [{"name": "app", "image": "a"}]}
