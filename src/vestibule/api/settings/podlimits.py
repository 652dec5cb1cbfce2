"""How much of one pod is served: caps that keep the work for a review in proportion to its size.

A pod over a cap is refused with the cap's name. The defaults are far above what people write by hand, and low
enough that no review costs more than a few tens of milliseconds.
"""

from __future__ import annotations

from typing import Final

from vestibule.api.settings.section import SettingsSection


class PodLimits(SettingsSection, frozen=True):
    """Caps on one pod that is to be mutated; a pod over one of them is refused, and the answer names it."""

    containers: int = 200
    """Containers and init containers together. Pods that ask for nothing are not counted."""
    container_keys: int = 32
    """Annotations with the name of a container or profile behind a dot (``cwii.dev/aws-role-arn.worker``),
    for each such key, over all levels."""
    list_names: int = 50
    """Names in one list of containers (``cwii.dev/skip-containers`` and the like)."""
    value_length: int = 2048
    """Characters of one value that goes into a pod (a role, an audience and the like)."""
    identity_values: int = 100
    """Different values that name an identity (roles, clients, tenants, providers, accounts, audiences) in the
    finished pod, where a policy limits or is locked."""
    unknown_keys: int = 3
    """Unknown keys that are reported with the key that was probably meant; further ones are ignored without a
    report of their own."""
    patch_bytes: int = 1_000_000
    """Bytes of the patch, before it is encoded for the answer; 1 MB is 1.4 MB in the answer."""


DEFAULT_CAPS: Final = PodLimits()
