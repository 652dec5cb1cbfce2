"""What a well-behaved client gets."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.serving.conftest import Serve
from tests.serving.wire import Wire, ask, request, until

from vestibule.httpserver.server import HttpRequest, HttpResponse, ServerLimits


def test_a_request_reaches_the_handler_in_its_parts(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        answer = wire.ask("POST", "/mutate?timeout=10s&x=1", b"{}", "Content-Type: application/json\r\n")

    assert answer.status == 200
    assert answer.body == b"POST /mutate timeout=10s&x=1 application/json {}"
    assert answer.headers == {"content-type": "text/plain", "content-length": "48"}


def test_one_connection_serves_many_requests(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        bodies = [wire.ask("POST", "/", b"%d" % number).body for number in range(50)]

    assert bodies == [b"POST /   %d" % number for number in range(50)]
    assert live.stats.accepted == 1
    assert live.stats.requests == 50


def test_a_repeated_head_yields_the_same_request_as_the_first(serve: Serve) -> None:
    """The second and later ones are recognised by their bytes, not parsed."""
    live = serve()
    head = "Content-Type: application/json\r\n"

    with Wire(live.address) as wire:
        responses = {wire.ask("POST", "/a?timeout=1s", b"one", head).body for _ in range(5)}
        other = wire.ask("POST", "/a?timeout=1s", b"two", head).body

    assert responses == {b"POST /a timeout=1s application/json one"}
    assert other == b"POST /a timeout=1s application/json two"


def test_pipelined_requests_are_answered_in_order(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(b"".join(request("POST", f"/{number}", b"x" * number) for number in range(20)))
        bodies = [wire.answer().body for _ in range(20)]

    assert bodies == [f"POST /{number}   ".encode() + b"x" * number for number in range(20)]


def test_pipelined_requests_are_answered_in_order_when_the_first_is_the_slowest(serve: Serve) -> None:
    async def slow(request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0.1 if request.path == "/0" else 0)
        return HttpResponse(200, request.path.encode())

    def handler(request: HttpRequest) -> object:
        return HttpResponse(200, request.path.encode()) if request.path == "/2" else slow(request)

    live = serve(handler)

    with Wire(live.address) as wire:
        wire.send(b"".join(request("GET", f"/{number}") for number in range(5)))
        bodies = [wire.answer().body for _ in range(5)]

    assert bodies == [b"/0", b"/1", b"/2", b"/3", b"/4"]


def test_a_pipeline_deeper_than_the_limit_is_cut_after_the_limit(serve: Serve) -> None:
    live = serve(limits=ServerLimits(pipeline=3))

    with Wire(live.address) as wire:
        wire.send(b"".join(request("GET", f"/{number}") for number in range(9)))
        responses = [wire.answer() for _ in range(3)]

        assert [answer.headers.get("connection") for answer in responses] == [None, None, "close"]
        assert wire.ended()


@pytest.mark.parametrize("size", [0, 1, 10_000, 300_000, 7 * 1024 * 1024])
def test_bodies_of_every_allowed_size_arrive_whole(serve: Serve, size: int) -> None:
    live = serve()
    body = bytes(range(256)) * (size // 256) + b"!" * (size % 256)

    answer = ask(live.address, "POST", "/", body)

    assert answer.body == b"POST /   " + body
    assert until(lambda: live.stats.buffered == 0)


def test_chunked_bodies_arrive_whole_and_their_trailers_change_nothing(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(
            b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: text/x\r\n\r\n"
        )
        wire.send(b"3\r\nabc\r\n5;ext=1\r\ndefgh\r\n0\r\nContent-Type: evil\r\nExpect: wonders\r\n\r\n")
        first = wire.answer()
        second = wire.ask("GET", "/b")

    assert first.body == b"POST /a  text/x abcdefgh"
    assert second.body == b"GET /b   "


def test_head_has_the_length_but_no_body(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        head = wire.ask("HEAD", "/")
        get = wire.ask("GET", "/")

    assert head.headers["content-length"] == str(len(b"HEAD /   "))
    assert get.body == b"GET /   "


def test_no_content_has_neither_length_nor_type(serve: Serve) -> None:
    live = serve(lambda _: HttpResponse(204))

    with Wire(live.address) as wire:
        responses = [wire.ask(), wire.ask()]

    assert [(answer.status, answer.headers) for answer in responses] == [(204, {}), (204, {})]


def test_a_client_that_expects_100_continue_is_reported_to(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        assert wire.answer().status == 100
        wire.send(b"abc")

        assert wire.answer().body == b"POST /   abc"


def test_a_client_that_expects_100_continue_is_refused_before_it_sends_too_much(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\nExpect: 100-continue\r\n\r\n")

        assert wire.answer().status == 413
        assert wire.ended()


def test_connection_close_is_honoured(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        answer = wire.ask(headers="Connection: close\r\n")

        assert answer.headers["connection"] == "close"
        assert wire.ended()


def test_http_1_0_closes_unless_asked_to_keep(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert wire.answer().headers["connection"] == "keep-alive"
        wire.send(b"GET /b HTTP/1.0\r\n\r\n")
        answer = wire.answer()

        assert (answer.body, answer.headers["connection"]) == (b"GET /b   ", "close")
        assert wire.ended()


def test_a_client_that_closes_its_side_still_gets_its_answer(serve: Serve) -> None:
    async def handler(_: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0.05)
        return HttpResponse(200, b"late")

    live = serve(handler)

    with Wire(live.address) as wire:
        wire.send(request())
        wire.socket.shutdown(socket.SHUT_WR)

        assert wire.answer().body == b"late"
        assert wire.ended()
    assert until(lambda: live.stats.connections == 0)


@pytest.mark.parametrize("body", [b"", b"abc"])
def test_an_upgrade_to_http_2_is_ignored(serve: Serve, body: bytes) -> None:
    live = serve()
    upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"

    with Wire(live.address) as wire:
        wire.send(request("POST" if body else "GET", "/a", body, upgrade) + request("GET", "/b"))
        responses = [wire.answer(), wire.answer()]

    assert [answer.body.split()[1] for answer in responses] == [b"/a", b"/b"]
    assert responses[0].body.endswith(body)


def test_an_absolute_target_is_served_by_its_path(serve: Serve) -> None:
    live = serve()

    assert ask(live.address, "GET", "http://host:1/a?b=c").body == b"GET /a b=c  "


@pytest.mark.parametrize(
    ("target", "seconds"),
    [("/?timeout=10s", 5.0), ("/?timeout=500ms", 0.25), ("/", 5.0), ("/?timeout=soon", 5.0)],
)
def test_the_deadline_is_half_of_what_the_caller_waits(serve: Serve, target: str, seconds: float) -> None:
    left: list[float] = []

    async def handler(request: HttpRequest) -> HttpResponse:
        left.append(request.deadline - asyncio.get_running_loop().time())
        return HttpResponse(200)

    live = serve(handler)
    ask(live.address, "GET", target)

    assert left == [pytest.approx(seconds, abs=0.1)]


def test_ipv6_is_served(serve: Serve) -> None:
    live = serve(addresses=[("::1", 0)])

    assert live.address[0] == "::1"
    assert ask(live.address).status == 200


@pytest.mark.parametrize("host", ["", "::"])
def test_every_interface_means_ipv6_and_ipv4_on_one_port(serve: Serve, host: str) -> None:
    live = serve(addresses=[(host, 0)])
    port = live.address[1]

    assert ask(("127.0.0.1", port)).status == 200
    assert ask(("::1", port)).status == 200


def test_several_addresses_share_one_server(serve: Serve) -> None:
    live = serve(addresses=[("127.0.0.1", 0), ("::1", 0)])

    assert [ask(address).status for address in live.addresses] == [200, 200]
    assert live.stats.requests == 2


def test_a_taken_port_is_named_and_nothing_is_left_listening(serve: Serve) -> None:
    taken = serve().address
    with socket.create_server(("127.0.0.1", 0)) as free:
        other = free.getsockname()[:2]

    with pytest.raises(OSError, match=f"in use.*{taken[1]}"):
        serve(addresses=[other, taken])

    with pytest.raises(ConnectionRefusedError):
        Wire(other)


def test_the_standard_event_loop_serves_too(serve: Serve) -> None:
    live = serve(loop_factory=asyncio.new_event_loop)

    with Wire(live.address) as wire:
        assert [wire.ask("POST", "/", b"x").status for _ in range(3)] == [200, 200, 200]
