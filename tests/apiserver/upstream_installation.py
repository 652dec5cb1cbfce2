"""Installations of other webhooks as their own manifests make them: rights and registration.

Nothing is added to the rights, which reach no further than ServiceAccounts. Two things differ from the
manifests: the API server calls a URL of this machine, since the rig has no Service network, and it calls for
one namespace alone, since tests share the control plane.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.process.compat_process import PATHS, CompatProcess, Program
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
READ = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "list", "watch"]}
CREATE = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
LABELLED = {"matchLabels": {"azure.workload.identity/use": "true"}}
NOT_SKIPPED = {
    "matchExpressions": [{"key": "eks.amazonaws.com/skip-pod-identity-webhook", "operator": "DoesNotExist"}]
}


class UpstreamInstallation(NamedTuple):
    """What an installation consists of."""

    program: Program
    configuration: str
    """Name of the MutatingWebhookConfiguration."""
    webhook: Json
    """Its one entry, without the address."""
    user: str
    """Whom the process logs in as."""
    rules: tuple[Json, ...] = (READ,)


AZURE_CHART = UpstreamInstallation(
    "azwi",
    "azure-wi-webhook-mutating-webhook-configuration",
    {
        "name": "mutation.azure-workload-identity.io",
        "admissionReviewVersions": ["v1", "v1beta1"],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "objectSelector": LABELLED,
        "sideEffects": "None",
    },
    "azure-wi-webhook-admin",
    (READ, {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
            "verbs": ["get", "list", "watch", "update"]}),
)  # fmt: skip
AZURE_SIDECAR = UpstreamInstallation(
    "azwi",
    "azure-workload-identity-webhook",
    {
        "name": "pod-identity-webhook.azure.mutate.io",
        "admissionReviewVersions": ["v1", "v1beta1"],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "objectSelector": LABELLED,
        "sideEffects": "None",
    },
    "azure-workload-identity-webhook",
)
EKS = UpstreamInstallation(
    "eks",
    "pod-identity-webhook",
    {
        "name": "pod-identity-webhook.amazonaws.com",
        "admissionReviewVersions": ["v1beta1"],
        "failurePolicy": "Ignore",
        "objectSelector": NOT_SKIPPED,
        "sideEffects": "None",
    },
    "pod-identity-webhook",
)
GCP = UpstreamInstallation(
    "wif",
    "gcp-workload-identity-federation-webhook-mutating-webhook-configuration",
    {
        "name": "mpod.kb.io",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "sideEffects": "None",
    },
    "gcp-wif-controller-manager",
)


class Installed:
    """An installation whose process is ours."""

    def __init__(
        self, plane: ControlPlane, original: UpstreamInstallation, namespace: str, folder: Path
    ) -> None:
        self.plane, self.original, self.namespace, self._folder = plane, original, namespace, folder
        self._name = f"{original.configuration[:30]}-{namespace}"

    def rights(self) -> None:
        """The original's role, for the process's user."""
        role = {"metadata": {"name": self._name}, "rules": list(self.original.rules)}
        self.plane.admin.create(at("clusterroles", api=RBAC), role).object  # noqa: B018 - raises
        api = "rbac.authorization.k8s.io"
        binding = {
            "metadata": {"name": self._name},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": self._name},
            "subjects": [{"apiGroup": api, "kind": "User", "name": self.original.user}],
        }
        self.plane.admin.create(at("clusterrolebindings", api=RBAC), binding).object  # noqa: B018 - raises

    def start(self, *flags: str, url: str = "", **environ: str) -> CompatProcess:
        """The process, with the kubeconfig that the original gets; not yet ready."""
        groups = ["system:serviceaccounts", "system:authenticated"]
        config = self.plane.kubeconfig(self.original.user, groups, url=url)
        arguments = [*flags, f"--kubeconfig={config}"]
        return CompatProcess(self.original.program, self._folder, arguments, environ, live=True)

    def register(self, process: CompatProcess, **hook: Any) -> None:
        """The original's configuration, which leads to our process."""
        url = f"https://127.0.0.1:{process.port}{PATHS[self.original.program]}"
        client = {"url": url, "caBundle": base64.b64encode(process.authority.pem).decode()}
        selector = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        entry = {
            **self.original.webhook,
            "rules": CREATE,
            "clientConfig": client,
            "namespaceSelector": selector,
            **hook,
        }
        obj = {
            "apiVersion": ADMISSION,
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self.original.configuration},
            "webhooks": [entry],
        }
        path = at("mutatingwebhookconfigurations", name=self.original.configuration, api=ADMISSION)
        self.plane.admin.apply(path, obj, "installer", force=True).object  # noqa: B018 - raises

    def remove(self) -> None:
        """Everything that is cluster-wide."""
        admin = self.plane.admin
        configuration = self.original.configuration
        admin.delete(at("mutatingwebhookconfigurations", name=configuration, api=ADMISSION))
        admin.delete(at("clusterrolebindings", name=self._name, api=RBAC))
        admin.delete(at("clusterroles", name=self._name, api=RBAC))


@contextlib.contextmanager
def installed(
    plane: ControlPlane,
    original: UpstreamInstallation,
    namespace: str,
    folder: Path,
    *flags: str,
    **environ: str,
) -> Iterator[tuple[Installed, CompatProcess]]:
    """An installation whose process is ready and registered."""
    created = Installed(plane, original, namespace, folder)
    process: CompatProcess | None = None
    try:
        created.rights()
        process = created.start(*flags, **environ)
        process.wait_ready()
        created.register(process)
        yield created, process
    finally:
        created.remove()
        if process is not None:
            process.close()
