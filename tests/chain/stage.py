"""Where the rows play: a webhook process for every kind of settings, each serving namespaces of its own.

The registrations stand side by side, told apart by a label of the namespace (``webhook.namespaceSelector``),
so that a process serves many tests, however they are ordered.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.apiserver.webhook_installation import WebhookInstallation
from tests.chain.case import Case, Meta
from tests.chain.kubelet import Kubelet, LaidOut, Mint
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
LABEL = "chain.test/stage"
ACCOUNT, POD = "app", "subject"
MOST = 4
"""Processes at the same time: each hears of everything that happens. Rows with equal settings are played one
after the other (``case.grouped``), so none is started twice."""
SURELY = {"failurePolicy": "Fail", "timeoutSeconds": 30}
"""By default we shed a pod after 2.5 s and the API server lets it pass after 5, without an identity: what is
asked here is whether it can log in, however slow a machine that does other things."""
READY = 60.0
"""Seconds until a process is asked; it is a matter of one or two, on a machine that does nothing else."""
PROBED = {"azure.workload.identity/use": "true"}
"""Some registrations are for labelled pods alone."""


class Stage:
    """One webhook process with its registration."""

    def __init__(self, plane: ControlPlane, folder: Path, name: str, settings: Mapping[str, Any]) -> None:
        self._plane, self.name = plane, name
        settings = json.loads(json.dumps(settings).replace("{folder}", str(folder)))
        webhook = {**SURELY, **settings.get("webhook", {}), "namespaceSelector": {LABEL: name}}
        self._hall = WebhookInstallation(plane, folder, name, **{**settings, "webhook": webhook})
        self._folder = folder
        self._namespaces: list[str] = []

    def open(self) -> None:
        """Start and register."""
        self._hall.apply()
        self._hall.register(self._hall.start().port)

    def _wait_requested(self, namespace: str) -> None:
        """Until the API server asks us about pods of a namespace."""
        replica = self._hall.replicas[0]
        self._until(lambda _: replica.metric("vestibule_admission_requests_total") > 0, namespace, "default")

    def wait_served(self, namespace: str, variable: str) -> None:
        """Until a pod of the namespace gets a variable."""

        def got(pod: Json) -> bool:
            return variable in [one["name"] for one in pod["spec"]["containers"][0].get("env", [])]

        self._until(got, namespace, ACCOUNT)

    def _until(self, condition: Callable[[Json], bool], namespace: str, account: str) -> None:
        """Send pods, and create none, until a condition holds for one."""
        probe = {
            "metadata": {"name": "probe", "labels": PROBED},
            "spec": {"serviceAccountName": account, "containers": [{"name": "a", "image": "a"}]},
        }
        deadline = time.monotonic() + READY
        while not condition(self._plane.admin.create(at("pods", namespace), probe, dryRun="All").object):
            if time.monotonic() > deadline:
                log = self._hall.replicas[0].log.read_text()
                raise AssertionError(f"pods are not served: {log[-2000:]}")
            time.sleep(0.05)

    def config_map(self, namespace: str, name: str, data: Mapping[str, str]) -> None:
        """Make a ConfigMap what it should be."""
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}
        path = at("configmaps", namespace, name)
        self._plane.admin.apply(path, obj, "chain", force=True).object  # noqa: B018 - raises

    def write(self, name: str, content: str) -> None:
        """Write a file where ``{folder}`` in the settings leads."""
        (self._folder / name).write_text(content)

    def namespace(self, stem: str, meta: Meta) -> str:
        """A namespace that this process serves."""
        name = self._plane.namespace(
            stem, labels={**meta.labels, LABEL: self.name}, annotations=dict(meta.annotations)
        )
        if not self._namespaces:
            self._wait_requested(name)
        self._namespaces.append(name)
        return name

    def account(self, namespace: str, name: str, meta: Meta) -> None:
        obj = {"metadata": {"name": name, "annotations": dict(meta.annotations), "labels": dict(meta.labels)}}
        self._plane.admin.create(at("serviceaccounts", namespace), obj).object  # noqa: B018 - raises

    def pod(self, namespace: str, meta: Meta, spec: Mapping[str, Any], account: str = ACCOUNT) -> list[str]:
        """Create a pod; what its author is told."""
        body = {"serviceAccountName": account, "containers": [{"name": "app", "image": "app"}], **spec}
        obj = {
            "metadata": {"name": POD, "annotations": dict(meta.annotations), "labels": dict(meta.labels)},
            "spec": body,
        }
        answer = self._plane.admin.create(at("pods", namespace), obj)
        answer.object  # noqa: B018 - raises
        return answer.warnings

    def close(self) -> None:
        """End the process, remove what the cases made.

        The bare namespaces stay: to delete one, the controllers ask the API server for every kind there is.
        """
        self._hall.close()
        for name in self._namespaces:
            self._plane.admin.delete(at("pods", name), gracePeriodSeconds=0)
            for plural, usual in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")):
                self._plane.admin.delete(at(plural, name), fieldSelector=f"metadata.name!={usual}")


class Stages:
    """Every kind of settings that was asked for so far, and the one node."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self._folder = plane, folder
        self.kubelet = Kubelet(plane, "chain-node", folder / "pods")
        self._open: dict[str, Stage] = {}
        self._numbers = itertools.count()

    @property
    def issuer(self) -> str:
        return self.plane.apiserver.issuer

    def of(self, settings: Mapping[str, Any]) -> Stage:
        key = json.dumps(settings, sort_keys=True)
        stage = self._open.pop(key, None)
        if stage is None:
            while len(self._open) >= MOST:
                self._open.pop(next(iter(self._open))).close()  # the one that was not used for longest
            name = f"chain-{next(self._numbers)}"
            stage = Stage(self.plane, self._folder / name, name, settings)
            try:
                stage.open()
            except BaseException:
                stage.close()  # or the next case with these settings would play where nobody listens
                raise
        self._open[key] = stage
        return stage

    def play(self, case: Case, *, account: str = ACCOUNT, mint: Mint | None = None) -> LaidOut:
        """The case's objects created, its pod admitted and laid out; ``account`` runs it instead."""
        stage = self.of(case.settings)
        namespace = stage.namespace("chain", case.namespace)
        stage.account(namespace, account, case.account)
        if case.before is not None:
            case.before(stage, namespace)
        warnings = stage.pod(namespace, case.pod, case.spec, account)
        rendered = self.kubelet.run(namespace, POD, mint)
        rendered.warnings = warnings
        return rendered

    def close(self) -> None:
        for stage in self._open.values():
            stage.close()
        self.kubelet.close()
