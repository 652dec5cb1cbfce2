"""The faults, one after the other, and when those were under way that may cost an admission.

Only two may: ``kill -9`` of a replica (what it had in flight), and a restart of the API server itself, which
nobody can be called through meanwhile. Which loss is put down to which of them is told in losses.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.apiserver.balancer import Balancer
from tests.apiserver.webhook_installation import Replica, WebhookInstallation
from tests.serving.authority import Authority
from tests.soak import losses
from tests.soak.counted import Counted
from tests.soak.losses import KILL, RESTART, Window
from tests.soak.tally import Tally


class Faults:
    """What is done to the webhook's surroundings, in turn."""

    def __init__(
        self,
        installation: WebhookInstallation,
        balancer: Balancer,
        tally: Tally,
        replicas: list[Replica],
        counted: Counted,
        old: Path | None = None,
    ) -> None:
        """``old`` is the work tree of an earlier version: replicas are then upgraded and rolled back."""
        self._old = old
        self._hall, self._balancer, self._tally, self._replicas = installation, balancer, tally, replicas
        self._counted = counted
        self._windows: list[Window] = []
        self._authority: Authority = installation.authority
        self._turn = 0
        self._all: tuple[tuple[str, Callable[[], None]], ...] = (
            ("rolling restart", self._roll),
            ("new serving certificate", self._leaf),
            (KILL, self._kill),
            ("new CA", self._ca),
            ("rolling restart", self._roll),
            (RESTART, self._restart),
        )
        if old is not None:
            self._all = (("upgrade", self._upgrade), ("rollback", self._roll_back))

    def cause(self, kind: str, instant: float) -> str:
        """What explains a loss of this kind that was seen then."""
        return losses.cause(kind, instant, self._windows[-20:])

    def next(self) -> str:
        """One fault; its name."""
        name, act = self._all[self._turn % len(self._all)]
        self._turn += 1
        act()
        self._tally.fault(name)
        self._counted.take()
        return name

    @contextlib.contextmanager
    def _window(self, fault: str) -> Iterator[None]:
        window = Window(fault, time.monotonic())
        self._windows.append(window)
        yield
        window.until = time.monotonic()

    def _add(self) -> None:
        new = self._hall.start()
        self._balancer.add(new.port, new.ready)
        self._replicas.append(new)

    def _roll(self) -> None:
        self._add()
        old = self._replicas.pop(0)
        code = old.terminate(60)
        self._balancer.remove(old.port)
        assert code == 0, f"a replica ended with {code}"

    def _upgrade(self) -> None:
        """All replicas, one by one, to this version."""
        for _ in range(len(self._replicas)):
            self._roll()

    def _roll_back(self) -> None:
        """All replicas, one by one, to the earlier version."""
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = str(self._old / "src") if self._old else ""
        try:
            self._upgrade()
        finally:
            del os.environ["PYTHONPATH"]
            if before is not None:
                os.environ["PYTHONPATH"] = before

    def _kill(self) -> None:
        self._add()
        old = self._replicas.pop(0)
        with self._window(KILL):
            old.process.send_signal(signal.SIGKILL)
            old.process.wait(10)
        self._balancer.remove(old.port)

    def _leaf(self) -> None:
        self._hall.mount.write_pair(self._authority.leaf())

    def _ca(self) -> None:
        """Both authorities are trusted before the new one signs."""
        new = Authority("soak")
        self._trust(self._authority.pem + new.pem)
        time.sleep(2.0)  # the API server takes up a changed webhook configuration within a second
        self._hall.mount.write_pair(new.leaf())
        time.sleep(3.0)  # replicas reload within a second
        self._authority = new
        self._trust(new.pem)

    def _trust(self, pem: bytes) -> None:
        admin = self._hall.plane.admin
        bundle = base64.b64encode(pem).decode()
        change = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]
        answer = admin.patch(self._hall.configuration, change, "application/json-patch+json")
        assert answer.status == 200, json.dumps(answer.message)

    def _restart(self) -> None:
        self._counted.take()
        with self._window(RESTART):
            self._hall.plane.apiserver.restart()
        self._counted.restarted()
