"""Request targets and the durations in them."""

from __future__ import annotations

import pytest

from vestibule.httpserver import request_target


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("timeout=10s", 5.0),
        ("timeout=1s", 0.5),
        ("timeout=500ms", 0.25),
        ("timeout=1m", 15.0),  # no webhook is given more than 30 s
        ("timeout=1m30s", 15.0),
        ("timeout=1.5s", 0.75),
        ("timeout=.5s", 0.25),
        ("timeout=1s500ms", 0.75),
        ("timeout=250000us", 0.125),
        ("timeout=1000000000ns", 0.5),
        ("a=b&timeout=2s&c", 1.0),
        ("timeout=soon&timeout=2s", 1.0),
        ("timeout=0s", None),
        ("timeout=", None),
        ("timeout", None),
        ("timeout=5", None),
        ("timeout=-5s", None),
        ("timeout=5s ", None),
        ("timeout=5 s", None),
        ("timeout=s", None),
        ("timeout=1e3s", None),
        ("timeout=NaNs", None),
        ("timeout=" + "9" * 400 + "s", None),
        ("mytimeout=5s", None),
        ("", None),
    ],
)
def test_half_of_the_callers_timeout_is_ours(query: str, seconds: float | None) -> None:
    assert request_target.parse(b"/mutate?" + query.encode()).seconds == (
        None if seconds is None else pytest.approx(seconds)
    )


@pytest.mark.parametrize(
    ("raw", "path", "query"),
    [
        (b"/", "/", ""),
        (b"/a/b?c=d&e", "/a/b", "c=d&e"),
        (b"/a?b?c", "/a", "b?c"),
        (b"/a#b?c", "/a", ""),
        (b"/%2e%2e/a", "/%2e%2e/a", ""),
        (b"//host/a", "//host/a", ""),
        (b"*", "*", ""),
        (b"http://host/a?b", "/a", "b"),
        (b"http://host", "/", ""),
        (b"/" + b"x" * 1000, "/" + "x" * 1000, ""),
    ],
)
def test_a_target_is_split_into_path_and_query(raw: bytes, path: str, query: str) -> None:
    assert request_target.parse(raw)[:2] == (path, query)


@pytest.mark.parametrize("raw", [b"", b"a", b"host:443", b"?a", b"http:", b"http://"])
def test_what_is_no_target_is_refused(raw: bytes) -> None:
    with pytest.raises(request_target.InvalidRequestTarget):
        request_target.parse(raw)
