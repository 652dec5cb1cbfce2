"""A TCP balancer that learns of changes late, as endpoints do; and load through the API server."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.rig.client import Client, Refused, at

Json = dict[str, Any]


class Balancer:
    """Round robin over ports; who is not ready is left out only after ``late`` seconds."""

    def __init__(self, late: float = 0.7) -> None:
        self._late = late
        self._members: dict[int, Callable[[], bool]] = {}
        self._bad_since: dict[int, float] = {}
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    def __enter__(self) -> Balancer:
        self._thread.start()
        assert self._started.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def add(self, port: int, ready: Callable[[], bool]) -> None:
        """From now on this port is a member."""
        self._members[port] = ready

    def remove(self, port: int) -> None:
        """Forget a port."""
        self._members.pop(port, None)
        self._bad_since.pop(port, None)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._begin())
        self._loop.run_forever()

    async def _end(self) -> None:
        self._server.close()
        await asyncio.sleep(0.05)  # who was accepted has begun
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # aborted transports are told

    async def _begin(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._watch = asyncio.create_task(self._probe())
        self._started.set()

    async def _probe(self) -> None:
        while True:
            for port, ready in list(self._members.items()):
                if await asyncio.to_thread(ready):
                    self._bad_since.pop(port, None)
                else:
                    self._bad_since.setdefault(port, time.monotonic())
            await asyncio.sleep(0.1)

    def _pick(self) -> list[int]:
        now = time.monotonic()
        live = [port for port in self._members if now - self._bad_since.get(port, now) <= self._late]
        self._turn += 1
        return live[self._turn % len(live) :] + live[: self._turn % len(live)] if live else []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for port in self._pick():
                with contextlib.suppress(OSError):
                    existing, out = await asyncio.open_connection("127.0.0.1", port)
                    try:
                        with contextlib.suppress(OSError):
                            await asyncio.gather(_pipe(reader, out), _pipe(existing, writer))
                    finally:
                        out.transport.abort()
                    return
        except asyncio.CancelledError:
            return  # the balancer is being closed
        finally:
            writer.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


class Creates:
    """Dry-run creates at a steady pace; one that fails or comes back without its identity is a failure."""

    def __init__(self, client: Client, namespace: str, *, per_second: float = 30.0, threads: int = 3) -> None:
        self._client, self._path = client, at("pods", namespace)
        self._pause = threads / per_second
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        self.sent = 0
        self.failures: list[str] = []

    def __enter__(self) -> Creates:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def _run(self) -> None:
        pod = {
            "metadata": {"generateName": "load-"},
            "spec": {"serviceAccountName": "app", "containers": [{"name": "a", "image": "a"}]},
        }
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                created = self._client.create(self._path, pod, dryRun="All").object
                if "env" not in created["spec"]["containers"][0]:
                    self.failures.append("not injected")
            except (Refused, OSError) as error:
                self.failures.append(str(error)[:300])
            self.sent += 1
            due += self._pause
            self._stop.wait(max(0.0, due - time.monotonic()))
