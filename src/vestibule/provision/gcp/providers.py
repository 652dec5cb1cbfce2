"""What a provider should be, and what one that exists lacks. Pure.

Keys in a provider are merged by ``kid`` like published ones: with what is there, or, where a
provider has read them from our bucket until now, with what is published. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vestibule.clouds.gcp.pools import PoolProvider
from vestibule.oidc import key_merge
from vestibule.oidc.keys import PublicKey
from vestibule.provision.gcp import names
from vestibule.provision.gcp.request import GcpRequest

AUDIENCES = "oidc.allowed_audiences"
ATTRIBUTES = "attribute_mapping"
KEYS = "oidc.jwks_json"


def body(desired: GcpRequest, keys: str = "") -> dict[str, Any]:
    """A new provider."""
    oidc: dict[str, Any] = {"issuerUri": desired.issuer, "allowedAudiences": [names.AUDIENCE]}
    if keys:
        oidc["jwksJson"] = keys
    return {
        "displayName": desired.name,
        "description": names.CREATED,
        "oidc": oidc,
        "attributeMapping": dict(names.MAPPING),
    }


def refusal(found: PoolProvider, desired: GcpRequest) -> str:
    """Why a provider that exists is not to be used; empty when it is."""
    if found.issuer != desired.issuer:
        return f"provider {found.name} exists and trusts {found.issuer!r}, want another --name"
    if found.keys and not desired.embedded:
        want = "want --key-storage-method pool-jwk-file: the bucket would not be read"
        return f"provider {found.name} exists and keeps its keys itself, {want}"
    other = found.mapping.get("google.subject", "")
    if other and other != names.MAPPING["google.subject"]:
        return f"provider {found.name} exists and maps google.subject to {other!r}, want another --name"
    return ""


def patch(found: PoolProvider) -> tuple[dict[str, Any], list[str]]:
    """What a provider lacks but for keys: a body, and the mask that goes with it."""
    change: dict[str, Any] = {}
    mask = []
    if names.AUDIENCE not in found.audiences:
        change["oidc"] = {"allowedAudiences": [*found.audiences, names.AUDIENCE]}
        mask.append(AUDIENCES)
    if not names.MAPPING.items() <= found.mapping.items():
        change["attributeMapping"] = {**found.mapping, **names.MAPPING}
        mask.append(ATTRIBUTES)
    return change, mask


def merged(found: PoolProvider, published: bytes | None, keys: Sequence[PublicKey]) -> key_merge.MergedKeys:
    """The keys to keep in a provider; ``published`` are those it reads now, when it keeps none."""
    current = found.keys.encode() if found.keys else published
    result = key_merge.merge(current, keys, place=f"provider {found.name}")
    return result if found.keys else result._replace(changed=True)


def lacking(found: PoolProvider, desired: GcpRequest, keys: Sequence[PublicKey]) -> list[str]:
    """What is to be done to a provider, in words; no keys means that new ones will be made."""
    words = {AUDIENCES: "audience", ATTRIBUTES: "mapping"}
    lack = ["was deleted"] if found.deleted else []
    lack += [words[one] for one in patch(found)[1]]
    if desired.embedded and (not keys or not found.keys or merged(found, None, keys).changed):
        lack.append("keys")
    return lack
