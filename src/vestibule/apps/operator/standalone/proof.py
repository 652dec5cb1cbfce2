"""The round trip: a canned review to every replica, through the very CA bundle that the API server gets."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from vestibule.adapters.cluster import endpoints
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.web.post import post
from vestibule.core.admission import canned
from vestibule.core.kinds.installs import Install
from vestibule.core.pki import authority

_PORT: Final = "https"
_PATH: Final = "/mutate"
_MOST: Final = 16
"""Replicas that are asked in one look."""


class Address(NamedTuple):
    """Where a replica is, and the name that its certificate must have."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


async def addresses(client: Client, name: str, namespace: str, spec: Install) -> list[Address]:
    """Where reviews are answered: the address that was given, or the ready ones behind the Service."""
    if spec.target.type == "Url":
        parts = urlsplit(spec.target.url)
        host = parts.hostname or ""
        return [Address(host, parts.port or 443, host)]
    found = await endpoints.ready(client, name, namespace, _PORT)
    return [Address(host, port, f"{name}.{namespace}.svc") for host, port in found][:_MOST]


async def problem(places: Sequence[Address], bundle: str) -> str:
    """Why the webhook cannot be said to answer; empty when every replica does."""
    if not places:
        return "no replica is ready"
    try:
        authorities = authority.split(bundle)
    except ValueError:
        return "the CA bundle cannot be read"
    if not authorities:
        return "there is no CA to trust"
    told = await asyncio.gather(*(_one(place, authorities) for place in places))
    return "; ".join(text for text in told if text)


async def _one(place: Address, authorities: Sequence[str]) -> str:
    uid = str(uuid.uuid4())
    answer = await post(place.host, place.port, place.name, authorities, _PATH, canned.review(uid))
    wrong = answer.error or canned.problem(answer.status, answer.body, uid)
    return f"{place}: {wrong}" if wrong else ""
