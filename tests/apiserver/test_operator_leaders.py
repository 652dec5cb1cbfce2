"""Two operators: one leads, the other takes over in time, and who was deposed writes nothing."""

from __future__ import annotations

import datetime
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.child_process import Running
from tests.apiserver.operator_installation import OperatorInstallation, operator_installed
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

pytestmark = pytest.mark.waits

KILLED, ASKED = 17.0, 2.0
"""Seconds until another leads, after a kill and after SIGTERM."""


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> Iterator[OperatorInstallation]:
    with operator_installed(control_plane, tmp_path) as created:
        yield created


def holder(environment: OperatorInstallation) -> str:
    found = environment.admin.get(
        at("leases", environment.name, environment.account, api="coordination.k8s.io/v1")
    )
    return str((found.object.get("spec") or {}).get("holderIdentity") or "")


def led(environment: OperatorInstallation, other_than: str = "") -> str:
    """Until somebody (else) leads; who."""
    process.wait("a leader", lambda: holder(environment) not in ("", other_than), 40)
    return holder(environment)


def stands_by(second: Running) -> None:
    """Until this one asks for the lease: what it takes to start is not what it takes to take over."""

    def candidate() -> bool:
        try:
            return second.get("/readyz")[0] == 200
        except OSError:
            return False

    process.wait("the second to be ready", candidate, 40)


def works(environment: OperatorInstallation, seconds: float = 20.0) -> None:
    """Until a label that the operator does not want is gone again."""
    where = environment.where("ServiceAccount")
    environment.admin.wait(where, seconds=seconds)
    environment.admin.patch(where, {"metadata": {"labels": {"app.kubernetes.io/instance": "drift"}}}).object  # noqa: B018
    environment.admin.wait(
        where, lambda o: o["metadata"]["labels"]["app.kubernetes.io/instance"] == environment.name, seconds
    )


@pytest.mark.parametrize(
    ("name", "limit"), [(signal.SIGKILL, KILLED), (signal.SIGTERM, ASKED)], ids=["killed", "asked to leave"]
)
def test_the_other_takes_over_in_time(environment: OperatorInstallation, name: int, limit: float) -> None:
    environment.ask()
    first = environment.start()
    leader = led(environment)
    stands_by(environment.start())
    works(environment)
    began = time.monotonic()
    first.process.send_signal(name)
    led(environment, leader)
    took = time.monotonic() - began

    assert took <= limit
    works(environment)


def test_both_are_ready_and_one_says_that_it_leads(environment: OperatorInstallation) -> None:
    environment.ask()
    first = environment.start()
    led(environment)
    works(environment)
    second = environment.start()
    stands_by(second)

    assert [one.get("/readyz")[0] for one in (first, second)] == [200, 200]
    assert [one.get("/healthz")[0] for one in (first, second)] == [200, 200]
    shown = [one.get("/metrics")[1] for one in (first, second)]
    assert "vestibule_operator_leading 1.0" in shown[0]
    assert "vestibule_operator_leading 0.0" in shown[1]
    assert 'vestibule_operator_reconciles_total{controller="webhooks",result=' in shown[0]
    assert first.get("/nothing")[0] == 404


@pytest.mark.slow
def test_a_leader_that_slept_writes_nothing_when_it_wakes(environment: OperatorInstallation) -> None:
    environment.ask()
    first = environment.start()
    leader = led(environment)
    works(environment)
    environment.start()
    first.process.send_signal(signal.SIGSTOP)
    led(environment, leader)
    works(environment)
    # what the sleeper should mend is there when it wakes, and the other is stopped: only the sleeper could
    second = environment.operators[1]
    where = environment.where("ServiceAccount")
    second.process.send_signal(signal.SIGSTOP)
    environment.admin.patch(where, {"metadata": {"labels": {"app.kubernetes.io/instance": "drift"}}}).object  # noqa: B018
    mark = environment.plane.audit.mark()
    woken = datetime.datetime.now(datetime.UTC)
    first.process.send_signal(signal.SIGCONT)
    # it hears of the change, and of its own deposition
    environment.plane.audit.wait(since=mark, user=environment.user, verb="get", resource="leases", seconds=10)
    process.wait("a while", lambda: (datetime.datetime.now(datetime.UTC) - woken).total_seconds() > 5, 10)
    wrote = [
        event["objectRef"]["resource"]
        for event in environment.plane.audit.events(mark, user=environment.user)
        if event["verb"] not in ("get", "list", "watch")
    ]

    assert wrote == []
    second.process.send_signal(signal.SIGCONT)
