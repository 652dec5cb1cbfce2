"""The cwii family: the case's answer through the handler, the same pod offline, and both a second time."""

from __future__ import annotations

import copy
from typing import Any

from tests.vectors import case
from tests.vectors.formats import ANY, PROSE, Each, Format
from vestibule.admission import pointer
from vestibule.api.settings import schema
from vestibule.compat import cwii_flags

Json = dict[str, Any]
_CONFIG: Format = {flag.name: ANY for flag in cwii_flags.CWII} | {"mode": ANY, "settings": ANY}
_FORMAT: Format = {
    "name": ANY,
    "note": PROSE,
    "verified": PROSE,
    "config": _CONFIG,
    "namespace": ANY,
    "serviceAccount": ANY,
    "owners": ANY,
    "pod": ANY,
    "dryRun": ANY,
    "faults": ANY,
    "expect": {
        "allowed": ANY,
        "outcome": ANY,
        "status": ANY,
        "patchOps": ANY,
        "volumesAdded": ANY,
        "initContainersAdded": ANY,
        "containers": Each({"volumeMountsAdded": ANY, "envAdded": ANY}),
        "annotationsAdded": ANY,
        "mutatedPod": ANY,
        "configMapsApplied": ANY,
        "injectionsCounted": ANY,
        "warnings": ANY,
        "message": ANY,
        "apiReads": PROSE,  # the upstream webhook's reads; ours are cached
        "logReason": PROSE,
    },
}


def format_of(vector: Json) -> Format:
    """The keys of a case."""
    del vector
    return _FORMAT


def settings(flags: Json) -> schema.Settings:
    """Settings from the flags of a case; ``mode`` is ours and strict where a case does not say."""
    given = {name: _text(value) for name, value in flags.items() if name not in ("mode", "settings")}
    known = {flag.name for flag in cwii_flags.CWII}
    unknown = set(given) - known
    if unknown:
        raise AssertionError(f"case sets unknown flags {sorted(unknown)}")
    data = cwii_flags.merged({"mode": flags.get("mode", "strict")}, cwii_flags.overrides(given, {}))
    return schema.parse(cwii_flags.merged(data, flags.get("settings", {})), "vector")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    expect = vector["expect"]
    expected = settings(vector.get("config", {}))
    objects = [vector.get("namespace"), vector.get("serviceAccount"), *vector.get("owners", [])]
    cluster = case.cluster_of(objects, vector.get("faults"))
    pod = vector["pod"]
    answer = case.ask(pod, cluster, expected, dry_run=vector.get("dryRun", False))
    problems: list[str] = []

    def same(what: str, got: Any, want: Any) -> None:
        if got != want:
            problems.append(f"{what}: got {got!r}, want {want!r}")

    same("allowed", answer.response["allowed"], expect["allowed"])
    same("outcome", answer.verdict.outcome, expect["outcome"])
    if "status" in expect and expected.mode == "strict":
        same("status", answer.response.get("status"), expect["status"])
    if "patchOps" in expect:
        same("patchOps", answer.operations, expect["patchOps"])
    if "mutatedPod" in expect:
        same("mutatedPod", answer.pod, expect["mutatedPod"])
    if "warnings" in expect:
        same("warnings", answer.response.get("warnings", []), expect["warnings"])
    if "message" in expect:
        same("message", answer.response.get("status", {}).get("message"), expect["message"])
    if "injectionsCounted" in expect and answer.verdict.outcome == "inject":  # a refusal injects nothing
        same("injectionsCounted", list(answer.verdict.providers), expect["injectionsCounted"])
    if answer.response["allowed"]:
        for key, found in _added(pod, answer).items():
            same(key, found, expect.get(key, found))
    same("configMapsApplied", answer.applied, expect.get("configMapsApplied", []))
    if answer.response["allowed"]:
        problems += _second_pass(answer.pod, cluster, expected)
    problems += _offline(vector, objects, expected, answer)
    return problems


def _added(before: Json, answer: case.Answer) -> Json:
    """What the patch adds, by part and in the words of a case; an annotation counts when it is written."""
    after, injected = answer.pod, answer.verdict.outcome == "inject"
    containers: Json = {}
    for field in ("containers", "initContainers"):
        old = {one["name"]: one for one in before["spec"].get(field) or ()}
        for one in after["spec"].get(field) or ():
            if one["name"] in old and injected and (field == "containers" or one != old[one["name"]]):
                containers[one["name"]] = {
                    f"{part}Added": _new(old[one["name"]].get(part), one.get(part))
                    for part in ("volumeMounts", "env")
                }
    annotations: Json = {}
    for operation in answer.operations:
        *parents, last = pointer.tokens(operation["path"])
        if parents == ["metadata", "annotations"]:
            annotations[last] = operation["value"]
        elif [*parents, last] == ["metadata", "annotations"]:
            annotations |= operation["value"]
    names = {one["name"] for one in before["spec"].get("initContainers") or ()}
    return {
        "volumesAdded": _new(before["spec"].get("volumes"), after["spec"].get("volumes")),
        "initContainersAdded": [
            one for one in after["spec"].get("initContainers") or () if one["name"] not in names
        ],
        "containers": containers,
        "annotationsAdded": annotations,
    }


def _new(before: list[Json] | None, after: list[Json] | None) -> list[Json]:
    return [one for one in after or () if one not in (before or ())]


def _second_pass(mutated: Json, cluster: Any, wanted: schema.Settings) -> list[str]:
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
    vector: Json, objects: list[Json | None], wanted: schema.Settings, answer: case.Answer
) -> list[str]:
    """The offline path gives the same pod; a case with a fault has no offline counterpart."""
    if vector.get("faults"):
        return []
    from tests.vectors import offline

    return offline.compare(vector["pod"], [obj for obj in objects if obj], wanted, answer)
