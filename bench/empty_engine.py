"""Our serving engine with an empty handler: `python -m bench.empty_engine PORT CERT KEY`.

The ceiling of our webhook: the same TLS, HTTP and limits, a small constant answer; no decision, no audit.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import uvloop

from vestibule.httpserver import server, tls

Answer = Callable[[server.HttpRequest], server.HttpResponse]
ANSWER = server.HttpResponse(
    200,
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",'
    b'"response":{"uid":"00000000-0000-4000-8000-000000000000","allowed":true}}',
)


def handler(request: server.HttpRequest) -> server.HttpResponse:
    del request
    return ANSWER


async def main(port: int, cert: Path, key: Path, answer: Answer = handler) -> None:
    holder = tls.TlsHolder()
    holder.replace(holder.build(cert, key))
    engine = server.HttpsServer(answer, tls=holder, name="empty")
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await engine.start([("127.0.0.1", port)])
    await ended.wait()
    await engine.drain(delay=0.0, grace=1.0)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])))
