"""A pod whose sandbox is being decided: what is known of it, and what it gets so far.

The first who writes a key keeps it. What cannot be done as configured follows the failure policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vestibule.api import annotation_keys, kata, label_selectors
from vestibule.injection.sandbox.origins import KeyClaims, ValueSource
from vestibule.injection.sandbox.result import SandboxNote, SandboxRefused
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Json = Mapping[str, Any]


class SandboxDraft:
    """What the steps read and write."""

    def __init__(
        self,
        meta: Json,
        spec: Json,
        namespace: str,
        namespace_labels: Mapping[str, str],
        found: SandboxPolicy,
        *,
        of_daemon_set: bool | None = None,
        current: SandboxPolicy | None = None,
    ) -> None:
        """``current`` is the policy in force, where the pod is finished in an earlier one."""
        self.current = current or found
        self.enforced = self.current.area(namespace, namespace_labels)
        """What is enforced now, whatever the pod's mark says."""
        if of_daemon_set is None:
            owners = meta.get("ownerReferences") or ()
            of_daemon_set = any(one.get("kind") == "DaemonSet" and one.get("controller") for one in owners)
        self.of_daemon_set = of_daemon_set
        self.meta, self.spec, self.namespace, self.kata_policy = meta, spec, namespace, found
        self.area = found.area(namespace, namespace_labels)
        self.existing: Mapping[str, str] = meta.get("annotations") or {}
        self.labels: Mapping[str, str] = meta.get("labels") or {}
        self.notes: list[SandboxNote] = []
        self.added: dict[str, str] = {}
        self.added_labels: dict[str, str] = {}
        mark = "" if found.strict else self.existing.get(annotation_keys.SANDBOX)
        self.begun_elsewhere = bool(mark and mark != found.digest and spec.get("runtimeClassName"))
        """Marked with a policy that is not known here."""
        self.config = ValueSource("kataconfig", found.name)
        self.class_claims, self.claims, self.label_claims = KeyClaims(), KeyClaims(), KeyClaims("label ")

    def put(self, key: str, value: str, place: ValueSource, *, always: bool) -> None:
        """Set an annotation; with ``always`` in place of the pod's own."""
        self.claims.add(key, value, place)
        if key in self.added:
            return
        if key not in self.existing or (always and self.existing[key] != value):
            self.added[key] = value

    def matches(self, match: kata.RuleMatch) -> bool:
        """Whether the rest matches; the area has matched the namespace."""
        return label_selectors.matches(match.pod_selector, self.labels)

    def cannot(self, code: str, text: str) -> bool:
        """The configured change is impossible: refuse, or warn; always False."""
        if self.kata_policy.webhook.failure_policy == "Fail":
            raise SandboxRefused(code, text)
        self.warn(code, text)
        return False

    def warn(self, code: str, text: str) -> None:
        """Something to say."""
        self.notes.append(SandboxNote(code, text))
