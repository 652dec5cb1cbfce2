"""The stages of a rotation as a pure machine: whatever is seen and however late, nothing retires that may
still be needed."""

from __future__ import annotations

import json

import hypothesis
import pytest
from hypothesis import strategies as st

from vestibule.oidc import rotation
from vestibule.oidc.rotation import KeyRotationState

BEGAN = KeyRotationState("https://x", "dir:x", "new", ("old",), 1000.0, settle=100.0, longest=1000.0)


def test_the_way_from_one_key_to_the_next() -> None:
    seen = []
    state = BEGAN
    seen.append((rotation.stage(state, 1000), rotation.action(state, 1000).do))
    state = rotation.published(state, 1010)
    seen.append((rotation.stage(state, 1011), rotation.action(state, 1011).do))
    seen.append((rotation.stage(state, 1110), rotation.action(state, 1110).do))
    state = rotation.signing(state, ["new"], 1200)
    seen.append((rotation.stage(state, 1201), rotation.action(state, 1201).do))
    assert rotation.action(state, 1201).until == 1200 + 1000 + rotation.MARGIN
    late = rotation.drained(state)
    seen.append((rotation.stage(state, late), rotation.action(state, late).do))
    state = rotation.retired(state, late)
    seen.append((rotation.stage(state, late), rotation.action(state, late).do))

    assert seen == [
        ("prepared", "publish"),
        ("published", "wait"),
        ("switching", "switch"),
        ("draining", "wait"),
        ("retiring", "retire"),
        ("done", "nothing"),
    ]
    assert tuple(stage for stage, _ in seen) == rotation.STAGES


def test_the_first_sight_counts() -> None:
    state = rotation.published(rotation.published(BEGAN, 1), 2)
    state = rotation.signing(rotation.signing(state, ["new"], 3), ["new"], 4)

    assert (state.published, state.switched) == (1, 3)


def test_an_old_key_that_signs_again_begins_the_wait_anew() -> None:
    state = rotation.signing(rotation.published(BEGAN, 1), ["new"], 3)

    for kids in (["old"], ["new", "old"], ["stranger"]):
        again = rotation.signing(state, kids, 10)
        assert (again.switched, again.observed) == (0, False)
    assert rotation.signing(rotation.signing(state, ["old"], 10), ["new"], 20).switched == 20


def test_a_word_is_kept_apart_from_what_was_seen() -> None:
    state = rotation.signing(rotation.published(BEGAN, 1), ["new"], 3, observed=False)

    assert (state.switched, state.observed) == (3, False)
    seen = rotation.signing(state, ["new"], 5)
    assert (seen.switched, seen.observed) == (3, True)
    assert rotation.signing(state, [], 5) is state


def test_unknown_kids() -> None:
    assert rotation.unknown_kids(BEGAN, ["new", "old", "b", "a"]) == ("a", "b")


@hypothesis.given(
    st.lists(
        st.tuples(
            st.floats(0, 3000),
            st.sampled_from(["publish", "see new", "see old", "see both", "look"]),
        ),
        max_size=30,
    )
)
def test_nothing_retires_within_the_life_of_a_token_of_the_old_key(steps: list[tuple[float, str]]) -> None:
    state, now, last_old = BEGAN, 1000.0, 1000.0
    for pause, what in steps:
        now += pause
        if what == "publish":
            state = rotation.published(state, now)
        elif what.startswith("see") and state.published:
            kids = {"see new": ["new"], "see old": ["old"], "see both": ["old", "new"]}[what]
            last_old = now if "old" in kids else last_old
            state = rotation.signing(state, kids, now)
        action = rotation.action(state, now)
        assert action.do in ("publish", "wait", "switch", "retire", "nothing")
        assert state.published or action.do == "publish"
        if action.do == "retire":
            assert now - last_old >= state.longest
        if action.do == "wait":
            assert action.until > now


def test_what_is_kept_is_read_back() -> None:
    state = rotation.signing(rotation.published(BEGAN, 1), ["new"], 3)

    assert rotation.decode(rotation.encode(state)) == state


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"new": ""},
        {"new": "old"},
        {"old": "old"},
        {"began": "x"},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_no_state_is_refused(change: dict[str, object]) -> None:
    stored = json.loads(rotation.encode(BEGAN))

    with pytest.raises(ValueError, match="is no state of a rotation"):
        rotation.decode(json.dumps({**stored, **change}).encode())
    with pytest.raises(ValueError, match="is no state"):
        rotation.decode(b"\xff")
