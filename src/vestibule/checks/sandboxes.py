"""What a running pod lacks of its sandbox, as far as the final pod tells.

The class, the annotations and the labels that today's decision would still add. Resources are not compared:
the API server fills them in, and their sizes stand in annotations. A pod that carries our mark was served;
what it lacks then is a matter of another policy, not of a webhook that was away.
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
"""Stands where the clouds of an identity stand."""
_MOST: Final = 4
"""Keys that are written out."""


def differences(
    pod: Object, namespace: str, namespace_labels: Mapping[str, str], found: SandboxPolicy
) -> Iterator[PodDrift]:
    """Everything that is not as it would be made today."""
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
        yield PodDrift("stale", _CLOUDS, "its sandbox was made for an older KataConfig or older rules")
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
        # a stand-in leaves no mark: whether it was asked cannot be told
        yield PodDrift("stale" if mark or found.strict else "partial", _CLOUDS, text)
