"""The azwi family: flags and variables as the original's process takes them, then the case through the
handler, offline, and both a second time.

``mode`` and ``settings`` in a case's config are ours; without them a case is for ``strict``. So are
``owners``, objects that stand around the pod.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from tests.vectors import case, offline, words
from tests.vectors.formats import ANY, PROSE, Format
from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.api.settings import schema
from vestibule.compat import azwi_flags, cwii_flags, goflags
from vestibule.httpserver.server import HttpRequest, HttpResponse
from vestibule.injection.facts import SourceObject
from vestibule.kube.memory_cluster import MemoryCluster

Json = dict[str, Any]
_TRANSPORT: Format = {"http_status": ANY, "allowed": ANY, "code": ANY, "message_contains": ANY}
_ECHO = {"response_apiVersion": ANY, "response_uid": ANY, "patchType": ANY}
_POD = {
    "allowed": ANY,
    "code": ANY,
    "final_pod": ANY,
    "expect_no_patch": ANY,
    "no_remove_ops": ANY,
    "upstream_result": PROSE,
    **words.FORMAT,
}


def format_of(vector: Json) -> Format:
    """The keys of a case; what it can expect depends on how far its request comes."""
    request, expect = vector.get("request") or {}, vector.get("expect") or {}
    wished: Format = {**_POD, **(_ECHO if request else {})}
    if "startup_error_contains" in expect:
        wished = {"startup_error_contains": ANY}
    elif "body" in request or not isinstance(vector.get("pod"), dict):
        wished = _TRANSPORT
    sent: Format = {"contentType": ANY, "body": ANY} if "body" in request else {"apiVersion": ANY, "uid": ANY}
    config = ("profile", "env", "flags", "kubernetesVersion", "saLookup", "mode", "settings")
    return {
        **dict.fromkeys(("name", "serviceAccount", "namespace", "pod", "owners"), ANY),
        **dict.fromkeys(("source", "verified", "note", "better", "upstream_diverges"), PROSE),
        "config": dict.fromkeys(config, ANY),
        "request": sent,
        "expect": wished,
    }


def settings(given: Json) -> schema.Settings:
    """Settings from the command line and environment of a case; raises InvalidSettings as a start would."""
    arguments = [f"--{name}={value}" for name, value in given["flags"].items()]
    meaning = azwi_flags.settings(goflags.parse(azwi_flags.FLAGS, arguments), given["env"])
    data = cwii_flags.merged(meaning.under, meaning.over)
    profile = {
        "layout": given["profile"].removeprefix("azwi-"),
        "kubernetesVersion": given["kubernetesVersion"],
    }
    data = cwii_flags.merged(data, {"mode": given.get("mode", "strict"), "azwi": profile})
    return schema.parse(cwii_flags.merged(data, given.get("settings", {})), "vector")


class Unreadable(MemoryCluster):
    """A cluster that knows nothing by heart and, where a reason is given, fails to tell."""

    def __init__(self, objects: list[Json], reason: str) -> None:
        super().__init__(objects)
        self._reason = reason

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> Any:
        from vestibule.kube.ports import UNKNOWN

        return UNKNOWN

    async def get(self, kind: Kind, namespace: str, name: str) -> SourceObject | None:
        if self._reason:
            raise errors.LookupFailed(f"{kind.kind} {namespace}/{name}", self._reason)
        return await super().get(kind, namespace, name)


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    expect = vector["expect"]
    if "startup_error_contains" in expect:
        return _start(vector)
    expected = settings(vector["config"])
    request = vector.get("request", {})
    if "body" in request:
        return _transport(request, expected, expect)
    objects = [
        {**obj, "kind": kind, "apiVersion": "v1"}
        for kind in ("Namespace", "ServiceAccount")
        if (obj := vector[kind[0].lower() + kind[1:]])
    ] + vector.get("owners", [])
    lookup = vector["config"].get("saLookup", "cache")
    cluster: MemoryCluster = MemoryCluster(objects)
    if lookup != "cache":
        cluster = Unreadable(objects, lookup.removeprefix("error:") if lookup.startswith("error:") else "")
    if not isinstance(vector["pod"], dict):
        return _transport({"body": case.review(vector["pod"], namespace="ns1").decode()}, expected, expect)
    pod = {"apiVersion": "v1", "kind": "Pod", **vector["pod"]}
    answer = case.ask(pod, cluster, expected, namespace="ns1")
    problems = _compare(answer, expect, vector)
    if request:
        problems += _echo(vector["pod"], cluster, expected, request, expect)
    if answer.response["allowed"] and not expect.get("upstream_result"):
        again = case.ask(copy.deepcopy(answer.pod), cluster, expected, namespace="ns1")
        if again.operations:
            problems.append(f"second pass: {again.operations}")
    if lookup in ("cache", "api") and not expect.get("upstream_result"):
        if "namespace" not in pod["metadata"]:  # a file says it elsewhere, so it is not written into it
            answer.pod["metadata"].pop("namespace", None)
        problems += offline.compare(pod, objects, expected, answer, "ns1")
    return problems


def _compare(answer: case.Answer, expect: Json, vector: Json) -> list[str]:
    problems: list[str] = []

    def same(what: str, got: Any, want: Any) -> None:
        if got != want:
            problems.append(f"{what}: got {got!r}, want {want!r}")

    same("allowed", answer.response["allowed"], expect["allowed"])
    status = answer.response.get("status", {})
    if not expect["allowed"]:
        same("code", status.get("code"), expect["code"])
    if "final_pod" in expect:
        same("final_pod", answer.pod, {"apiVersion": "v1", "kind": "Pod", **expect["final_pod"]})
    if expect.get("expect_no_patch"):
        same("patch", answer.operations, [])
    if expect.get("no_remove_ops"):
        same("remove operations", [op for op in answer.operations if op["op"] == "remove"], [])
    if vector["config"].get("mode", "strict") == "strict":
        same("warnings", answer.response.get("warnings", []), [])
    return problems + words.compare(answer, expect, vector["pod"])


def _start(vector: Json) -> list[str]:
    try:
        settings(vector["config"])
    except errors.InvalidSettings as error:
        expected = vector["expect"]["startup_error_contains"]
        return [] if expected in str(error) else [f"start: got {error}, want {expected!r} in it"]
    return ["start: no error"]


def _transport(request: Json, wanted: schema.Settings, expect: Json) -> list[str]:
    handler, _ = case.handler_of(MemoryCluster(), wanted)
    sent = HttpRequest(
        "POST",
        "/mutate-v1-pod",
        "",
        request["body"].encode(),
        request.get("contentType", "application/json"),
        0.0,
    )
    answer = handler(sent)
    assert isinstance(answer, HttpResponse)
    body = json.loads(answer.body)["response"]
    problems = []
    if answer.status != expect.get("http_status", 200):
        problems.append(f"status {answer.status}")
    if body["allowed"] is not expect["allowed"] or body["status"]["code"] != expect["code"]:
        problems.append(f"answer {body}")
    if "http_status" in expect and expect["message_contains"] not in body["status"]["message"]:
        problems.append(
            f"message {body['status']['message']!r}"
        )  # of a body that is no pod only the meaning counts
    return problems


def _echo(
    pod: Json, cluster: MemoryCluster, wanted: schema.Settings, request: Json, expect: Json
) -> list[str]:
    handler, _ = case.handler_of(cluster, wanted)
    review = json.loads(case.review(pod, namespace="ns1", uid=request["uid"]))
    review["apiVersion"] = request["apiVersion"]
    answer = json.loads(case.post(handler, json.dumps(review).encode()).body)
    got = (answer["apiVersion"], answer["response"]["uid"], answer["response"]["patchType"])
    want = (expect["response_apiVersion"], expect["response_uid"], expect["patchType"])
    return [] if got == want else [f"echo: got {got}, want {want}"]
