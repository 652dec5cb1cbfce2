"""What a client of a loop leaves behind: over TLS a connection is closed only when the other side said
good-bye, too, and aiohttp does not wait for that. A loop that ends before leaks its sockets, and a later test
is blamed for them."""

from __future__ import annotations

import asyncio

SECONDS = 10.0
"""A bound; the other side is on this machine, and answers at once unless the machine is busy."""


async def closed() -> None:
    """Until the running loop watches no socket but its own; whatever is left then is told by a warning."""
    loop = asyncio.get_running_loop()
    watched = vars(loop)["_selector"].get_map()
    deadline = loop.time() + SECONDS
    while len(watched) > 1 and loop.time() < deadline:  # noqa: ASYNC110 - they tell nobody
        await asyncio.sleep(0.01)
    for _ in range(2):  # a transport closes its socket in the turn after
        await asyncio.sleep(0)
