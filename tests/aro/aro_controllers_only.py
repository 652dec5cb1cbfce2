"""The controllers of ARO clusters without the rest of the operator, whose watches make up half of its start.
For tests that start one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Callable
from typing import Any

from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube.client import Client
from vestibule.operator.app import NAME, OperatorOptions
from vestibule.operator.controllers.aro import setup
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import AlwaysLeader, FencedClient
from vestibule.telemetry.aro_metrics import AroMetrics
from vestibule.telemetry.operator_metrics import OperatorMetrics


async def run(
    client: Client, options: OperatorOptions, now: Callable[[], datetime.datetime], stop: asyncio.Event
) -> None:
    """As the operator wires them, until told to stop."""
    writer, metrics = FencedClient(client, AlwaysLeader()), OperatorMetrics()
    wired = setup.wire(
        client,
        writer,
        Events(writer, f"vestibule.dev/{NAME}", options.identity, now),
        metrics,
        metrics.show,
        AroMetrics(),
        now,
        cloud=options.azure_cloud,
        workers=options.workers,
        resync=options.resync,
        watch_filter=options.aro_filter,
        guard=AddressGuard(loopback=options.loopback),
    )
    wired.begin()
    work = asyncio.gather(*(one.run() for one in wired.controllers))
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
