"""What stands around a control plane, read: who holds it, Secrets beside it, what runs it, and its guest.

Only named objects are read. The keys of a guest's authorities are read only where somebody asked for a client
certificate.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.hostedwebhook import HostedWebhookSpec
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.kube.client_pool import ClientPool, KubeconfigSource
from vestibule.manifests import kinds
from vestibule.operator.apply import Applier
from vestibule.operator.controllers.hosted import hosted_kinds, platform_table
from vestibule.operator.controllers.hosted.certificates import text_of
from vestibule.operator.controllers.hosted.control_plane import ControlPlane
from vestibule.operator.fenced_client import FencedClient, Leadership

Object = dict[str, Any]
MANAGER: Final = "vestibule-operator"


class NoKubeconfig(errors.InvalidInput):
    """The control plane has not written one yet."""


class HostedCluster(NamedTuple):
    """A guest that can be called."""

    client: Client
    writer: FencedClient
    applier: Applier
    authority: str
    """PEM of the authority that its kubeconfig trusts."""


class ControlPlaneReader:
    """Reads for one management cluster."""

    def __init__(
        self, client: Client, known: ClientPool, writer: FencedClient, leadership: Leadership
    ) -> None:
        self._client = client
        self._guests = known
        self._writer = writer
        self._leadership = leadership
        self._by_key: dict[str, HostedCluster] = {}

    async def control_plane(self, spec: HostedWebhookSpec, namespace: str) -> list[Object]:
        """The object of a control plane and, behind it, the one that holds it; nothing when there is none.
        Raises Forbidden, Unavailable."""
        kind = hosted_kinds.CONTROL_PLANES[spec.target.flavour]
        found = await lister.one(self._client, kind, namespace, spec.target.name)
        if found is None:
            return []
        thing = {"apiVersion": kind.api_version, "kind": kind.kind, **found}
        holder = platform_table.ALL[spec.target.flavour].holder(thing)
        if holder is None:
            return [thing]
        above = hosted_kinds.OWNERS[holder[0]]
        held = await lister.one(self._client, above, namespace, holder[1])
        return [thing, {"apiVersion": above.api_version, "kind": above.kind, **held}] if held else [thing]

    async def beside(self, spec: HostedWebhookSpec, target: ControlPlane) -> list[Object]:
        """The guest's kubeconfig, authorities where they are needed, and what runs the API server. Raises as
        above."""
        names = {target.kubeconfig.secret}
        if spec.credential == "certificate" or spec.attach == "static-pod":
            names |= {target.ca.secret, *([target.signer.secret] if target.signer else [])}
        found = []
        for name in sorted(names):
            one = await lister.one(self._client, kinds.SECRET, target.namespace, name)
            found += [{"apiVersion": "v1", "kind": "Secret", **one}] if one else []
        kind, _, name = target.workload.partition(" ")
        if kind == "Deployment" and target.flavour == "hypershift":
            # only there can the webhook be built in
            one = await lister.one(self._client, gvk.DEPLOYMENT, target.namespace, name)
            found += [{"apiVersion": "apps/v1", "kind": kind, **one}] if one else []
        return found

    async def guest(
        self, key: str, spec: HostedWebhookSpec, target: ControlPlane, beside: list[Object]
    ) -> HostedCluster:
        """The guest; raises InvalidInput when there is no kubeconfig, or none that can be used."""
        secret = next((one for one in beside if one["metadata"]["name"] == target.kubeconfig.secret), {})
        place = f"Secret {target.namespace}/{target.kubeconfig.secret}"
        held = next((name for name in target.kubeconfig.keys if text_of(secret, name)), "")
        if not held:
            raise NoKubeconfig(errors.InputProblem(place, "", "has no kubeconfig of the guest yet"))
        given = KubeconfigSource(f"{place}, key {held}", text_of(secret, held), spec.server)
        found = await self._guests.known(key, given)
        known = self._by_key.get(key)
        if known is None or known.client is not found.client:
            writer = FencedClient(found.client, self._leadership, self._writer.writes)
            known = HostedCluster(
                found.client, writer, Applier(found.client, writer, MANAGER), found.authority
            )
            self._by_key[key] = known
        return known

    async def forget(self, key: str) -> None:
        """The request is gone."""
        self._by_key.pop(key, None)
        await self._guests.forget(key)


def containers(target: ControlPlane, beside: list[Object]) -> list[str] | None:
    """Names of the containers of the API server's pod; None when it was not read."""
    kind, _, name = target.workload.partition(" ")
    for one in beside:
        if (one["kind"], one["metadata"]["name"]) == (kind, name):
            return [str(each["name"]) for each in one["spec"]["template"]["spec"]["containers"]]
    return None
