"""A real control plane (etcd and kube-apiserver, built once and cached) and our webhook on it.

RBAC, settings and webhook configuration are what `vestibule render` prints
(`tests/apiserver/webhook_installation.py`); only the Service becomes a URL and the process is started here,
on its core, as everywhere in the bench. No controller runs: pods stay pending, and nothing writes but us.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.apiserver.webhook_installation import WebhookInstallation
from tests.rig.client import Refused
from tests.rig.controlplane import ControlPlane
from tests.rig.process import Failed
from tests.rig.toolchain import CannotBuild

from bench import cluster, cores, creation, loads, processes, samples, seeding, subject
from bench.loads import Target
from bench.processes import Unavailable
from bench.rig import Rig

FAILURES = (Unavailable, loads.Failed, OSError, http.client.HTTPException, Failed, Refused)
"""What can go wrong on a control plane; a section that meets it has not measured its figures."""


UNAUDITED = {"audit-policy-file": None, "audit-log-path": None}
"""The rig's audit log is for tests that read it; written on the same two cores it would be measured too."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Our process on a control plane."""

    child: processes.Child
    installation: WebhookInstallation
    port: int
    metrics_port: int
    trust: Path

    def total(self, name: str, wanted: Callable[[samples.Labels], bool] = lambda _: True) -> float:
        """A metric of ours."""
        host = f"127.0.0.1:{self.metrics_port}"
        return samples.total(
            processes.exchange(host, "GET", "/metrics", None, None)[1].decode(), name, wanted
        )

    def cached(self) -> int:
        """ServiceAccounts it knows."""
        return int(self.total("vestibule_cache_cached", _of_accounts))

    def lists(self) -> int:
        """Whole lists of ServiceAccounts it has read."""
        return int(self.total("vestibule_cache_lists", _of_accounts))

    def target(self, rig: Rig) -> Target:
        """For loads that go straight to it."""
        return Target(self.child, self.port, self.trust, rig.seed)


@contextmanager
def plane(rig: Rig, name: str, *, aside: bool = False, **flags: str) -> Iterator[ControlPlane]:
    """A control plane that holds the objects of `bench.cluster`. Raises Unavailable with the reason.

    It may use all cores, as in a cluster; `aside` keeps it off the webhook's core. `flags` are the API
    server's.
    """
    try:
        with cores.pinned(rig.split.loader if aside else None):
            folder = rig.scratch / f"plane-{name}"
            created = ControlPlane(folder, controllers=False, flags={**UNAUDITED, **flags})
            created.start()
    except (CannotBuild, Failed) as problem:
        raise Unavailable(processes.clean(str(problem).splitlines()[0])) from problem
    try:
        seeding.put(created.etcd.port, cluster.objects())
        yield created
    finally:
        created.stop()


def installation(made: ControlPlane, name: str = "bench", **settings: Any) -> WebhookInstallation:
    """What is rendered for these settings, applied but for the registration."""
    found = WebhookInstallation(made, made.folder / "installation", name, **settings)
    found.apply(
        "Namespace",
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    )
    return found


@contextmanager
def webhook(
    rig: Rig, environment: WebhookInstallation, limit: float = 60.0, *, free: bool = False
) -> Iterator[Webhook]:
    """Our process, ready within `limit` seconds. Raises Unavailable.

    `free`: it may use all cores, as the API server does. On a core of its own it would have to wait for the
    API server's work there while the other core is idle.
    """
    port, metrics = processes.free_port(), processes.free_port()
    tls = environment.folder / "tls"
    command = subject.live_command(
        port, metrics, environment.kubeconfig, environment.settings_file, tls / "tls.crt", tls / "tls.key"
    )
    trust = environment.folder / "trust.pem"
    trust.write_bytes(environment.authority.pem)
    log = environment.folder / "webhook.log"
    core = None if free else rig.split.server
    with processes.running(command, log, core, subject.webhook_environment()) as child:
        # the plain port says it too, and does not cost a handshake per look
        ready = f"http://127.0.0.1:{metrics}/readyz"
        processes.wait_until(child, lambda: processes.answers_200(ready, rig.trust), limit)
        yield Webhook(child, environment, port, metrics, trust)


def wait_called(environment: WebhookInstallation, seconds: float = 20.0) -> None:
    """Until the API server calls the webhook. Raises Unavailable."""
    creator = creation.pod_creator(environment.plane)
    request = creator.create(creation.plain(0), dry=True)
    with closing(creator.connection()) as connection:
        deadline = time.perf_counter() + seconds
        while not creation.mutated(connection.answer):
            connection.send(request, 0.0)
            connection.wait(creation.PATIENCE)
            if time.perf_counter() > deadline:
                raise Unavailable(f"not called in {seconds:g} s: {connection.answer[-200:]!r}")


def _of_accounts(labels: samples.Labels) -> bool:
    return labels.get("resource") == "serviceaccounts"
