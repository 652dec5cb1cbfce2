"""The round trip: a canned review to every replica, trusting given authorities alone, as an API server
does."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from vestibule.admission import canned
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.httpclient.post import post
from vestibule.kube import endpoints
from vestibule.kube.client import Client

_MOST: Final = 16
"""Replicas that are asked in one look."""


class Replica(NamedTuple):
    """Where a replica is, and the name that its certificate must have."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def at(url: str) -> list[Replica]:
    """The one place that an address leads to."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return [Replica(host, parts.port or 443, host)]


async def behind(client: Client, service: str, namespace: str, port: str, name: str) -> list[Replica]:
    """The ready ones behind the port of a Service. Raises Forbidden, Unavailable."""
    found = await endpoints.ready(client, service, namespace, port)
    return [Replica(host, number, name) for host, number in found[:_MOST]]


async def problem(
    places: Sequence[Replica], path: str, authorities: Sequence[str], guard: AddressGuard | None = None
) -> str:
    """Why the webhook cannot be said to answer; empty when every replica does. ``guard`` judges what is
    dialled."""
    told = await problems(places, path, authorities, guard)
    wrong = [f"{place}: {said}" for place, said in told.items() if said]
    return "; ".join(wrong) if places else "no replica is ready"


async def problems(
    places: Sequence[Replica], path: str, authorities: Sequence[str], guard: AddressGuard | None = None
) -> dict[Replica, str]:
    """What is wrong with each; empty when nothing is."""
    told = await asyncio.gather(*(_one(place, path, authorities, guard) for place in places))
    return dict(zip(places, told, strict=True))


async def _one(place: Replica, path: str, authorities: Sequence[str], guard: AddressGuard | None) -> str:
    uid = str(uuid.uuid4())
    body = canned.review(uid)
    answer = await post(place.host, place.port, place.name, authorities, path, body, guard=guard)
    return answer.error or canned.problem(answer.status, answer.body, uid)
