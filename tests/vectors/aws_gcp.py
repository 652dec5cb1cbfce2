"""The aws_gcp family: the EKS and GCP webhooks. Upstream cases run in ``strict``, improvements in ``better``,
through the handler and offline, each twice."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from tests.vectors import case, offline, words
from tests.vectors.formats import ANY, PROSE, Each, Format
from vestibule.admission import pointer
from vestibule.api.settings import schema
from vestibule.compat import cwii_flags
from vestibule.kube.memory_cluster import MemoryCluster

Json = dict[str, Any]
_EKS = {
    "annotationPrefix": "annotationPrefix",
    "tokenAudience": "tokenAudience",
    "tokenMountPath": "tokenMountPath",
    "tokenExpiration": "tokenExpiration",
    "awsDefaultRegion": "awsDefaultRegion",
    "stsRegionalEndpoint": "stsRegionalEndpoint",
    "configMap": "mapping",
    "containerCredentials": "containerCredentials",
}
_WIF = {
    "annotationPrefix": "annotationPrefix",
    "tokenAudience": "tokenAudience",
    "tokenExpirationSeconds": "tokenExpirationSeconds",
    "gcpDefaultRegion": "defaultRegion",
    "gcloudImage": "gcloudImage",
    "tokenDefaultMode": "tokenDefaultMode",
    "setupContainerResources": "setupResources",
}
_DENIED = {
    "allowed": ANY,
    "mutated": ANY,
    "code": ANY,
    "reason": PROSE,
    "message_contains": ANY,
    "warnings_contain": ANY,
}
_ALLOWED = {
    **dict.fromkeys(("allowed", "mutated", "pod", "ignore", "token", "mustKeep", "patchMustNotTouch"), ANY),
    **dict.fromkeys(("warningsAtLeast", "oneOf", "noDuplicateMountPaths", "untouchedContainers"), ANY),
    "jitter": {"field": ANY, "min": ANY, "max": ANY, "shown": ANY},
    "env": Each(ANY),
    "envAbsent": Each(ANY),
    "upstreamPatchOps": PROSE,
    **words.FORMAT,
}


def format_of(vector: Json) -> Format:
    """The keys of a case."""
    fields = _EKS if vector.get("webhook") == "eks" else _WIF
    config = dict.fromkeys((*fields, "mode", "settings"), ANY)
    return {
        **dict.fromkeys(("name", "webhook", "kind", "serviceAccount", "pod", "objects"), ANY),
        **dict.fromkeys(
            ("source", "verified", "note", "upstreamBehaviour", "upstreamBehaviourVerified"), PROSE
        ),
        "config": {**config, "composeRoleArn": {"accountId": ANY, "partition": ANY}},
        "expect": _ALLOWED if (vector.get("expect") or {}).get("allowed") else _DENIED,
    }


def settings(vector: Json) -> schema.Settings:
    """Settings from the flags of a case; ``mode`` and ``settings`` are ours."""
    given = dict(vector["config"])
    name, fields = ("eks", _EKS) if vector["webhook"] == "eks" else ("wif", _WIF)
    mode = given.pop("mode", "strict" if vector["kind"] == "upstream" else "better")
    ours = given.pop("settings", {})
    section: Json = {}
    compose = given.pop("composeRoleArn", None)
    if compose:
        section |= {"accountId": compose["accountId"], "partition": compose["partition"]}
    unknown = set(given) - set(fields)
    if unknown:
        raise AssertionError(f"case sets unknown flags {sorted(unknown)}")
    section |= {fields[key]: value for key, value in given.items()}
    data = {"mode": mode, "vocabularies": [name], name: section}
    return schema.parse(cwii_flags.merged(data, ours), "vector")


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    expect, pod = vector["expect"], vector["pod"]
    expected = settings(vector)
    namespace = pod["metadata"]["namespace"]
    objects = [vector["serviceAccount"]] if vector["serviceAccount"] else []
    objects += vector.get("objects", [])
    cluster = MemoryCluster(objects)
    answer = case.ask(pod, cluster, expected, namespace=namespace)
    problems = _compare(answer, expect, pod)
    if answer.response["allowed"]:
        again = case.ask(copy.deepcopy(answer.pod), cluster, expected, namespace=namespace)
        if again.operations:
            problems.append(f"second pass: {again.operations}")
    return problems + offline.compare(pod, objects, expected, answer, namespace)


def _compare(answer: case.Answer, expect: Json, pod: Json) -> list[str]:
    problems: list[str] = []

    def same(what: str, got: Any, want: Any) -> None:
        if got != want:
            problems.append(f"{what}: got {got!r}, want {want!r}")

    same("allowed", answer.response["allowed"], expect["allowed"])
    problems += words.compare(answer, expect, pod)
    if "mutated" in expect:
        same("mutated", bool(answer.operations), expect["mutated"])
    if not expect["allowed"]:
        same("code", answer.response["status"].get("code"), expect["code"])
        if not answer.response["status"].get("message"):
            problems.append(f"the refusal gives no reason, want: {expect.get('reason')}")
        return problems
    if "pod" in expect:
        got, want = _cleaned(answer.pod), _cleaned(expect["pod"])
        if "jitter" in expect:
            problems += _jitter(got, want, expect["jitter"])
        for path in expect.get("ignore", []):
            _drop(got, path)
            _drop(want, path)
        same("pod", got, want)
    problems += _matchers(answer, expect, pod)
    return problems


def _matchers(answer: case.Answer, expect: Json, pod: Json) -> list[str]:
    """The looser words of the improvements."""
    problems: list[str] = []
    containers = {one["name"]: one for one in answer.pod["spec"]["containers"]}
    for name, expected in expect.get("env", {}).items():
        env = {one["name"]: one.get("value") for one in containers[name].get("env", [])}
        for variable, value in expected.items():
            want = _meant(value, env, containers[name], answer.pod)
            if env.get(variable) != want:
                problems.append(f"{variable} in {name}: got {env.get(variable)!r}, want {want!r}")
    for name, variables in expect.get("envAbsent", {}).items():
        existing = {one["name"] for one in containers[name].get("env", [])} & set(variables)
        if existing:
            problems.append(f"{name} has {sorted(existing)}")
    if len(answer.response.get("warnings", [])) < expect.get("warningsAtLeast", 0):
        problems.append(f"warnings: {answer.response.get('warnings')}")
    if "oneOf" in expect and not any(_OUTCOMES[text](answer, pod) for text in expect["oneOf"]):
        problems.append(f"want one of {expect['oneOf']}: {answer.operations}")
    for path in expect.get("patchMustNotTouch", []):
        touched = [one["path"] for one in answer.operations if f"{one['path']}/".startswith(f"{path}/")]
        if touched or _at(answer.pod, path) != _at(pod, path):
            problems.append(f"{path} is touched: {touched}")
    if expect.get("noDuplicateMountPaths"):
        for name, one in containers.items():
            paths = [mount["mountPath"] for mount in one.get("volumeMounts", [])]
            if len(set(paths)) != len(paths):
                problems.append(f"{name} mounts twice at one path: {paths}")
    for name in expect.get("untouchedContainers", []):
        before = next(one for one in pod["spec"]["containers"] if one["name"] == name)
        if containers[name] != before:
            problems.append(f"{name} was touched: {containers[name]}")
    for path in expect.get("mustKeep", []):
        if _at(answer.pod, path) != _at(pod, path):
            problems.append(f"{path} was lost")
    if "token" in expect:
        sources = [v["projected"]["sources"][0] for v in answer.pod["spec"]["volumes"] if "projected" in v]
        token = sources[0]["serviceAccountToken"]
        if {key: token.get(key) for key in expect["token"]} != expect["token"]:
            problems.append(f"token: {token}")
    return problems


def _renamed(answer: case.Answer, pod: Json) -> bool:
    """Whether a token volume was added, and nothing of the volumes that were there is used for it."""
    before = {one["name"] for one in pod["spec"].get("volumes", [])}
    added = [one["name"] for one in answer.pod["spec"]["volumes"] if one["name"] not in before]
    mounted = {
        mount["name"] for one in answer.pod["spec"]["containers"] for mount in one.get("volumeMounts", [])
    }
    return bool(added) and set(added) <= mounted and not (mounted & before)


_OUTCOMES: Mapping[str, Callable[[case.Answer, Json], bool]] = {
    "not mutated": lambda answer, _: not answer.operations,
    "token volume added under another name": _renamed,
}
"""The ways in which a case may end, by its own words."""


def _meant(value: str, env: Mapping[str, str | None], container: Json, pod: Json) -> str | None:
    if value == "<same file as GOOGLE_APPLICATION_CREDENTIALS>":
        return env["GOOGLE_APPLICATION_CREDENTIALS"]
    if value == "<writable emptyDir mount>":
        scratch = {volume["name"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume}
        return next(
            (
                str(mount["mountPath"])
                for mount in container["volumeMounts"]
                if mount["name"] in scratch and not mount.get("readOnly")
            ),
            "a writable emptyDir",
        )
    return value


def _jitter(got: Json, want: Json, jitter: Json) -> list[str]:
    problems = []
    if jitter["field"] != "serviceAccountToken.expirationSeconds":
        problems.append(f"the runner knows no jitter of {jitter['field']}")
    for ours, theirs in zip(got["spec"]["volumes"], want["spec"]["volumes"], strict=True):
        if "projected" in ours and "projected" in theirs:
            token = ours["projected"]["sources"][0]["serviceAccountToken"]
            seconds = token["expirationSeconds"]
            if not jitter["min"] <= seconds <= jitter["max"]:
                problems.append(f"expiration {seconds} outside {jitter['min']} to {jitter['max']}")
            shown = theirs["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"]
            if shown != jitter["shown"]:
                problems.append(f"the case shows {shown} in its pod and {jitter['shown']} beside it")
            token["expirationSeconds"] = shown
    return problems


def _cleaned(value: Any) -> Any:
    """Without nulls and empty resources, which the originals' encoders add."""
    if isinstance(value, dict):
        return {
            key: _cleaned(child)
            for key, child in value.items()
            if child is not None and not (key in ("resources", "status") and child == {})
        }
    return [_cleaned(child) for child in value] if isinstance(value, list) else value


def _at(document: Any, path: str) -> Any:
    for token in pointer.tokens(path):
        document = document[int(token)] if isinstance(document, list) else document[token]
    return document


def _drop(document: Any, path: str) -> None:
    *parents, last = pointer.tokens(path)
    for token in parents:
        document = document[int(token)] if isinstance(document, list) else document[token]
    document.pop(last, None)
