"""The sandbox stage: after the identity stage, over the pod as that left it, so that both are one patch.

Pods that no rule and no class can concern are recognised from two fields of the decoded review; more is
decoded only of the others.
"""

from __future__ import annotations

import functools
from typing import Final

import msgspec

from vestibule.admission import verdict as verdicts
from vestibule.admission.patch import Patch
from vestibule.admission.review import AdmissionRequest
from vestibule.api.settings.podlimits import DEFAULT_CAPS, PodLimits
from vestibule.injection.facts import Facts
from vestibule.injection.sandbox import decision, patch, podview
from vestibule.injection.sandbox.origins import ValueSource
from vestibule.injection.sandbox.result import SandboxResult
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

_FORBIDDEN: Final = 403
_INVALID: Final = 422


def run(
    verdict: verdicts.Verdict,
    request: AdmissionRequest,
    body: bytes,
    facts: Facts,
    found: SandboxPolicy,
    *,
    report: bool,
    caps: PodLimits = DEFAULT_CAPS,
) -> verdicts.Verdict:
    """The verdict with the sandbox in it."""
    pod = request.object
    if pod is None or verdict.outcome == "deny" or request.operation != "CREATE" or request.sub_resource:
        return verdict
    name = pod.spec.runtime_class_name
    namespace = facts.namespace
    unclear = found.refusal(namespace) if not found.excluded(namespace) else ""
    if unclear:
        return verdicts.refused(unclear, code=_FORBIDDEN, reason="sandbox", levels=facts.levels)
    unconcerned = name not in found.kata_classes if name else not found.gives_classes
    if (unconcerned and not found.enforces(namespace)) or found.excluded(namespace):
        return verdict
    parts = podview.of(body, verdict.patch)
    who = f"Pod {facts.namespace}/{pod.metadata.name or pod.metadata.generate_name or ''}"
    spec = parts.get("spec") or {}
    count = sum(len(spec.get(field) or ()) for field in ("containers", "initContainers"))
    if count > caps.containers:
        text = f"{who}: spec.containers is '{count} containers', want at most {caps.containers}"
        return _over(f"{text} (podLimits.containers)", facts)
    labels = next((dict(level.labels.items()) for level in facts.levels if level.kind == "Namespace"), {})
    sandbox = decision.decide(parts, namespace, labels, found, of_daemon_set=_of_daemon_set(facts, found))
    if sandbox.refusal is not None:
        return verdicts.refused(
            f"{who}: {sandbox.refusal.text} ({sandbox.refusal.code})",
            code=_FORBIDDEN,
            reason="sandbox",
            levels=facts.levels,
            origins=verdict.origins,
            missing=verdict.missing,
        )
    findings = (
        [verdicts.Finding("warn", f"{who}: {one.text}", who) for one in sandbox.notes] if report else []
    )
    after = msgspec.structs.replace(
        verdict,
        findings=(*verdict.findings, *findings),
        levels=verdict.levels or facts.levels,
        besides=functools.partial(_values, sandbox, who),
    )
    operations = patch.operations(parts, sandbox)
    if not operations:
        return after
    ours = msgspec.json.encode(operations)
    joined = verdict.patch[:-1] + b"," + ours[1:] if verdict.patch else ours
    if len(joined) > caps.patch_bytes:
        text = f"{who}: the patch is '{len(joined)} bytes', want at most {caps.patch_bytes}"
        return _over(f"{text} (podLimits.patchBytes)", facts)
    return msgspec.structs.replace(after, outcome="inject", sent=Patch(joined), reason="")


def _over(text: str, facts: Facts) -> verdicts.Verdict:
    return verdicts.refused(text, code=_INVALID, reason="invalid", levels=facts.levels)


def _of_daemon_set(facts: Facts, found: SandboxPolicy) -> bool | None:
    """Whether the walk to the owners met a DaemonSet that exists and has the uid that the pod names; a
    reference alone is what the pod's author wrote. The upstream webhook believes it."""
    return None if found.strict else any(level.kind == "DaemonSet" for level in facts.levels)


def _values(sandbox: SandboxResult, who: str) -> tuple[verdicts.ResolvedValue, ...]:
    """The sources of the sandbox's values, with readable names."""

    def name(place: ValueSource) -> str:
        return ", ".join(filter(None, (who, place.name))) if place.level == "pod" else place.name

    return tuple(
        verdicts.ResolvedValue(
            one.key,
            one.value,
            one.place.level,
            name(one.place),
            tuple((name(place), value) for place, value in one.shadowed),
        )
        for one in sandbox.origins()
    )
