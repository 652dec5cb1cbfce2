"""One of our processes and its log."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
from pathlib import Path


class Running:
    """One process and its log."""

    port = 0
    """Where an operator answers in plain HTTP."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log"
        self._file = self.log.open("ab")
        command = [sys.executable, "-m", "vestibule", *arguments]
        self.process = subprocess.Popen(command, stdout=self._file, stderr=self._file, env={**os.environ})

    def get(self, path: str) -> tuple[int, str]:
        """One GET on the plain port."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as to:
            to.request("GET", path)
            response = to.getresponse()
            return response.status, response.read().decode()

    def end(self, name: int = signal.SIGTERM, seconds: float = 20.0) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(name)
        code = self.process.wait(seconds)
        self._file.close()
        return code
