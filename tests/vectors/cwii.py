"""The cwii family: the case's answer through the handler, the same pod offline, and both a second time."""

from __future__ import annotations

import copy
from typing import Any

from tests.vectors import case
from vestibule.core.kinds import config, upstream

Json = dict[str, Any]


def settings(flags: Json) -> config.Settings:
    """Settings from the flags of a case; ``mode`` is ours and strict where a case does not say."""
    given = {name: _text(value) for name, value in flags.items() if name not in ("mode", "settings")}
    known = {flag.name for flag in upstream.CWII}
    unknown = set(given) - known
    if unknown:
        raise AssertionError(f"case sets unknown flags {sorted(unknown)}")
    data = upstream.merged({"mode": flags.get("mode", "strict")}, upstream.overrides(given, {}))
    return config.parse(upstream.merged(data, flags.get("settings", {})), "vector")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    expect = vector["expect"]
    wanted = settings(vector.get("config", {}))
    objects = [vector.get("namespace"), vector.get("serviceAccount"), *vector.get("owners", [])]
    cluster = case.cluster_of(objects, vector.get("faults"))
    pod = vector["pod"]
    answer = case.ask(pod, cluster, wanted, dry_run=vector.get("dryRun", False))
    problems: list[str] = []

    def same(what: str, got: Any, want: Any) -> None:
        if got != want:
            problems.append(f"{what}: got {got!r}, want {want!r}")

    same("allowed", answer.response["allowed"], expect["allowed"])
    same("outcome", answer.verdict.outcome, expect["outcome"])
    if "status" in expect and wanted.mode == "strict":
        same("status", answer.response.get("status"), expect["status"])
    if "patchOps" in expect:
        same("patchOps", answer.operations, expect["patchOps"])
    if "mutatedPod" in expect:
        same("mutatedPod", answer.pod, expect["mutatedPod"])
    if "warnings" in expect:
        same("warnings", answer.response.get("warnings", []), expect["warnings"])
    if "message" in expect:
        same("message", answer.response.get("status", {}).get("message"), expect["message"])
    same("configMapsApplied", answer.applied, expect.get("configMapsApplied", []))
    if answer.response["allowed"]:
        problems += _second_pass(answer.pod, cluster, wanted)
    problems += _offline(vector, objects, wanted, answer)
    return problems


def _second_pass(mutated: Json, cluster: Any, wanted: config.Settings) -> list[str]:
    """Nothing changes a second time; strict may write its marker again, as the original does."""
    again = case.ask(copy.deepcopy(mutated), cluster, wanted, dry_run=True)
    allowed = 1 if wanted.mode == "strict" else 0
    problems = []
    if len(again.operations) > allowed:
        problems.append(f"second pass: {len(again.operations)} operations, want at most {allowed}")
    if again.pod != mutated:
        problems.append("second pass: the pod changed")
    return problems


def _offline(
    vector: Json, objects: list[Json | None], wanted: config.Settings, answer: case.Answer
) -> list[str]:
    """The offline path gives the same pod; a case with a fault has no offline counterpart."""
    if vector.get("faults"):
        return []
    from tests.vectors import offline

    return offline.compare(vector["pod"], [thing for thing in objects if thing], wanted, answer)
