"""Collects the facts for one pod: from the cache, and on a miss by one live read each.

A read that fails is an error, never "no annotations". A miss is answered by whoever holds the truth, so an
object created a millisecond before its pod is not overlooked.
"""

from __future__ import annotations

from vestibule.admission.review import AdmissionRequest, Pod
from vestibule.api.gvk import Kind
from vestibule.injection import lookups
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.facts import Facts, LookupUnknown, SourceObject, Unknown
from vestibule.kube.ports import Cache, Reader


async def facts(
    request: AdmissionRequest, pod: Pod, rules: CompatRules, cache: Cache, reader: Reader
) -> Facts:
    """The facts, whatever it takes; raises LookupFailed or Forbidden when a read fails.

    Every object that is fetched is one that a collection stopped at, so there are as many rounds as misses:
    at most the owner, its owner, the ServiceAccount and the namespace.
    """
    fetched: dict[tuple[Kind, str, str], SourceObject | None] = {}

    def read(kind: Kind, namespace: str, name: str, uid: str = "", /) -> SourceObject | None | Unknown:
        key = (kind, namespace, name)
        return fetched[key] if key in fetched else cache.peek(kind, namespace, name, uid)

    while True:
        try:
            return lookups.collect(request, pod, rules, read)
        except LookupUnknown as miss:
            key = (miss.need.kind, miss.need.namespace, miss.need.name)
            fetched[key] = await reader.get(*key)
