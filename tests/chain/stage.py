"""Where the rows play: a webhook process for every kind of settings, each serving namespaces of its own.

The registrations stand side by side, told apart by a label of the namespace (``webhook.namespaceSelector``),
so that a process is started once however the tests are ordered.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.apiserver.hall import Hall
from tests.chain.case import Case, Meta
from tests.chain.kubelet import Kubelet, LaidOut, Mint
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
LABEL = "chain.test/stage"
ACCOUNT, POD = "app", "subject"


class Stage:
    """One webhook process with its registration."""

    def __init__(self, plane: ControlPlane, folder: Path, name: str, settings: Mapping[str, Any]) -> None:
        self._plane, self.name = plane, name
        webhook = {**settings.get("webhook", {}), "namespaceSelector": {LABEL: name}}
        self._hall = Hall(plane, folder, name, **{**settings, "webhook": webhook})
        self._namespaces: list[str] = []

    def open(self) -> None:
        """Start, register, and wait until the API server asks us."""
        self._hall.apply()
        replica = self._hall.start()
        self._hall.register(replica.port)
        namespace = self.namespace("probe", Meta())
        probe = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        deadline = time.monotonic() + 15
        while not replica.metric("vestibule_admission_requests_total"):
            self._plane.admin.create(at("pods", namespace), probe, dryRun="All")
            if time.monotonic() > deadline:
                raise AssertionError(f"the API server does not call us: {replica.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def namespace(self, stem: str, meta: Meta) -> str:
        """A namespace that this process serves."""
        name = self._plane.namespace(
            stem, labels={**meta.labels, LABEL: self.name}, annotations=dict(meta.annotations)
        )
        self._namespaces.append(name)
        return name

    def account(self, namespace: str, name: str, meta: Meta) -> None:
        thing = {
            "metadata": {"name": name, "annotations": dict(meta.annotations), "labels": dict(meta.labels)}
        }
        self._plane.admin.create(at("serviceaccounts", namespace), thing).object  # noqa: B018 - raises

    def pod(self, namespace: str, meta: Meta, spec: Mapping[str, Any], account: str = ACCOUNT) -> Json:
        """Create a pod and read it back."""
        body = {"serviceAccountName": account, "containers": [{"name": "app", "image": "app"}], **spec}
        thing = {
            "metadata": {"name": POD, "annotations": dict(meta.annotations), "labels": dict(meta.labels)},
            "spec": body,
        }
        self._plane.admin.create(at("pods", namespace), thing).object  # noqa: B018 - raises
        return self._plane.admin.get(at("pods", namespace, POD)).object

    def close(self) -> None:
        self._hall.close()
        for name in self._namespaces:
            self._plane.admin.delete(at("namespaces", name=name))


class Stages:
    """Every kind of settings that was asked for so far, and the one node."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self._folder = plane, folder
        self.kubelet = Kubelet(plane, "chain-node", folder / "pods")
        self._open: dict[str, Stage] = {}

    @property
    def issuer(self) -> str:
        return self.plane.apiserver.issuer

    def of(self, settings: Mapping[str, Any]) -> Stage:
        key = json.dumps(settings, sort_keys=True)
        if key not in self._open:
            name = f"chain-{len(self._open)}"
            stage = Stage(self.plane, self._folder / name, name, settings)
            self._open[key] = stage
            stage.open()
        return self._open[key]

    def play(self, case: Case, *, account: str = ACCOUNT, mint: Mint | None = None) -> LaidOut:
        """The case's objects created, its pod admitted and laid out; ``account`` runs it instead."""
        stage = self.of(case.settings)
        namespace = stage.namespace("chain", case.namespace)
        stage.account(namespace, account, case.account)
        stage.pod(namespace, case.pod, case.spec, account)
        return self.kubelet.run(namespace, POD, mint)

    def close(self) -> None:
        for stage in self._open.values():
            stage.close()
        self.kubelet.close()
