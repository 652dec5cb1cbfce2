"""What a running pod lacks of its sandbox, as far as the final pod shows it.

The class, the annotations and the labels that today's decision would still add. Resources are not compared:
the API server fills them in, and annotations hold their sizes. A pod with the sandbox annotation was mutated;
what it lacks then is caused by another policy, not by a webhook that was unavailable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vestibule.api import annotation_keys
from vestibule.checks.running_pods import PodDrift
from vestibule.injection.sandbox import decision
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Object = Mapping[str, Any]
_CLOUDS: Final = ("sandbox",)
"""Takes the place of the clouds of an identity."""
_MOST: Final = 4
"""Maximum number of keys in a message."""


def drift(
    pod: Object, namespace: str, namespace_labels: Mapping[str, str], found: SandboxPolicy
) -> Iterator[PodDrift]:
    """Everything that differs from a pod created today."""
    meta, spec = pod["metadata"], pod["spec"]
    name = spec.get("runtimeClassName")
    unconcerned = name not in found.kata_classes if name else not found.gives_classes
    if (unconcerned and not found.enforces(namespace)) or found.excluded(namespace):
        return
    annotations, labels = meta.get("annotations") or {}, meta.get("labels") or {}
    enforced = decision.enforced(pod, namespace, namespace_labels, found)
    if enforced:
        yield PodDrift("refused", _CLOUDS, f"deviates from what its namespace enforces: {enforced}")
        return
    mark = annotations.get(annotation_keys.SANDBOX, "")
    if mark and mark != found.digest and not found.strict:
        yield PodDrift("stale", _CLOUDS, "its sandbox was created for an older KataConfig or older rules")
        return
    decided = decision.decide(pod, namespace, namespace_labels, found)
    if decided.refusal is not None:
        yield PodDrift("refused", _CLOUDS, decided.refusal.text)
        return
    if decided.runtime_class:
        yield PodDrift("missing", _CLOUDS, f"has no sandbox: its class would be {decided.runtime_class}")
        return
    lacking = [key for key in decided.annotations if key not in annotations]
    lacking += [key for key in decided.labels if key not in labels]
    if lacking:
        more = f" and {len(lacking) - _MOST} more" if len(lacking) > _MOST else ""
        text = f"its sandbox lacks {', '.join(lacking[:_MOST])}{more}"
        # strict mode leaves no annotation: whether the webhook was called is unknown
        yield PodDrift("stale" if mark or found.strict else "partial", _CLOUDS, text)
