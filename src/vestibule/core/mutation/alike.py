"""Pods that are alike get the same verdict, without anything being worked out again.

Everything a verdict follows from is compared: namespace, ServiceAccount, owner, the annotations that can
matter, labels, and the text of volumes and containers. Pods of one workload agree in all of it. Verdicts are
kept for a moment, per policy, and forgotten when the cluster tells of a change; those with something to say,
or to write, are not kept.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vestibule.core.admission.review import OwnerReference, Pod, PodOS, Request
from vestibule.core.admission.verdict import Verdict
from vestibule.core.kinds import vocabulary
from vestibule.core.mutation import likeness
from vestibule.core.mutation.policy import Policy

MOMENT: Final = 1.0
"""Seconds that a verdict is kept without word of a change: workloads are not watched."""
_MOST: Final = 512
"""Verdicts kept; with the texts they belong to some 10 KB each, 5 MiB when full."""

_Key = tuple[str | None, str | None, str | None]
"""Namespace, ServiceAccount, uid of the owner."""


class _Kept(NamedTuple):
    policy: Policy
    until: float
    owner: OwnerReference | None
    annotations: dict[str, str] | None
    """Those that can matter; None when the pod has no annotations at all."""
    labels: bytes
    namespace: str | None
    host_network: bool | None
    node_selector: dict[str, str] | None
    os: PodOS | None
    text: likeness.Text | None
    """None: the verdict does not depend on it."""
    verdict: Verdict


class Alike:
    """Verdicts of pods seen a moment ago."""

    def __init__(self) -> None:
        self._known: dict[_Key, _Kept] = {}
        self._sightings = likeness.Sightings()
        self.clear = self._known.clear

    def get(self, request: Request, policy: Policy, now: float) -> Verdict | None:
        """The verdict of a pod like this one, if there was one."""
        pod = request.object
        if pod is None or request.operation != "CREATE" or request.sub_resource:
            return None
        meta, spec = pod.metadata, pod.spec
        owners = meta.owner_references
        owner = owners[0] if owners else None
        key = (request.namespace, spec.service_account_name, None if owner is None else owner.uid)
        kept = self._known.get(key)
        if kept is None:
            return None
        if kept.until <= now or kept.policy is not policy:
            del self._known[key]
            return None
        if (
            kept.owner != owner
            or (owners and len(owners) != 1)
            or kept.labels != bytes(meta.labels)
            or kept.annotations != _said(meta.annotations, policy)
            or kept.namespace != meta.namespace
            or kept.host_network is not spec.host_network
            or kept.node_selector != spec.node_selector
            or kept.os != spec.os
        ):
            return None  # a pod that was here already comes again with our annotation: the others are alike
        if kept.text is not None and not kept.text.fits(pod):
            del self._known[key]
            self._sightings.unlike(key)
            return None
        return kept.verdict

    def put(self, request: Request, pod: Pod, policy: Policy, now: float, verdict: Verdict) -> None:
        """Keep a verdict, if others may get it."""
        meta, spec = pod.metadata, pod.spec
        owners = meta.owner_references
        owner = owners[0] if owners else None
        key = (request.namespace, spec.service_account_name, None if owner is None else owner.uid)
        if not self._sightings.again(key):
            return
        if (
            not policy.shared
            or verdict.findings
            or verdict.effects
            or verdict.outcome == "deny"
            or request.operation != "CREATE"
            or request.sub_resource
            or (owners and len(owners) != 1)
            or (meta.annotations and vocabulary.MIRROR_POD in meta.annotations)
        ):
            return
        text = likeness.text_of(pod) if verdict.outcome == "inject" else None
        if verdict.outcome == "inject" and text is None:
            return
        if len(self._known) >= _MOST and not self._room(now):
            return
        self._known[key] = _Kept(
            policy,
            now + MOMENT,
            owner,
            _said(meta.annotations, policy),
            bytes(meta.labels),
            meta.namespace,
            spec.host_network,
            spec.node_selector,
            spec.os,
            text,
            verdict,
        )

    def _room(self, now: float) -> bool:
        """Forget the oldest if its time is over. Else what is kept stays: in a crowd of more workloads than
        there is room for, to put one in another's place would keep none long enough to be found."""
        oldest = next(iter(self._known))
        if self._known[oldest].until > now:
            return False
        del self._known[oldest]
        return True


def _said(annotations: dict[str, str] | None, policy: Policy) -> dict[str, str] | None:
    """Those from which a verdict may follow; a mirror pod's is one of them."""
    if annotations is None:
        return None
    found = vocabulary.said(annotations, every=policy.rules.own_prefixes)
    return {**found, vocabulary.MIRROR_POD: ""} if vocabulary.MIRROR_POD in annotations else found
