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
from typing import Any, Final

from vestibule.core.kinds import kata, labels, vocabulary
from vestibule.core.mutation.sandbox import origins, peers, world
from vestibule.core.mutation.sandbox.origins import Claims, Place, Said
from vestibule.core.mutation.sandbox.outcome import Refused, Sandbox, Told
from vestibule.core.mutation.sandbox.world import World

_ANNOTATION_LIMIT: Final = 262144 - 1024
"""Bytes of all annotations of a pod, less what other plugins may still write."""
_WIDEST: Final = 4
"""Bytes of a character at most."""
Json = Mapping[str, Any]


def decide(pod: Json, namespace: str, namespace_labels: Mapping[str, str], found: World) -> Sandbox:
    """What this pod gets."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    annotations = meta.get("annotations") or {}
    found = found.of(annotations.get(vocabulary.SANDBOX))
    if not found.active or found.excluded(namespace):
        return Sandbox()
    if vocabulary.MIRROR_POD in annotations or (spec.get("os") or {}).get("name") == "windows":
        return Sandbox()
    try:
        return _Deciding(meta, spec, namespace, namespace_labels, found).run()
    except Refused as refused:
        return Sandbox(refusal=refused.told)


class _Deciding:
    def __init__(
        self, meta: Json, spec: Json, namespace: str, namespace_labels: Mapping[str, str], found: World
    ) -> None:
        self.meta, self.spec, self.namespace, self.world = meta, spec, namespace, found
        self.area = found.area(namespace, namespace_labels)
        self.existing: Mapping[str, str] = meta.get("annotations") or {}
        self.labels: Mapping[str, str] = meta.get("labels") or {}
        self.told: list[Told] = []
        self.added: dict[str, str] = {}
        self.added_labels: dict[str, str] = {}
        mark = "" if found.strict else self.existing.get(vocabulary.SANDBOX)
        self.begun_elsewhere = bool(mark and mark != found.digest and spec.get("runtimeClassName"))
        """Marked with a policy that is not known here."""
        self.config = Place("kataconfig", found.name)
        self.class_claims, self.claims, self.label_claims = Claims(), Claims(), Claims("label ")

    def run(self) -> Sandbox:
        had = str(self.spec.get("runtimeClassName") or "")
        chosen = "" if had else self._class()
        current = had or chosen
        if current not in self.world.kata_classes:
            return Sandbox(told=tuple(self.told))
        if self.world.several:
            self._tell("MultipleKataConfigs", "there are several KataConfigs; the oldest one counts")
        if had:
            self.class_claims.add(origins.RUNTIME_CLASS, had, origins.POD)
            self._check_reclass(had)
        if not self.begun_elsewhere:
            self._rules(current)
        resources, drops = self._sizes(current)
        self._typed(current)
        enforced = self._enforce(current)
        self._check_enabled(current)
        if chosen or self.added or self.added_labels or resources or drops:
            self._mark()
        self._check_length(enforced=enforced)
        told = tuple(dict.fromkeys(self.told))
        said = functools.partial(self._origins, current, sized=bool(resources or drops))
        return Sandbox(chosen, self.added, self.added_labels, resources, drops, told, origins=said)

    def _origins(self, current: str, *, sized: bool) -> tuple[Said, ...]:
        resources = Said(origins.RESOURCES, "Zero" if self.world.zeroes else "Strip", self.config)
        return (
            *self.class_claims.settled({}, {origins.RUNTIME_CLASS: current}),
            *self.claims.settled(self.existing, self.added),
            *self.label_claims.settled(self.labels, self.added_labels),
            *([resources] if sized else []),
        )

    def _mark(self) -> None:
        """The original's pods carry no mark."""
        if not self.world.strict and not self.begun_elsewhere:
            self._put(vocabulary.SANDBOX, self.world.digest, self.config, always=True)

    # ── runtime class ───────────────────────────────────────────────────────────────────────────────────────

    def _class(self) -> str:
        """The class a pod without one gets; empty: none."""
        wanted = [
            (where, rule.mutate.runtime_class_name)
            for where, rule, _ in self.area.rules
            if rule.mutate.runtime_class_name and not rule.match.runtime_classes and self._matches(rule.match)
        ]
        if len({name for _, name in wanted}) > 1:
            self._tell(
                "RuleConflict", f"{wanted[1][0]} wants another class than {wanted[0][0]}, which counts"
            )
        for where, name in wanted:
            self.class_claims.add(origins.RUNTIME_CLASS, name, Place("rule", where))
        if self._injected():
            injected = self.world.webhook.runtime_class_injection.default_runtime_class
            self.class_claims.add(origins.RUNTIME_CLASS, injected, self.config)
            wanted = wanted or [("KataConfig", injected)]
        if not wanted:
            return ""
        where, name = wanted[0]
        return name if self._can_have(where, name) else ""

    def _injected(self) -> bool:
        selector = self.world.webhook.runtime_class_injection.pod_selector
        return self.area.injects and labels.matches(selector, self.labels)

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
        for where, rule, _ in self.area.rules:
            wanted = rule.mutate.runtime_class_name
            if wanted and wanted != had and had in rule.match.runtime_classes and self._matches(rule.match):
                self._tell(
                    "ReclassRefused",
                    f"{where} wants class {wanted}, but a class that is set is never changed",
                )

    # ── annotations and labels ──────────────────────────────────────────────────────────────────────────────

    def _rules(self, current: str) -> None:
        writers: dict[str, str] = {}
        for where, rule, _ in self.area.rules:
            reclasses = rule.mutate.runtime_class_name and current in rule.match.runtime_classes
            classes = rule.match.runtime_classes
            if not self._matches(rule.match) or (classes and current not in classes):
                continue
            if reclasses and rule.mutate.runtime_class_name != current:
                continue
            for key, value in rule.mutate.annotations.items():
                self.claims.add(key, value, Place("rule", where))
                self._by_rule(where, key, value, self.existing, self.added, writers)
            for key, value in rule.mutate.labels.items():
                self.label_claims.add(key, value, Place("rule", where))
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
        if annotations is None or not self.area.annotates:
            return
        always = annotations.overwrite_policy == "Always"
        if self.begun_elsewhere and not always and not self.area.confidential:
            return
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
            self._put(key, value, self.config, always=always)
        for key, value in annotations.custom.items():
            if key not in typed:
                self._put(key, value, self.config, always=always)

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
        key = _initdata_key(annotations)
        if key == kata.INITDATA and kata.LEGACY_INITDATA in self.existing:
            self._tell(
                "LegacyInitdataKey",
                f"{kata.LEGACY_INITDATA} is what Kata read before 3.20; it does not count",
            )
        if key in self.existing and not always:
            self.claims.add(key, str(annotations.initdata), self.config)
            return
        error = self.world.initdata_error
        if error is not None:
            self._cannot(error.code, f"the KataConfig's initdata {error}")
            return
        typed[key] = str(annotations.initdata)

    def _put(self, key: str, value: str, place: Place, *, always: bool) -> None:
        self.claims.add(key, value, place)
        if key in self.added:
            return
        if key not in self.existing or (always and self.existing[key] != value):
            self.added[key] = value

    def _enforce(self, current: str) -> bool:
        """In confidential namespaces a tenant's own word about the guest does not count; whether something
        was replaced."""
        annotations = self.world.webhook.annotations or kata.Annotations()
        if not self.area.confidential or not world.any_glob(annotations.coco_runtime_classes, current):
            return False
        ours = {
            _initdata_key(annotations): annotations.initdata or "",
            kata.KERNEL_PARAMS: annotations.custom.get(kata.KERNEL_PARAMS, ""),
        }
        wrong = {key: value for key, value in ours.items() if self.existing.get(key, value) != value}
        for key, value in wrong.items():
            if self.world.webhook.enforce.action == "Refuse":
                raise Refused("Enforced", f"{key} may not be set by pods in namespace {self.namespace}")
            self.added[key] = value
            self.claims.add(key, value, self.config)
            self._tell(
                "Enforced", f"{key} of the pod is replaced: namespace {self.namespace} is confidential"
            )
        return bool(wrong)

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

    def _check_length(self, *, enforced: bool) -> None:
        after = {**self.existing, **self.added}
        if _WIDEST * (sum(map(len, after)) + sum(map(len, after.values()))) <= _ANNOTATION_LIMIT:
            return
        length = sum(len(key.encode()) + len(value.encode()) for key, value in after.items())
        if self.added and length > _ANNOTATION_LIMIT:
            text = f"the pod's annotations would have {length} bytes, and the API server takes 262144"
            if enforced:  # or a tenant would only have to fill the annotations up
                raise Refused("AnnotationsTooLong", text)
            if not self._cannot("AnnotationsTooLong", text):
                self.added.clear()

    # ── resources ───────────────────────────────────────────────────────────────────────────────────────────

    def _sizes(self, current: str) -> tuple[Mapping[str, tuple[Json, ...]], bool]:
        if not self.world.peer_pods or current != kata.REMOTE:
            return {}, False
        found = peers.resized(self.spec, self.existing, frozenset(self.added), self.world)
        for key, value in found.annotations.items():
            self._put(key, value, origins.SIZES, always=key in found.ours)
        return found.resources, "resources" in self.spec

    # ── common ──────────────────────────────────────────────────────────────────────────────────────────────

    def _matches(self, match: kata.Match) -> bool:
        """The rest of it; the area has looked at the namespace."""
        return labels.matches(match.pod_selector, self.labels)

    def _cannot(self, code: str, text: str) -> bool:
        """What was configured cannot be done: refused, or told; always False."""
        if self.world.webhook.failure_policy == "Fail":
            raise Refused(code, text)
        self._tell(code, text)
        return False

    def _tell(self, code: str, text: str) -> None:
        self.told.append(Told(code, text))


def _initdata_key(annotations: kata.Annotations) -> str:
    return kata.INITDATA if annotations.initdata_annotation_key == "hypervisor" else kata.LEGACY_INITDATA
