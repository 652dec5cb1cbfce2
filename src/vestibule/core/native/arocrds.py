"""The definitions of the ARO kinds, by the contract v1beta2 of Cluster API."""

from __future__ import annotations

from typing import Any, Final

from vestibule.core.aro import names
from vestibule.core.kinds import aro, conditions
from vestibule.core.kinds.gvk import Kind
from vestibule.core.native import crds, schema

Object = dict[str, Any]
_CONTRACT: Final = {"cluster.x-k8s.io/v1beta2": "v1beta2"}
_CLUSTER: Final = {
    "name": "Cluster",
    "type": "string",
    "jsonPath": ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",
}
_READY: Final = {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"}
_PROVISIONED: Final = {
    "name": "Provisioned",
    "type": "boolean",
    "jsonPath": ".status.initialization.provisioned",
}


def definitions() -> list[Object]:
    """All three."""
    return [
        _definition(
            names.ARO_CLUSTER,
            "The infrastructure of an ARO HCP cluster.",
            "aroc",
            (aro.ClusterSpec, aro.ClusterStatus),
            [
                _CLUSTER,
                _READY,
                _PROVISIONED,
                {
                    "name": "Endpoint",
                    "type": "string",
                    "jsonPath": ".spec.controlPlaneEndpoint.host",
                    "priority": 1,
                },
            ],
        ),
        _definition(
            names.ARO_CONTROL_PLANE,
            "An ARO HCP cluster.",
            "arocp",
            (aro.ControlPlaneSpec, aro.ControlPlaneStatus),
            [_CLUSTER, _READY, {"name": "Console URL", "type": "string", "jsonPath": ".status.consoleURL"}],
        ),
        _definition(
            names.ARO_MACHINE_POOL,
            "A node pool of an ARO HCP cluster.",
            "aromp",
            (aro.MachinePoolSpec, aro.MachinePoolStatus),
            [
                _READY,
                _PROVISIONED,
                {"name": "Replicas", "type": "integer", "jsonPath": ".status.replicas"},
            ],
        ),
    ]


def _definition(
    kind: Kind, about: str, short: str, shapes: tuple[type, type], columns: list[Object]
) -> Object:
    spec, status = map(schema.structural, shapes)
    # whole objects of others: nothing of them is pruned
    spec["properties"]["resources"]["items"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    if "controlPlaneEndpoint" in spec["properties"]:
        spec["properties"]["controlPlaneEndpoint"]["minProperties"] = 1
    status["properties"]["conditions"] = conditions.SCHEMA
    if "ready" in status.get("required", ()):
        status["properties"]["ready"]["default"] = False
    _wide(status)
    made = crds.definition(kind, about, spec, columns, [short], status)
    made["metadata"]["labels"] = dict(_CONTRACT)
    made["spec"]["names"]["categories"] = ["cluster-api"]
    whole = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    if not spec.get("required"):
        whole.pop("required", None)
    return made


def _wide(part: Object) -> None:
    """Generations are 64 bits wide."""
    for name, child in (part.get("properties") or {}).items():
        if name == "observedGeneration":
            child["format"] = "int64"
        _wide(child)
        _wide(child.get("items") or {})
