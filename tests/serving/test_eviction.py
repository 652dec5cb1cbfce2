"""Who is closed when there is too little for all, as a pure choice."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestibule.httpserver import eviction, peers

NOW = 1000.0


@dataclasses.dataclass(frozen=True)
class One:
    name: str
    peer: str = "a"
    proven: bool = True
    since: float | None = NOW - 10
    held: int = 1

    def waiting_since(self) -> float | None:
        return self.since


def names(*candidates: One, most: int = 10, excess: int = 1) -> list[str]:
    found = eviction.chosen(candidates, lambda one: one.held, most, excess, NOW)
    return [one.name for one in found]


def test_the_longest_idle_goes_first() -> None:
    assert names(One("new", since=NOW - 1), One("old", since=NOW - 60), excess=2) == ["old", "new"]


def test_one_that_is_owed_an_answer_never_goes() -> None:
    assert names(One("busy", since=None), excess=5) == []


def test_one_that_never_asked_goes_before_those_that_have_after_a_second() -> None:
    idle = One("idle", since=NOW - 100)

    assert names(idle, One("stranger", proven=False, since=NOW - 1.5)) == ["stranger"]
    assert names(idle, One("just connected", proven=False, since=NOW - 0.5)) == ["idle"]


def test_a_peer_with_more_than_half_goes_before_others() -> None:
    many = [One(f"many{number}", "b", since=NOW - number) for number in range(6)]

    assert names(One("other", since=NOW - 100), *many, most=10) == ["many5"]
    assert names(One("other", since=NOW - 100), *many[:5], most=10) == ["other"]


def test_of_those_that_never_asked_the_peer_with_most_of_them_goes_first() -> None:
    strangers = [One(f"b{number}", "b", proven=False) for number in range(3)]

    assert names(One("a", proven=False, since=NOW - 50), *strangers, excess=3) == ["b0", "b1", "b2"]


def test_what_weighs_nothing_is_left_alone() -> None:
    assert names(One("light", held=0), One("heavy", held=5), excess=9) == ["heavy"]


@given(
    st.lists(
        st.builds(
            One,
            st.text(max_size=3),
            st.sampled_from("abc"),
            st.booleans(),
            st.none() | st.floats(0, NOW),
            st.integers(0, 9),
        )
    ),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_enough_is_chosen_and_no_more(candidates: list[One], most: int, excess: int) -> None:
    found = eviction.chosen(candidates, lambda one: one.held, most, excess, NOW)

    assert all(one.since is not None and one.held for one in found)
    assert sum(one.held for one in found[:-1]) < excess
    possible = sum(one.held for one in candidates if one.since is not None)
    assert sum(one.held for one in found) >= min(excess, possible)


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        (("10.1.2.3", 443), "10.1.2.3"),
        (("::ffff:10.1.2.3", 443, 0, 0), "10.1.2.3"),
        (("2001:db8:1:2:3::4", 443, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 443, 0, 2), "fe80::/64"),
        ("", ""),
    ],
)
def test_a_peer_is_an_address_or_a_network_of_one_host(address: tuple[str, int] | str, peer: str) -> None:
    assert peers.name(address) == peer
