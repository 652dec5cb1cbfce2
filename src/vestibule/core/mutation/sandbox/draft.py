"""A pod whose sandbox is being decided: what is known of it, and what it gets so far.

The first who writes a key keeps it. What cannot be done as configured follows the failure policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vestibule.core.kinds import kata, labels, vocabulary
from vestibule.core.mutation.sandbox.origins import Claims, Place
from vestibule.core.mutation.sandbox.outcome import Refused, Told
from vestibule.core.mutation.sandbox.world import World

Json = Mapping[str, Any]


class Draft:
    """What the steps read and write."""

    def __init__(
        self,
        meta: Json,
        spec: Json,
        namespace: str,
        namespace_labels: Mapping[str, str],
        found: World,
        *,
        of_daemon_set: bool | None = None,
        current: World | None = None,
    ) -> None:
        """``current`` is the world in force, where the pod is finished in an earlier one."""
        self.current = current or found
        self.enforced = self.current.area(namespace, namespace_labels)
        """What is enforced now, whatever the pod's mark says."""
        if of_daemon_set is None:
            owners = meta.get("ownerReferences") or ()
            of_daemon_set = any(one.get("kind") == "DaemonSet" and one.get("controller") for one in owners)
        self.of_daemon_set = of_daemon_set
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

    def put(self, key: str, value: str, place: Place, *, always: bool) -> None:
        """Set an annotation; with ``always`` in place of the pod's own."""
        self.claims.add(key, value, place)
        if key in self.added:
            return
        if key not in self.existing or (always and self.existing[key] != value):
            self.added[key] = value

    def matches(self, match: kata.Match) -> bool:
        """The rest of it; the area has looked at the namespace."""
        return labels.matches(match.pod_selector, self.labels)

    def cannot(self, code: str, text: str) -> bool:
        """What was configured cannot be done: refused, or told; always False."""
        if self.world.webhook.failure_policy == "Fail":
            raise Refused(code, text)
        self.tell(code, text)
        return False

    def tell(self, code: str, text: str) -> None:
        """Something to say."""
        self.told.append(Told(code, text))
