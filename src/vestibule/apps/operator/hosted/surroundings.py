"""What stands around a control plane, read: who holds it, Secrets beside it, what runs it, and its guest.

Only named objects are read. The keys of a guest's authorities are read only where somebody asked for a client
certificate.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.guests import Guests, Kubeconfig
from vestibule.apps.operator.hosted import flavours, kindtable
from vestibule.apps.operator.hosted.certificates import text_of
from vestibule.apps.operator.hosted.target import Target
from vestibule.apps.operator.runtime.apply import Applier
from vestibule.apps.operator.runtime.pen import Fence, Pen
from vestibule.core.kinds import gvk
from vestibule.core.kinds.hosted import Hosted
from vestibule.core.native import kinds

Object = dict[str, Any]
MANAGER: Final = "vestibule-operator"


class NoKubeconfig(errors.InvalidInput):
    """The control plane has not written one yet."""


class Guest(NamedTuple):
    """A guest that can be called."""

    client: Client
    pen: Pen
    applier: Applier
    authority: str
    """PEM of the authority that its kubeconfig trusts."""


class Surroundings:
    """Reads for one management cluster."""

    def __init__(self, client: Client, known: Guests, pen: Pen, fence: Fence) -> None:
        self._client = client
        self._guests = known
        self._pen = pen
        self._fence = fence
        self._by_key: dict[str, Guest] = {}

    async def control_plane(self, spec: Hosted, namespace: str) -> list[Object]:
        """The object of a control plane and, behind it, the one that holds it; nothing when there is none.
        Raises Forbidden, Unavailable."""
        kind = kindtable.CONTROL_PLANES[spec.target.flavour]
        found = await pages.one(self._client, kind, namespace, spec.target.name)
        if found is None:
            return []
        thing = {"apiVersion": kind.api_version, "kind": kind.kind, **found}
        holder = flavours.ALL[spec.target.flavour].holder(thing)
        if holder is None:
            return [thing]
        above = kindtable.OWNERS[holder[0]]
        held = await pages.one(self._client, above, namespace, holder[1])
        return [thing, {"apiVersion": above.api_version, "kind": above.kind, **held}] if held else [thing]

    async def beside(self, spec: Hosted, target: Target) -> list[Object]:
        """The guest's kubeconfig, authorities where they are needed, and what runs the API server. Raises as
        above."""
        names = {target.kubeconfig.secret}
        if spec.credential == "certificate" or spec.attach == "static-pod":
            names |= {target.ca.secret, *([target.signer.secret] if target.signer else [])}
        found = []
        for name in sorted(names):
            one = await pages.one(self._client, kinds.SECRET, target.namespace, name)
            found += [{"apiVersion": "v1", "kind": "Secret", **one}] if one else []
        kind, _, name = target.workload.partition(" ")
        if kind == "Deployment" and target.flavour == "hypershift":
            # only there can the webhook be built in
            one = await pages.one(self._client, gvk.DEPLOYMENT, target.namespace, name)
            found += [{"apiVersion": "apps/v1", "kind": kind, **one}] if one else []
        return found

    async def guest(self, key: str, spec: Hosted, target: Target, beside: list[Object]) -> Guest:
        """The guest; raises InvalidInput when there is no kubeconfig, or none that can be used."""
        secret = next((one for one in beside if one["metadata"]["name"] == target.kubeconfig.secret), {})
        place = f"Secret {target.namespace}/{target.kubeconfig.secret}"
        held = next((name for name in target.kubeconfig.keys if text_of(secret, name)), "")
        if not held:
            raise NoKubeconfig(errors.Problem(place, "", "has no kubeconfig of the guest yet"))
        given = Kubeconfig(f"{place}, key {held}", text_of(secret, held), spec.server)
        found = await self._guests.known(key, given)
        known = self._by_key.get(key)
        if known is None or known.client is not found.client:
            pen = Pen(found.client, self._fence, self._pen.writes)
            known = Guest(found.client, pen, Applier(found.client, pen, MANAGER), found.authority)
            self._by_key[key] = known
        return known

    async def forget(self, key: str) -> None:
        """The request is gone."""
        self._by_key.pop(key, None)
        await self._guests.forget(key)


def containers(target: Target, beside: list[Object]) -> list[str] | None:
    """Names of the containers of the API server's pod; None when it was not read."""
    kind, _, name = target.workload.partition(" ")
    for one in beside:
        if (one["kind"], one["metadata"]["name"]) == (kind, name):
            return [str(each["name"]) for each in one["spec"]["template"]["spec"]["containers"]]
    return None
