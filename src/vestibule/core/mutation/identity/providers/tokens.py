"""The projected token that every cloud starts from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vestibule.core.kinds.vocabulary import Provider
from vestibule.core.mutation.identity import layouts
from vestibule.core.mutation.identity.claim import Claim
from vestibule.core.mutation.identity.plan import Env, Mount, Plan, Volume


def source(audience: str, expiration: int) -> dict[str, Any]:
    """The token as a source of a projected volume."""
    return {
        "serviceAccountToken": {
            "audience": audience,
            "expirationSeconds": expiration,
            "path": layouts.TOKEN_FILE,
        }
    }


def volume(
    provider: Provider, audience: str, expiration: int, *more: dict[str, Any], container: str = ""
) -> Volume:
    """The volume: the token, and what else should stand beside it in one directory."""
    return Volume(
        layouts.token_volume(provider, container),
        {"projected": {"sources": [source(audience, expiration), *more]}},
    )


def annotation(path: str, key: str) -> dict[str, Any]:
    """An annotation of the pod as a file beside the token."""
    file = {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{key}']"}}
    return {"downwardAPI": {"items": [file]}}


def plan(
    provider: Provider,
    claim: Claim,
    env: Iterable[Env],
    layout: layouts.Layout,
    stronger: tuple[str, ...] = (),
) -> Plan:
    """What every cloud has in common: the token, where it is seen, and the variables that name it."""
    return Plan(
        provider=provider,
        volumes=(volume(provider, claim.audience, claim.expiration),),
        mounts=(mount(provider, layout),),
        env=tuple(env),
        stronger=stronger,
        include=claim.include,
        skip=claim.skip,
        required=claim.required,
        init_containers=layout.init_containers,
    )


def mount(provider: Provider, layout: layouts.Layout) -> Mount:
    """Where containers see it."""
    return Mount(layouts.token_volume(provider), layout.directory(provider))
