"""Scans the pods of a cluster, page by page, and decides each as the webhook would today.

Namespaces are listed once; accounts and owners are read when a pod names them. Pods come by namespace, so
the cached objects of a namespace are dropped with it, and a large cluster is never held in memory. A bounded
number of pods is decided concurrently, so that reads overlap.
"""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from vestibule import errors
from vestibule.admission import review as reviews
from vestibule.api import annotation_keys, gvk
from vestibule.api.downtime import Outage
from vestibule.checks import pod_report, running_pods, sandboxes
from vestibule.checks.pod_report import PodCounts, PodEntry
from vestibule.checks.running_pods import PodDrift
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.injection import identity_stage, pipeline
from vestibule.injection.facts import Facts
from vestibule.injection.policy import Policy
from vestibule.kube import fact_reader, lister
from vestibule.kube.caching_reader import CachingReader
from vestibule.kube.client import Client

AT_ONCE: Final = 16
_MOST_UNREAD: Final = 100
"""Maximum number of undecided pods in a report."""
Object = dict[str, Any]
Progress = Callable[[str], None]
"""Reports progress."""


async def _written(known: CachingReader, pod: Object) -> Mapping[str, Any] | None:
    """The spec as the pod's author wrote it, from the pod's owner; None if unknown."""
    reference = running_pods.controller(pod)
    if reference is None:
        return running_pods.template(None, pod)
    kind = gvk.BY_KIND.get(str(reference["kind"]))
    if kind is None:
        return None
    owner = await known.whole(kind, pod["metadata"]["namespace"], str(reference["name"]))
    return running_pods.template(owner, pod) if owner is not None else None


def _silent(text: str) -> None:
    del text


class PodScan:
    """One scan. ``found`` is called for every pod that has drifted; without it they are collected."""

    def __init__(
        self,
        client: Client,
        policy: Policy,
        webhook: WebhookEntry | None,
        now: datetime.datetime,
        progress: Progress = _silent,
        *,
        sandboxes: Sequence[WebhookEntry] = (),
        outages: Sequence[Outage] = (),
        found: Callable[[PodEntry], None] | None = None,
    ) -> None:
        self._client = client
        self._policy = policy
        self._webhook = webhook
        self._sandbox_webhooks = sandboxes
        self._outages = outages
        self._now = now
        self._progress = progress
        self._known = CachingReader(client)
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._seen = self._served = 0
        self._unread: list[str] = []
        self.entries: list[PodEntry] = []
        self._found = found or self.entries.append

    async def take(self, namespace: str) -> PodCounts:
        """Go through all pods; raises Forbidden or Unavailable when they cannot be listed."""
        await self._known.fill()
        done: set[str] = set()
        async for page in lister.pages(self._client, gvk.POD, namespace):
            fresh = [pod for pod in page if pod["metadata"]["uid"] not in done]
            done.update(pod["metadata"]["uid"] for pod in fresh)
            await self.over(fresh)
            if page:
                self._known.keep_only(page[-1]["metadata"]["namespace"])
            self._progress(f"{len(done)} pods scanned")
        self.entries.sort(key=lambda one: (one.namespace, one.name))
        return PodCounts(self._seen, self._served, tuple(self._unread))

    @property
    def cached_objects(self) -> int:
        """Number of cached owners, ServiceAccounts and namespaces."""
        return len(self._known)

    async def over(self, some: Iterable[Object]) -> None:
        """Go through these pods."""
        await asyncio.gather(*(self._one(pod) for pod in some if running_pods.alive(pod)))

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
                if len(self._unread) < _MOST_UNREAD:
                    self._unread.append(f"Pod {meta['namespace']}/{meta['name']}: {error}")

    async def _decide(self, pod: Object) -> None:
        policy = self._policy
        request = reviews.decode(_review(pod)).request
        if request.object is None or pipeline.early(request, policy) is not None:
            return
        read = await fact_reader.facts(request, request.object, policy.rules, self._known, self._known)
        prepared = policy.prepare(read.annotations, policy.subject(request.object, read))
        verdict = identity_stage.run(request.object, read, policy)
        self._served += bool(prepared.bundle.parts or prepared.missing)
        operations = json.loads(verdict.patch) if verdict.patch else []
        found = list(running_pods.drift(pod, verdict, operations, prepared, policy.settings))
        if any(one.state == "stale" for one in found):
            written = await _written(self._known, pod)
            found = list(running_pods.drift(pod, verdict, operations, prepared, policy.settings, written))
        for one in found:
            self._note(pod, read, one, self._webhook)
        for one in self._sandbox(pod):
            self._note(pod, read, one, self._sent_by(pod))

    def _sandbox(self, pod: Object) -> Iterator[PodDrift]:
        kata_policy = self._policy.sandbox
        if kata_policy is not None:
            namespace = pod["metadata"]["namespace"]
            yield from sandboxes.drift(
                running_pods.as_created(pod), namespace, self._labels(namespace), kata_policy
            )

    def _sent_by(self, pod: Object) -> WebhookEntry | None:
        """The entry for sandboxes that selects the pod, or else any; without one the general entry."""
        meta = pod["metadata"]
        labels, around = meta.get("labels") or {}, self._labels(meta["namespace"])
        chosen = (one for one in self._sandbox_webhooks if not one.selects(labels, around))
        return next(chosen, self._sandbox_webhooks[0] if self._sandbox_webhooks else self._webhook)

    def _note(self, pod: Object, read: Facts, one: PodDrift, webhook: WebhookEntry | None) -> None:
        owner = pod_report.owner(pod, read.levels)
        labels = self._labels(pod["metadata"]["namespace"])
        self._found(pod_report.entry(pod, one, owner, webhook, labels, self._now, self._outages))

    def _labels(self, namespace: str) -> Mapping[str, str]:
        return self._known.labels.get(namespace, {annotation_keys.NAMESPACE_NAME_LABEL: namespace})


def _review(pod: Object) -> bytes:
    """The AdmissionReview that the API server would have sent."""
    request = {
        "uid": "census",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "userInfo": {"username": "census"},
        "namespace": pod["metadata"]["namespace"],
        "object": running_pods.as_created(pod),
    }
    return json.dumps(
        {"apiVersion": reviews.API_VERSIONS[0], "kind": "AdmissionReview", "request": request}
    ).encode()
