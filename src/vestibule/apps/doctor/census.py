"""Goes through the pods of a cluster, page by page, and decides each as the webhook would today.

Namespaces and ServiceAccounts are listed once, owners are read when a pod names them and kept for the run.
Several pods are decided at a time, so that reads overlap; nobody is asked for more than a few at once.
"""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Mapping
from typing import Any, Final

from vestibule import errors
from vestibule.adapters.cluster import gather, pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.remembered import RememberedCluster
from vestibule.apps.doctor.question import Tell
from vestibule.core.admission import review as reviews
from vestibule.core.doctor import census, pods
from vestibule.core.doctor.census import Entry, Tally
from vestibule.core.doctor.registration import Registration
from vestibule.core.kinds import gvk, vocabulary
from vestibule.core.mutation import pipeline
from vestibule.core.mutation.identity import stage
from vestibule.core.mutation.policy import Policy

_AT_ONCE: Final = 16
Object = dict[str, Any]


async def _written(known: RememberedCluster, pod: Object) -> Mapping[str, Any] | None:
    """The spec as the pod's author wrote it, from what makes the pod; None when it cannot be had."""
    reference = pods.controller(pod)
    if reference is None:
        return pods.template(None, pod)
    kind = gvk.BY_KIND.get(str(reference["kind"]))
    if kind is None:
        return None
    owner = await known.whole(kind, pod["metadata"]["namespace"], str(reference["name"]))
    return pods.template(owner, pod) if owner is not None else None


class Census:
    """One run over all pods."""

    def __init__(
        self,
        client: Client,
        policy: Policy,
        registration: Registration | None,
        now: datetime.datetime,
        tell: Tell,
    ) -> None:
        self._client = client
        self._policy = policy
        self._registration = registration
        self._now = now
        self._tell = tell
        self._known = RememberedCluster(client)
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._seen = self._served = 0
        self._unread: list[str] = []
        self.entries: list[Entry] = []

    async def take(self, namespace: str) -> Tally:
        """Go through all pods; raises Forbidden or Unavailable when they cannot be listed."""
        await self._known.fill(namespace)
        done: set[str] = set()
        async for page in pages.pages(self._client, gvk.POD, namespace):
            fresh = [pod for pod in page if pod["metadata"]["uid"] not in done]
            done.update(pod["metadata"]["uid"] for pod in fresh)
            await asyncio.gather(*(self._one(pod) for pod in fresh if pods.alive(pod)))
            self._tell(f"{len(done)} pods looked at")
        self.entries.sort(key=lambda one: (one.namespace, one.name))
        return Tally(self._seen, self._served, tuple(self._unread))

    async def _one(self, pod: Object) -> None:
        meta = pod["metadata"]
        if self._policy.excluded(meta["namespace"]):
            return
        if self._policy.settings.exclude.host_network and pod["spec"].get("hostNetwork"):
            return
        self._seen += 1
        async with self._gate:
            try:
                await self._decide(pod)
            except (errors.Unavailable, errors.Forbidden, errors.MalformedReview) as error:
                self._unread.append(f"Pod {meta['namespace']}/{meta['name']}: {error}")

    async def _decide(self, pod: Object) -> None:
        policy = self._policy
        request = reviews.decode(_review(pod)).request
        if request.object is None or pipeline.early(request, policy) is not None:
            return
        read = await gather.facts(request, request.object, policy.rules, self._known, self._known)
        prepared = policy.prepare(read.annotations, policy.subject(request.object, read))
        verdict = stage.run(request.object, read, policy)
        self._served += bool(prepared.bundle.parts or prepared.missing)
        operations = json.loads(verdict.patch) if verdict.patch else []
        found = list(pods.differences(pod, verdict, operations, prepared, policy.settings))
        if any(one.state == "stale" for one in found):
            written = await _written(self._known, pod)
            found = list(pods.differences(pod, verdict, operations, prepared, policy.settings, written))
        namespace = pod["metadata"]["namespace"]
        labels = self._known.labels.get(namespace, {vocabulary.NAMESPACE_NAME_LABEL: namespace})
        owner = census.owner(pod, read.levels)
        self.entries += [
            census.entry(pod, one, owner, self._registration, labels, self._now) for one in found
        ]


def _review(pod: Object) -> bytes:
    """The review that the API server would have sent."""
    request = {
        "uid": "doctor",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "userInfo": {"username": "doctor"},
        "namespace": pod["metadata"]["namespace"],
        "object": pods.as_created(pod),
    }
    return json.dumps(
        {"apiVersion": reviews.API_VERSIONS[0], "kind": "AdmissionReview", "request": request}
    ).encode()
