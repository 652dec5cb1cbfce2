"""The load: pods of many accounts, created dry through the API server, every answer compared with what it
must hold. One thread per connection; an account's role is its own, so a mix-up is seen."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable

from bench.connection import Connection

from tests.soak import losses
from tests.soak.tally import Tally

PATIENCE = 20.0
"""Seconds for one answer; the API server gives the webhook ten."""
BACKOFF = 0.2
"""Seconds before a new connection where the last one broke."""


def role(number: int) -> str:
    return f"arn:aws:iam::123456789012:role/soak-{number:05d}"


def body(number: int, shape: int) -> bytes:
    """A pod of an account; shapes differ in containers, variables and volumes."""
    containers = [
        {
            "name": f"c{position}",
            "image": f"example.com/app:{shape}",
            "env": [{"name": f"V{one}", "value": str(shape)} for one in range(shape % 5)],
        }
        for position in range(1 + shape % 3)
    ]
    spec = {"serviceAccountName": f"app-{number}", "containers": containers}
    return json.dumps({"metadata": {"generateName": "soak-"}, "spec": spec}).encode()


class Load:
    """Admissions until somebody says stop, or as many as are wanted."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        request: Callable[[bytes], bytes],
        tally: Tally,
        cause: Callable[[str, float], str],
        *,
        accounts: int,
        wanted: int,
        threads: int,
        seed: int,
    ) -> None:
        """``cause`` names the fault that explains a loss of a kind at a moment; see faults."""
        self._connect, self._request, self._tally, self._cause = connect, request, tally, cause
        self._accounts, self._wanted, self._seed = accounts, wanted, seed
        self.stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(PATIENCE + 5)

    @property
    def over(self) -> bool:
        return self._tally.counts["admissions"] >= self._wanted

    def _run(self, number: int) -> None:
        drawn = random.Random(self._seed * 1000 + number)  # noqa: S311 - load, no secret
        connection: Connection | None = None
        while not self.stop.is_set() and not self.over:
            account, shape = drawn.randrange(self._accounts), drawn.randrange(60)
            began = time.monotonic()
            try:
                if connection is None:
                    connection = self._connect()
                connection.send(self._request(body(account, shape)), began)
                status = connection.wait(PATIENCE)
                answer = connection.answer
            except OSError as error:
                if connection is not None:
                    connection.close()
                    connection = None
                self._lose(0, f"{type(error).__name__}: {error}")
                continue
            if status != 201:
                self._lose(status, losses.said(answer))
                continue
            self._judge(account, answer)
        if connection is not None:
            connection.close()

    def _lose(self, status: int, words: str) -> None:
        kind = losses.kind(status, words)
        self._tally.lose(kind, self._cause(kind, time.monotonic()), f"{status} {words}" if status else words)
        self.stop.wait(BACKOFF)

    def _judge(self, account: int, answer: bytes) -> None:
        self._tally.add("admissions")
        found = answer.count(b"role/soak-")
        if not found:
            self._tally.add("fail_open")
        elif found != answer.count(role(account).encode()):
            self._tally.add("wrong")
