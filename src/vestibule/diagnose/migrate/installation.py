"""Other webhooks as they are installed: the configuration, the Service, the Deployment and its program.

Found by what they register as, and where that is a scaffold's name, by the image behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestibule.api import label_selectors
from vestibule.diagnose.migrate import container as containers
from vestibule.diagnose.migrate.container import ContainerCommand
from vestibule.manifests import foreign_webhooks, webhook_configurations

Object = Mapping[str, Any]
Program = Literal["azwi", "eks", "wif", "cwii"]
PRODUCTS: Final[dict[Program, str]] = {
    "azwi": "Azure workload identity",
    "eks": "the EKS pod identity webhook",
    "wif": "the GCP workload identity federation webhook",
    "cwii": "cwii",
}
_BY_PRODUCT: Final[tuple[tuple[str, Program], ...]] = (
    ("Azure", "azwi"),
    ("EKS", "eks"),
    ("GCP", "wif"),
    ("cwii", "cwii"),
)
_BY_IMAGE: Final[tuple[tuple[str, Program], ...]] = (
    ("workload-identity-federation-webhook", "wif"),
    ("workload-identity/webhook", "azwi"),
    ("azure-workload-identity", "azwi"),
    ("eks-pod-identity-webhook", "eks"),
    ("cwii", "cwii"),
)
_MANAGED: Final = ("kube-system", "openshift-", "gke-")
"""Namespaces in which a cloud or an operator puts back what is removed by hand."""


class InstallationObjects:
    """The objects that matter to an installation, looked up by kind and name."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._by_kind: dict[str, list[Object]] = {}
        for obj in objects:
            self._by_kind.setdefault(str(obj.get("kind")), []).append(obj)

    def all(self, kind: str) -> Sequence[Object]:
        """Every object of a kind."""
        return self._by_kind.get(kind, ())

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """One object."""
        for obj in self.all(kind):
            meta = obj["metadata"]
            if meta.get("name") == name and (meta.get("namespace") or "default") == namespace:
                return obj
        return None

    def config_maps(self, namespace: str) -> containers.ConfigMaps:
        """The data of the ConfigMaps of a namespace, by name."""

        def data(name: str) -> Mapping[str, str] | None:
            found = self.get("ConfigMap", namespace, name)
            return None if found is None else found.get("data") or {}

        return data


class ForeignInstallation(NamedTuple):
    """One upstream webhook in the cluster."""

    program: Program
    product: str
    configuration: str
    hook: Object
    service: str = ""
    """``namespace/name``; empty: it is called by an address."""
    deployment: Object | None = None
    container: Object | None = None
    started: ContainerCommand | None = None
    managed: bool = False

    @property
    def namespace(self) -> str:
        """Where its Deployment lives."""
        return str(self.deployment["metadata"].get("namespace") or "default") if self.deployment else ""

    @property
    def image(self) -> str:
        """Of the program."""
        return str((self.container or {}).get("image") or "")

    @property
    def version(self) -> str:
        """The tag of the image; empty when it has none."""
        name = self.image.partition("@")[0].rpartition("/")[2]
        return name.partition(":")[2]

    @property
    def pod(self) -> Object:
        """The spec of its pods."""
        found: Object = (self.deployment or {}).get("spec", {}).get("template", {}).get("spec", {})
        return found

    def selects(self, pod_labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Whether the API server sends it such a pod."""
        return selected(self.hook, pod_labels, namespace_labels)


def selected(hook: Object, pod_labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
    """Whether the selectors of a webhook configuration match a pod."""
    for field, found in (("namespaceSelector", namespace_labels), ("objectSelector", pod_labels)):
        if not msgspec.convert(hook.get(field) or {}, label_selectors.LabelSelector).matches(found):
            return False
    return True


def find(cluster: InstallationObjects) -> list[ForeignInstallation]:
    """Every installation, in the order in which the API server calls them."""
    configurations = sorted(
        cluster.all("MutatingWebhookConfiguration"), key=lambda one: str(one["metadata"]["name"])
    )
    return [found for one in configurations for found in _of(one, cluster)]


def _of(configuration: Object, cluster: InstallationObjects) -> Iterator[ForeignInstallation]:
    name = str(configuration["metadata"]["name"])
    known = {one.webhook: one.product for one in foreign_webhooks.known([dict(configuration)], "")}
    for hook in configuration.get("webhooks") or ():
        if hook.get("name") == webhook_configurations.WEBHOOK_NAME:
            continue
        service = hook.get("clientConfig", {}).get("service") or {}
        namespace, service_name = str(service.get("namespace") or ""), str(service.get("name") or "")
        deployment = behind(cluster, namespace, service_name) if service else None
        program_container = answering(deployment) if deployment else None
        product = known.get(str(hook.get("name")), "")
        program = _program(product, str((program_container or {}).get("image") or ""))
        if program is None:
            continue
        started = (
            containers.started(program_container, cluster.config_maps(namespace))
            if program_container
            else None
        )
        yield ForeignInstallation(
            program,
            product or PRODUCTS[program],
            name,
            hook,
            f"{namespace}/{service_name}" if service else "",
            deployment,
            program_container,
            started,
            not service or namespace.startswith(_MANAGED),
        )


def _program(product: str, image: str) -> Program | None:
    if product:
        return next((program for word, program in _BY_PRODUCT if word in product), None)
    return next((program for word, program in _BY_IMAGE if word in image), None)


def behind(cluster: InstallationObjects, namespace: str, service: str) -> Object | None:
    """The Deployment that a Service leads to."""
    found = cluster.get("Service", namespace, service)
    selector = ((found or {}).get("spec") or {}).get("selector")
    if not selector:
        return None
    for one in cluster.all("Deployment"):
        if (one["metadata"].get("namespace") or "default") != namespace:
            continue
        template = (one.get("spec") or {}).get("template") or {}
        labels = (template.get("metadata") or {}).get("labels") or {}
        if all(labels.get(key) == value for key, value in selector.items()):
            return one
    return None


def answering(deployment: Object) -> Object | None:
    """The webhook's container: the one with a known image, else the first."""
    listed = ((deployment.get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or ()
    known = [one for one in listed if any(word in str(one.get("image")) for word, _ in _BY_IMAGE)]
    found = (*known, *listed)
    return found[0] if found else None
