"""The three steps, in order: runtime class, annotations and labels, resources.

Pure: a pod, its namespace's labels and the world in; what to add, what to say, or why not, out. The first who
writes a key keeps it: the pod itself, then rules, then sizes, then the KataConfig. What cannot be done as
configured follows the KataConfig's failure policy, and only pods that need it are hit.

The API server asks twice about most pods, and the policy may change in between. So a pod is marked with the
policy it was begun with, and finished with that one; where only another replica knows it, nothing is added
but what a tenant could not have declined either.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from vestibule.core.kinds import kata, vocabulary
from vestibule.core.mutation.sandbox import kata_annotations, origins, peers, runtimeclass
from vestibule.core.mutation.sandbox.draft import Draft
from vestibule.core.mutation.sandbox.origins import Said
from vestibule.core.mutation.sandbox.outcome import Refused, Sandbox
from vestibule.core.mutation.sandbox.world import World

Json = Mapping[str, Any]


def decide(
    pod: Json,
    namespace: str,
    namespace_labels: Mapping[str, str],
    found: World,
    *,
    of_daemon_set: bool | None = None,
) -> Sandbox:
    """What this pod gets. ``of_daemon_set``: whether a DaemonSet that exists controls it; None: its owner
    references are believed, since nobody looked."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    existing = meta.get("annotations") or {}
    current = found  # a mark is what the pod's author may write: it chooses no weaker enforcement
    found = found.of(existing.get(vocabulary.SANDBOX))
    if not (found.active or current.active) or found.excluded(namespace):
        return Sandbox()
    try:
        if vocabulary.MIRROR_POD in existing or (spec.get("os") or {}).get("name") == "windows":
            draft = Draft(meta, spec, namespace, namespace_labels, found, current=current)
            kata_annotations.pin(draft, str(spec.get("runtimeClassName") or ""))
            return Sandbox()
        return _decided(
            Draft(
                meta,
                spec,
                namespace,
                namespace_labels,
                found,
                of_daemon_set=of_daemon_set,
                current=current,
            )
        )
    except Refused as refused:
        return Sandbox(refusal=refused.told)


def enforced(pod: Json, namespace: str, namespace_labels: Mapping[str, str], found: World) -> str:
    """What a pod has that its namespace does not allow, whoever put it there and when; empty: nothing."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    draft = Draft(meta, spec, namespace, namespace_labels, found)
    current = str(spec.get("runtimeClassName") or "")
    try:
        kata_annotations.pin(draft, current)
        kata_annotations.enforce(draft, current)
    except Refused as refused:
        return refused.told.text
    return ", ".join(f"{key} is not the administrator's" for key in draft.added)


def _decided(draft: Draft) -> Sandbox:
    had = str(draft.spec.get("runtimeClassName") or "")
    chosen = "" if had else runtimeclass.choose(draft)
    current = had or chosen
    kata_annotations.pin(draft, current)
    if current not in draft.world.kata_classes:
        return Sandbox(told=tuple(draft.told))
    if draft.world.several:
        draft.tell("MultipleKataConfigs", "there are several KataConfigs; the oldest one counts")
    if had:
        runtimeclass.keep(draft, had)
    if not draft.begun_elsewhere:
        kata_annotations.by_rules(draft, current)
    resources, drops = _sizes(draft, current)
    kata_annotations.by_config(draft, current)
    enforced = kata_annotations.enforce(draft, current)
    kata_annotations.drop_disabled(draft, current)
    if chosen or draft.added or draft.added_labels or resources or drops:
        _mark(draft)
    kata_annotations.check_length(draft, enforced=enforced)
    told = tuple(dict.fromkeys(draft.told))
    said = functools.partial(_origins, draft, current, sized=bool(resources or drops))
    return Sandbox(chosen, draft.added, draft.added_labels, resources, drops, told, origins=said)


def _sizes(draft: Draft, current: str) -> tuple[Mapping[str, tuple[Json, ...]], bool]:
    if not draft.world.peer_pods or current != kata.REMOTE:
        return {}, False
    found = peers.resized(draft.spec, draft.existing, frozenset(draft.added), draft.world)
    for key, value in found.annotations.items():
        draft.put(key, value, origins.SIZES, always=key in found.ours)
    return found.resources, "resources" in draft.spec


def _origins(draft: Draft, current: str, *, sized: bool) -> tuple[Said, ...]:
    resources = Said(origins.RESOURCES, "Zero" if draft.world.zeroes else "Strip", draft.config)
    return (
        *draft.class_claims.settled({}, {origins.RUNTIME_CLASS: current}),
        *draft.claims.settled(draft.existing, draft.added),
        *draft.label_claims.settled(draft.labels, draft.added_labels),
        *([resources] if sized else []),
    )


def _mark(draft: Draft) -> None:
    """The original's pods carry no mark."""
    if not draft.world.strict and not draft.begun_elsewhere:
        draft.put(vocabulary.SANDBOX, draft.world.digest, draft.config, always=True)
