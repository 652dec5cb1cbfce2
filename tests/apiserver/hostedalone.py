"""The controller of hosted webhooks without the rest of the operator: its start costs a third, because two
thirds of an operator's watches are for others. For tests that start one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from typing import Any

from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.guard import Guard
from vestibule.adapters.observe.reconciling import Reconciling
from vestibule.apps.operator.app import NAME, Options
from vestibule.apps.operator.hosted import wiring
from vestibule.apps.operator.runtime.apply import Applier
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Alone, Pen


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


async def run(client: Client, options: Options, stop: asyncio.Event) -> None:
    """As the operator wires it, until told to stop."""
    pen = Pen(client, Alone())
    wired = wiring.wire(
        wiring.Parts(
            client,
            pen,
            Applier(client, pen, NAME),
            Events(pen, f"vestibule.dev/{NAME}", options.identity, _now),
            Alone(),
            Reconciling(),
            lambda key, conditions: None,
            _now,
            options.image,
            options.namespace,
            options.hosted_namespaces,
            options.workers,
            options.resync,
            Guard(loopback=options.loopback),
        )
    )
    work = asyncio.gather(wired.controller.run(), wired.watches.run())
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
