"""One program: started with a log of its own, waited for with a deadline, ended by its id.

Ports are drawn below the range that the kernel gives to outgoing connections, so that only another rig can
take one between the draw and the start; ``part`` then draws anew. Environment variables of the machine
(proxies, KUBECONFIG) never reach a program.
"""

from __future__ import annotations

import collections
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.rig import guard

STOP_SECONDS = 10.0
_PORTS = range(20_000, 32_000)
_draw = random.SystemRandom()
_given: collections.deque[int] = collections.deque(maxlen=1_000)
_lock = threading.Lock()


class Failed(Exception):
    """A program did not do what the rig wants; the text ends with its log."""


class Ended(Failed):
    """It ended by itself."""


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens now. Raises Failed when there is none."""
    with _lock:
        for _ in range(1_000):
            port = _draw.choice(_PORTS)
            if port not in _given and not taken(port):
                _given.append(port)
                return port
    raise Failed(f"no free port between {_PORTS.start} and {_PORTS.stop}")


def taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def pauses(every: float = 0.02) -> Iterator[float]:
    """Between two looks at what is waited for: a look at an API server costs milliseconds on both sides, so
    whoever has waited for seconds looks ten times in a second and no more."""
    while True:
        yield every
        every = max(every, min(every * 1.05, 0.1))


def wait(what: str, condition: Callable[[], bool], seconds: float, every: float = 0.02) -> None:
    """Until the condition holds. Raises TimeoutError that names what was waited for."""
    deadline, pause = time.monotonic() + seconds, pauses(every)
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(next(pause))


class Process:
    """A child that can be stopped, killed, frozen and started again. A guarded one dies with us."""

    def __init__(self, name: str, log: Path, *, guarded: bool = True) -> None:
        self.name, self.log, self._guarded = name, log, guarded
        self._child: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self.born = ""

    @property
    def pid(self) -> int:
        """Raises Failed when it was never started."""
        if self._child is None:
            raise Failed(f"{self.name} was not started")
        return self._child.pid

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return None if self._child is None else self._child.poll()

    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self, command: Sequence[str]) -> None:
        """Raises Failed when it runs already or cannot be executed."""
        if self.alive():
            raise Failed(f"{self.name} runs already as {self.pid}")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        environment = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            try:
                self._child = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**environment, "HOME": str(self.log.parent)},
                    cwd=self.log.parent,
                    start_new_session=True,
                )
            except OSError as error:
                raise Failed(f"{self.name} cannot be started: {error}") from error
        self.born = guard.birth(self._child.pid)
        if self._guarded:
            guard.GUARD.hold(self._child.pid)

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Raises Ended when it ends before, Failed after the deadline; both with the end of the log."""
        deadline, pause = time.monotonic() + seconds, pauses()
        while not (ready() and self.alive()):
            if not self.alive():
                code = self.code
                self._reaped()
                raise Ended(f"{self.name} ended with code {code}\n{self.tail()}")
            if time.monotonic() > deadline:
                raise Failed(f"{self.name} was not ready after {seconds:.0f} s\n{self.tail()}")
            time.sleep(next(pause))

    def tail(self, lines: int = 15) -> str:
        """The end of what it said since it was started, for people, and where the rest is."""
        message = self.said().splitlines()[-lines:]
        return "\n".join([*(f"  {line[:300]}" for line in message), f"  log: {self.log}"])

    def said(self, size: int = 65_536) -> str:
        """The last bytes of what it said since it was started."""
        with self.log.open("rb") as log:
            log.seek(max(self._log_start, self.log.stat().st_size - size))
            return log.read().decode(errors="replace")

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """In order; after the deadline by force. Nothing happens when it does not run."""
        if self._child is not None and self.alive():
            self._child.terminate()
            self._child.send_signal(signal.SIGCONT)  # a frozen one hears nothing
            try:
                self._child.wait(seconds)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait(STOP_SECONDS)
        self._reaped()

    def kill(self) -> None:
        """kill -9. Nothing happens when it does not run."""
        if self._child is not None and self.alive():
            self._child.kill()
            self._child.wait(STOP_SECONDS)
        self._reaped()

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        """Raises Failed when it does not run."""
        if self._child is None or not self.alive():
            raise Failed(f"{self.name} does not run")
        self._child.send_signal(number)

    def memory(self) -> int:
        """Resident bytes (VmRSS); Linux only."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) * 1_024 for line in status.splitlines() if line.startswith("VmRSS:"))

    def _reaped(self) -> None:
        if self._guarded and self._child is not None:
            guard.GUARD.release(self._child.pid)


def end(pid: int, born: str, seconds: float = STOP_SECONDS) -> bool:
    """Ends a process that another run of ours started; False when it was gone already.

    Only the process that was born then: its number may be somebody else's by now.
    """
    if not born or guard.birth(pid) != born:
        return False
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    try:
        wait(f"process {pid} to end", lambda: guard.birth(pid) != born, seconds)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        wait(f"process {pid} to be killed", lambda: guard.birth(pid) != born, seconds)
    return True
