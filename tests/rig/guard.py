"""Who ends the programs when the test process itself is killed: a small process at the end of a pipe.

It is told the ids that live. When the pipe closes without a word, it kills what is left, but only a process
that was born when it was told: ids are reused. It runs alone (``python -I -S guard.py``) and imports no
module of ours. With nothing to guard there is no guard.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def birth(pid: int) -> str:
    """When a process was born, in the machine's own words; "" when it is gone or a zombie."""
    if Path("/proc/self/stat").exists():
        try:
            # the name in parentheses may hold blanks; fields 3 (state) and 22 (start time) come after it
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in ("Z", "X") else fields[19]
    reported = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=10, check=False
    )
    state, _, born = reported.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else "-".join(born.split())


class Guard:
    """Our end of the pipe."""

    def __init__(self) -> None:
        self._held: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def hold(self, pid: int) -> None:
        """From now on the process ends with us."""
        with self._lock:
            if self._process is None:
                command = [sys.executable, "-I", "-S", __file__]
                # a session of its own: Ctrl-C is for us, who then end everything in order
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
                )
            self._held.add(pid)
            self._report(f"+ {pid} {birth(pid)}\n")

    def release(self, pid: int) -> None:
        """The process has ended; the guard ends after the last."""
        with self._lock:
            if pid not in self._held or self._process is None:
                return
            self._held.remove(pid)
            self._report(f"- {pid}\n")
            if not self._held:
                with contextlib.suppress(BrokenPipeError):
                    self._process.communicate(timeout=10)
                self._process = None

    def _report(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


GUARD = Guard()


def main() -> None:
    held: dict[int, str] = {}
    for line in sys.stdin:
        sign, pid, *born = line.split()
        if sign == "+":
            held[int(pid)] = born[0] if born else ""
        else:
            held.pop(int(pid), None)
    for pid, when in held.items():
        if when and birth(pid) == when:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
