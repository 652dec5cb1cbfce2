"""The round trip: a canned review to every replica, through the very CA bundle that the API server gets."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.web.post import post
from vestibule.core.admission import canned
from vestibule.core.kinds.installs import Install
from vestibule.core.native import kinds
from vestibule.core.pki import authority

Object = dict[str, Any]
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
    selector = f"kubernetes.io/service-name={name}"
    slices = await pages.every(client, kinds.ENDPOINT_SLICE, namespace, selector=selector)
    found = {one for part in slices for one in _ready(part, f"{name}.{namespace}.svc")}
    return sorted(found)[:_MOST]


def _ready(part: Object, host: str) -> list[Address]:
    ports = [int(one["port"]) for one in part.get("ports") or () if one.get("name") == _PORT]
    return [
        Address(address, port, host)
        for endpoint in part.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint.get("addresses") or ()
        for port in ports[:1]
    ]


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
