"""The controller of hosted webhooks without the rest of the operator: its start costs a third, because two
thirds of an operator's watches are for others. For tests that start one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from typing import Any

from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube.client import Client
from vestibule.operator.app import NAME, OperatorOptions
from vestibule.operator.apply import Applier
from vestibule.operator.controllers.hosted import setup
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import AlwaysLeader, FencedClient
from vestibule.telemetry.operator_metrics import OperatorMetrics


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


async def run(client: Client, options: OperatorOptions, stop: asyncio.Event) -> None:
    """As the operator wires it, until told to stop."""
    writer = FencedClient(client, AlwaysLeader())
    wired = setup.wire(
        setup.HostedControllerDeps(
            client,
            writer,
            Applier(client, writer, NAME),
            Events(writer, f"vestibule.dev/{NAME}", options.identity, _now),
            AlwaysLeader(),
            OperatorMetrics(),
            lambda key, conditions: None,
            _now,
            options.image,
            options.namespace,
            options.hosted_namespaces,
            options.workers,
            options.resync,
            AddressGuard(loopback=options.loopback),
        )
    )
    work = asyncio.gather(wired.controller.run(), wired.watches.run())
    reported = asyncio.ensure_future(stop.wait())
    both: set[asyncio.Future[Any]] = {work, reported}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        reported.cancel()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        await wired.close()
        await client.close()
