"""Who uses which vocabulary: ServiceAccounts and their annotations, counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from vestibule.api import annotation_keys
from vestibule.api.settings.schema import Settings
from vestibule.injection.facts import SourceObject

_TELLING: Final = {
    "cwii": ("",),
    "azwi": ("client-id", "tenant-id"),
    "eks": ("role-arn",),
    "wif": ("workload-identity-provider", "service-account-email"),
    "gke": ("gcp-service-account",),
}
"""Keys of each vocabulary that ask for an identity; nothing: every key does."""


def prefixes(settings: Settings) -> dict[str, str]:
    """How the keys of each vocabulary begin."""
    return {
        "cwii": annotation_keys.CWII_PREFIX,
        "azwi": annotation_keys.AZWI_PREFIX,
        "eks": settings.eks.annotation_prefix.rstrip("/") + "/",
        "wif": settings.wif.annotation_prefix.rstrip("/") + "/",
        "gke": annotation_keys.GKE_PREFIX,
    }


def uses(annotations: Mapping[str, str], starts: Mapping[str, str]) -> list[str]:
    """The vocabularies that an account's annotations ask in."""
    return [
        name
        for name, start in starts.items()
        if any(
            key.startswith(start) and (key.removeprefix(start) in _TELLING[name] or "" in _TELLING[name])
            for key in annotations
        )
    ]


def begins(keys: Iterable[str], starts: Mapping[str, str]) -> list[str]:
    """The vocabularies of which there is any key."""
    listed = list(keys)
    return [name for name, start in starts.items() if any(key.startswith(start) for key in listed)]


def counted(accounts: Iterable[SourceObject], settings: Settings) -> dict[str, int]:
    """How many accounts ask in each vocabulary; those that nobody uses are left out."""
    starts = prefixes(settings)
    found = dict.fromkeys(starts, 0)
    for account in accounts:
        for name in uses(dict(account.annotations.items()), starts):
            found[name] += 1
    return {name: count for name, count in found.items() if count}
