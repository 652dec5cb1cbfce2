"""Collects the facts for one pod: from the cache without a pause, and on a miss by one live read each.

Pods come in crowds: those of one workload stand in the same surroundings, which are collected once and kept
until the cluster tells of a change, and never longer than a moment.

A read that fails is an error, never "no annotations". A miss is answered by whoever holds the truth, so an
object created a millisecond before its pod is not overlooked.
"""

from __future__ import annotations

from typing import Final

from vestibule.adapters.cluster.ports import Cache, Reader, WatchedCache
from vestibule.core.admission.review import OwnerReference, Pod, Request
from vestibule.core.kinds.gvk import Kind
from vestibule.core.mutation import needs
from vestibule.core.mutation.facts import Facts, Source, Unknown, Unread
from vestibule.core.mutation.rules import Rules

_MOMENT: Final = 1.0
"""Seconds that surroundings are kept without word of a change: workloads are not watched."""
_MOST: Final = 4096
"""Surroundings kept; at about 0.5 KB some 2 MiB."""

_Key = tuple[str, str, OwnerReference | None]


class Crowd:
    """Collects from the cache alone, and remembers what stands around pods of one workload."""

    def __init__(self, cache: WatchedCache) -> None:
        self._peek = cache.peek
        self._rules: Rules | None = None
        self._known: dict[_Key, tuple[float, needs.Around]] = {}
        cache.subscribe(lambda _: self._known.clear())

    def facts(self, request: Request, pod: Pod, rules: Rules, now: float) -> Facts:
        """The facts; raises Unread when the cache cannot tell about an object."""
        namespace, account = needs.names(request, pod, rules)
        owners = pod.metadata.owner_references
        alone = not owners or len(owners) == 1
        key = (namespace, account, owners[0] if owners else None)
        known = self._known.get(key)
        if known is not None and known[0] > now and alone and rules is self._rules:
            return needs.facts(pod, namespace, account, known[1])
        found = needs.around(namespace, account, pod, rules, self._peek)
        if found.whole and alone:
            if rules is not self._rules or len(self._known) >= _MOST:
                self._known.clear()
                self._rules = rules
            self._known[key] = (now + _MOMENT, found)
        return needs.facts(pod, namespace, account, found)


async def facts(request: Request, pod: Pod, rules: Rules, cache: Cache, reader: Reader) -> Facts:
    """The facts, whatever it takes; raises LookupFailed or Forbidden when a read fails.

    Every object that is fetched is one that a collection stopped at, so there are as many rounds as misses:
    at most the owner, its owner, the ServiceAccount and the namespace.
    """
    fetched: dict[tuple[Kind, str, str], Source | None] = {}

    def read(kind: Kind, namespace: str, name: str) -> Source | None | Unknown:
        key = (kind, namespace, name)
        return fetched[key] if key in fetched else cache.peek(kind, namespace, name)

    while True:
        try:
            return needs.collect(request, pod, rules, read)
        except Unread as miss:
            key = (miss.need.kind, miss.need.namespace, miss.need.name)
            fetched[key] = await reader.get(*key)
