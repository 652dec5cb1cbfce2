"""Pods that are alike get the same patch: the key under which a patch may be remembered.

Pods of one workload differ in uid, hash and the name of the API token volume, which admission draws anew
for each. With that name evened out, their containers are the same text, and comparing texts is cheaper than
decoding them. A pod that may already hold something of ours (a volume, an annotation) has no key: it is
looked at in full.
"""

from __future__ import annotations

from typing import Final

from vestibule.core.admission import review
from vestibule.core.mutation.facts import Facts
from vestibule.core.mutation.identity import checks, render

Key = tuple[render.Bundle, bytes, bytes, bool, bool]

_LONGEST: Final = 32 * 1024
"""Bytes of containers that are remembered; more is rare, and would make the memory large."""
_API_VOLUME: Final = b'"kube-api-access-'
_API_VOLUME_LENGTH: Final = len(_API_VOLUME) + 6
"""Five random characters and the closing quote."""
_OUR_VOLUMES: Final = b'"cwii-'


def key(pod: review.Pod, facts: Facts, bundle: render.Bundle) -> Key | None:
    """What the patch depends on, as long as nothing of ours is in the pod; None when something may be."""
    spec = pod.spec
    volumes = bytes(spec.volumes)
    if _OUR_VOLUMES in volumes:
        return None
    existing = pod.metadata.annotations
    if existing and not bundle.annotations.keys().isdisjoint(existing):
        return None
    if "gcp" in bundle.providers and not checks.subject_fits(facts.namespace, facts.service_account):
        return None
    containers, inits = bytes(spec.containers), bytes(spec.init_containers)
    if len(containers) + len(inits) > _LONGEST:
        return None
    start = volumes.find(_API_VOLUME)
    if start >= 0:
        name = volumes[start : start + _API_VOLUME_LENGTH]
        containers = containers.replace(name, _API_VOLUME)
        if inits:
            inits = inits.replace(name, _API_VOLUME)
    return bundle, containers, inits, volumes not in (b"", b"null"), existing is not None
