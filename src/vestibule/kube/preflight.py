"""One look at a live cluster before something is installed there: version, discovery, what exists already.

Only reads. What we may not read is noted and not guessed; a cluster that does not answer is an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from vestibule import errors
from vestibule.kube import client
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import Client
from vestibule.manifests import cluster_facts
from vestibule.manifests.cluster_facts import ClusterFacts, Object

_REGISTRATION: Final = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")


async def read_facts(asked: Client, objects: Sequence[Object]) -> ClusterFacts:
    """What the cluster says that matters to these objects.

    Raises Forbidden when even discovery is refused, Unavailable when the cluster does not answer.
    """
    said, groups = await asyncio.gather(_document(asked, "/version"), _document(asked, "/apis"))
    version = cluster_facts.version(said or {})
    if version is None or groups is None:
        raise errors.Unavailable("/version and /apis are no answers of a Kubernetes API server")
    wanted = {*cluster_facts.api_versions(objects), _REGISTRATION[0]} & {
        "v1",
        *cluster_facts.versions(groups),
    }
    listed = await asyncio.gather(*(_resources(asked, api) for api in sorted(wanted)))
    served = {kind: resource for found in listed for kind, resource in found.items()}
    unseen: list[str] = []
    paths = [
        (thing, f"{_root(thing['apiVersion'])}/{resource.plural}/{quote(thing['metadata']['name'], safe='')}")
        for thing in objects
        if (resource := served.get((thing["apiVersion"], thing["kind"]))) and not resource.namespaced
    ]
    answers = await asyncio.gather(*(_seen(asked, path, unseen) for _, path in paths))
    found = [
        # the kind is in the answer, but not by contract
        {**answer, "apiVersion": thing["apiVersion"], "kind": thing["kind"]}
        for (thing, _), answer in zip(paths, answers, strict=True)
        if answer is not None
    ]
    registrations: dict[str, Any] | None = None
    if resource := served.get(_REGISTRATION):
        registrations = await _seen(asked, f"{_root(_REGISTRATION[0])}/{resource.plural}", unseen)
    return ClusterFacts(
        version,
        frozenset(str(group.get("name")) for group in groups.get("groups") or ()),
        served,
        tuple(found),
        tuple((registrations or {}).get("items") or ()),
        tuple(dict.fromkeys(unseen)),
    )


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


async def _resources(
    asked: Client, api_version: str
) -> dict[cluster_facts.ApiKind, cluster_facts.ServedResource]:
    """The kinds of one apiVersion; none when it went away since the groups were read."""
    return cluster_facts.resources(api_version, await _document(asked, _root(api_version)) or {})


async def _seen(asked: Client, path: str, unseen: list[str]) -> dict[str, Any] | None:
    """The document, or None when there is none or we may not read it; the latter is noted."""
    try:
        return await _document(asked, path)
    except errors.Forbidden as error:
        unseen.append(str(error))
        return None


async def _document(asked: Client, path: str) -> dict[str, Any] | None:
    answer = await asked.send(ApiRequest("GET", path))
    if answer.status == 404:
        return None
    if answer.status != 200:
        client.raise_for(answer, f"reading {path}")
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise errors.Unavailable(f"reading {path}: the answer is no JSON object") from error
