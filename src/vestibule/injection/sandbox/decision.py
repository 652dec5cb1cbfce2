"""The three steps, in order: runtime class, annotations and labels, resources.

Pure: a pod, its namespace's labels and the policy in; what to add, what to say, or why not, out. The first
who writes a key keeps it: the pod itself, then rules, then sizes, then the KataConfig. What cannot be done as
configured follows the KataConfig's failure policy, and only pods that need it are hit.

The API server asks twice about most pods, and the policy may change in between. So a pod is marked with the
policy it was begun with, and finished with that one; where only another replica knows it, nothing is added
but what a tenant could not have declined either.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from vestibule.api import annotation_keys, kata
from vestibule.injection.sandbox import kata_annotations, origins, peerpods, runtimeclass
from vestibule.injection.sandbox.draft import SandboxDraft
from vestibule.injection.sandbox.origins import ResolvedKey
from vestibule.injection.sandbox.result import SandboxRefused, SandboxResult
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Json = Mapping[str, Any]


def decide(
    pod: Json,
    namespace: str,
    namespace_labels: Mapping[str, str],
    found: SandboxPolicy,
    *,
    of_daemon_set: bool | None = None,
) -> SandboxResult:
    """What this pod gets. ``of_daemon_set``: whether a DaemonSet that exists controls it; None: unknown,
    and its owner references decide."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    existing = meta.get("annotations") or {}
    current = found  # a mark is what the pod's author may write: it chooses no weaker enforcement
    found = found.of(existing.get(annotation_keys.SANDBOX))
    if not (found.active or current.active) or found.excluded(namespace):
        return SandboxResult()
    try:
        if annotation_keys.MIRROR_POD in existing or (spec.get("os") or {}).get("name") == "windows":
            draft = SandboxDraft(meta, spec, namespace, namespace_labels, found, current=current)
            had = str(spec.get("runtimeClassName") or "")
            kata_annotations.pin(draft, had)
            return _only_enforced(draft, had)
        return _decided(
            SandboxDraft(
                meta,
                spec,
                namespace,
                namespace_labels,
                found,
                of_daemon_set=of_daemon_set,
                current=current,
            )
        )
    except SandboxRefused as refused:
        return SandboxResult(refusal=refused.note)


def enforced(pod: Json, namespace: str, namespace_labels: Mapping[str, str], found: SandboxPolicy) -> str:
    """What a pod has that its namespace does not allow, whatever its origin; empty: nothing."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    draft = SandboxDraft(meta, spec, namespace, namespace_labels, found)
    current = str(spec.get("runtimeClassName") or "")
    try:
        kata_annotations.pin(draft, current)
        kata_annotations.enforce(draft, current)
    except SandboxRefused as refused:
        return refused.note.text
    return ", ".join(f"{key} is not the administrator's" for key in draft.added)


def _decided(draft: SandboxDraft) -> SandboxResult:
    had = str(draft.spec.get("runtimeClassName") or "")
    chosen = "" if had else runtimeclass.choose(draft)
    current = had or chosen
    kata_annotations.pin(draft, current)
    if current not in draft.kata_policy.kata_classes:
        return _only_enforced(draft, current)
    if draft.kata_policy.several:
        draft.warn("MultipleKataConfigs", "there are several KataConfigs; the oldest one counts")
    if had:
        runtimeclass.keep_existing(draft, had)
    if not draft.begun_elsewhere:
        kata_annotations.by_rules(draft, current)
    resources, drops = _sizes(draft, current)
    kata_annotations.by_config(draft, current)
    enforced = kata_annotations.enforce(draft, current)
    kata_annotations.drop_disabled(draft, current)
    if chosen or draft.added or draft.added_labels or resources or drops:
        _mark(draft)
    kata_annotations.check_length(draft, enforced=enforced)
    notes = tuple(dict.fromkeys(draft.notes))
    sources = functools.partial(_origins, draft, current, sized=bool(resources or drops))
    return SandboxResult(chosen, draft.added, draft.added_labels, resources, drops, notes, origins=sources)


def _only_enforced(draft: SandboxDraft, current: str) -> SandboxResult:
    """What a pod gets whose class no KataConfig lists yet: nothing but what its namespace enforces. The list
    is written by another operator, late or never."""
    enforced = kata_annotations.enforce(draft, current)
    kata_annotations.check_length(draft, enforced=enforced)
    return SandboxResult(annotations=draft.added, notes=tuple(dict.fromkeys(draft.notes)))


def _sizes(draft: SandboxDraft, current: str) -> tuple[Mapping[str, tuple[Json, ...]], bool]:
    if not draft.kata_policy.peer_pods or current != kata.REMOTE:
        return {}, False
    found = peerpods.resized(draft.spec, draft.existing, frozenset(draft.added), draft.kata_policy)
    for key, value in found.annotations.items():
        draft.put(key, value, origins.SIZES, always=key in found.ours)
    return found.resources, "resources" in draft.spec


def _origins(draft: SandboxDraft, current: str, *, sized: bool) -> tuple[ResolvedKey, ...]:
    resources = ResolvedKey(origins.RESOURCES, "Zero" if draft.kata_policy.zeroes else "Strip", draft.config)
    return (
        *draft.class_claims.settled({}, {origins.RUNTIME_CLASS: current}),
        *draft.claims.settled(draft.existing, draft.added),
        *draft.label_claims.settled(draft.labels, draft.added_labels),
        *([resources] if sized else []),
    )


def _mark(draft: SandboxDraft) -> None:
    """Pods of the upstream webhook have no marker."""
    if not draft.kata_policy.strict and not draft.begun_elsewhere:
        draft.put(annotation_keys.SANDBOX, draft.kata_policy.digest, draft.config, always=True)
