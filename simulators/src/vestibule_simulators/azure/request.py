"""A call to ARM after the routes have read it: who asks, for what, with which body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from vestibule_simulators.azure import responses
from vestibule_simulators.azure.responses import Json
from vestibule_simulators.https_server import SiteResponse


class ArmRequest(NamedTuple):
    """One call."""

    method: str
    path: str
    """As it was sent, without the query."""
    parts: Mapping[str, str]
    """What the route found in the path."""
    query: Mapping[str, str]
    body: Json
    base: str
    """Address of the simulator, for links in answers."""


def page(request: ArmRequest, found: Sequence[Json], size: int) -> SiteResponse:
    """One page of a list, with the link to the next."""
    start = int(request.query.get("$skiptoken") or 0)
    body: Json = {"value": list(found[start : start + size])}
    if start + size < len(found):
        stored = "&".join(
            f"{name}={quote(value, safe='')}" for name, value in request.query.items() if name != "$skiptoken"
        )
        body["nextLink"] = f"{request.base}{request.path}?{stored}&$skiptoken={start + size}"
    return responses.document(200, body)
