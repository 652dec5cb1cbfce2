"""A management cluster with Cluster API, a guest, a double of Azure Service Operator, and operators."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from tests.aro import aro_controllers_only, asokinds, manifests
from tests.aro.asodouble import AsoDouble, Pool
from tests.aro.manifests import Wish
from tests.rig import closed_sockets, clusterapi, process
from tests.rig.client import Client, at
from tests.rig.controlplane import MASTERS, ControlPlane
from tests.rig.hosted_cluster import hosted_cluster_of
from vestibule.kube import client as product
from vestibule.kube import kubeconfig
from vestibule.manifests import aro_crds, crds
from vestibule.operator.app import OperatorOptions, OperatorProcess

Json = dict[str, Any]
LABEL = "hypershift.openshift.io/nodePool"
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"


class Environment:
    """Everything but the operator."""

    def __init__(self, plane: ControlPlane, guest: ControlPlane, manager: Path) -> None:
        self.plane, self.guest, self.admin = plane, guest, plane.admin
        self.manager = clusterapi.beside(plane, manager)
        self.credentials = guest.kubeconfig().read_bytes
        """The kubeconfig that the double writes; a test may put another one here."""
        self.kubeconfig = plane.kubeconfig("aro:operator", MASTERS)
        self._mine = plane.kubeconfig("aro:aso", MASTERS)
        self.aso = self._double()

    def _double(self) -> AsoDouble:
        return AsoDouble(
            self._mine, lambda *_: self.credentials(), pooled=lambda pool: nodes(self.guest.admin, pool)
        )

    def __enter__(self) -> Self:
        clusterapi.install(self.plane)
        asokinds.install(self.plane)
        self.manager.launch()
        asokinds.served(self.plane, asokinds.IDENTITY_REFERENCE.definition())
        for one in (*aro_crds.definitions(), crds.webhook()):
            asokinds.served(self.plane, one)
        self.manager.wait()
        self.aso.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.aso.__exit__()
        finally:
            self.manager.stop()

    # ── a cluster ───────────────────────────────────────────────────────────────────────────────────────────

    def namespace(self) -> str:
        return self.plane.namespace("aro")

    def make(self, objects: list[Json]) -> None:
        for one in objects:
            created = self.admin.create(
                manifests.path(one["kind"], one["metadata"]["namespace"]), one, fieldManager="user"
            )
            assert created.status == 201, created.body


class Cluster:
    """One cluster in a namespace of its own."""

    def __init__(self, environment: Environment, namespace: str = "", **wish: Any) -> None:
        self.environment, self.admin = environment, environment.admin
        self.namespace = namespace or environment.namespace()
        self.wish = Wish(f"c{secrets.token_hex(4)}", **wish)
        self.name = self.wish.name

    def create(self, *, pool: bool = True) -> Self:
        created = manifests.cluster(self.wish, self.namespace)
        created += manifests.pool(self.wish, self.namespace) if pool else []
        self.environment.make(created)
        return self

    def path(self, kind: str, name: str | None = None, sub: str = "") -> str:
        return manifests.path(kind, self.namespace, self.named(kind) if name is None else name, sub)

    def named(self, kind: str) -> str:
        ends = {
            "AROCluster": "-infra",
            "AROControlPlane": "-cp",
            "AROMachinePool": "-np",
            "MachinePool": "-np",
            "HcpOpenShiftClustersNodePool": "-np",
            "HcpOpenShiftClustersExternalAuth": "-ea",
            "ResourceGroup": "-rg",
            "VirtualNetwork": "-vnet",
            "VirtualNetworksSubnet": "-subnet",
            "Vault": "-kv",
            "UserAssignedIdentity": "-id",
            "RoleAssignment": "-role",
            "Secret": "-kubeconfig",
        }
        return f"{self.name}{ends.get(kind, '')}"

    def get(self, kind: str, name: str | None = None) -> Json:
        return self.admin.get(self.path(kind, name)).object

    def there(self, kind: str, name: str | None = None) -> bool:
        return self.admin.get(self.path(kind, name)).status == 200

    def patch(self, kind: str, patch: Json, name: str | None = None) -> Json:
        return self.admin.patch(self.path(kind, name), patch, fieldManager="user").object

    def wait(self, kind: str, holds: Callable[[Json], object] = bool, seconds: float = 20.0) -> Json:
        return self.admin.wait(self.path(kind), holds, seconds)

    def until(
        self, kind: str, condition: str, status: str = "True", reason: str = "", seconds: float = 20.0
    ) -> Json:
        """Wait for a condition; the object."""

        def holds(obj: Json) -> bool:
            found = said(obj, condition)
            return found.get("status") == status and reason in ("", found.get("reason"))

        return self.wait(kind, holds, seconds)

    def available(self, seconds: float = 30.0) -> None:
        """Until everything is, with its pool."""
        self.until("AROControlPlane", "Available", seconds=seconds)
        self.until("AROCluster", "Ready", seconds=seconds)
        self.wait(
            "Cluster",
            lambda obj: (obj.get("status") or {}).get("initialization", {}).get("infrastructureProvisioned"),
            seconds,
        )
        if self.there("AROMachinePool"):
            self.until("AROMachinePool", "Ready", seconds=seconds)

    def delete(self) -> None:
        self.admin.delete(self.path("Cluster"))

    def gone(self, seconds: float = 30.0) -> None:
        for kind in ("AROMachinePool", "AROControlPlane", "AROCluster", "Cluster"):
            self.admin.wait_gone(self.path(kind), seconds)

    def embedded(self) -> dict[str, Json]:
        """All live objects of Azure Service Operator in the namespace."""
        return {
            f"{kind.kind}/{one['metadata']['name']}": one
            for kind in asokinds.KINDS
            for one in self.admin.list(at(kind.plural, self.namespace, api=kind.api))
        }

    def in_azure(self) -> list[str]:
        """What of it was deleted in Azure, in order."""
        start = f"{self.namespace}/"
        return [one.removeprefix(start) for one in self.environment.aso.deleted if one.startswith(start)]

    def deletion_requested(self) -> list[str]:
        """The same, in the order of the requests: those of one owner are sent one after the other, and Azure
        may answer them in any order."""
        marked = self.environment.aso.marked
        return sorted(self.in_azure(), key=lambda one: marked[f"{self.namespace}/{one}"])

    def versions(self) -> dict[str, str]:
        """Resource versions of everything in the namespace that is ours or made by us."""
        kinds = ("Cluster", "MachinePool", "AROCluster", "AROControlPlane", "AROMachinePool", "Secret")
        found = {
            f"{kind}/{one['metadata']['name']}": one
            for kind in kinds
            for one in self.admin.list(manifests.path(kind, self.namespace))
        }
        return {
            name: one["metadata"]["resourceVersion"] for name, one in {**found, **self.embedded()}.items()
        }


def nodes(admin: Client, pool: Pool) -> None:
    """As many nodes in a guest as a pool wants."""
    value = f"{pool.cluster[:10]}-x-{pool.name}"
    existing = {one["metadata"]["name"] for one in admin.list(at("nodes"), labelSelector=f"{LABEL}={value}")}
    expected = {f"{value}-{number}" for number in range(pool.replicas)}
    for name in expected - existing:
        node = {
            "metadata": {"name": name, "labels": {LABEL: value}},
            "spec": {"providerID": f"azure:///{name}"},
        }
        assert admin.create(at("nodes"), node).status in (201, 409)
    for name in existing - expected:
        admin.delete(at("nodes", name=name))


def owned(admin: Client, wish: Wish, namespace: str) -> None:
    """Everything of a cluster, with the owners and labels that Cluster API's manager would set."""
    owners: dict[str, Json] = {}
    for one in [*manifests.cluster(wish, namespace), *manifests.pool(wish, namespace)]:
        by = owners.get("MachinePool" if one["kind"] == "AROMachinePool" else "Cluster")
        one["metadata"]["labels"] = {CLUSTER_NAME: wish.name}
        if by is not None:
            one["metadata"]["ownerReferences"] = [by]
        created = admin.create(manifests.path(one["kind"], namespace), one).object
        meta = created["metadata"]
        owners[one["kind"]] = {
            **{key: created[key] for key in ("apiVersion", "kind")},
            **{key: meta[key] for key in ("name", "uid")},
        }


def said(obj: Json, condition: str) -> Json:
    """A condition; empty when it is not there."""
    listed = (obj.get("status") or {}).get("conditions") or []
    return next((one for one in listed if one["type"] == condition), {})


class Operator:
    """The operator in a thread of the test's process: quick to start, and easy to kill."""

    def __init__(
        self,
        environment: Environment,
        client: Callable[[], product.Client] | None = None,
        ahead: datetime.timedelta = datetime.timedelta(),
        *,
        alone: bool = False,
        **options: Any,
    ) -> None:
        """``ahead``: how far its clock is before everybody else's; ``alone``: nothing but what is for ARO."""
        self._ahead, self._alone = ahead, alone
        self._make = client or (lambda: product.Client(kubeconfig.load([environment.kubeconfig])))
        self._options = OperatorOptions(
            "default",
            "aro",
            lease="",
            metrics_addr="",
            only=frozenset({"nobody"}),
            issuers=False,
            aro=True,
            loopback=True,
            **{"resync": 3600.0, **options},
        )
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="operator", daemon=True)
        self._failure: BaseException | None = None
        self.client: Any = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        self._loop.close()
        if self._failure is not None:
            raise self._failure

    def _now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC) + self._ahead

    def _run(self) -> None:
        async def work() -> None:
            self.client = self._make()
            if self._alone:
                await aro_controllers_only.run(self.client, self._options, self._now, self._stop)
            else:
                await OperatorProcess(self.client, self._options, now=self._now).run(self._stop)
            await closed_sockets.closed()

        try:
            self._loop.run_until_complete(work())
        except BaseException as error:  # noqa: BLE001 - raised at the end
            self._failure = error


def poll(what: str, holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Until it holds. Raises TimeoutError."""
    process.wait(what, lambda: bool(holds()), seconds, every=0.05)


@contextlib.contextmanager
def stood(folder: Path, manager: Path, version: str) -> Iterator[Environment]:
    """A whole stand, ended at the end."""
    plane = ControlPlane(folder / "management", version=version, prefix="/management")
    guest = hosted_cluster_of(plane, folder / "guest")
    plane.launch()
    try:
        guest.launch()
        plane.wait()
        guest.wait()
        with Environment(plane, guest, manager) as environment:
            yield environment
    finally:
        guest.stop()
        plane.stop()
