"""Collects the facts for one pod: from the cache, and on a miss by one live read each.

A read that fails is an error, never "no annotations". A miss is answered by whoever holds the truth, so an
object created a millisecond before its pod is not overlooked.
"""

from __future__ import annotations

from vestibule.adapters.cluster.ports import Cache, Reader
from vestibule.core.admission.review import Pod, Request
from vestibule.core.kinds.gvk import Kind
from vestibule.core.mutation import needs
from vestibule.core.mutation.facts import Facts, Source, Unknown, Unread
from vestibule.core.mutation.rules import Rules


async def facts(request: Request, pod: Pod, rules: Rules, cache: Cache, reader: Reader) -> Facts:
    """The facts, whatever it takes; raises LookupFailed or Forbidden when a read fails.

    Every object that is fetched is one that a collection stopped at, so there are as many rounds as misses:
    at most the owner, its owner, the ServiceAccount and the namespace.
    """
    fetched: dict[tuple[Kind, str, str], Source | None] = {}

    def read(kind: Kind, namespace: str, name: str, uid: str = "", /) -> Source | None | Unknown:
        key = (kind, namespace, name)
        return fetched[key] if key in fetched else cache.peek(kind, namespace, name, uid)

    while True:
        try:
            return needs.collect(request, pod, rules, read)
        except Unread as miss:
            key = (miss.need.kind, miss.need.namespace, miss.need.name)
            fetched[key] = await reader.get(*key)
