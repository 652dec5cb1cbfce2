"""How often an API server is called whose watches do not last: the pause grows until one does.

The clock is driven: a pause is over at once, and the clock is later by it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import pytest

from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube import reflector
from vestibule.kube.access import ClusterAccess, StaticCredential
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client
from vestibule.kube.informer import Informer
from vestibule.manifests import kinds

Json = dict[str, Any]
HOUR = 3600.0
GONE = b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}'
BROKEN = b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"broken"}}'


class Over(Exception):
    """The hour is over."""


class Clock:
    """Time passes in pauses and watches only."""

    def __init__(self) -> None:
        self.now = 0.0

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        if self.now > HOUR:
            raise Over

    async def sleep(self, seconds: float) -> None:
        self.pass_by(seconds)


class Server(Client):
    """An API server whose watches send what the test says, and end after some seconds."""

    def __init__(
        self, clock: Clock, seconds: Callable[[], float], events: list[bytes], pages: int, size: int
    ) -> None:
        super().__init__(ClusterAccess("https://192.0.2.1", None, StaticCredential(""), guard=AddressGuard()))
        self._size = size
        self._clock, self._seconds, self._events, self._pages = clock, seconds, events, pages
        self.requests: list[float] = []

    async def send(self, call: ApiRequest) -> ApiResponse:
        self._count()
        following = "more" if len(self.requests) % self._pages else ""
        items = [{"metadata": {"name": f"n{len(self.requests)}", "labels": {"a": "b" * self._size}}}]
        page = {"metadata": {"resourceVersion": "7", "continue": following}, "items": items}
        return ApiResponse(200, json.dumps(page).encode())

    async def lines(self, call: ApiRequest, seconds: float) -> AsyncIterator[bytes]:
        self._count()
        yield b""
        for number, line in enumerate(self._events):
            yield line.replace(b"NUMBER", str(len(self.requests) + number).encode())
        self._clock.pass_by(min(seconds, self._seconds()))

    def _count(self) -> None:
        self.requests.append(self._clock.now)
        if len(self.requests) > 10_000:
            raise Over


def requests(
    monkeypatch: pytest.MonkeyPatch,
    events: list[bytes],
    seconds: Callable[[], float] = lambda: 0.0,
    pages: int = 1,
    size: int = 0,
) -> list[float]:
    """When the API server was called in an hour."""
    clock = Clock()
    monkeypatch.setattr(reflector, "asyncio", _Asyncio(clock))
    server = Server(clock, seconds, events, pages, size)
    followed = Informer(server, kinds.MUTATING, lambda *_: None, clock=lambda: clock.now)

    async def run() -> None:
        try:
            await followed.run()
        except Over:
            return

    asyncio.run(run())
    return server.requests


class _Asyncio:
    def __init__(self, clock: Clock) -> None:
        self.sleep = clock.sleep


CHANGED = b'{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"NUMBER"}}}'


@pytest.mark.parametrize(
    "events",
    [[], [CHANGED], [CHANGED] * 50, [GONE], [CHANGED, GONE], [BROKEN], [CHANGED, BROKEN], [b"{"]],
    ids=["nothing", "an event", "events", "410", "an event and 410", "500", "an event and 500", "no JSON"],
)
@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5], ids=lambda one: f"after {one:g} s")
def test_a_server_that_ends_every_watch_early_is_called_ever_less_often(
    monkeypatch: pytest.MonkeyPatch, events: list[bytes], seconds: float
) -> None:
    called = requests(monkeypatch, events, lambda: seconds)

    longest = reflector._LONGEST_PAUSE
    assert len(called) <= 2 * (HOUR / (longest / 2)) + 20
    late = [one for one in called if one > HOUR / 2]
    assert len(late) <= 2 * (HOUR / 2 / (longest / 2)) + 2


def test_a_watch_that_lasts_is_followed_by_the_next_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    called = requests(monkeypatch, [CHANGED], lambda: 3600.0)

    gaps = [after - before for before, after in pairwise(called[1:])]
    low, high = reflector.WATCH_SECONDS
    assert gaps
    assert all(low <= gap <= high for gap in gaps)


def test_a_watch_that_lasts_ends_the_growth_of_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty watches that end at once, one that lasts, and so on: after each that lasts it starts small."""
    lengths = ([0.0] * 20 + [3600.0]) * 1000
    called = requests(monkeypatch, [], lambda: lengths.pop(0))

    gaps = [after - before for before, after in pairwise(called[21:])]
    assert gaps[0] > reflector.WATCH_SECONDS[0] - 1
    assert gaps[2] < 1.0
    assert max(gaps[10:20]) > reflector._LONGEST_PAUSE / 3


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 100_000], ids=["empty pages", "full pages"])
def test_a_list_that_never_ends_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A hosted cluster that announces one more page for ever."""
    called = requests(monkeypatch, [], pages=1_000_000, size=size)

    assert called[-1] > HOUR / 6, "the requests were not spread over time"
    assert len(called) / called[-1] < 8


@pytest.mark.slow
def test_events_without_end_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that lasts and sends an ever new object: the list says again what is there."""
    added = (
        b'{"type":"ADDED","object":{"metadata":{"name":"nNUMBER","labels":{"a":"'
        + b"b" * 1_000_000
        + b'"}}}}'
    )
    clock = Clock()
    monkeypatch.setattr(reflector, "asyncio", _Asyncio(clock))
    server = Server(clock, lambda: 0.0, [added] * 100, 1, 0)
    followed = Informer(server, kinds.MUTATING, lambda *_: None, clock=lambda: clock.now)
    with pytest.raises(Over):
        asyncio.run(followed.run())

    assert len(followed.store) < 20
