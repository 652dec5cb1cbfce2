"""The projected token that every cloud starts from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vestibule.api.annotation_keys import Provider
from vestibule.injection import layouts
from vestibule.injection.claim import Claim
from vestibule.injection.plan import CloudPlanForPod, PlannedEnv, PlannedMount, PlannedVolume


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
) -> PlannedVolume:
    """The volume: the token, and other files of the same directory."""
    return PlannedVolume(
        layouts.token_volume(provider, container),
        {"projected": {"sources": [source(audience, expiration), *more]}},
    )


def annotation(path: str, key: str) -> dict[str, Any]:
    """An annotation of the pod as a file next to the token."""
    file = {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{key}']"}}
    return {"downwardAPI": {"items": [file]}}


def plan(
    provider: Provider,
    claim: Claim,
    env: Iterable[PlannedEnv],
    layout: layouts.Layout,
    stronger: tuple[str, ...] = (),
) -> CloudPlanForPod:
    """What every cloud has in common: the token, where it is seen, and the variables that name it."""
    return CloudPlanForPod(
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


def mount(provider: Provider, layout: layouts.Layout) -> PlannedMount:
    """Where containers see it."""
    return PlannedMount(layouts.token_volume(provider), layout.directory(provider))
