"""Where installations and workloads are read from: manifests, or a live cluster. Only reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.checks import running_pods
from vestibule.diagnose.migrate import container
from vestibule.diagnose.migrate.installation import InstallationObjects
from vestibule.diagnose.offline import workloads
from vestibule.diagnose.offline.manifest_files import ManifestFile
from vestibule.diagnose.offline.overlay import ReadableCluster
from vestibule.diagnose.offline.workloads import PodTemplate
from vestibule.injection import facts
from vestibule.injection.facts import SourceObject as Level
from vestibule.kube import lister, manifest_object
from vestibule.kube.caching_reader import CachingReader
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.ports import ObjectLister
from vestibule.yamledit.yaml_documents import YamlDocument

Object = dict[str, Any]
_ADMISSION: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
_SERVICE: Final = Kind("", "v1", "Service", "services")
_RBAC: Final = "rbac.authorization.k8s.io"
_CLUSTER_BINDING: Final = Kind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
_BINDING: Final = Kind(_RBAC, "v1", "RoleBinding", "rolebindings")
_WORKLOADS: Final = tuple(workloads.TEMPLATES)


class WorkloadSource(Protocol):
    """Objects and pods to be."""

    around: ReadableCluster
    """Namespaces, ServiceAccounts and owners of pods."""
    objects: ObjectLister
    """Full objects, such as ConfigMaps."""
    unseen: list[str]
    """What could not be read."""

    async def installed(self) -> InstallationObjects:
        """The objects of which installations are made."""
        ...

    def accounts(self) -> list[Level]:
        """The ServiceAccounts."""
        ...

    def labels(self, namespace: str) -> Mapping[str, str]: ...

    def templates(self) -> AsyncIterator[PodTemplate]:
        """The pods that workloads make."""
        ...


class ManifestSource:
    """Files, as if they were applied."""

    def __init__(self, files: Sequence[ManifestFile], namespace: str) -> None:
        self._files = files
        self._namespace = namespace
        self._objects = [
            dict(obj)
            for file in files
            for document in file.documents
            for _, obj in manifest_object.flattened(document.value)
            if isinstance(obj, Mapping) and isinstance(obj.get("metadata"), Mapping)
        ]
        memory = MemoryCluster(self._objects)
        self.around: ReadableCluster = memory
        self.objects: ObjectLister = memory
        self.unseen: list[str] = []
        self._memory = memory

    async def installed(self) -> InstallationObjects:
        """See Source."""
        return InstallationObjects(self._objects)

    def accounts(self) -> list[Level]:
        """See Source."""
        return [facts.source(one) for one in self._memory.objects(gvk.SERVICE_ACCOUNT)]

    def labels(self, namespace: str) -> Mapping[str, str]:
        """See Source."""
        found = self._memory.object(gvk.NAMESPACE, "", namespace) or {}
        labels: Mapping[str, str] = (found.get("metadata") or {}).get("labels") or {}
        return labels

    async def templates(self) -> AsyncIterator[PodTemplate]:
        """See Source. Raises InvalidInput with what is wrong with the files."""
        for template in list(self._all()):
            yield template

    def _all(self) -> Iterator[PodTemplate]:
        problems: list[errors.InputProblem] = []
        found: list[PodTemplate] = []
        for file in self._files:
            for document in file.documents:
                try:
                    found += workloads.templates(document, self._namespace)
                except errors.InvalidInput as error:
                    problems += error.problems
        if problems:
            raise errors.InvalidInput(*problems)
        yield from found


class LiveSource:
    """A cluster; all of it, or one namespace's workloads."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._cache = CachingReader(client)
        self.around: ReadableCluster = self._cache
        self.objects: ObjectLister = LiveCluster(client)
        self.unseen: list[str] = []

    async def fill(self) -> None:
        """List namespaces and ServiceAccounts."""
        await self._cache.fill(self._namespace)

    async def installed(self) -> InstallationObjects:
        """See Source. Raises Forbidden when not even the configurations may be read."""
        configurations = await lister.every(self._client, _ADMISSION)
        objects = list(configurations)
        homes = dict.fromkeys(
            (str(service["namespace"]), str(service["name"]))
            for one in configurations
            for hook in one.get("webhooks") or ()
            if (service := hook.get("clientConfig", {}).get("service"))
        )
        for namespace, name in homes:
            service = await self._seen(_SERVICE, namespace, name)
            objects += [service] if service else []
        for namespace in dict.fromkeys(namespace for namespace, _ in homes):
            deployments = await self._listed(gvk.DEPLOYMENT, namespace)
            objects += deployments
            for name in dict.fromkeys(
                name
                for one in deployments
                for name in container.config_map_names(one["spec"]["template"]["spec"])
            ):
                found = await self._seen(gvk.CONFIG_MAP, namespace, name)
                objects += [found] if found else []
            objects += await self._listed(_BINDING, namespace)
        objects += await self._listed(_CLUSTER_BINDING, "")
        return InstallationObjects(objects)

    async def _seen(self, kind: Kind, namespace: str, name: str) -> Object | None:
        try:
            found = await lister.one(self._client, kind, namespace, name)
        except errors.Forbidden as error:
            self.unseen.append(str(error))
            return None
        return None if found is None else {**found, "kind": kind.kind}

    async def _listed(self, kind: Kind, namespace: str) -> list[Object]:
        try:
            return await lister.every(self._client, kind, namespace)
        except errors.Forbidden as error:
            self.unseen.append(str(error))
            return []

    def accounts(self) -> list[Level]:
        """See Source."""
        return self._cache.accounts()

    def labels(self, namespace: str) -> Mapping[str, str]:
        """See Source."""
        return self._cache.labels.get(namespace, {})

    async def templates(self) -> AsyncIterator[PodTemplate]:
        """See Source."""
        for kind in _WORKLOADS:
            try:
                async for page in lister.pages(self._client, kind, self._namespace):
                    for obj in page:
                        if _first(kind, obj):
                            document = YamlDocument(kind.plural, 1, "", "json", obj, None)
                            for template in workloads.templates(document):
                                yield template
            except errors.Forbidden as error:
                self.unseen.append(str(error))


_CONTROLLERS: Final = frozenset(kind.kind for kind in _WORKLOADS)


def _first(kind: Kind, obj: Object) -> bool:
    """Whether the object has no controller of its own, so that its pods are counted once, and is not
    finished."""
    controller = running_pods.controller(obj)
    if controller is not None and controller.get("kind") in _CONTROLLERS:
        return False
    if kind is gvk.POD:
        return running_pods.alive(obj)
    return not (kind is gvk.JOB and (obj.get("status") or {}).get("completionTime"))
