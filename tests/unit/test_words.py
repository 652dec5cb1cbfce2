"""Globs, quantities, addresses, numbers, pointers: small grammars, each with its table."""

from __future__ import annotations

import fnmatch
import json

import jsonpointer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestibule import gostrconv
from vestibule.admission import apply, pointer
from vestibule.api import glob_patterns, quantity

GLOBS = [
    ("team-a", "team-a", True), ("team-a", "team-ab", False), ("team-*", "team-", True),
    ("*-a", "team-a", True), ("*", "", True), ("a*b*c", "aXbYc", True), ("a*b*c", "acb", False),
    ("a*a", "a", False), ("**", "x", True), ("a.c", "abc", False), ("te?m", "team", False),
    ("[a]", "a", False),
]  # fmt: skip


@pytest.mark.parametrize(("glob", "name", "expected"), GLOBS)
def test_a_glob_is_anchored_and_knows_one_star(glob: str, name: str, expected: bool) -> None:
    assert glob_patterns.matches(glob, name) is expected
    assert glob_patterns.matcher([glob])(name) is expected


@given(st.text("ab*", max_size=8), st.text("ab", max_size=10))
def test_globs_match_as_the_standard_library_does(glob: str, name: str) -> None:
    assert glob_patterns.matches(glob, name) == fnmatch.fnmatchcase(name, glob)


@pytest.mark.parametrize("good", ["250m", "1", "0.5", "512Mi", "1Gi", "1e3", "2E", "1Ei", ".5"])
def test_a_quantity_above_zero(good: str) -> None:
    assert quantity.is_positive(good)


@pytest.mark.parametrize("bad", ["", "0", "-1", "1 Gi", "1mi", "abc", "1e", "0m", "１"])
def test_no_quantity_above_zero(bad: str) -> None:
    assert not quantity.is_positive(bad)


ADDRESSES = {
    "0.0.0.0:8443": ("0.0.0.0", 8443),
    "[::]:8443": ("::", 8443),
    "127.0.0.1:0": ("127.0.0.1", 0),
    "localhost:1": None,
    "1.2.3:1": None,
    "1.2.3.4": None,
    "1.2.3.256:1": None,
    "1.2.3.4:65536": None,
    "::1:80": None,
    "": None,
}


@pytest.mark.parametrize("given_text", ADDRESSES)
def test_an_address_is_numeric(given_text: str) -> None:
    assert gostrconv.address(given_text) == ADDRESSES[given_text]


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [("600", 600), ("+5", 5), ("-5", -5), ("007", 7), ("1_0", None), ("٣", None), (" 1", None), ("", None)]
    + [(str(2**63 - 1), 2**63 - 1), (str(2**63), None), (str(-(2**63)), -(2**63)), ("9" * 5000, None)],
)
def test_an_integer_is_signed_64_bit_decimal(given_text: str, expected: int | None) -> None:
    assert gostrconv.integer(given_text) == expected


def test_trimming_knows_unicode_white_space_and_no_more() -> None:
    assert gostrconv.trim("\u3000 \u00a0x\u2028\t") == "x"
    assert gostrconv.trim("\x1cx\x1f") == "\x1cx\x1f"


@given(st.lists(st.text(max_size=6), max_size=5))
def test_a_pointer_survives_the_way_there_and_back(keys: list[str]) -> None:
    assert pointer.tokens(pointer.pointer(*keys)) == keys


@given(st.dictionaries(st.text(max_size=4), st.integers(), min_size=1))
def test_a_pointer_means_what_a_foreign_implementation_says(document: dict[str, int]) -> None:
    for key, value in document.items():
        assert jsonpointer.resolve_pointer(document, pointer.pointer(key)) == value


NOT_APPLICABLE = {
    "a missing parent": ({}, "/a/b"),
    "a parent that is a text": ({"a": "x"}, "/a/b"),
    "an index past the end": ({"a": [1]}, "/a/2"),
    "an index with a leading zero": ({"a": [1, 2]}, "/a/01"),
    "an index that is none": ({"a": [1]}, "/a/x"),
    "no pointer at all": ({}, "a"),
}


@pytest.mark.parametrize("sentence", NOT_APPLICABLE)
def test_what_does_not_apply_is_an_error(sentence: str) -> None:
    document, path = NOT_APPLICABLE[sentence]
    before = json.dumps(document)

    with pytest.raises(ValueError, match=r"patch does not apply|JSON pointer"):
        apply.add(document, path, 1)

    assert json.dumps(document) == before


def test_only_what_we_write_is_applied() -> None:
    with pytest.raises(ValueError, match="is none of 'add'"):
        apply.patch({"a": 1}, [{"op": "move", "path": "/a", "from": "/b"}])
