"""The simulator in a thread of the test's process, and clients of the real SDKs that talk to it.

::

    def test_something(simulator: Simulated) -> None:
        simulator.fault(on="PUT */roleAssignments/*", times=2, status=400, code="PrincipalNotFound")
        arm = simulator.arm()                      # our own adapter, logged in with the real azure-identity
        arm.put_group("g", "eastus", {})
        assert simulator.writes() == [("PUT", "/subscriptions/…/resourcegroups/g")]
        assert not simulator.violations

``simulator`` is fresh for every test (half of its cost is one RSA key: some 60 ms) and quick: operations end
at once. ``Simulated(tmp_path, Settings(...))`` as a context manager gives any other.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vestibule.clouds.azure import endpoints
from vestibule.clouds.azure.arm import Arm
from vestibule_simulators.azure.faults import FaultRule
from vestibule_simulators.azure.runner import RunningSimulator, SimulatorOptions, running
from vestibule_simulators.azure.state import SimulatorSettings

Json = dict[str, Any]


class Simulated:
    """One simulator, served from a thread."""

    def __init__(self, folder: Path, settings: SimulatorSettings | None = None, **wanted: Any) -> None:
        self._wanted = SimulatorOptions(
            folder, settings=settings or SimulatorSettings(operation_seconds=0.0), **wanted
        )
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="simulator", daemon=True)
        self._failure: BaseException | None = None
        self._running: RunningSimulator | None = None

    def __enter__(self) -> Simulated:
        self._thread.start()
        assert self._ready.wait(30)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)
        self._loop.close()

    def _serve(self) -> None:
        async def serve() -> None:
            async with running(self._wanted) as found:
                self._running = found
                self._ready.set()
                await self._end.wait()

        try:
            self._loop.run_until_complete(serve())
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self._failure = error
            self._ready.set()
        finally:
            self._loop.run_until_complete(_wind_up())

    # ── what it is ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def running(self) -> RunningSimulator:
        """Address, files, variables."""
        assert self._running is not None
        return self._running

    @property
    def base(self) -> str:
        return self.running.base

    @property
    def settings(self) -> SimulatorSettings:
        return self.running.simulator.world.settings

    @property
    def cloud(self) -> endpoints.AzureEndpoints:
        """What ``--cloud`` reads."""
        return endpoints.of(str(self.running.cloud))

    @property
    def bundle(self) -> str:
        """PEM file of its authority."""
        return str(self.running.bundle)

    @property
    def root(self) -> str:
        """The subscription's id."""
        return f"/subscriptions/{self.settings.subscription}"

    def environ(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Set the variables of ``env.sh``."""
        for name, value in self.running.variables.items():
            monkeypatch.setenv(name, value)

    # ── who talks to it ─────────────────────────────────────────────────────────────────────────────────────

    def credential(self, **more: Any) -> Any:
        """The operator's login, by the real azure-identity."""
        from azure.identity import ClientSecretCredential

        return ClientSecretCredential(
            self.settings.tenant,
            self.settings.client_id,
            more.pop("secret", self.settings.client_secret),
            authority=self.base,
            disable_instance_discovery=True,
            connection_verify=self.bundle,
            **more,
        )

    def options(self, **more: Any) -> Json:
        """For management clients of the SDKs."""
        return {
            "base_url": self.base,
            "credential_scopes": [self.cloud.scope],
            "connection_verify": self.bundle,
            "polling_interval": 0.05,
            **more,
        }

    def arm(self) -> Arm:
        """Our own adapter. The environment must name the bundle: use ``environ`` before."""
        return Arm(self.credential(), self.settings.subscription, self.cloud)

    # ── how it is told, and asked ───────────────────────────────────────────────────────────────────────────

    def fault(self, **rule: Any) -> FaultRule:
        """One fault, by the names in ``faults.py`` (``retry_after``, not ``retryAfter``)."""
        created = FaultRule(**rule)
        self.running.simulator.faults.rules.append(created)
        return created

    def forget(self) -> None:
        """No faults, no calls; what exists stays."""
        self.running.simulator.faults.rules.clear()
        self.running.simulator.journal.clear()

    @property
    def calls(self) -> list[Json]:
        """Every call so far."""
        return list(self.running.simulator.journal.calls)

    def writes(self, *, done: bool = True) -> list[tuple[str, str]]:
        """Method and path of the calls that change something in ARM; ``done``: only those that succeeded."""
        return [
            (one["method"], one["path"])
            for one in self.calls
            if one["method"] in ("PUT", "PATCH", "DELETE")
            and one["path"].startswith("/subscriptions")
            and (not done or (one["status"] != "cut" and one["status"] < 300))
        ]

    @property
    def violations(self) -> list[Json]:
        """Calls that came before they were told to."""
        return self.running.simulator.journal.violations

    @property
    def state(self) -> Json:
        """Everything that exists."""
        found: Json = json.loads(self.running.simulator.world.export())
        return found

    def load(self, **state: Any) -> None:
        """Replace what exists: ``resources=[…]``, ``nextIdentities=[…]``."""
        self.running.simulator.world.restore(json.dumps(state).encode())

    def renew(self, **state: Any) -> None:
        """As a new one with this state: no faults, no calls so far. Its clock goes on: none goes back."""
        self.load(**state)
        self.forget()

    def resources(self, kind: str) -> list[Json]:
        """The resources of a type, as ARM shows them."""
        return list(self.running.simulator.world.kind(kind))

    def pass_time(self, seconds: float) -> None:
        """The clock of the cloud goes ahead."""
        self.running.simulator.ahead += seconds


async def _wind_up() -> None:
    """As ``asyncio.run`` ends: nothing is left waiting, and sockets that are closing are closed."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    for _ in range(3):  # a transport says good-bye one turn after it was closed
        await asyncio.sleep(0)


@pytest.fixture
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulated]:
    """A fresh one, its variables set."""
    with Simulated(tmp_path / "simulator") as created:
        created.environ(monkeypatch)
        yield created
