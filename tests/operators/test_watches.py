"""Who is listened to when there are more guests than streams; nobody answers here, which does not matter."""

from __future__ import annotations

import asyncio

from tests.rig.process import free_port
from vestibule.kube.access import AnonymousCredential, ClusterAccess
from vestibule.kube.client import Client
from vestibule.operator.controllers.hosted.hosted_informers import MOST, REST, HostedInformers

WHOLE = 1 + len(REST)


def nobody() -> Client:
    return Client(ClusterAccess(f"http://127.0.0.1:{free_port()}", None, AnonymousCredential()), timeout=0.2)


def streams(*keys: str, most: int, gone: str = "", again: str = "") -> dict[str, int]:
    """How many each has after all were looked at, one is gone, and another is looked at again."""

    async def run() -> dict[str, int]:
        listening = HostedInformers(lambda key: None, most)
        clients = {key: nobody() for key in keys}
        try:
            for key in keys:
                listening.begin(key, clients[key], "owner")
            if gone:
                listening.end(gone)
            if again:
                listening.begin(again, clients[again], "owner")
            return listening.streams
        finally:
            await listening.close()
            for client in clients.values():
                await client.close()

    return asyncio.run(run())


def test_while_there_is_room_everything_of_ours_is_listened_to() -> None:
    assert streams("a", "b", most=2 * WHOLE) == {"a": WHOLE, "b": WHOLE}


def test_a_hosted_cluster_is_heard_before_another_is_heard_whole() -> None:
    assert streams("a", "b", "c", most=2 * WHOLE) == {"a": WHOLE, "b": 1, "c": 1}
    assert streams("a", "b", "c", most=3) == {"a": 1, "b": 1, "c": 1}


def test_beyond_the_last_stream_nobody_is_heard() -> None:
    assert streams("a", "b", "c", most=2) == {"a": 1, "b": 1}


def test_what_is_free_again_is_given_at_the_next_look() -> None:
    assert streams("a", "b", "c", most=2 * WHOLE, gone="a", again="b") == {"b": WHOLE, "c": 1}


def test_forty_hosted_clusters_are_heard_whole() -> None:
    assert MOST // WHOLE == 40
