"""The use of each dialect: ServiceAccounts and their annotations, counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from vestibule.api import annotation_keys
from vestibule.api.settings.schema import Settings
from vestibule.injection.facts import SourceObject

_IDENTITY_KEYS: Final = {
    "cwii": ("",),
    "azwi": ("client-id", "tenant-id"),
    "eks": ("role-arn",),
    "wif": ("workload-identity-provider", "service-account-email"),
    "gke": ("gcp-service-account",),
}
"""Keys of each dialect that request an identity; empty: every key does."""


def prefixes(settings: Settings) -> dict[str, str]:
    """The key prefix of each dialect."""
    return {
        "cwii": annotation_keys.CWII_PREFIX,
        "azwi": annotation_keys.AZWI_PREFIX,
        "eks": settings.eks.annotation_prefix.rstrip("/") + "/",
        "wif": settings.wif.annotation_prefix.rstrip("/") + "/",
        "gke": annotation_keys.GKE_PREFIX,
    }


def uses(annotations: Mapping[str, str], starts: Mapping[str, str]) -> list[str]:
    """The dialects of a ServiceAccount's annotations."""
    return [
        name
        for name, start in starts.items()
        if any(
            key.startswith(start)
            and (key.removeprefix(start) in _IDENTITY_KEYS[name] or "" in _IDENTITY_KEYS[name])
            for key in annotations
        )
    ]


def begins(keys: Iterable[str], starts: Mapping[str, str]) -> list[str]:
    """The dialects with at least one key."""
    listed = list(keys)
    return [name for name, start in starts.items() if any(key.startswith(start) for key in listed)]


def counted(accounts: Iterable[SourceObject], settings: Settings) -> dict[str, int]:
    """The number of ServiceAccounts by dialect, without unused dialects."""
    starts = prefixes(settings)
    found = dict.fromkeys(starts, 0)
    for account in accounts:
        for name in uses(dict(account.annotations.items()), starts):
            found[name] += 1
    return {name: count for name, count in found.items() if count}
