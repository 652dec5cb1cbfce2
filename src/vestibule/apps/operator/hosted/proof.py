"""Whether the webhook beside a control plane answers, asked of every ready replica, through given authorities
alone."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from vestibule.adapters.cluster import endpoints
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.web.post import post
from vestibule.apps.operator.hosted import workload
from vestibule.apps.operator.hosted.target import Target
from vestibule.core.admission import canned

_MOST: Final = 16
"""Replicas that are asked in one look."""


class Place(NamedTuple):
    """Where a replica is, and the name that its certificate must have."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


async def places(client: Client, target: Target, url: str) -> list[Place]:
    """Where reviews are answered: the URL that was given, or the ready ones behind the Service. Raises
    Forbidden, Unavailable."""
    if url:
        given = urlsplit(url)
        return [Place(given.hostname or "", given.port or 443, given.hostname or "")]
    found = await endpoints.ready(client, target.own, target.namespace, workload.PORT)
    return [Place(host, port, workload.names(target)[1]) for host, port in found[:_MOST]]


async def problem(found: Sequence[Place], path: str, authorities: Sequence[str]) -> str:
    """Why the webhook cannot be said to answer; empty when every replica does."""
    told = await answers(found, path, authorities)
    return "; ".join(f"{place}: {wrong}" for place, wrong in told.items() if wrong) or (
        "" if found else "no replica is ready"
    )


async def answers(found: Sequence[Place], path: str, authorities: Sequence[str]) -> dict[Place, str]:
    """What is wrong with each; empty when nothing is."""
    return dict(
        zip(found, await asyncio.gather(*(_one(one, path, authorities) for one in found)), strict=True)
    )


async def _one(place: Place, path: str, authorities: Sequence[str]) -> str:
    uid = str(uuid.uuid4())
    answer = await post(place.host, place.port, place.name, authorities, path, canned.review(uid))
    return answer.error or canned.problem(answer.status, answer.body, uid)
