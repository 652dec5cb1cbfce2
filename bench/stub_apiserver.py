"""A stand-in for the API server, just enough for one ServiceAccount informer: `python -m bench.stub_apiserver
PORT`.

Plain HTTP on 127.0.0.1, read-only. It answers list, single get and watch of serviceaccounts; a watch that
asks for initial events gets them and the bookmark that ends them, then stays open and silent. Everything
else is 404.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import msgspec

from bench import cluster
from bench.pod import Json

PREFIX = "/api/v1"
VERSION = "7"
"""The one resourceVersion of a world in which nothing changes."""


def listed() -> Json:
    metadata = {"resourceVersion": VERSION}
    return {
        "kind": "ServiceAccountList",
        "apiVersion": "v1",
        "metadata": metadata,
        "items": cluster.eks_accounts(),
    }


def initial_events() -> list[Json]:
    """What a streaming list begins with: every object, then the bookmark that says there are no more."""
    marker = {"resourceVersion": VERSION, "annotations": {"k8s.io/initial-events-end": "true"}}
    end = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": marker}
    added = [{"type": "ADDED", "object": account} for account in cluster.eks_accounts()]
    return [*added, {"type": "BOOKMARK", "object": end}]


def found(path: str) -> Json | None:
    """The object or list at a path; None when there is nothing."""
    if path == f"{PREFIX}/serviceaccounts":
        return listed()
    for account in cluster.eks_accounts():
        metadata = account["metadata"]
        if path == f"{PREFIX}/namespaces/{metadata['namespace']}/serviceaccounts/{metadata['name']}":
            return account
    return None


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async for target in _requests(reader):
            parts = urlsplit(target)
            query = parse_qs(parts.query)
            if query.get("watch", ["0"])[0] in ("1", "true"):
                await _watch(writer, wants_initial="true" in query.get("sendInitialEvents", []))
                await reader.read()
                return
            item = found(parts.path)
            body = msgspec.json.encode(item or {"kind": "Status", "apiVersion": "v1", "code": 404})
            writer.write(_head("200 OK" if item else "404 Not Found", f"Content-Length: {len(body)}") + body)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    """The request targets of a connection; bodies are not read, because a GET has none."""
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        yield line.decode("latin-1").split()[1]


async def _watch(writer: asyncio.StreamWriter, *, wants_initial: bool) -> None:
    writer.write(_head("200 OK", "Transfer-Encoding: chunked"))
    for event in initial_events() if wants_initial else []:
        data = msgspec.json.encode(event) + b"\n"
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


def _head(status: str, length: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode()


async def main(port: int) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
