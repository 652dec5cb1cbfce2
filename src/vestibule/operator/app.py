"""The operator process: what is wired to what, in which order it starts, and how it leaves.

The plain port answers from the beginning. Controllers work while this process leads; on SIGTERM they end
first, then the lease is let go, so that the next process can go on at once.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import signal
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from vestibule import errors, gostrconv
from vestibule.api import aso, gvk
from vestibule.api.hostedwebhook import HOSTED_WEBHOOK
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.httpserver import allocator, rlimits
from vestibule.httpserver.health import Health
from vestibule.httpserver.server import HttpRequest, HttpResponse, HttpsServer
from vestibule.kube.client import Client
from vestibule.kube.lease import Elector
from vestibule.manifests import kinds
from vestibule.operator import leader_election
from vestibule.operator import side_controllers as besides
from vestibule.operator.apply import Applier
from vestibule.operator.controller import RESYNC_SECONDS, Controller
from vestibule.operator.controllers.aro import setup as aro
from vestibule.operator.controllers.aro.webhook_server import WebhookAddress, WebhookServer
from vestibule.operator.controllers.hosted import setup as hosted
from vestibule.operator.controllers.policies import reconciler as policies
from vestibule.operator.controllers.sandbox import reconciler as sandboxes
from vestibule.operator.controllers.webhook import reconciler as installations
from vestibule.operator.controllers.webhook import webhook_watches
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import AlwaysLeader, FencedClient
from vestibule.operator.watches import Watch, Watches
from vestibule.operator.workqueue import Queue
from vestibule.telemetry import logs
from vestibule.telemetry.aro_metrics import AroMetrics
from vestibule.telemetry.operator_metrics import OperatorMetrics

logger = logging.getLogger(__name__)
Object = dict[str, Any]
NAME: Final = "vestibule-operator"
"""Our name as field manager, in events, and of our lease."""
_RETRY_SECONDS: Final = 1.0
"""Between two looks at the lease: whoever waits takes over within two seconds of a good-bye."""


class OperatorOptions(NamedTuple):
    """What the command line says."""

    namespace: str
    identity: str
    image: str = ""
    lease: str = NAME
    """Empty: there is no other process, and no election."""
    metrics_addr: str = "0.0.0.0:8080"
    only: frozenset[str] = frozenset()
    """Names of the objects that this operator is for; empty: all."""
    issuers: bool = True
    """Whether PublishedIssuers are looked after; one operator of a cluster is enough."""
    issuer_hosts: tuple[str, ...] = ()
    """Other hosts than Azure's to which the login of the issuer may be sent."""
    workers: int = 4
    resync: float = RESYNC_SECONDS
    hosted: bool = False
    """Whether HostedWebhooks are looked after."""
    hosted_namespaces: tuple[str, ...] = ()
    """Where; empty: everywhere, which the command line asks for by name."""
    aro: bool = False
    """Whether ARO HCP clusters are looked after."""
    aro_filter: str = ""
    """Value of their watch-filter label; empty: all."""
    aro_webhook: str = ""
    """The Service, or the address, at which the API server asks us about them; empty: it does not."""
    aro_webhook_addr: str = "0.0.0.0:9443"
    """Where we listen for that."""
    aro_kinds: tuple[str, ...] = ()
    """Kinds that they may embed besides those that they are made of, ``GROUP/KIND/PLURAL``."""
    loopback: bool = False
    """Whether clusters that objects name may be at loopback addresses: for tests on one machine."""
    azure_cloud: str = ""
    """A file that describes another Azure than those that objects name."""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class OperatorProcess:
    """One operator process."""

    def __init__(
        self, client: Client, options: OperatorOptions, *, now: Callable[[], datetime.datetime] = _now
    ) -> None:
        self._client = client
        self._options = options
        self._now = now
        self.metrics = OperatorMetrics()
        self._numbers = besides.SideControllerMetrics(self.metrics)
        self._aro_numbers = AroMetrics()
        if options.aro:
            self.metrics.include(self._aro_numbers)
        self._elector = (
            Elector(client, options.namespace, options.lease, options.identity, retry_seconds=_RETRY_SECONDS)
            if options.lease
            else None
        )
        self._leadership = self._elector or AlwaysLeader()
        self._writer = FencedClient(client, self._leadership)
        self._watches: list[Watches[str]] = []
        self._clusters: aro.AroControllers | None = None
        self.metrics.writes = self._writer.writes
        self.metrics.leading = lambda: self._leadership.leading
        self._permitted = aso.permitted(options.aro_kinds, "--aro-kind")
        self._doorway = (
            WebhookServer(client, self._writer, self._leadership, _place(options), now, self._permitted)
            if options.aro and options.aro_webhook
            else None
        )
        self.health = Health({"watches": self._deaf})
        self.server = HttpsServer(self._answer, tls=None, name="operator")

    def _deaf(self) -> str:
        """Who does not lead has nothing to listen to, and is ready to take over."""
        deaf = next((said for one in self._watches if (said := one.problem())), "")
        if not deaf and self._doorway is not None:
            deaf = self._doorway.problem()
        return deaf or (self._clusters.informer_cache.problem() if self._clusters is not None else "")

    def _answer(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/metrics":
            return HttpResponse(200, self.metrics.render(), "text/plain; version=0.0.4; charset=utf-8")
        return self.health.answer(request) or HttpResponse(404, b"", "text/plain")

    async def run(
        self, stop: asyncio.Event, *, ready: Callable[[OperatorProcess], None] | None = None
    ) -> None:
        """Until told to stop."""
        if self._options.metrics_addr:
            address = gostrconv.address(self._options.metrics_addr)
            if address is None:
                problem = errors.InputProblem(
                    "--metrics-addr", "", f"is {self._options.metrics_addr!r}, want HOST:PORT"
                )
                raise errors.InvalidSettings(problem)
            await self.server.start([address])
        if ready is not None:
            ready(self)
        work = self.work() if self._elector is None else leader_election.lead(self._elector, self.work)
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(work, name="work"),
            asyncio.create_task(stop.wait(), name="stop"),
        ]
        if self._doorway is not None:
            tasks.append(asyncio.create_task(self._doorway.run(), name="door"))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.health.draining = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._options.metrics_addr:
                await self.server.drain(delay=0, grace=0.2)
            await self._client.close()
            logger.info("stopped")

    async def work(self) -> None:
        """All controllers, for ever; begun afresh whenever we come to lead."""
        options = self._options
        applier = Applier(self._client, self._writer, NAME)
        events = Events(self._writer, f"vestibule.dev/{NAME}", options.identity, self._now)
        queue: Queue[str] = Queue(workers=options.workers)
        other: Queue[str] = Queue(workers=1)

        def add(name: str) -> None:
            if self._ours(name):
                queue.add(name)

        watches = Watches(self._client, webhook_watches.installations(options.namespace, lambda: known), add)
        beside = Watches(
            self._client,
            [
                Watch(kind, lambda _: (sandboxes.KEY,), optional=True)
                for kind in (
                    gvk.KATA_CONFIG,
                    gvk.OSC_WEBHOOK_CONFIG,
                    gvk.RUNTIME_CLASS,
                    gvk.VESTIBULE_WEBHOOK,
                )
            ],
            other.add,
        )
        known = watches
        install = installations.WebhookReconciler(
            installations.WebhookReconcilerDeps(
                self._client,
                self._writer,
                applier,
                events,
                options.namespace,
                options.image,
                lambda: watches.known(kinds.MUTATING),
                self._shown,
                self._now,
            )
        )
        statuses = sandboxes.SandboxReconciler(
            sandboxes.SandboxReconcilerDeps(
                self._client,
                self._writer,
                events,
                lambda: (
                    one
                    for one in beside.known(gvk.VESTIBULE_WEBHOOK)
                    if self._ours(str(one["metadata"]["name"]))
                ),
                self._now,
            )
        )
        judged: Queue[str] = Queue(workers=1)
        policy_watches = Watches(
            self._client,
            [Watch(gvk.IDENTITY_POLICY, lambda one: (str(one["metadata"]["name"]),), optional=True)],
            judged.add,
        )
        judge = policies.PolicyReconciler(
            policies.PolicyReconcilerDeps(self._client, self._writer, events, self._now)
        )
        controllers = [
            Controller("policies", judge, judged, self.metrics, resync=options.resync),
            Controller("webhooks", install, queue, self.metrics, resync=options.resync),
            Controller("sandboxes", statuses, other, self.metrics, resync=options.resync),
        ]
        self._watches = [watches, beside, policy_watches]
        for made, its_watches in self._besides(events):
            controllers.append(made)
            self._watches.append(its_watches)
        planes = self._hosted(applier, events) if options.hosted else None
        if planes is not None:
            controllers.append(planes.controller)
            self._watches.append(planes.watches)
        clusters = self._aro(events) if options.aro else None
        if clusters is not None:
            controllers += clusters.controllers
            self._clusters = clusters
            clusters.begin()
        try:
            async with asyncio.TaskGroup() as group:
                for controller in controllers:
                    self._show_queue(controller)
                    group.create_task(controller.run(), name=controller.name)
                for one in self._watches:
                    group.create_task(one.run(), name="watches")
        finally:
            self._watches = []
            self._clusters = None
            if planes is not None:
                await planes.close()
            if clusters is not None:
                await clusters.close()

    def _aro(self, events: Events) -> aro.AroControllers:
        """The controllers of ARO HCP clusters."""
        options = self._options
        return aro.wire(
            self._client,
            self._writer,
            events,
            self.metrics,
            self.metrics.show,
            self._aro_numbers,
            self._now,
            cloud=options.azure_cloud,
            workers=options.workers,
            resync=options.resync,
            watch_filter=options.aro_filter,
            namespace=options.namespace,
            permitted=self._permitted,
            checked=lambda: self._doorway.deletions_checked if self._doorway is not None else None,
            guard=AddressGuard(loopback=options.loopback),
        )

    def _hosted(self, applier: Applier, events: Events) -> hosted.HostedControllers:
        """The controller of HostedWebhooks."""
        options, kind = self._options, HOSTED_WEBHOOK.kind
        return hosted.wire(
            hosted.HostedControllerDeps(
                self._client,
                self._writer,
                applier,
                events,
                self._leadership,
                self.metrics,
                lambda key, conditions: self.metrics.show(kind, key, conditions),
                self._now,
                options.image,
                options.namespace,
                options.hosted_namespaces,
                options.workers,
                options.resync,
                AddressGuard(loopback=options.loopback),
            )
        )

    def _besides(self, events: Events) -> list[tuple[Controller[str], Watches[str]]]:
        """The auditor, and the issuer where it is ours."""
        options = self._options
        parts = besides.SideControllerDeps(
            self._client,
            self._writer,
            events,
            self.metrics,
            self._numbers,
            options.namespace,
            self._ours,
            lambda: self._leadership.leading,
            self._now,
            options.resync,
            options.issuer_hosts,
        )
        return [besides.auditor(parts), *([besides.issuer(parts)] if options.issuers else [])]

    def _ours(self, name: str) -> bool:
        return not self._options.only or name in self._options.only

    def _show_queue(self, controller: Controller[str]) -> None:
        queue = controller.queue
        self.metrics.queues[controller.name] = lambda: {
            "ready": len(queue),
            "running": queue.running,
            "waiting": queue.waiting,
        }

    def _shown(self, name: str, conditions: list[Object]) -> None:
        """Show the conditions of an installation as metrics."""
        self.metrics.show(gvk.VESTIBULE_WEBHOOK.kind, name, conditions)


def _place(options: OperatorOptions) -> WebhookAddress:
    """Where the API server asks about ARO objects. Raises InvalidSettings."""
    address = gostrconv.address(options.aro_webhook_addr)
    if address is None:
        problem = errors.InputProblem(
            "--aro-webhook-addr", "", f"is {options.aro_webhook_addr!r}, want HOST:PORT"
        )
        raise errors.InvalidSettings(problem)
    named = options.aro_webhook if "//" not in options.aro_webhook else f"{options.lease or NAME}-aro"
    return WebhookAddress(named, options.namespace, address, options.aro_webhook)


async def _main(app: OperatorProcess, ready: Callable[[OperatorProcess], None] | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    await app.run(stop, ready=ready)


def run(
    app: OperatorProcess, log_level: str, *, ready: Callable[[OperatorProcess], None] | None = None
) -> None:
    """Run the process until SIGTERM or SIGINT."""
    logs.configure(log_level)
    rlimits.allow_many()
    allocator.return_large_blocks()
    asyncio.run(_main(app, ready))
