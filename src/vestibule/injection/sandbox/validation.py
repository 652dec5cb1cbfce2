"""What is wrong with a KataConfig or an OSCWebhookConfig that its schema lets through."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import kata
from vestibule.api.kata import KataConfig, RuleSet
from vestibule.api.label_selectors import LabelSelector
from vestibule.initdata import document
from vestibule.initdata.document import InitdataError
from vestibule.injection.sandbox import sandbox_policy

_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_CACHES: Final = ("", "never", "metadata", "auto", "always")


class ConfigProblem(NamedTuple):
    """One mistake; ``code`` is for machines."""

    path: str
    code: str
    text: str


def of_object(kind: str, obj: Mapping[str, Any]) -> list[ConfigProblem]:
    """All mistakes of one object of these kinds, by itself."""
    try:
        if kind == "KataConfig":
            shape = [ConfigProblem(path, "Type", text) for path, text in kata.webhook_problems(obj)]
            return shape or kata_config(kata.kata_config(obj))
        return next(iter(rule_sets([kata.rule_set(obj)]).values()))
    except errors.InvalidInput as error:
        return [ConfigProblem(problem.field, "Type", problem.text) for problem in error.problems]


def unclear(obj: Mapping[str, Any]) -> kata.UnclearKataConfig | None:
    """What a KataConfig says about confidential namespaces, if that cannot be understood."""
    wrong = of_object("KataConfig", obj)
    enforcing = [(one.path, one.text) for one in wrong if one.path.startswith("spec.webhook.enforce")]
    return kata.unclear(obj, [(path, text) for path, text in kata.webhook_problems(obj)] or enforcing)


def kata_config(config: KataConfig) -> list[ConfigProblem]:
    """All mistakes of a KataConfig."""
    webhook = config.spec.webhook if config.spec else None
    return list(_webhook(webhook)) if webhook else []


def _webhook(webhook: kata.KataWebhookSpec) -> Iterator[ConfigProblem]:
    at = "spec.webhook"
    if webhook.annotations is not None:
        yield from _annotations(f"{at}.annotations", webhook.annotations)
    injection, where = webhook.runtime_class_injection, f"{at}.runtimeClassInjection"
    yield from _globs(f"{where}.excludeNamespaces", injection.exclude_namespaces)
    yield from _selector(f"{where}.namespaceSelector", injection.namespace_selector)
    yield from _selector(f"{where}.podSelector", injection.pod_selector)
    yield from _globs(f"{at}.enforce.namespaces", webhook.enforce.namespaces)
    yield from _globs(f"{at}.enforce.runtimeClasses", webhook.enforce.runtime_classes)
    for name, profile in webhook.runtime_profiles.items():
        for position, entry in enumerate(profile.enable_annotations):
            try:
                re.compile(entry)
            except re.error as error:
                path = f"{at}.runtimeProfiles[{name}].enableAnnotations[{position}]"
                yield ConfigProblem(path, "BadPattern", f"is {entry!r}, no regular expression: {error}")


def _annotations(at: str, annotations: kata.KataAnnotations) -> Iterator[ConfigProblem]:
    overhead, vcpus = annotations.memory_overhead_mb, annotations.default_vcpus
    if overhead is not None and not 1 <= overhead <= 2048:
        yield ConfigProblem(f"{at}.memoryOverheadMB", "OutOfRange", f"is {overhead}, want 1 to 2048")
    if vcpus is not None and vcpus < 1:
        yield ConfigProblem(f"{at}.defaultVCPUs", "OutOfRange", f"is {vcpus}, want 1 or more")
    if annotations.initdata is not None:
        try:
            document.decode(annotations.initdata)
        except InitdataError as error:
            yield ConfigProblem(f"{at}.initdata", error.code, str(error))
    yield from _globs(f"{at}.cocoRuntimeClasses", annotations.coco_runtime_classes)
    yield from _globs(f"{at}.excludeNamespaces", annotations.exclude_namespaces)
    for key, value in annotations.custom.items():
        yield from _custom(f"{at}.custom[{key}]", key, value)


def _custom(at: str, key: str, value: str) -> Iterator[ConfigProblem]:
    if not _is_key(key):
        yield ConfigProblem(
            at, "BadAnnotationKey", "is no key of an annotation: the name has at most 63 characters"
        )
    elif key == f"{kata.HYPERVISOR}virtio_fs_cache" and value not in _CACHES:
        yield ConfigProblem(at, "BadValue", f"is {value!r}, want {', '.join(_CACHES[1:])}")
    elif key == kata.DEFAULT_MEMORY and not (value.isascii() and value.isdigit() and int(value) >= 256):
        yield ConfigProblem(at, "BadValue", f"is {value!r}, want MiB, 256 or more")
    elif key in (kata.DEFAULT_VCPUS, kata.DEFAULT_GPUS) and not (value.isascii() and value.isdigit()):
        yield ConfigProblem(at, "BadValue", f"is {value!r}, want a whole number")


def rule_sets(found: Sequence[RuleSet]) -> dict[str, list[ConfigProblem]]:
    """All mistakes of all OSCWebhookConfigs, by name."""
    read = {
        key
        for one in found
        for rule in one.spec.rules
        if rule.match.pod_selector is not None
        for key in rule.match.pod_selector.label_keys()
    }
    return {one.metadata.name: list(_rules(one, read)) for one in found}


def _rules(found: RuleSet, read: set[str]) -> Iterator[ConfigProblem]:
    names: set[str] = set()
    for position, rule in enumerate(found.spec.rules):
        at = f"spec.rules[{position}]"
        if rule.name in names:
            yield ConfigProblem(f"{at}.name", "Duplicate", f"is {rule.name!r}, as another rule's")
        names.add(rule.name)
        if not rule.name:
            yield ConfigProblem(f"{at}.name", "Empty", "is empty")
        mutate = rule.mutate
        if not (mutate.runtime_class_name or mutate.annotations or mutate.labels):
            yield ConfigProblem(f"{at}.mutate", "Empty", "changes nothing")
        yield from _globs(f"{at}.match.namespaces", rule.match.namespaces)
        yield from _selector(f"{at}.match.namespaceSelector", rule.match.namespace_selector)
        yield from _selector(f"{at}.match.podSelector", rule.match.pod_selector)
        for key, value in mutate.annotations.items():
            yield from _custom(f"{at}.mutate.annotations[{key}]", key, value)
        for key in mutate.labels:
            path = f"{at}.mutate.labels[{key}]"
            if not _is_key(key):
                yield ConfigProblem(path, "BadAnnotationKey", "is no key of a label")
            elif key in read:
                yield ConfigProblem(
                    path, "LabelFeedback", "is read by a podSelector: a second pass would decide otherwise"
                )


def _globs(at: str, globs: Sequence[str]) -> Iterator[ConfigProblem]:
    for position, glob in enumerate(globs):
        if not sandbox_policy.is_glob(glob):
            yield ConfigProblem(
                f"{at}[{position}]", "BadPattern", f"is {glob!r}, want lower case letters, digits, -, * and ?"
            )


def _selector(at: str, selector: LabelSelector | None) -> Iterator[ConfigProblem]:
    for path, text in selector.problems() if selector is not None else ():
        yield ConfigProblem(f"{at}.{path}", "BadSelector", text)


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return _NAME.fullmatch(name) is not None and (not slash or _PREFIX.fullmatch(prefix) is not None)
