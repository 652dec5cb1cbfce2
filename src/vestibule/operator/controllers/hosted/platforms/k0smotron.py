"""k0smotron: a Cluster whose control plane is a StatefulSet; others' entries go through ``spec.patches``."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestibule.operator.controllers.hosted import paused
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, ForeignEdit, KubeconfigSecret

Object = dict[str, Any]
NAME: Final = "k0smotron"
KINDS: Final = (
    ("k0smotron.io", "Cluster"),
    ("controlplane.cluster.x-k8s.io", "K0smotronControlPlane"),
)
_API_PORT: Final = 30443
PATCH_TARGET: Final = {"kind": "StatefulSet", "component": "control-plane"}


def target(thing: Object, beside: Sequence[Object], now: datetime.datetime) -> ControlPlane:
    """A Cluster of k0smotron."""
    del now
    name = str(thing["metadata"]["name"])
    namespace = str(thing["metadata"].get("namespace", "default"))
    port = ((thing.get("spec") or {}).get("service") or {}).get("apiPort") or _API_PORT
    return ControlPlane(
        NAME,
        thing,
        kubeconfig=KubeconfigSecret(f"{name}-kubeconfig", ("value",)),
        ca=KubeconfigSecret(f"{name}-ca", ("tls.crt", "tls.key")),
        signer=KubeconfigSecret(f"{name}-ca", ("tls.crt", "tls.key")),
        ways=("deployment", "sidecar", "in-guest"),
        server=f"https://kmc-{name}.{namespace}.svc:{port}",
        port=port,
        pause=paused.cluster_api(thing, *beside),
        workload=f"StatefulSet kmc-{name}",
        notes=("spec.patches needs k0smotron.io/v1beta2",) if _old(thing) else (),
    )


def _old(thing: Object) -> bool:
    return str(thing.get("apiVersion", "")).endswith("v1beta1")


def holder(thing: Object) -> tuple[str, str] | None:
    """Our entries, if any, go into the object itself."""
    del thing
    return None


def attached(owner: Object, container: Object, volumes: Sequence[Object]) -> ForeignEdit | None:
    """A strategic patch of the StatefulSet, ours found by the name of its container; None before v1beta2."""
    if _old(owner):
        return None
    pod = {"containers": [container], "volumes": list(volumes)}
    content = msgspec.json.encode({"spec": {"template": {"spec": pod}}}, order="sorted").decode()
    ours = {"target": dict(PATCH_TARGET), "patch": {"type": "strategic", "content": content}}
    made = copy.deepcopy(owner)
    spec = made.setdefault("spec", {})
    patches = [ours if _is_ours(one, container["name"]) else one for one in (spec.get("patches") or [])]
    if ours not in patches:
        patches.append(ours)
    spec["patches"] = patches
    return ForeignEdit(made, (f"spec.patches[{patches.index(ours)}]",), made != owner)


def _is_ours(patch: Object, name: str) -> bool:
    """Whether a patch adds a container of this name to the same StatefulSet."""
    if patch.get("target") != PATCH_TARGET or (patch.get("patch") or {}).get("type") != "strategic":
        return False
    try:
        said = msgspec.json.decode(str(patch["patch"].get("content", "")))
        containers = said["spec"]["template"]["spec"]["containers"]
        return bool([one["name"] for one in containers] == [name])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return False


def detached(owner: Object, name: str) -> ForeignEdit | None:
    """Without our patch."""
    made = copy.deepcopy(owner)
    spec = made.get("spec") or {}
    if spec.get("patches"):
        spec["patches"] = [one for one in spec["patches"] if not _is_ours(one, name)]
        if not spec["patches"]:
            del spec["patches"]
    return ForeignEdit(made, (), made != owner)
