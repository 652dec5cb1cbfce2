"""The second step: annotations and labels, from rules and from the KataConfig, and what may stay of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from vestibule.api import kata
from vestibule.injection.sandbox import sandbox_policy
from vestibule.injection.sandbox.draft import SandboxDraft
from vestibule.injection.sandbox.origins import ValueSource
from vestibule.injection.sandbox.result import SandboxRefused

_ANNOTATION_LIMIT: Final = 262144 - 1024
"""Bytes of all annotations of a pod, less what other plugins may still write."""
_SIZE: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
_WIDEST: Final = 4
"""Bytes of a character at most."""


def by_rules(draft: SandboxDraft, current: str) -> None:
    """What rules say, the first of them first."""
    writers: dict[str, str] = {}
    for where, rule, _ in draft.area.rules:
        reclasses = rule.mutate.runtime_class_name and current in rule.match.runtime_classes
        classes = rule.match.runtime_classes
        if not draft.matches(rule.match) or (classes and current not in classes):
            continue
        if reclasses and rule.mutate.runtime_class_name != current:
            continue
        for key, value in rule.mutate.annotations.items():
            draft.claims.add(key, value, ValueSource("rule", where))
            _by_rule(draft, where, key, value, draft.existing, draft.added, writers)
        for key, value in rule.mutate.labels.items():
            draft.label_claims.add(key, value, ValueSource("rule", where))
            _by_rule(draft, where, key, value, draft.labels, draft.added_labels, writers)


def _by_rule(
    draft: SandboxDraft,
    where: str,
    key: str,
    value: str,
    existing: Mapping[str, str],
    added: dict[str, str],
    writers: dict[str, str],
) -> None:
    if key in existing:
        return
    if added.setdefault(key, value) != value:
        draft.warn(
            "RuleConflict",
            f"{where} sets another value for {key} than {writers[key]}, which takes precedence",
        )
    writers.setdefault(key, where)


def by_config(draft: SandboxDraft, current: str) -> None:
    """What the KataConfig says itself; its own fields before its free ones."""
    annotations = draft.kata_policy.webhook.annotations
    if annotations is None or not draft.area.annotates:
        return
    always = annotations.overwrite_policy == "Always"
    if draft.begun_elsewhere and not always and not draft.area.confidential:
        return
    typed: dict[str, str] = {}
    if current != kata.REMOTE and _takes_overhead(draft, current):
        overhead = annotations.memory_overhead_mb
        typed[kata.MEMORY_OVERHEAD] = str(kata.OVERHEAD_DEFAULT if overhead is None else overhead)
    if annotations.default_vcpus is not None:
        typed[kata.DEFAULT_VCPUS] = str(annotations.default_vcpus)
    if annotations.initdata is not None and sandbox_policy.any_glob(
        annotations.coco_runtime_classes, current
    ):
        _initdata(draft, annotations, typed, always=always)
    for key, value in typed.items():
        if key in annotations.custom:
            draft.warn(
                "CustomShadowedByTyped", f"{key} is a custom annotation and a field; the field is used"
            )
        draft.put(key, value, draft.config, always=always)
    for key, value in annotations.custom.items():
        if key not in typed:
            draft.put(key, value, draft.config, always=always)


def _takes_overhead(draft: SandboxDraft, current: str) -> bool:
    """No Kata that exists knows memory_overhead, and one refuses pods that have it."""
    if draft.kata_policy.strict:
        return True
    annotations = draft.kata_policy.webhook.annotations
    profile = draft.kata_policy.webhook.runtime_profiles.get(current)
    if profile is not None and draft.kata_policy.enabled_on(current, kata.MEMORY_OVERHEAD):
        return True
    if annotations is not None and annotations.memory_overhead_mb is not None:
        draft.warn(
            "AnnotationNotEnabled",
            f"memoryOverheadMB is not passed on: no profile enables it on the nodes of {current}, "
            "and pods with it may not start",
        )
    return False


def _initdata(
    draft: SandboxDraft, annotations: kata.KataAnnotations, typed: dict[str, str], *, always: bool
) -> None:
    key = _initdata_key(annotations)
    if key == kata.INITDATA and kata.LEGACY_INITDATA in draft.existing:
        draft.warn(
            "LegacyInitdataKey",
            f"{kata.LEGACY_INITDATA} is what Kata read before 3.20; it does not count",
        )
    if key in draft.existing and not always:
        draft.claims.add(key, str(annotations.initdata), draft.config)
        return
    error = draft.kata_policy.initdata_error
    if error is not None:
        draft.cannot(error.code, f"the KataConfig's initdata {error}")
        return
    typed[key] = str(annotations.initdata)


def enforce(draft: SandboxDraft, current: str) -> bool:
    """In confidential namespaces a tenant's own annotations about the virtual machine are replaced; whether
    something was replaced. A tenant may choose the size of the machine, and nothing else about it."""
    webhook = draft.current.webhook
    annotations = webhook.annotations or kata.KataAnnotations()
    classes = (*annotations.coco_runtime_classes, *webhook.enforce.runtime_classes)
    if not draft.enforced.confidential or not sandbox_policy.any_glob(classes, current):
        return False
    ours = {key: annotations.custom.get(key, "") for key in kata.ENFORCED}
    ours[_initdata_key(annotations)] = annotations.initdata or ""
    allowed = {**annotations.custom, **_by_any_rule(draft), **draft.added}
    for key, value in draft.existing.items():
        if key in kata.SIZES and allowed.get(key) != value and _SIZE.fullmatch(value) is None:
            shown = value[:80]
            raise SandboxRefused(
                "Enforced", f"{key} is {shown!r}, want a number in namespace {draft.namespace}"
            )
        if (
            key.startswith(kata.PREFIX)
            and key not in ours
            and key not in kata.SIZES
            and allowed.get(key) != value
        ):
            raise SandboxRefused("Enforced", f"{key} may not be set by pods in namespace {draft.namespace}")
    wrong = {key: value for key, value in ours.items() if draft.existing.get(key, value) != value}
    for key, value in wrong.items():
        if webhook.enforce.action == "Refuse":
            raise SandboxRefused("Enforced", f"{key} may not be set by pods in namespace {draft.namespace}")
        if not draft.current.enabled_on(current, key):
            # left out, ours would leave the tenant's in its place
            text = f"{key} may not be set by pods in namespace {draft.namespace}, and the nodes of {current} "
            raise SandboxRefused("Enforced", text + "take no other value for it; remove it")
        draft.added[key] = value
        draft.claims.add(key, value, draft.config)
        draft.warn("Enforced", f"{key} of the pod is replaced: namespace {draft.namespace} is confidential")
    return bool(wrong)


def _by_any_rule(draft: SandboxDraft) -> dict[str, str]:
    """What rules of the administrator's write: a pod that comes again has it already."""
    found: dict[str, str] = {}
    for _, rule, _ in draft.enforced.rules:
        if draft.matches(rule.match):
            for key, value in rule.mutate.annotations.items():
                found.setdefault(key, value)
    return found


def pin(draft: SandboxDraft, current: str) -> None:
    """In confidential namespaces a pod has one of the classes that are allowed there, or is refused."""
    if draft.enforced.pinned and not sandbox_policy.any_glob(draft.enforced.pinned, current):
        allowed = ", ".join(draft.enforced.pinned)
        text = f"runtimeClassName is {current[:80]!r}, want {allowed} in namespace {draft.namespace}"
        raise SandboxRefused("RuntimeClassNotAllowed", text)


def drop_disabled(draft: SandboxDraft, current: str) -> None:
    """Leave out what the nodes of the class would refuse."""
    dropped = [key for key in draft.added if not draft.kata_policy.enabled_on(current, key)]
    for key in dropped:
        del draft.added[key]
    if dropped:
        names = ", ".join(key.removeprefix(kata.HYPERVISOR) for key in dropped)
        draft.warn(
            "AnnotationNotEnabled",
            f"left out, since the nodes of {current} would refuse the pod: {names}; enable_annotations "
            "would have to name them",
        )


def check_length(draft: SandboxDraft, *, enforced: bool) -> None:
    """What the API server would not take is not added."""
    after = {**draft.existing, **draft.added}
    if _WIDEST * (sum(map(len, after)) + sum(map(len, after.values()))) <= _ANNOTATION_LIMIT:
        return
    length = sum(len(key.encode()) + len(value.encode()) for key, value in after.items())
    if draft.added and length > _ANNOTATION_LIMIT:
        text = f"the pod's annotations would have {length} bytes, and the API server takes 262144"
        if enforced:  # or a tenant would only have to fill the annotations up
            raise SandboxRefused("AnnotationsTooLong", text)
        if not draft.cannot("AnnotationsTooLong", text):
            draft.added.clear()


def _initdata_key(annotations: kata.KataAnnotations) -> str:
    return kata.INITDATA if annotations.initdata_annotation_key == "hypervisor" else kata.LEGACY_INITDATA
