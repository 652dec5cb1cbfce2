"""What rolls the API server's pods: the digest of everything they mount, their number and their pace.

The digest is HyperShift's, bit for bit. It covers every value of every mounted Secret, so a renewed
certificate of a sidecar rolls the API server; a Deployment of our own reloads in place.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

Object = dict[str, Any]
CONFIG_HASH: Final = "component.hypershift.openshift.io/config-hash"
_UNHASHED: Final = frozenset({"client-ca"})
"""ConfigMaps that are read again while the process runs."""
_TOPOLOGY: Final = "hypershift.openshift.io/topology"
_DEDICATED: Final = "dedicated-request-serving-components"


class RolloutPlan(NamedTuple):
    """How many, and how they are replaced."""

    replicas: int
    rolling_update: Mapping[str, int | str]


def config_hash(
    secrets: Mapping[str, Mapping[str, str] | None], config_maps: Mapping[str, Mapping[str, str] | None]
) -> str:
    """The digest over the data of what is mounted: Secrets in base64, ConfigMaps as text. Missing objects
    add nothing, keys are not looked at."""
    parts = [
        _fnv(_bytes_text(value)) for data in secrets.values() if data is not None for value in data.values()
    ]
    parts += [
        _fnv(value)
        for name, data in config_maps.items()
        if data is not None and name not in _UNHASHED
        for value in data.values()
    ]
    return "".join(sorted(parts))


def annotated(
    deployment: Object,
    secrets: Mapping[str, Mapping[str, str] | None],
    config_maps: Mapping[str, Mapping[str, str] | None],
) -> Object:
    """The Deployment with the digest of what its pods mount on their template; the one given stays."""
    template = deployment["spec"]["template"]
    volumes = template["spec"].get("volumes") or []
    mounted = {one["secret"]["secretName"] for one in volumes if one.get("secret")}
    maps = {one["configMap"]["name"] for one in volumes if one.get("configMap")}
    digest = config_hash(
        {name: secrets.get(name) for name in mounted}, {name: config_maps.get(name) for name in maps}
    )
    meta = template.get("metadata") or {}
    marked = {**meta, "annotations": {**(meta.get("annotations") or {}), CONFIG_HASH: digest}}
    return {**deployment, "spec": {**deployment["spec"], "template": {**template, "metadata": marked}}}


def of(control_plane: Object) -> RolloutPlan:
    """Replicas and pace of the API server."""
    spec = control_plane.get("spec") or {}
    annotations = (control_plane.get("metadata") or {}).get("annotations") or {}
    if spec.get("controllerAvailabilityPolicy") != "HighlyAvailable":
        return RolloutPlan(1, {"maxSurge": "25%", "maxUnavailable": "25%"})
    if annotations.get(_TOPOLOGY) == _DEDICATED:
        return RolloutPlan(2, {"maxSurge": 1, "maxUnavailable": 1})
    return RolloutPlan(3, {"maxSurge": 0, "maxUnavailable": 1})


def _bytes_text(value: str) -> str:
    """Bytes as Go prints them, ``[116 101]``; what is no base64 is taken as it stands."""
    try:
        content = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        content = value.encode()
    return f"[{' '.join(map(str, content))}]"


def _fnv(text: str) -> str:
    """32-bit FNV-1a, eight hexadecimal digits."""
    digest = 0x811C9DC5
    for byte in text.encode():
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{digest:08x}"
