"""Every runner knows every key of its format, and fails a case with a key that it does not know."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import formats, run

Json = dict[str, Any]
STRANGE = "aKeyThatNobodyKnows"
EXPLICIT = {
    "cwii": ("", "config", "expect"),
    "azwi": ("", "config", "expect", "expect.containers.app"),
    "aws_gcp": ("", "config", "expect"),
    "osc": ("", "expect"),
    "ccoctl": ("", "inputs", "expected", "better"),
    "hypershift": ("", "input", "expect"),
    "aro": ("", "action", "world", "expect"),
}
"""Places that a case of each family has, written down apart from the formats."""


def _cases(family: str) -> list[Json]:
    return [vector for file in sorted(run.HERE.glob(f"{family}*.json")) for vector in run.load(file)]


def _at(value: Any, path: str) -> Any:
    for step in filter(None, path.split(".")):
        value = value.get(step) if isinstance(value, dict) else None
    return value


@pytest.mark.parametrize(
    ("family", "place"), [(family, place) for family, places in EXPLICIT.items() for place in places]
)
def test_an_unknown_key_fails_the_case_and_is_named(family: str, place: str) -> None:
    found = [case for case in _cases(family) if isinstance(_at(case, place), dict)]
    assert found, f"no case of {family} has {place!r}"
    for case in found:
        changed = copy.deepcopy(case)
        _at(changed, place)[STRANGE] = 1

        problems = run.problems(family, changed)

        assert problems == [f"{place}.{STRANGE}".lstrip(".") + ": the runner does not know this key"]


@pytest.mark.parametrize("family", run.FAMILIES)
def test_an_unknown_key_fails_at_every_level_of_every_case(family: str) -> None:
    for case in _cases(family):
        known = run.format_of(family, case)
        places = [place for place, _ in formats.objects(case, known)]
        for number, place in enumerate(places):
            changed = copy.deepcopy(case)
            list(formats.objects(changed, known))[number][1][STRANGE] = {}

            assert [text for text in run.unknown_keys(family, changed) if STRANGE in text], (
                f"{case['name']}: {place}"
            )


def test_a_departure_does_not_hide_an_unknown_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = next(iter(run.departures("ccoctl")))
    case = copy.deepcopy(next(one for one in _cases("ccoctl") if one["name"] == name))
    case["expected"][STRANGE] = True
    file = tmp_path / "ccoctl.json"
    file.write_text(json.dumps([case]))

    assert run.main(["ccoctl", str(file)]) == 1

    assert f"expected.{STRANGE}" in capsys.readouterr().out


def test_an_unknown_key_of_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "aro.json"
    file.write_text(json.dumps({"cases": [], STRANGE: {}}))

    with pytest.raises(SystemExit, match=STRANGE):
        run.load(file)


def test_lists_and_objects_are_not_taken_for_each_other() -> None:
    known = {"a": [{"b": formats.ANY}], "c": {"d": formats.ANY}, "e": formats.Each({"f": formats.ANY})}

    assert list(formats.unknown({"a": [{"b": {"x": 1}}], "c": None, "e": {"n": {"f": 1}}}, known)) == []
    assert list(formats.unknown({"a": {"b": 1}, "c": [1]}, known)) == [
        "a: is an object, want a list",
        "c: is a list, want an object",
    ]
    assert list(formats.unknown({"e": {"n": {"g": 1}}}, known)) == [
        "e.n.g: the runner does not know this key"
    ]
