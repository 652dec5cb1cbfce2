"""The nodes of workload clusters, through the kubeconfig that stands where Cluster API looks."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Sequence
from typing import Final

from vestibule import errors
from vestibule.aro import embedded, kubeconfigs
from vestibule.aro.ports import ClusterNode, NodesQuestion
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.kube.client_pool import ClientPool, KubeconfigSource
from vestibule.manifests import kinds

_BELIEVED: Final = 0.5
"""Seconds an answer is believed, unless there are no nodes: looks follow each other when a pool changes."""
_AWAY: Final = 10.0
"""Seconds in which a cluster that did not answer is not asked again."""

_REMEMBERED: Final = 1000


class WorkloadNodes:
    """Fulfils NodeReader; to be closed."""

    def __init__(
        self, client: Client, guard: AddressGuard | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._clock = clock
        self._guests = ClientPool(guard=guard)
        self._known: dict[NodesQuestion, tuple[float, Sequence[ClusterNode] | None]] = {}

    async def nodes(self, question: NodesQuestion) -> Sequence[ClusterNode] | None:
        """See NodeReader; raises Forbidden for a kubeconfig that is none we use."""
        until, found = self._known.get(question, (0.0, None))
        if until > self._clock():
            return found
        text = await self._kubeconfig(question)
        found = await self._asked(question, text) if text else None
        pause = _AWAY if text and found is None else _BELIEVED if found else 0.0
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[question] = (self._clock() + pause, found)
        return found

    async def _kubeconfig(self, question: NodesQuestion) -> str:
        """As it stands in the Secret; empty when there is none yet."""
        cluster = question.cluster
        place = kubeconfigs.target(cluster.name)
        secret = await lister.one(self._client, kinds.SECRET, cluster.namespace, place.secret)
        return str((secret or {}).get("data", {}).get(place.key) or "")

    async def _asked(self, question: NodesQuestion, text: str) -> Sequence[ClusterNode] | None:
        cluster = question.cluster
        place = kubeconfigs.target(cluster.name)
        where = f"Secret {cluster.namespace}/{place.secret}, key {place.key}"
        try:
            given = KubeconfigSource(where, base64.b64decode(text).decode())
            client = await self._guests.client(f"{cluster.namespace}/{cluster.name}", given)
            selector = f"{question.label}={question.value}"
            listed = await lister.every(client, kinds.NODE, selector=selector)
        except errors.InvalidInput as error:
            raise errors.Forbidden(str(error)) from error
        except (binascii.Error, UnicodeDecodeError) as error:
            raise errors.Forbidden(f"{where}: is no text") from error
        except errors.VestibuleError:
            return None
        return [
            ClusterNode(str(one["metadata"]["name"]), str(embedded.value(one, "spec.providerID") or ""))
            for one in listed
        ]

    async def close(self) -> None:
        """Call nobody any more."""
        await self._guests.close()
