"""A kubelet for one container beside an API server: it lays out the Secrets that the container mounts, as
they stand in the management cluster, and runs the very command that was rendered.

A machine has one network and one file system, so what a pod has to itself is mapped: mount paths to a folder,
ports to free ones, and the program at the original's path to ours. Nothing else of the command is changed.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cryptography import x509

from tests.process.webhook import free_port
from tests.rig.client import Client, at
from tests.serving.authority import Mount

Json = dict[str, Any]
_CURL = """#!{python}
import ssl, sys, urllib.request
try:
    context = ssl._create_unverified_context()
    urllib.request.urlopen(sys.argv[-1], timeout=5, context=context).read()
except OSError:
    sys.exit(22)
"""
"""For machines without curl: what the container asks of it."""


class SidecarKubelet:
    """One container of a pod, run as a process; it can be stopped and started again on the same ports."""

    def __init__(
        self, folder: Path, management: Client, deployment: Json, name: str, port: int, at_port: int = 0
    ) -> None:
        """``port`` is where the rendered registration expects it, and stands for a free one here, or for
        ``at_port``."""
        self._folder, self._management = folder, management
        pod = deployment["spec"]["template"]["spec"]
        self.container: Json = next(one for one in pod["containers"] if one["name"] == name)
        self._namespace = deployment["metadata"]["namespace"]
        self._volumes = {one["name"]: one for one in pod["volumes"]}
        self._mounts: dict[str, Mount] = {}
        self.ports = {port: at_port or free_port(), 9440: free_port(), 9441: free_port()}
        self.port = self.ports[port]
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"
        folder.mkdir(parents=True)
        self.lay_out()

    def lay_out(self) -> None:
        """The Secrets as they stand now; again after a change, as a kubelet would."""
        for mount in self.container["volumeMounts"]:
            secret = self._volumes[mount["name"]].get("secret")
            if secret is None:
                continue
            found = self._management.get(at("secrets", self._namespace, secret["secretName"])).object
            files = {key: base64.b64decode(value) for key, value in found["data"].items()}
            if mount["mountPath"] not in self._mounts:
                place = self._folder / mount["mountPath"].strip("/").replace("/", "-")
                self._mounts[mount["mountPath"]] = Mount(place)
            self._mounts[mount["mountPath"]].write(files)

    def _mapped(self, text: str) -> str:
        for path, mount in self._mounts.items():
            text = text.replace(path, str(mount.path))
        text = re.sub(r"/usr/bin/[a-z-]+-webhook", str(self._folder / "bin" / "webhook"), text)
        for port, free in self.ports.items():
            text = re.sub(rf"=(?:[0-9.]*):{port}\b", f"=127.0.0.1:{free}", text)
        return text

    def _command(self) -> list[str]:
        command = [*self.container.get("command", []), *self.container.get("args", [])]
        if command[0] == "webhook":
            return [sys.executable, "-m", "vestibule", *map(self._mapped, command)]
        tools = self._folder / "bin"
        tools.mkdir(exist_ok=True)
        # the original listens on 9443 without being told; here that port may be somebody else's
        ours = f"{sys.executable} -m vestibule webhook --as azwi --addr=127.0.0.1:{self.port}"
        _tool(tools / "webhook", f'#!/bin/sh\nexec {ours} "$@"\n')
        if not any((Path(place) / "curl").exists() for place in os.get_exec_path()):
            _tool(tools / "curl", _CURL.format(python=sys.executable))
        return [self._mapped(one) for one in command]

    def start(self) -> None:
        """Run the command with its variables, and nothing else of ours but the path."""
        assert self.process is None
        variables = {one["name"]: one.get("value", "") for one in self.container.get("env", [])}
        path = f"{self._folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command(),
                stdout=log,
                stderr=log,
                env={**os.environ, **variables, "PATH": path},
                start_new_session=True,
            )

    def probe(self, name: str) -> bool:
        """One of the container's own probes, asked once."""
        requested = self.container[name]["httpGet"]
        with contextlib.suppress(OSError, http.client.HTTPException):
            to = http.client.HTTPConnection("127.0.0.1", self.ports[requested["port"]], timeout=5)
            with contextlib.closing(to):
                to.request("GET", requested["path"])
                return to.getresponse().status == 200
        return False

    def wait_ready(self, seconds: float = 40.0) -> None:
        """Until every probe that it has says yes."""
        deadline = time.monotonic() + seconds
        probes = [one for one in ("startupProbe", "livenessProbe", "readinessProbe") if one in self.container]
        while not all(self.probe(one) for one in probes):
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"exit {self.process.poll()}: {self.log.read_text()[-3000:]}")
            time.sleep(0.05)

    def serial(self) -> int:
        """Of the certificate that it serves now."""
        pem = ssl.get_server_certificate(("127.0.0.1", self.port), timeout=5)
        return x509.load_pem_x509_certificate(pem.encode()).serial_number

    def requests(self) -> float:
        """How many reviews it has answered."""
        to = http.client.HTTPConnection("127.0.0.1", self.ports[9441], timeout=10)
        with contextlib.closing(to):
            to.request("GET", "/metrics")
            text = to.getresponse().read().decode()
        found = re.findall(r"^vestibule_admission_requests_total(?:\{[^}]*\})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))

    def stop(self) -> None:
        """SIGTERM to the container's processes, and wait."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
        self.process = None


def _tool(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
