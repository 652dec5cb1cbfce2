"""Words in which a case says what it expects of a pod without writing the whole pod down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.vectors import case
from tests.vectors.formats import ANY, Each, Format

Json = dict[str, Any]
FIELDS = ("containers", "initContainers")
FORMAT: Mapping[str, Format] = {
    "volumes_added": ANY,
    "volumes_replaced": ANY,
    "injected_containers": ANY,
    "containers": Each(
        {"env_appended": ANY, "mounts_appended": ANY, "mounts_replaced": ANY, "untouched": ANY}
    ),
    "containers_order": ANY,
    "initContainers_order": ANY,
    "annotations_added": ANY,
    "labels_added": ANY,
    "warnings_contain": ANY,
    "message_contains": ANY,
}
"""The keys that ``compare`` knows."""


def compare(answer: case.Answer, expect: Json, before: Json) -> list[str]:
    """Everything in which the answer differs from what the words say.

    ``volumes_added``, ``volumes_replaced``, ``injected_containers``, and under ``containers`` by name
    ``env_appended``, ``mounts_appended``, ``mounts_replaced`` or ``untouched``; ``containers_order`` and
    ``initContainers_order``; ``annotations_added`` and ``labels_added``; ``warnings_contain``, one text for
    every warning, and ``message_contains``.
    """
    problems: list[str] = []

    def same(what: str, got: Any, want: Any) -> None:
        if got != want:
            problems.append(f"{what}: got {got!r}, want {want!r}")

    after = answer.pod
    if "volumes_replaced" in expect:
        old_volumes = {one["name"]: one for one in before["spec"].get("volumes", [])}
        replaced = [
            one
            for one in after["spec"].get("volumes", [])
            if one["name"] in old_volumes and one != old_volumes[one["name"]]
        ]
        same("volumes_replaced", replaced, expect["volumes_replaced"])
    for name, expected in expect.get("injected_containers", {}).items():
        same(f"injected container {name}", _container(after, name), expected)
        same(f"{name} before", _container(before, name), None)
    if "volumes_added" in expect:
        existing = {one["name"] for one in before["spec"].get("volumes", [])}
        added = [one for one in after["spec"].get("volumes", []) if one["name"] not in existing]
        same("volumes_added", added, expect["volumes_added"])
    for name, expected in expect.get("containers", {}).items():
        old, new = _container(before, name), _container(after, name)
        if expected.get("untouched"):
            same(name, new, old)
            continue
        for word, field in (("env_appended", "env"), ("mounts_appended", "volumeMounts")):
            if word in expected:
                got = (new or {}).get(field, [])
                at = len(got) - len(expected[word])
                same(f"{name}: {word}", got[max(at, 0) :], expected[word])
                if old is not None and not (field == "volumeMounts" and "mounts_replaced" in expected):
                    # else it is a container of ours, which has some of its own
                    same(f"{name}: {field} that were there", got[: max(at, 0)], old.get(field, []))
        if "mounts_replaced" in expected:
            pairs = zip(
                (old or {}).get("volumeMounts", []), (new or {}).get("volumeMounts", []), strict=False
            )
            same(
                f"{name}: mounts_replaced",
                [two for one, two in pairs if one != two],
                expected["mounts_replaced"],
            )
    for field in FIELDS:
        if f"{field}_order" in expect:
            names = [one["name"] for one in after["spec"].get(field, [])]
            same(field, names, expect[f"{field}_order"])
    for field in ("annotations", "labels"):
        if f"{field}_added" in expect:
            same(field, _added(before, after, field), expect[f"{field}_added"])
    if "warnings_contain" in expect:
        problems += _warnings(answer.response.get("warnings", []), expect["warnings_contain"])
    if "message_contains" in expect:
        message = answer.response.get("status", {}).get("message", "")
        if expect["message_contains"] not in message:
            problems.append(f"message: got {message!r}, want {expect['message_contains']!r} in it")
    return problems


def _container(pod: Json, name: str) -> Json | None:
    listed = [one for field in FIELDS for one in pod["spec"].get(field, [])]
    return next((one for one in listed if one["name"] == name), None)


def _added(before: Json, after: Json, field: str) -> Mapping[str, str]:
    old, new = (pod["metadata"].get(field) or {} for pod in (before, after))
    return {key: value for key, value in new.items() if old.get(key) != value}


def _warnings(got: list[str], wanted: list[str]) -> list[str]:
    """A warning for every text, and none besides."""
    if len(got) == len(wanted) and all(any(text in warning for warning in got) for text in wanted):
        return []
    return [f"warnings: got {got}, want one with each of {wanted}"]
