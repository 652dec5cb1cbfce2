"""The osc family: sandboxes (twice), validation, the webhook configuration, and initdata.

``mode`` in a case is ours; without it a case is for ``strict``. So is ``asked`` among what is expected: what
is kept on a peer pod for a second pass. The mark of the policy is looked at, and not written down in cases.
"""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

from tests.vectors import case, offline
from tests.vectors.formats import ANY, PROSE, Format
from vestibule import errors
from vestibule.api import annotation_keys, kata
from vestibule.api.settings import schema
from vestibule.initdata import document, lint, measure
from vestibule.initdata.document import InitdataError
from vestibule.injection.policy import compile_policy
from vestibule.injection.sandbox import decision, patch, validation
from vestibule.injection.sandbox.result import SandboxResult
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.policy_sources import PolicySources
from vestibule.manifests import sandbox_webhooks
from vestibule.operator import drift
from vestibule.webhook.handler import Handler

Json = dict[str, Any]
_CASE = {
    **dict.fromkeys(("name", "kind", "kataConfigs", "oscWebhookConfigs", "namespace", "pod"), ANY),
    **dict.fromkeys(("why", "basis", "verified", "requires", "upstreamExpect"), PROSE),
}
_DENIED: Format = {"allowed": ANY, "denyReason": ANY}
_ALLOWED = {
    **dict.fromkeys(("allowed", "changed", "runtimeClassName", "annotations", "labels", "warnings"), ANY),
    **dict.fromkeys(("containers", "initContainers", "untouched", "absent"), ANY),
}
_WEBHOOK = ("failurePolicy", "reinvocationPolicy", "sideEffects", "operations", "resources")
_EXPECTED: dict[str, Format] = {
    "validate": {"valid": ANY, "errors": [{"path": ANY, "code": ANY}]},
    "reconcile": {
        "mutatingWebhookConfiguration": dict.fromkeys(
            (*_WEBHOOK, "present", "matchPolicy", "admissionReviewVersions", "caBundle"), ANY
        ),
        "action": ANY,
    },
    "initdata": dict.fromkeys(
        (
            *("valid", "code", "toml", "digestHex", "digestDiffersFrom", "snpHostDataBase64"),
            *("tdxMrConfigIdBase64", "ccaPersonalizationBase64", "vtpmPcr8Hex", "algorithm", "version"),
            *("keys", "warnings", "roundTrip"),
        ),
        ANY,
    ),
}


def format_of(vector: Json) -> Format:
    """The keys of a case, by its kind."""
    kind, expect = str(vector.get("kind") or ""), vector.get("expect") or {}
    if kind == "reconcile":
        return {**_CASE, "existing": {"failurePolicy": ANY, "caBundle": ANY}, "expect": _EXPECTED[kind]}
    if kind == "initdata":
        given = dict.fromkeys(("annotation", "toml", "files", "algorithm", "version"), ANY)
        refused: Format = {"valid": ANY, "code": ANY}
        return {
            **_CASE,
            "input": given,
            "expect": refused if expect.get("valid") is False else _EXPECTED[kind],
        }
    if kind:
        return {**_CASE, "expect": _EXPECTED.get(kind, {})}
    allowed = {**_ALLOWED, **({"asked": ANY} if vector.get("mode") == "better" else {})}
    more = dict.fromkeys(("mode", "operation", "runtimeProfiles", "runtimeClasses"), ANY)
    return {**_CASE, **more, "expect": allowed if expect.get("allowed") else _DENIED}


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    run = {None: _admission, "validate": _validate, "reconcile": _reconcile, "initdata": _initdata}
    return run[vector.get("kind")](_repeated(vector))


def _repeated(value: Any) -> Any:
    if isinstance(value, dict):
        if "$repeat" in value:
            text, times = value["$repeat"]
            return text * times
        return {key: _repeated(child) for key, child in value.items()}
    return [_repeated(child) for child in value] if isinstance(value, list) else value


def kata_policy(vector: Json) -> SandboxPolicy:
    """The world of a case; profiles stand beside the KataConfigs there."""
    classes = [kata.runtime_class(one) for one in vector.get("runtimeClasses", [])]
    return SandboxPolicy(
        [kata.kata_config(one) for one in _configs(vector)],
        [kata.rule_set(rules) for rules in vector["oscWebhookConfigs"]],
        classes={one.metadata.name: one for one in classes},
        own_namespace="vestibule-system",
        strict=vector.get("mode", "strict") == "strict",
    )


def _admission(vector: Json) -> list[str]:
    expect, pod = vector["expect"], vector["pod"]
    found = kata_policy(vector)
    namespace = vector["namespace"]["metadata"]
    if vector.get("operation", "CREATE") != "CREATE":
        return _not_created(vector)

    def decide(one: Json) -> tuple[SandboxResult, Json]:
        sandbox = decision.decide(one, namespace["name"], namespace.get("labels") or {}, found)
        return sandbox, patch.applied(one, sandbox)

    sandbox, after = decide(pod)
    problems: list[str] = []

    def same(what: str, got: Any, want: Any) -> None:
        if got != want:
            problems.append(f"{what}: got {got!r}, want {want!r}")

    same("allowed", sandbox.refusal is None, expect["allowed"])
    if not expect["allowed"]:
        same("denyReason", sandbox.refusal and sandbox.refusal.code, expect["denyReason"])
        return problems + _processes(vector, None)
    same("changed", after != pod, expect["changed"])
    same("runtimeClassName", after["spec"].get("runtimeClassName"), expect["runtimeClassName"])
    annotations = dict(after["metadata"].get("annotations") or {})
    if not found.strict:
        marked = annotations.pop(annotation_keys.SANDBOX, None)
        same("mark", marked, found.digest if expect["changed"] else None)
        stored = annotations.pop(annotation_keys.ORIGINAL_REQUESTS, None)
        same("asked", None if stored is None else json.loads(stored), expect.get("asked"))
    same("annotations", annotations, expect["annotations"])
    if "labels" in expect:
        same("labels", after["metadata"].get("labels") or {}, expect["labels"])
    same(
        "warnings", sorted({reported.code for reported in sandbox.notes}), sorted(expect.get("warnings", []))
    )
    for field in ("containers", "initContainers"):
        if field in expect:
            same(field, [one.get("resources") or {} for one in after["spec"][field]], expect[field])
    for path in expect.get("untouched", []):
        same(path, _at(after, path), _at(pod, path))
    for path in expect.get("absent", []):
        same(path, _at(after, path), None)
    again, twice = decide(after)
    same("second pass", twice, after)
    same("second pass allowed", again.refusal, None)
    return problems + _processes(vector, after)


def _not_created(vector: Json) -> list[str]:
    """Another operation: no webhook of ours is sent it, and the pod stays as it is."""
    expect, pod = vector["expect"], vector["pod"]
    settings = schema.parse({"mode": vector.get("mode", "strict"), "sandbox": {"enabled": True}}, "vector")
    configuration = sandbox_webhooks.desired(settings, kata_policy(vector)) or {"webhooks": []}
    sent = {
        operation
        for entry in configuration["webhooks"]
        for rule in entry["rules"]
        for operation in rule["operations"]
    }
    got = {
        "allowed": True,
        "changed": vector["operation"] in sent,
        "runtimeClassName": pod["spec"].get("runtimeClassName"),
        "annotations": pod["metadata"].get("annotations") or {},
        "labels": pod["metadata"].get("labels") or {},
        "warnings": [],
    }
    return [
        f"{key}: got {got.get(key)!r}, want {want!r}" for key, want in expect.items() if got.get(key) != want
    ]


def _processes(vector: Json, after: Json | None) -> list[str]:
    """The same pod, or None for a refusal, comes out of the handler, twice, and out of a file, twice."""
    objects = [
        *(
            {**one, "apiVersion": "kataconfiguration.openshift.io/v1", "kind": "KataConfig"}
            for one in _configs(vector)
        ),
        *(
            {**one, "apiVersion": "kataconfiguration.openshift.io/v1alpha1", "kind": "OSCWebhookConfig"}
            for one in vector["oscWebhookConfigs"]
        ),
        *(
            {**one, "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
            for one in vector.get("runtimeClasses", [])
        ),
        {**vector["namespace"], "apiVersion": "v1", "kind": "Namespace"},
    ]
    cluster = MemoryCluster(objects)
    settings = schema.parse({"mode": vector.get("mode", "strict"), "sandbox": {"enabled": True}}, "vector")
    supplements = PolicySources(cluster)
    asyncio.run(supplements.look(settings))
    policy = compile_policy(settings, (), supplements.kata_policy(settings))
    recorder = case.Recorder()
    handler = Handler(lambda: policy, cluster, cluster, cluster, recorder)
    namespace = vector["namespace"]["metadata"]["name"]
    answer = case.through(handler, recorder, vector["pod"], namespace=namespace)
    if after is None:
        message, code = answer.response.get("status", {}).get("message", ""), vector["expect"]["denyReason"]
        return [] if f"({code})" in message else [f"handler: says {message!r}, want ({code}) in it"]
    reported = bool(vector["expect"].get("warnings")) and settings.mode == "better"
    if bool(answer.response.get("warnings")) != reported:
        return [f"handler: warns {answer.response.get('warnings')}"]
    problems = [] if answer.pod == after else [f"handler: got {answer.pod!r}, want {after!r}"]
    if case.through(handler, recorder, answer.pod, namespace=namespace).operations:
        problems.append("handler: a second pass changed the pod")
    return problems + offline.compare(vector["pod"], objects, settings, answer, namespace, policy)


def _configs(vector: Json) -> list[Json]:
    configs: list[Json] = copy.deepcopy(vector["kataConfigs"])
    for one in configs:
        webhook = (one.get("spec") or {}).get("webhook")
        if webhook is not None and vector.get("runtimeProfiles"):
            webhook["runtimeProfiles"] = vector["runtimeProfiles"]
    return configs


def _at(value: Any, path: str) -> Any:
    for step in path.split("/")[1:]:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _validate(vector: Json) -> list[str]:
    wrong: list[Json] = []
    try:
        for given in vector["kataConfigs"]:
            wrong += [
                {"path": one.path, "code": one.code}
                for one in validation.kata_config(kata.kata_config(given))
            ]
        sets = [kata.rule_set(one) for one in vector["oscWebhookConfigs"]]
        for found in validation.rule_sets(sets).values():
            wrong += [{"path": one.path, "code": one.code} for one in found]
    except errors.InvalidInput as error:
        wrong += [{"path": problem.field, "code": "Type"} for problem in error.problems]
    expect = vector["expect"]
    got = {"valid": not wrong, "errors": wrong}
    want = {"valid": expect["valid"], "errors": expect.get("errors", [])}
    return [] if got == want else [f"got {got}, want {want}"]


def _reconcile(vector: Json) -> list[str]:
    expect = vector["expect"]["mutatingWebhookConfiguration"]
    expected = sandbox_webhooks.desired(
        schema.parse({"sandbox": {"enabled": True}}, "vector"), kata_policy(vector)
    )
    existing = vector.get("existing")
    problems = []
    action = _action(expected, existing)
    if vector["expect"].get("action", action) != action:
        problems.append(f"action: got {action}, want {vector['expect']['action']}")
    if not expect["present"]:
        return problems if expected is None else ["a configuration where none is wanted"]
    if expected is None:
        return ["no configuration"]
    for entry in sandbox_webhooks.merged(expected, (existing or {}).get("caBundle", ""))["webhooks"]:
        rule = entry["rules"][0]
        got = {
            "failurePolicy": entry["failurePolicy"],
            "reinvocationPolicy": entry["reinvocationPolicy"],
            "sideEffects": entry["sideEffects"],
            "operations": rule["operations"],
            "resources": rule["resources"],
            "matchPolicy": entry["matchPolicy"],
            "admissionReviewVersions": entry["admissionReviewVersions"],
            "caBundle": entry["clientConfig"].get("caBundle"),
        }
        problems += [
            f"{key}: got {got[key]!r}, want {value!r}"
            for key, value in expect.items()
            if key != "present" and got[key] != value
        ]
    return problems


def _action(wanted: Json | None, existing: Json | None) -> str:
    """What is done about a configuration that differs from the wanted one in what the case says."""
    if wanted is None:
        return "delete" if existing else "none"
    if not existing:
        return "create"
    merged = sandbox_webhooks.merged(wanted, existing.get("caBundle", ""))
    live = copy.deepcopy(merged)
    for entry in live["webhooks"]:
        entry["failurePolicy"] = existing.get("failurePolicy", entry["failurePolicy"])
    return "update" if drift.first(merged, live) else "none"


def _initdata(vector: Json) -> list[str]:
    given, expect = vector["input"], vector["expect"]
    try:
        if "annotation" in given:
            found = document.decode(given["annotation"])
        elif "toml" in given:
            found = document.parse(given["toml"])
        else:
            found = document.build(given["files"], given["algorithm"])
    except InitdataError as error:
        return [] if expect.get("code") == error.code and not expect["valid"] else [f"{error.code}: {error}"]
    if expect.get("valid") is False:
        return [f"valid, want {expect['code']}"]
    if found.version != given.get("version", found.version):
        return [f"version: got {found.version}, want {given['version']}"]
    measured = measure.measured(found)
    got = {
        "valid": True,
        "toml": found.text,
        "digestHex": measured.digest,
        "snpHostDataBase64": measured.snp_host_data,
        "tdxMrConfigIdBase64": measured.tdx_mr_config_id,
        "ccaPersonalizationBase64": measured.cca_personalization,
        "vtpmPcr8Hex": measured.vtpm_pcr8,
        "algorithm": found.algorithm,
        "version": found.version,
        "keys": sorted(found.data),
        "warnings": [one.code for one in lint.warnings(found) if one.code != "DigestCut"],
        "roundTrip": document.decode(document.encode(found.text)) == found,
    }
    problems = [
        f"{key}: got {got[key]!r}, want {want!r}"
        for key, want in expect.items()
        if key != "digestDiffersFrom" and got[key] != want
    ]
    if expect.get("digestDiffersFrom") == measured.digest:
        problems.append("the digest does not differ")
    return problems
