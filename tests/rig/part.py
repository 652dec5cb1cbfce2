"""What every part of the rig can do: launch, wait until it is ready, stop, be killed, frozen, restarted.

``launch`` and ``wait`` are apart so that parts can boot at the same time. Ports are drawn for the first
start and kept for all later ones, because others have them in their configuration. A port that somebody
else took in between is drawn again, or, once it is settled, waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from tests.rig import process
from tests.rig.process import Ended, Process

START_SECONDS = 60.0
"""About 3 s on a quiet machine; 11 s were seen at load 13."""


class Part:
    """One program with its ports, log and readiness."""

    name: ClassVar[str]
    port_count: ClassVar[int] = 1

    def __init__(
        self,
        binary: Path,
        folder: Path,
        *,
        guarded: bool = True,
        draw: Callable[[], int] = process.free_port,
    ) -> None:
        self.binary, self.folder, self._draw = binary, folder, draw
        self.process = Process(self.name, folder / "logs" / f"{self.name}.log", guarded=guarded)
        self.ports: tuple[int, ...] = ()
        self.settled = False

    @property
    def port(self) -> int:
        return self.ports[0]

    def command(self) -> list[str]:
        """The whole command line, for the present ports."""
        raise NotImplementedError

    def ready(self) -> bool:
        """One quick look, never longer than a second or two; False for any failure."""
        raise NotImplementedError

    def launch(self) -> None:
        """Starts the program and does not wait."""
        if not self.settled:
            self.ports = tuple(self._draw() for _ in range(self.port_count))
        self.process.start(self.command())

    def wait(self, seconds: float = START_SECONDS) -> None:
        """Until it is ready. Raises Failed with the end of its log."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.process.wait_until(self.ready, deadline - time.monotonic())
            except Ended:
                if time.monotonic() > deadline or "address already in use" not in self.process.said():
                    raise
                time.sleep(0.1 if self.settled else 0)
                self.launch()
            else:
                self.settled = True
                return

    def start(self, seconds: float = START_SECONDS) -> None:
        """Launches and waits."""
        self.launch()
        self.wait(seconds)

    def stop(self) -> None:
        """In order (SIGTERM), by force when that takes too long."""
        self.process.stop()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()

    def restart(self) -> None:
        """Stops in order and starts again, same ports, same data."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """SIGSTOP: connections stay open, nothing is answered."""
        self.process.freeze()

    def thaw(self) -> None:
        """SIGCONT."""
        self.process.thaw()
