"""The three steps, in order: runtime class, annotations and labels, resources.

Pure: a pod, its namespace's labels and the world in; what to add, what to say, or why not, out. The first who
writes a key keeps it: the pod itself, then rules, then sizes, then the KataConfig. What cannot be done as
configured follows the KataConfig's failure policy, and only pods that need it are hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vestibule.core.kinds import kata, labels, vocabulary
from vestibule.core.mutation.sandbox import sizing, world
from vestibule.core.mutation.sandbox.world import World

_ANNOTATION_LIMIT: Final = 262144 - 1024
"""Bytes of all annotations of a pod, less what other plugins may still write."""
Json = Mapping[str, Any]


class Told(NamedTuple):
    """One thing to say; ``code`` is for machines."""

    code: str
    text: str


class Sandbox(NamedTuple):
    """What a pod gets."""

    runtime_class: str = ""
    """The class to set; empty: the pod keeps what it has."""
    annotations: Mapping[str, str] = {}
    """To set; some may replace what is there."""
    labels: Mapping[str, str] = {}
    resources: Mapping[str, tuple[Json, ...]] = {}
    """``containers`` and ``initContainers`` to the resources each is left with, by position; only where
    something changes."""
    drops_pod_resources: bool = False
    told: tuple[Told, ...] = ()
    refusal: Told | None = None


class _Refused(Exception):
    def __init__(self, code: str, text: str) -> None:
        self.told = Told(code, text)
        super().__init__(text)


def decide(pod: Json, namespace: str, namespace_labels: Mapping[str, str], found: World) -> Sandbox:
    """What this pod gets."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    annotations = meta.get("annotations") or {}
    if not found.active or found.excluded(namespace):
        return Sandbox()
    if vocabulary.MIRROR_POD in annotations or (spec.get("os") or {}).get("name") == "windows":
        return Sandbox()
    try:
        return _Deciding(meta, spec, namespace, namespace_labels, found).run()
    except _Refused as refused:
        return Sandbox(refusal=refused.told)


class _Deciding:
    def __init__(
        self, meta: Json, spec: Json, namespace: str, namespace_labels: Mapping[str, str], found: World
    ) -> None:
        self.meta, self.spec, self.namespace, self.world = meta, spec, namespace, found
        self.namespace_labels = namespace_labels
        self.existing: Mapping[str, str] = meta.get("annotations") or {}
        self.labels: Mapping[str, str] = meta.get("labels") or {}
        self.told: list[Told] = []
        self.added: dict[str, str] = {}
        self.added_labels: dict[str, str] = {}

    def run(self) -> Sandbox:
        had = str(self.spec.get("runtimeClassName") or "")
        chosen = "" if had else self._class()
        current = had or chosen
        if current not in self.world.kata_classes:
            return Sandbox(told=tuple(self.told))
        if self.world.several:
            self._tell("MultipleKataConfigs", "there are several KataConfigs; the oldest one counts")
        if had:
            self._check_reclass(had)
        self._rules(current)
        resources, drops = self._sizes(current)
        self._typed(current)
        self._enforce(current)
        self._check_enabled(current)
        self._check_length()
        return Sandbox(
            chosen, self.added, self.added_labels, resources, drops, tuple(dict.fromkeys(self.told))
        )

    # ── runtime class ───────────────────────────────────────────────────────────────────────────────────────

    def _class(self) -> str:
        """The class a pod without one gets; empty: none."""
        wanted = [
            (where, rule.mutate.runtime_class_name)
            for where, rule in self.world.rules
            if rule.mutate.runtime_class_name and not rule.match.runtime_classes and self._matches(rule.match)
        ]
        if len({name for _, name in wanted}) > 1:
            self._tell(
                "RuleConflict", f"{wanted[1][0]} wants another class than {wanted[0][0]}, which counts"
            )
        if not wanted and self._injected():
            wanted = [("KataConfig", self.world.webhook.runtime_class_injection.default_runtime_class)]
        if not wanted:
            return ""
        where, name = wanted[0]
        return name if self._can_have(where, name) else ""

    def _injected(self) -> bool:
        injection = self.world.webhook.runtime_class_injection
        return (
            injection.enabled
            and not world.any_glob(injection.exclude_namespaces, self.namespace)
            and labels.matches(injection.namespace_selector, self.namespace_labels)
            and labels.matches(injection.pod_selector, self.labels)
        )

    def _can_have(self, where: str, name: str) -> bool:
        """Whether the pod can run in this class; if not, why."""
        if self.spec.get("hostNetwork") is True:
            self._tell(
                "HostNetwork", f"{where} gives class {name}, but Kata has no host network: left as it is"
            )
            return False
        owners = self.meta.get("ownerReferences") or ()
        if any(owner.get("kind") == "DaemonSet" and owner.get("controller") for owner in owners):
            self._tell(
                "DaemonSetPod",
                f"{where} gives class {name}, but pods of a DaemonSet run on every node: left as it is",
            )
            return False
        if name not in self.world.kata_classes:
            return self._cannot(
                "RuntimeClassUnavailable", f"{where} gives class {name}, which no KataConfig has made"
            )
        found = self.world.classes.get(name)
        if found is not None:
            selector = self.spec.get("nodeSelector") or {}
            for key, value in found.node_selector.items():
                if key in selector and selector[key] != value:
                    return self._cannot(
                        "NodeSelectorConflict",
                        f"{where} gives class {name}, whose nodes have {key}={value!r}, but the pod wants "
                        f"{key}={selector[key]!r}",
                    )
        return True

    def _check_reclass(self, had: str) -> None:
        for where, rule in self.world.rules:
            wanted = rule.mutate.runtime_class_name
            if wanted and wanted != had and had in rule.match.runtime_classes and self._matches(rule.match):
                self._tell(
                    "ReclassRefused",
                    f"{where} wants class {wanted}, but a class that is set is never changed",
                )

    # ── annotations and labels ──────────────────────────────────────────────────────────────────────────────

    def _rules(self, current: str) -> None:
        writers: dict[str, str] = {}
        for where, rule in self.world.rules:
            reclasses = rule.mutate.runtime_class_name and current in rule.match.runtime_classes
            classes = rule.match.runtime_classes
            if not self._matches(rule.match) or (classes and current not in classes):
                continue
            if reclasses and rule.mutate.runtime_class_name != current:
                continue
            for key, value in rule.mutate.annotations.items():
                self._by_rule(where, key, value, self.existing, self.added, writers)
            for key, value in rule.mutate.labels.items():
                self._by_rule(where, key, value, self.labels, self.added_labels, writers)

    def _by_rule(
        self,
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
            self._tell(
                "RuleConflict", f"{where} wants another value for {key} than {writers[key]}, which counts"
            )
        writers.setdefault(key, where)

    def _typed(self, current: str) -> None:
        """What the KataConfig says itself; its own fields before its free ones."""
        annotations = self.world.webhook.annotations
        if annotations is None or world.any_glob(annotations.exclude_namespaces, self.namespace):
            return
        always = annotations.overwrite_policy == "Always"
        typed: dict[str, str] = {}
        if current != kata.REMOTE and self._takes_overhead(current):
            overhead = annotations.memory_overhead_mb
            typed[kata.MEMORY_OVERHEAD] = str(kata.OVERHEAD_DEFAULT if overhead is None else overhead)
        if annotations.default_vcpus is not None:
            typed[kata.DEFAULT_VCPUS] = str(annotations.default_vcpus)
        if annotations.initdata is not None and world.any_glob(annotations.coco_runtime_classes, current):
            self._initdata(annotations, typed, always=always)
        for key, value in typed.items():
            if key in annotations.custom:
                self._tell(
                    "CustomShadowedByTyped", f"{key} stands among custom ones and as a field, which counts"
                )
            self._put(key, value, always=always)
        for key, value in annotations.custom.items():
            if key not in typed:
                self._put(key, value, always=always)

    def _takes_overhead(self, current: str) -> bool:
        """No Kata that exists knows memory_overhead, and one refuses pods that have it."""
        if self.world.strict:
            return True
        annotations = self.world.webhook.annotations
        profile = self.world.webhook.runtime_profiles.get(current)
        if profile is not None and self.world.enabled_on(current, kata.MEMORY_OVERHEAD):
            return True
        if annotations is not None and annotations.memory_overhead_mb is not None:
            self._tell(
                "AnnotationNotEnabled",
                f"memoryOverheadMB is not passed on: no profile says that the nodes of {current} take "
                "it, and pods with it may not start",
            )
        return False

    def _initdata(self, annotations: kata.Annotations, typed: dict[str, str], *, always: bool) -> None:
        key = kata.INITDATA if annotations.initdata_annotation_key == "hypervisor" else kata.LEGACY_INITDATA
        if key == kata.INITDATA and kata.LEGACY_INITDATA in self.existing:
            self._tell(
                "LegacyInitdataKey",
                f"{kata.LEGACY_INITDATA} is what Kata read before 3.20; it does not count",
            )
        if key in self.existing and not always:
            return
        error = self.world.initdata_error
        if error is not None:
            self._cannot(error.code, f"the KataConfig's initdata {error}")
            return
        typed[key] = str(annotations.initdata)

    def _put(self, key: str, value: str, *, always: bool) -> None:
        if key in self.added:
            return
        if key not in self.existing or (always and self.existing[key] != value):
            self.added[key] = value

    def _enforce(self, current: str) -> None:
        """In confidential namespaces a tenant's own word about the guest does not count."""
        enforce, annotations = self.world.webhook.enforce, self.world.webhook.annotations
        if annotations is None or not world.any_glob(enforce.namespaces, self.namespace):
            return
        if not world.any_glob(annotations.coco_runtime_classes, current):
            return
        ours = {kata.INITDATA: annotations.initdata or ""}
        for key in (*ours, kata.KERNEL_PARAMS):
            if key not in self.existing or self.existing[key] == ours.get(
                key, annotations.custom.get(key, "")
            ):
                continue
            if enforce.action == "Refuse":
                raise _Refused("Enforced", f"{key} may not be set by pods in namespace {self.namespace}")
            self.added[key] = ours.get(key, annotations.custom.get(key, ""))
            self._tell(
                "Enforced", f"{key} of the pod is replaced: namespace {self.namespace} is confidential"
            )

    def _check_enabled(self, current: str) -> None:
        dropped = [key for key in self.added if not self.world.enabled_on(current, key)]
        for key in dropped:
            del self.added[key]
        if dropped:
            names = ", ".join(key.removeprefix(kata.HYPERVISOR) for key in dropped)
            self._tell(
                "AnnotationNotEnabled",
                f"left out, since the nodes of {current} would refuse the pod: {names}; enable_annotations "
                "would have to name them",
            )

    def _check_length(self) -> None:
        after = {**self.existing, **self.added}
        length = sum(len(key.encode()) + len(value.encode()) for key, value in after.items())
        if self.added and length > _ANNOTATION_LIMIT:
            text = f"the pod's annotations would have {length} bytes, and the API server takes 262144"
            if not self._cannot("AnnotationsTooLong", text):
                self.added.clear()

    # ── resources ───────────────────────────────────────────────────────────────────────────────────────────

    def _sizes(self, current: str) -> tuple[dict[str, tuple[Json, ...]], bool]:
        if not self.world.peer_pods or current != kata.REMOTE:
            return {}, False
        for key, value in sizing.as_annotations(sizing.size(self.spec)).items():
            self._put(key, value, always=False)
        resources: dict[str, tuple[Json, ...]] = {}
        for field in ("containers", "initContainers"):
            containers = self.spec.get(field) or ()
            wanted = tuple(
                sizing.stripped(one, first=field == "containers" and not at, zeroes=self.world.zeroes)
                for at, one in enumerate(containers)
            )
            if wanted != tuple((one.get("resources") or {}) for one in containers):
                resources[field] = wanted
        return resources, "resources" in self.spec

    # ── common ──────────────────────────────────────────────────────────────────────────────────────────────

    def _matches(self, match: kata.Match) -> bool:
        return (
            (not match.namespaces or world.any_glob(match.namespaces, self.namespace))
            and labels.matches(match.namespace_selector, self.namespace_labels)
            and labels.matches(match.pod_selector, self.labels)
        )

    def _cannot(self, code: str, text: str) -> bool:
        """What was configured cannot be done: refused, or told; always False."""
        if self.world.webhook.failure_policy == "Fail":
            raise _Refused(code, text)
        self._tell(code, text)
        return False

    def _tell(self, code: str, text: str) -> None:
        self.told.append(Told(code, text))
