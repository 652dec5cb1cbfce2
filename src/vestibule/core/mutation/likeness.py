"""What makes two pods alike, and which workloads are worth remembering.

Pods of one workload differ in uid, hash and the name of the API token volume, for which admission draws five
characters anew each time. All else that a patch depends on is the same text, and comparing texts is much
cheaper than decoding or even hashing them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from vestibule.core.admission import review

_MARKS: Final = 4096
"""Workloads that are known to have come; at about 0.3 KB some 1 MiB."""
_PATIENCE: Final = 32
"""Pods of a workload that are passed by after two were unlike."""
_LONGEST: Final = 32 * 1024
"""Bytes of containers and volumes that are remembered; more is rare, and would make the memory large."""
_API_VOLUME: Final = b'"kube-api-access-'
_DRAWN: Final = 5
"""Characters that admission draws for the name of the API token volume."""


class Sightings:
    """Which workloads are worth remembering: those whose pods came before, and were not unlike each other.

    To remember a pod costs as much as to decide it, and where every pod is the first of its workload nothing
    is ever found again. So the first sight leaves only a mark, and pods that were kept but did not resemble
    the next one (those of a StatefulSet name their own volumes) are tried again only after some more.
    """

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[Any, int] = {}

    def again(self, key: Any) -> bool:
        """Whether this pod should be kept; counts it as seen."""
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= _MARKS:
                self._seen.clear()
            self._seen[key] = 1
            return False
        if seen < 1:
            self._seen[key] = seen + 1
            return False
        return True

    def unlike(self, key: Any) -> None:
        """What was kept did not resemble the next pod."""
        self._seen[key] = -_PATIENCE


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
