"""Pods that are alike get the same patch, worked out once.

Pods of one workload differ in uid, hash and the name of the API token volume, for which admission draws five
characters anew each time. All else that a patch depends on is the same text, and comparing texts is much
cheaper than decoding or even hashing them: a patch is found by what owns the pod, and given out when the
text with this pod's five characters in the right places is the text it was made for. A pod that may already
hold an annotation of ours is like no other: it is looked at in full.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vestibule.core.admission import review
from vestibule.core.admission.patch import Patch
from vestibule.core.mutation.facts import Facts
from vestibule.core.mutation.identity import checks, render

_LONGEST: Final = 32 * 1024
"""Bytes of containers and volumes that are remembered; more is rare, and would make the memory large."""
_API_VOLUME: Final = b'"kube-api-access-'
_DRAWN: Final = 5
"""Characters that admission draws for the name of the API token volume."""

_Key = tuple[render.Bundle, str | None]
"""What is added, and the uid or name that pods of one workload share."""


class Text(NamedTuple):
    """Everything in a pod's spec that a patch depends on, cut where the drawn characters stand."""

    position: int
    """Of the first drawn characters."""
    pieces: tuple[bytes, ...]

    def fits(self, pod: review.Pod) -> bool:
        """Whether a pod's spec is this text, but for the characters that were drawn for it."""
        text = _text(pod)
        if len(self.pieces) == 1:
            return text == self.pieces[0]
        drawn = text[self.position : self.position + _DRAWN]
        return text == drawn.join(self.pieces) and drawn.isalnum()


def text_of(pod: review.Pod) -> Text | None:
    """The text of a pod; None when it is too long to be kept."""
    text = _text(pod)
    return Text(*_cut(text)) if len(text) <= _LONGEST else None


class _Kept(NamedTuple):
    """A patch and the text it was made for."""

    patch: Patch
    text: Text
    annotated: bool


class Patches:
    """One patch for every workload's pods; the oldest is forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[_Key, _Kept] = {}

    def get(self, pod: review.Pod, bundle: render.Bundle) -> Patch | None:
        """The patch that a pod like this one got, if there was one."""
        kept = self._known.get(_key(pod, bundle))
        if kept is None or kept.annotated is (pod.metadata.annotations is None):
            return None
        return kept.patch if kept.text.fits(pod) else None

    def put(self, pod: review.Pod, bundle: render.Bundle, patch: Patch) -> None:
        """Remember a pod's patch, in place of what was remembered for its workload."""
        text = text_of(pod)
        if text is None:
            return
        key = _key(pod, bundle)
        if key not in self._known:
            while len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
        self._known[key] = _Kept(patch, text, pod.metadata.annotations is not None)


def clean(pod: review.Pod, facts: Facts, bundle: render.Bundle) -> bool:
    """Whether a patch for alike pods can do for this one: no annotation of ours, no subject too long."""
    existing = pod.metadata.annotations
    if bundle.labels or (existing and not bundle.annotations.keys().isdisjoint(existing)):
        return False
    return "gcp" not in bundle.providers or checks.subject_fits(facts.namespace, facts.service_account)


def _key(pod: review.Pod, bundle: render.Bundle) -> _Key:
    owners = pod.metadata.owner_references
    return bundle, owners[0].uid if owners else pod.metadata.generate_name


def _text(pod: review.Pod) -> bytes:
    """Everything in the spec that a patch depends on; no JSON text holds a bare line feed in a string."""
    spec = pod.spec
    return b"\n".join((spec.volumes, spec.containers, spec.init_containers))


def _cut(text: bytes) -> tuple[int, tuple[bytes, ...]]:
    start = text.find(_API_VOLUME)
    position = start + len(_API_VOLUME)
    name = text[start : position + _DRAWN]
    if start < 0 or not name[-_DRAWN:].isalnum():
        return 0, (text,)
    *before, last = text.split(name)
    return position, (*(piece + _API_VOLUME for piece in before), last)
