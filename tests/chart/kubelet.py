"""A kubelet's part for a release: its pods run here, from the Deployment that Helm made, with the rights of
their ServiceAccount."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from tests.apiserver.child_process import Running
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.process import free_port

Object = dict[str, Any]


def own_address() -> str:
    """An address of this machine that is not a loopback; an EndpointSlice takes no other. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


def login(plane: ControlPlane, namespace: str, account: str, folder: Path) -> Path:
    """A kubeconfig with a token of the account."""
    requested = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    where = at("serviceaccounts", namespace, account, sub="token")
    token = plane.admin.create(where, requested).object["status"]["token"]
    authority = base64.b64encode(plane.authority.pem).decode()
    created = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": plane.url, "certificate-authority-data": authority}}
        ],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(created))
    return path


class Pod:
    """One replica of a Deployment."""

    def __init__(self, plane: ControlPlane, namespace: str, deployment: str, folder: Path) -> None:
        self._plane, self._namespace, self._folder = plane, namespace, folder
        found = plane.admin.get(at("deployments", namespace, deployment, api="apps/v1")).object
        self.spec: Object = found["spec"]["template"]["spec"]
        (self.container,) = self.spec["containers"]
        self.address, self.port, self.plain = own_address(), free_port(), free_port()
        self.kubeconfig = login(plane, namespace, self.spec["serviceAccountName"], folder)
        self.running: Running | None = None

    def lay_out(self) -> list[str]:
        """Write the ConfigMaps that it mounts; the arguments with these paths."""
        arguments = list(self.container["args"])
        mounts = {one["name"]: one["mountPath"] for one in self.container.get("volumeMounts", ())}
        for volume in self.spec.get("volumes", ()):
            if "configMap" in volume:
                where = at("configmaps", self._namespace, volume["configMap"]["name"])
                home = self._folder / volume["name"]
                home.mkdir(parents=True, exist_ok=True)
                for name, text in self._plane.admin.get(where).object["data"].items():
                    full = home / f".{name}"
                    full.write_text(text)
                    full.replace(home / name)
                arguments = [one.replace(mounts[volume["name"]], str(home)) for one in arguments]
        return arguments

    def certificate(self) -> list[str]:
        """Write what it mounts of its Secret, once that is there; the arguments for it."""
        (volume,) = (one["secret"] for one in self.spec["volumes"] if "secret" in one)
        where = at("secrets", self._namespace, volume["secretName"])
        keys = [one["key"] for one in volume["items"]]

        def whole(found: Object) -> bool:
            return all(key in (found.get("data") or {}) for key in keys)

        data = self._plane.admin.wait(where, whole)["data"]
        home = self._folder / "tls"
        home.mkdir(parents=True, exist_ok=True)
        for key in keys:
            (home / key).write_bytes(base64.b64decode(data[key]))
        return ["--tls-cert", str(home / "tls.crt"), "--tls-key", str(home / "tls.key")]

    def start(self, *more: str) -> Running:
        """Run it, where this machine can be reached."""
        variables = {one["name"]: one["value"] for one in self.container["env"] if "value" in one}
        with mock.patch.dict(os.environ, variables):
            self.running = Running(
                self._folder / "pod", *self.lay_out(), "--kubeconfig", str(self.kubeconfig), *more
            )
        self.running.port = self.plain
        return self.running

    def publish(self, service: str) -> None:
        """It is ready: the Service leads to it."""
        part = {
            "metadata": {"name": "by-hand", "labels": {"kubernetes.io/service-name": service}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self.address], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "port": self.port, "protocol": "TCP"}],
        }
        where = at("endpointslices", self._namespace, api="discovery.k8s.io/v1")
        self._plane.admin.create(where, part).object  # noqa: B018 - raises


@contextlib.contextmanager
def pod(plane: ControlPlane, namespace: str, deployment: str, folder: Path) -> Iterator[Pod]:
    """A pod that is ended afterwards."""
    created = Pod(plane, namespace, deployment, folder)
    try:
        yield created
    finally:
        if created.running is not None:
            created.running.end()
