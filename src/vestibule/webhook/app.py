"""The admission process: what is wired to what, in which order it starts, and how it leaves.

Start: settings, policy, cluster, certificate, then the sockets; nothing listens before it can answer. Stop:
readiness fails, every answer says ``Connection: close``, we serve on for a while, stop accepting, finish,
exit 0.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from vestibule import errors, gostrconv
from vestibule.admission.review import DecodedReview
from vestibule.admission.verdict import Verdict
from vestibule.httpserver import allocator, rlimits
from vestibule.httpserver.certificate_watcher import CertFiles, CertWatcher
from vestibule.httpserver.health import Health
from vestibule.httpserver.server import HttpRequest, HttpResponse, HttpsServer, ServerLimits
from vestibule.httpserver.tls import TlsHolder, left_out
from vestibule.kube.policy_sources import PolicySources
from vestibule.kube.ports import ObjectLister, Reader, WatchedCache, Writer
from vestibule.settingsfile import WatchedSettings
from vestibule.telemetry import logs
from vestibule.telemetry.audit_log import AuditLog
from vestibule.telemetry.otlp import Otlp
from vestibule.telemetry.webhook_metrics import WebhookMetrics
from vestibule.webhook import canary, validating_handler
from vestibule.webhook.handler import Handler
from vestibule.webhook.policy_reload import CurrentPolicy

logger = logging.getLogger(__name__)

_PATHS = frozenset({"/mutate", "/mutate-v1-pod"})
"""Paths of the upstream webhooks, so that their webhook configurations need no change."""
_REFRESH_SECONDS = 5
"""Seconds between two reads of the policy sources; some need a request to the API server."""
_POLL_SECONDS = 1.0
"""Seconds between two checks of files; a check is a few ``stat`` calls."""


class ClusterBackend(Reader, WatchedCache, Writer, ObjectLister, Protocol):
    """A back end in all its roles, and what keeps it fresh."""

    @property
    def lookups(self) -> Mapping[tuple[str, str], int]:
        """Live reads so far, by kind and result."""
        ...

    def cache_metrics(self) -> Mapping[str, float]:
        """What the metrics show of the caches."""
        ...

    def problem(self) -> str:
        """What keeps the cache from being trusted; empty when nothing does."""
        ...

    async def run(self, interval: float) -> None:
        """Keep in step with the truth for ever; ``interval`` is in seconds, where a back end must look."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...


class ResponseObserver:
    """Passes every answer to the metrics, the audit log and, where it is switched on, the collector."""

    def __init__(self, metrics: WebhookMetrics, audit: AuditLog | None, otlp: Otlp | None) -> None:
        self._metrics = metrics
        self._audit = audit
        self._otlp = otlp

    def verdict(self, review: DecodedReview, verdict: Verdict, seconds: float) -> None:
        """A review was decided."""
        self._metrics.verdict(verdict, seconds)
        if self._audit is not None:
            self._audit.note(review, verdict, seconds)
        if self._otlp is not None:
            self._otlp.verdict(review, verdict, seconds)

    def malformed(self, status: int) -> None:
        """A body was no review."""
        self._metrics.malformed(status)
        if self._otlp is not None:
            self._otlp.malformed(status)


class WebhookProcess:
    """One admission process."""

    def __init__(
        self,
        settings: WatchedSettings,
        cluster: ClusterBackend,
    ) -> None:
        self._watched = settings
        self._policies = CurrentPolicy(self._watched, PolicySources(cluster))
        self._cluster = cluster
        self._metrics = WebhookMetrics()
        serving = self._watched.settings.serving
        self._serving = serving
        self._audit = AuditLog(sys.stdout.fileno()) if serving.audit else None
        self._otlp = Otlp(serving.otel_endpoint) if serving.otel_enabled else None
        handler = Handler(
            self._policies.current,
            cluster,
            cluster,
            cluster,
            ResponseObserver(self._metrics, self._audit, self._otlp),
        )
        self._tls = TlsHolder(
            min_version=serving.tls_min_version,
            client_names=serving.client_names,
            suites=serving.tls_cipher_suites,
        )
        files = CertFiles(
            Path(serving.tls_cert),
            Path(serving.tls_key),
            Path(serving.client_ca) if serving.client_ca else None,
        )
        self._certificate = CertWatcher(files, self._tls)
        probe = canary.Canary()
        self.health = Health(
            {
                "cache": cluster.problem,
                "policy": self._policies.unread,
                "certificate": self._certificate_problem,
                "mutation": lambda: probe.problem(self._policies.current()),
            }
        )
        limits = ServerLimits(connections=serving.max_connections, inflight=serving.max_inflight)
        self.server = HttpsServer(
            self._routes(handler), limits=limits, tls=self._tls, name="webhook", fault=handler.fault
        )
        self.metrics_server = HttpsServer(self._side_routes, tls=None, name="metrics")
        self._health_server = HttpsServer(self._health, tls=None, name="health")
        self._metrics.watch_server(self.server.stats)
        self._metrics.lookups = cluster.lookups
        self._metrics.watch_caches(cluster.cache_metrics)
        state = self._certificate.state
        self._metrics.gauges[
            "vestibule_certificate_expiry_seconds", "When the served certificate ends, Unix time."
        ] = lambda: state.not_after
        self._metrics.counters["vestibule_certificate_failures", "Certificates that were not taken up."] = (
            lambda: state.errors
        )
        self._metrics.gauges["vestibule_ready", "1 when /readyz says so."] = lambda: (
            not self.health.problems()
        )
        self._metrics.gauges[
            "vestibule_policy_problems",
            "Policies that refuse identities; mappings and files that cannot be used.",
        ] = lambda: self._policies.broken
        if self._audit is not None:
            audit = self._audit
            self._metrics.counters[
                "vestibule_audit_dropped", "Audit lines dropped because the buffer was full."
            ] = lambda: audit.dropped
            self._metrics.counters["vestibule_audit_write_failures", "Writes of audit lines that failed."] = (
                lambda: audit.failures
            )
            self._metrics.gauges["vestibule_audit_failing", "1 when audit lines cannot be written."] = (
                lambda: audit.failing
            )

    @property
    def log_level(self) -> str:
        """The level the settings ask for."""
        return self._serving.log_level

    def _certificate_problem(self) -> str:
        state = self._certificate.state
        return state.reason if state.generation else "none yet"

    def _routes(
        self, handler: Handler
    ) -> Callable[[HttpRequest], HttpResponse | Coroutine[Any, Any, HttpResponse]]:
        def route(request: HttpRequest) -> HttpResponse | Coroutine[Any, Any, HttpResponse]:
            if request.path in _PATHS:
                return handler(request)
            if request.path == "/validate" and request.method == "POST":
                return validating_handler.answer(request)
            return self._health(request)

        return route

    def _side_routes(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/metrics":
            self._metrics.settings_failures = self._policies.failures
            return HttpResponse(200, self._metrics.render(), "text/plain; version=0.0.4; charset=utf-8")
        return self._health(request)

    def _health(self, request: HttpRequest) -> HttpResponse:
        answer = self.health.answer(request)
        if answer is None:
            return HttpResponse(404, b"", "text/plain")
        return answer if request.method in ("GET", "HEAD") else HttpResponse(405, b"", "text/plain")

    async def run(self, *, ready: Callable[[WebhookProcess], None] | None = None) -> None:
        """Serve until SIGTERM or SIGINT, then leave in order."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop.set)
        weak = left_out(self._serving.tls_cipher_suites)
        if weak:
            logger.warning("cipher suites left out", extra={"suites": weak})
        if self._audit is not None:
            self._audit.start()
        if self._serving.metrics_addr:
            await self.metrics_server.start([_address(self._serving.metrics_addr)])
        if self._serving.health_addr:
            await self._health_server.start([_address(self._serving.health_addr)])
        tasks = [
            asyncio.create_task(self._cluster.run(_POLL_SECONDS), name="cluster"),
            asyncio.create_task(self._watch_settings(), name="settings"),
        ]
        serve = asyncio.create_task(self._serve(ready), name="serve")
        try:
            await self._until_stopped(stop, [*tasks, serve])
        finally:
            await self._leave([*tasks, serve])

    async def _serve(self, ready: Callable[[WebhookProcess], None] | None) -> None:
        """Load the certificate, listen, then watch it, for ever."""
        self._certificate.load()
        await self.server.start([_address(self._serving.addr)])
        if ready is not None:
            ready(self)
        await self._certificate.run()

    async def _until_stopped(self, stop: asyncio.Event, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Wait for the signal; a background task that dies takes the process down, to be started afresh."""
        waiting = asyncio.create_task(stop.wait(), name="stop")
        done, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        for task in done:
            if task is not waiting:
                task.result()
                raise RuntimeError(f"background task {task.get_name()} ended")

    async def _leave(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        logger.info("draining")
        self.health.draining = True
        # without addresses it is not yet an endpoint of the Service
        delay = self._serving.drain_seconds if self.server.addresses else 0.0
        await self.server.drain(delay=delay, grace=self._serving.grace_seconds)
        if self._serving.metrics_addr:
            await self.metrics_server.drain(delay=0, grace=1)
        if self._serving.health_addr:
            await self._health_server.drain(delay=0, grace=1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._cluster.close()
        if self._audit is not None:
            self._audit.close()
        if self._otlp is not None:
            await asyncio.to_thread(self._otlp.close)
        logger.info("stopped")

    async def _watch_settings(self) -> None:
        seconds = 0
        while True:
            if seconds % _REFRESH_SECONDS == 0 or self._policies.unread():
                await self._policies.refresh()
            seconds += 1
            await asyncio.sleep(_POLL_SECONDS)
            self._policies.check()


def _address(listen: str) -> tuple[str, int]:
    address = gostrconv.address(listen)
    if address is None:
        raise errors.InvalidSettings(errors.InputProblem("address", "", f"is {listen!r}, want HOST:PORT"))
    return address


def run(
    app: WebhookProcess, log_level: str, *, ready: Callable[[WebhookProcess], None] | None = None
) -> None:
    """Run the process on the fast event loop where there is one."""
    logs.configure(log_level)
    rlimits.allow_many()
    allocator.return_large_blocks()
    gc.freeze()  # what is loaded by now stays; a collection that walks through it would hold up requests
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        asyncio.run(app.run(ready=ready))
    else:
        uvloop.run(app.run(ready=ready))
