"""Work for a review is in proportion to its size, whatever a tenant multiplies. Work is counted (lines of
Python that run), not timed, so the test says the same on every machine."""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

import pytest

from tests import hostile
from tests.vectors import case
from vestibule.api.settings import schema
from vestibule.injection.policy import compile_policy

SMALL, LARGE = 400, 1600
PER_BYTE = 2.0
"""Lines for each byte of a review, at the most; a pod of ordinary shape takes about 0.2."""
FIXED = 60_000
"""Lines that a review may take besides: what the caps allow one pod, however small its text."""
ANSWER = 2_000_000


class _Work:
    """Counts lines of Python, the standard library's included."""

    def __init__(self) -> None:
        self.lines = 0

    def __enter__(self) -> _Work:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        del frame, event, arg
        return self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        del frame, arg
        self.lines += event == "line"
        return self._line


def cost(shape: str, settings: str, size: int) -> tuple[int, int, int]:
    """Lines, bytes of the review, bytes of the answer."""
    expected = schema.parse(hostile.SETTINGS[settings], "test")
    handler, _ = case.handler_of(case.cluster_of([*hostile.OBJECTS]), expected)
    body = case.review(hostile.SHAPES[shape](size))
    with _Work() as work:
        response = case.post(handler, body)
    assert response.status == 200, response.body[:200]
    return work.lines, len(body), len(response.body)


@pytest.mark.parametrize("settings", hostile.SETTINGS)
@pytest.mark.parametrize("shape", hostile.SHAPES)
def test_work_and_answer_are_in_proportion_to_the_review(shape: str, settings: str) -> None:
    for size in (SMALL, LARGE):
        lines, requested, answered = cost(shape, settings, size)

        assert lines <= FIXED + PER_BYTE * requested, f"{lines} lines for {requested} bytes"
        assert answered <= ANSWER


def test_a_pod_over_a_cap_is_refused_with_the_cap_and_what_was_found() -> None:
    def refusal(shape: str, size: int, **more: Any) -> str:
        expected = schema.parse(more, "test")
        answer = case.ask(hostile.SHAPES[shape](size), case.cluster_of([*hostile.OBJECTS]), expected)
        assert answer.response["allowed"] is False
        assert answer.response["status"]["code"] == 422
        return str(answer.response["status"]["message"])

    assert refusal("containers", 201) == (
        "Pod team-a/p: spec.containers is '201 containers', want at most 200 (podLimits.containers)"
    )
    assert refusal("containers times keys of their own", 33) == (
        "Pod team-a/p: cwii.dev/aws-role-arn.* is '33 keys', want at most 32 (podLimits.containerKeys)"
    )
    assert refusal("names in a list", 51) == (
        "Pod team-a/p: cwii.dev/skip-containers is '51 names', want at most 50 (podLimits.listNames)"
    )
    assert "want at most 2048 (podLimits.valueLength)" in refusal("a long value", 100)
    assert "want at most 1000 (podLimits.patchBytes)" in refusal(
        "containers", 20, podLimits={"patchBytes": 1000}
    )


def test_caps_are_settings() -> None:
    pod = hostile.SHAPES["containers"](300)
    expected = schema.parse({"podLimits": {"containers": 300}}, "test")

    assert case.ask(pod, case.cluster_of([]), expected).response["allowed"]


def test_what_is_kept_between_pods_is_bounded_in_bytes() -> None:
    """A tenant who sends ever different annotations, and large ones, cannot fill the memory."""
    expected = schema.parse({}, "test")
    policy = compile_policy(expected)
    handler, _ = case.handler_with(case.cluster_of([*hostile.OBJECTS]), policy)
    for number in range(300):
        pod = hostile.pod(
            hostile.named(1 + number % 50),
            {
                **hostile.AWS,
                "cwii.dev/aws-audience": f"{number}" * 300,
                **hostile.keys(20, f"cwii.dev/x{number}", "y" * 200),
            },
        )
        case.post(handler, case.review(pod))

    assert policy.memo.bytes <= 24 * 1024 * 1024
    size = len(json.dumps(pod))
    handler, _ = case.handler_with(case.cluster_of([*hostile.OBJECTS]), policy)
    before = len(policy.memo)
    case.post(handler, case.review(hostile.SHAPES["unknown keys"](1000)))
    assert len(policy.memo) == before, f"sets over 8 KB are not kept ({size})"
