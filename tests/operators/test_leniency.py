"""What is registered while nobody answers."""

from __future__ import annotations

from typing import Any

import pytest

from vestibule.operator import failure_policy

Json = dict[str, Any]


def registration(**policies: str) -> Json:
    hooks = [
        {"name": name, **({"failurePolicy": message} if message else {})}
        for name, message in policies.items()
    ]
    return {"metadata": {"name": "x"}, "webhooks": hooks}


CASES = {
    "Ignore stays until somebody answers": ({"a": "Fail"}, {"a": "Ignore"}, {"a": "Ignore"}),
    "what is strict stays so": ({"a": "Fail"}, {"a": "Fail"}, {"a": "Fail"}),
    "to become lenient is always right": ({"a": "Ignore"}, {"a": "Fail"}, {"a": "Ignore"}),
    "each webhook by itself": (
        {"a": "Fail", "b": "Fail"},
        {"a": "Ignore", "b": "Fail"},
        {"a": "Ignore", "b": "Fail"},
    ),
    "one that is not there yet was never proven": ({"a": "Fail"}, {"b": "Fail"}, {"a": "Ignore"}),
    "unset is Fail": ({"a": "Fail"}, {"a": ""}, {"a": "Fail"}),
}


@pytest.mark.parametrize("case", CASES)
def test_held(case: str) -> None:
    wanted, live, expected = CASES[case]
    found = failure_policy.held(registration(**wanted), registration(**live))

    assert found.registration == registration(**expected)
    assert found.back == (expected != wanted)
