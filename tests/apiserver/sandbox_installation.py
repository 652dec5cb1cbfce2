"""Sandboxes on a real API server: a webhook that reads them, the classes, the one KataConfig, and pods."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.apiserver.webhook_installation import WebhookInstallation, installed
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
KATA = "kataconfiguration.openshift.io/v1"
RULES = "kataconfiguration.openshift.io/v1alpha1"
POLICIES = "vestibule.dev/v1alpha1"
PREFIX = "io.katacontainers.config.hypervisor."
CLASSES = ("kata", "kata-remote")
INJECTION = {"enabled": True, "namespaceSelector": {"matchLabels": {"sandboxed": "true"}}}
_LEFT = (("kataconfigs", KATA), ("oscwebhookconfigs", RULES), ("identitypolicies", POLICIES))


@contextlib.contextmanager
def installation_of(
    plane: ControlPlane, folder: Path, name: str, **settings: Any
) -> Iterator[WebhookInstallation]:
    """A webhook with sandboxes switched on and the RuntimeClasses there; all of it is gone afterwards."""
    settings = {"sandbox": {"enabled": True}, "identityPolicies": True, **settings}
    with installed(plane, folder, name, **settings) as created:
        classes(plane)
        yield created
        remove(plane)


def classes(plane: ControlPlane) -> None:
    """The RuntimeClasses, with overhead and scheduling as an operator makes them."""
    for name in CLASSES:
        obj = {
            "metadata": {"name": name},
            "handler": name,
            "overhead": {"podFixed": {"cpu": "250m", "memory": "350Mi"}},
            "scheduling": {
                "nodeSelector": {"node-role.kubernetes.io/kata-oc": ""},
                "tolerations": [{"key": "kata", "operator": "Exists"}],
            },
        }
        plane.admin.create(at("runtimeclasses", api="node.k8s.io/v1"), obj).object  # noqa: B018 - raises


def remove(plane: ControlPlane) -> None:
    """Classes and everything an administrator wrote."""
    for name in CLASSES:
        plane.admin.delete(at("runtimeclasses", name=name, api="node.k8s.io/v1"))
    for plural, api in _LEFT:
        for found in plane.admin.list(at(plural, api=api)):
            plane.admin.delete(at(plural, name=found["metadata"]["name"], api=api))


def configure(installation: WebhookInstallation, webhook: Json, *, peer_pods: bool = True) -> None:
    """The one KataConfig, with the classes in its status."""
    admin = installation.plane.admin
    where = at("kataconfigs", name="k", api=KATA)
    obj = {
        "apiVersion": KATA,
        "kind": "KataConfig",
        "metadata": {"name": "k"},
        "spec": {"checkNodeEligibility": False, "enablePeerPods": peer_pods, "webhook": webhook},
    }
    admin.apply(where, obj, "test", force=True).object  # noqa: B018 - raises
    admin.patch(f"{where}/status", {"status": {"runtimeClasses": list(CLASSES)}}).object  # noqa: B018 - raises


def rule(installation: WebhookInstallation, name: str, mutate: Json, **match: Any) -> None:
    """An OSCWebhookConfig with one rule."""
    obj = {
        "apiVersion": RULES,
        "kind": "OSCWebhookConfig",
        "metadata": {"name": name},
        "spec": {"rules": [{"name": "r", "match": match, "mutate": mutate}]},
    }
    where = at("oscwebhookconfigs", name=name, api=RULES)
    installation.plane.admin.apply(where, obj, "test", force=True).object  # noqa: B018 - raises


def label(installation: WebhookInstallation, namespace: str, **labels: str) -> None:
    """Labels on a namespace."""
    installation.plane.admin.patch(at("namespaces", name=namespace), {"metadata": {"labels": labels}}).object  # noqa: B018


def create(installation: WebhookInstallation, namespace: str, name: str = "p", **spec: Any) -> Json:
    """A pod, dry."""
    obj = {"metadata": {"name": name}, "spec": {"containers": [{"name": "app", "image": "a"}], **spec}}
    return installation.plane.admin.create(at("pods", namespace), obj, dryRun="All").object


def eventually(
    installation: WebhookInstallation, namespace: str, holds: Callable[[Json], bool], **spec: Any
) -> Json:
    """The first pod of which it holds: what administrators write is read every five seconds."""
    found: list[Json] = []

    def held() -> bool:
        found.append(create(installation, namespace, **spec))
        return holds(found[-1])

    process.wait("the policy to be taken up", held, 20)
    return found[-1]
