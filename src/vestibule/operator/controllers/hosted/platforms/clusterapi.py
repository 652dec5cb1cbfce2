"""Cluster API with kubeadm: the API server is a static pod on machines of the guest.

The management cluster's Services mean nothing there, so the webhook runs in the guest; or, for who accepts
that every control-plane machine is replaced, as a static pod beside the API server.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestibule.operator.controllers.hosted import paused
from vestibule.operator.controllers.hosted.control_plane import (
    API_PORT,
    ControlPlane,
    ForeignEdit,
    KubeconfigSecret,
)

Object = dict[str, Any]
NAME: Final = "clusterapi"
CONTROL_PLANE: Final = "KubeadmControlPlane"
KINDS: Final = (("cluster.x-k8s.io", "Cluster"), ("controlplane.cluster.x-k8s.io", CONTROL_PLANE))
DIRECTORY: Final = "/etc/kubernetes/workload-identity"
_MANIFESTS: Final = "/etc/kubernetes/manifests"


def target(thing: Object, beside: Sequence[Object], now: datetime.datetime) -> ControlPlane:
    """A Cluster, or its KubeadmControlPlane."""
    del now
    name = cluster_name(thing)
    network = (thing.get("spec") or {}).get("clusterNetwork") or {}
    return ControlPlane(
        NAME,
        thing,
        kubeconfig=KubeconfigSecret(f"{name}-kubeconfig", ("value",)),
        ca=KubeconfigSecret(f"{name}-ca", ("tls.crt", "tls.key")),
        signer=KubeconfigSecret(f"{name}-ca", ("tls.crt", "tls.key")),
        ways=("in-guest", "static-pod"),
        port=network.get("apiServerPort") or API_PORT,
        pause=paused.cluster_api(thing, *beside),
        workload="static pod kube-apiserver",
        notes=("static-pod replaces every control-plane machine, one after the other",),
    )


def cluster_name(thing: Object) -> str:
    """Name of the Cluster: a label says it on everything that belongs to one."""
    labels = thing["metadata"].get("labels") or {}
    return str(labels.get("cluster.x-k8s.io/cluster-name") or thing["metadata"]["name"])


def holder(thing: Object) -> tuple[str, str] | None:
    """The KubeadmControlPlane of a Cluster, if it has one."""
    reference = (thing.get("spec") or {}).get("controlPlaneRef") or {}
    kubeadm = thing["kind"] != CONTROL_PLANE and reference.get("kind") == CONTROL_PLANE
    return (CONTROL_PLANE, str(reference["name"])) if kubeadm else None


def attached(owner: Object, container: Object, volumes: Sequence[Object]) -> ForeignEdit | None:
    """A static pod in the files of a KubeadmControlPlane; Secrets are copied to the machines by kubeadm."""
    if owner["kind"] != CONTROL_PLANE:
        return None
    files = _files(container, volumes)
    made = copy.deepcopy(owner)
    spec = made.setdefault("spec", {}).setdefault("kubeadmConfigSpec", {})
    ours = {one["path"] for one in files}
    there = spec.get("files") or []
    known = {one["path"]: one for one in there if one.get("path") in ours}
    fresh = [known[one["path"]] if _says(known.get(one["path"]), one) else one for one in files]
    spec["files"] = [*(one for one in there if one.get("path") not in ours), *fresh]
    if all(one in there for one in fresh):
        spec["files"] = list(there)
    entries = tuple(f"spec.kubeadmConfigSpec.files[path={one['path']}]" for one in files)
    return ForeignEdit(made, entries, made != owner)


def _says(live: Object | None, wanted: Object) -> bool:
    return live is not None and all(live.get(key) == value for key, value in wanted.items())


def _files(container: Object, volumes: Sequence[Object]) -> list[Object]:
    """The pod, and every key that it reads, from our Secrets."""
    name = str(container["name"])
    keys = {f"{name}-certs": ("tls.crt", "tls.key"), f"{name}-kubeconfig": ("kubeconfig",)}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "containers": [container],
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "volumes": [
                {"name": one["name"], "hostPath": {"path": f"{DIRECTORY}/{one['name']}", "type": "Directory"}}
                for one in volumes
            ],
        },
    }
    made = [
        {
            "path": f"{DIRECTORY}/{volume['name']}/{key}",
            "owner": "65532:65532",
            "permissions": "0600",
            "contentFrom": {"secret": {"name": volume["secret"]["secretName"], "key": key}},
        }
        for volume in volumes
        for key in keys[volume["name"]]
    ]
    text = msgspec.json.encode(pod, order="sorted").decode()
    manifest = {
        "path": f"{_MANIFESTS}/{name}.yaml",
        "owner": "root:root",
        "permissions": "0600",
        "content": text,
    }
    return [*made, manifest]


def detached(owner: Object, name: str) -> ForeignEdit | None:
    """Without our files; every control-plane machine is replaced once more."""
    if owner["kind"] != CONTROL_PLANE:
        return None
    made = copy.deepcopy(owner)
    spec = (made.get("spec") or {}).get("kubeadmConfigSpec") or {}
    ours = (f"{DIRECTORY}/{name}-", f"{_MANIFESTS}/{name}.yaml")
    if spec.get("files"):
        spec["files"] = [one for one in spec["files"] if not str(one.get("path", "")).startswith(ours)]
        if not spec["files"]:
            del spec["files"]
    return ForeignEdit(made, (), made != owner)
