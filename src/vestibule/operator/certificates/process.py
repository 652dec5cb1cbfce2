"""The process ``vestibule certificates``: the issuer, and a plain port that says whether it can work."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable

from vestibule import errors, gostrconv
from vestibule.httpserver.health import Health
from vestibule.httpserver.server import HttpRequest, HttpResponse, HttpsServer
from vestibule.kube.client import Client
from vestibule.operator.certificates.issuer import CertificateIssuer
from vestibule.telemetry import logs

logger = logging.getLogger(__name__)


class CertificatesProcess:
    """One process."""

    def __init__(self, client: Client, issuer: CertificateIssuer, metrics_addr: str) -> None:
        self._client = client
        self._issuer = issuer
        self._address = gostrconv.address(metrics_addr) if metrics_addr else None
        if metrics_addr and self._address is None:
            problem = errors.InputProblem("--metrics-addr", "", f"is {metrics_addr!r}, want HOST:PORT")
            raise errors.InvalidSettings(problem)
        self.health = Health({"certificate": issuer.problem})
        self.server = HttpsServer(self._answer, tls=None, name="certificates")

    def _answer(self, request: HttpRequest) -> HttpResponse:
        return self.health.answer(request) or HttpResponse(404, b"", "text/plain")

    async def run(self, *, ready: Callable[[CertificatesProcess], None] | None = None) -> None:
        """Until SIGTERM or SIGINT."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop.set)
        if self._address is not None:
            await self.server.start([self._address])
        if ready is not None:
            ready(self)
        tasks: list[asyncio.Task[object]] = [
            asyncio.create_task(self._issuer.run(), name="issuer"),
            asyncio.create_task(stop.wait(), name="stop"),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.health.draining = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._address is not None:
                await self.server.drain(delay=0, grace=0.2)
            await self._client.close()
            logger.info("stopped")


def run(
    app: CertificatesProcess, log_level: str, *, ready: Callable[[CertificatesProcess], None] | None = None
) -> None:
    """Run the process."""
    logs.configure(log_level)
    asyncio.run(app.run(ready=ready))
