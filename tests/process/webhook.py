"""A real ``vestibule webhook`` process over a directory of manifests, and clients that count what fails."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.rig import process
from tests.serving.authority import Authority, Mount
from tests.vectors import case

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"generateName": "web-", "namespace": "team-a"},
    "spec": {"serviceAccountName": "app", "containers": [{"name": "app", "image": "a"}]},
}
MANIFESTS = """\
apiVersion: v1
kind: Namespace
metadata:
  name: team-a
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: team-a
  annotations:
    cwii.dev/aws-inject: "true"
    cwii.dev/aws-role-arn: arn:aws:iam::123456789012:role/app
"""


free_port = process.free_port
"""Not one that the system gives out itself: it would give the same one to the next who asks, or to a
connection, before a process that takes seconds to start has bound it."""


class Webhook:
    """One process; ended by pid when the test is over."""

    before: Sequence[str] = ()
    """A program that starts ours, with its arguments."""
    output = ""
    """Where the audit lines go; empty: into a file."""

    def __init__(
        self, directory: Path, authority: Authority, arguments: Sequence[str] = (), **environ: str
    ) -> None:
        self.authority = authority
        self.mount = Mount(directory / "tls")
        self.mount.write_pair(authority.leaf())
        self.cluster = directory / "cluster"
        self.cluster.mkdir()
        (self.cluster / "all.yaml").write_text(MANIFESTS)
        self.port, self.metrics_port = free_port(), free_port()
        self.log = (directory / "log").open("w+b")
        self.audit = (Path(self.output) if self.output else directory / "audit").open("wb")
        program = [*self.before, sys.executable, "-m", "vestibule", "webhook"]
        command = [*program, *self.flags(directory), *arguments]
        self.process = subprocess.Popen(
            command, stdout=self.audit, stderr=self.log, env={**os.environ, **environ}
        )

    def flags(self, directory: Path) -> list[str]:
        """What every process is started with."""
        return [
            "--cluster", str(self.cluster), "--addr", f"127.0.0.1:{self.port}",
            "--metrics-addr", f"127.0.0.1:{self.metrics_port}",
            "--tls-cert", str(directory / "tls" / "tls.crt"), "--tls-key", str(directory / "tls" / "tls.key"),
        ]  # fmt: skip

    def wait_ready(self, seconds: float = 15.0) -> None:
        """Until ``/readyz`` says yes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"exit {self.process.returncode}: {self.logged()}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.get("/readyz")[0] == 200:
                    return
            time.sleep(0.02)
        raise AssertionError(f"not ready: {self.logged()}")

    def connection(self, timeout: float = 10.0) -> http.client.HTTPSConnection:
        """A connection that verifies the certificate."""
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=self.authority.trusting(), timeout=timeout
        )

    def get(self, path: str) -> tuple[int, str]:
        """One GET on a fresh connection."""
        with contextlib.closing(self.connection()) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def metric(self, name: str) -> float:
        """The value of a sample without labels, or the sum over labels."""
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=10)
        ) as connection:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        found = re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))

    def post(self, body: bytes, path: str = "/mutate?timeout=10s") -> tuple[int, bytes]:
        """One POST on a fresh connection."""
        with contextlib.closing(self.connection()) as connection:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()

    def mutate(self, pod: dict[str, Any] | None = None) -> dict[str, Any]:
        """The response for one pod."""
        status, body = self.post(case.review(pod or POD))
        assert status == 200, body
        answer: dict[str, Any] = json.loads(body)["response"]
        return answer

    def resident(self) -> int:
        """Bytes of memory in use."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", text)
        assert match
        return int(match[1]) * 1024

    def logged(self) -> str:
        """What was logged so far."""
        self.log.flush()
        return Path(self.log.name).read_text()

    def audited(self) -> list[dict[str, Any]]:
        """The audit lines so far."""
        return [json.loads(line) for line in Path(self.audit.name).read_text().splitlines()]

    def end(self, seconds: float = 15.0) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def close(self) -> None:
        """Make sure that nothing is left."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.log.close()
        self.audit.close()


class Load:
    """Clients that send reviews as the API server does: keep-alive, honouring ``Connection: close``."""

    def __init__(self, webhook: Webhook, clients: int = 4, *, fresh: bool = False) -> None:
        self._webhook = webhook
        self._fresh = fresh
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(clients)]
        self.sent = 0
        self.failures: list[str] = []
        self.serials: set[str] = set()

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(20)
            assert not thread.is_alive()

    def stop(self) -> None:
        """Send no more."""
        self._stop.set()

    def _run(self) -> None:
        body = case.review(POD)
        connection: http.client.HTTPSConnection | None = None
        while not self._stop.is_set():
            try:
                if connection is None:
                    connection = self._webhook.connection()
                    connection.connect()
                    assert isinstance(connection.sock, ssl.SSLSocket)
                    certificate = connection.sock.getpeercert()
                    self.serials.add(str((certificate or {}).get("serialNumber")))
                connection.request("POST", "/mutate?timeout=10s", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = response.read()
                self.sent += 1
                if response.status != 200 or b'"patch":' not in answer:
                    self.failures.append(f"HTTP {response.status}")
                if self._fresh or response.getheader("Connection") == "close":
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                if connection is not None:
                    connection.close()
                connection = None
        if connection is not None:
            connection.close()


def until(condition: Any, what: str, seconds: float = 10.0) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.02)


@contextlib.contextmanager
def running(directory: Path, *arguments: str, **environ: str) -> Iterator[Webhook]:
    """A ready process."""
    webhook = Webhook(directory, Authority("process tests"), arguments, **environ)
    try:
        webhook.wait_ready()
        yield webhook
    finally:
        webhook.close()
