"""The controllers of ARO clusters without the rest of the operator, whose watches make up half of its start.
For tests that start one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Callable
from typing import Any

from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.guard import Guard
from vestibule.adapters.observe.clusters import Clusters
from vestibule.adapters.observe.reconciling import Reconciling
from vestibule.apps.operator.app import NAME, Options
from vestibule.apps.operator.aro import wiring
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Alone, Pen


async def run(
    client: Client, options: Options, now: Callable[[], datetime.datetime], stop: asyncio.Event
) -> None:
    """As the operator wires them, until told to stop."""
    pen, numbers = Pen(client, Alone()), Reconciling()
    wired = wiring.wire(
        client,
        pen,
        Events(pen, f"vestibule.dev/{NAME}", options.identity, now),
        numbers,
        numbers.show,
        Clusters(),
        now,
        cloud=options.azure_cloud,
        workers=options.workers,
        resync=options.resync,
        watch_filter=options.aro_filter,
        guard=Guard(loopback=options.loopback),
    )
    wired.begin()
    work = asyncio.gather(*(one.run() for one in wired.controllers))
    told = asyncio.ensure_future(stop.wait())
    both: set[asyncio.Future[Any]] = {work, told}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        told.cancel()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        await wired.close()
        await client.close()
