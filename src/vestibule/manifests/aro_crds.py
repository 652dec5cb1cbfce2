"""The CRDs of the ARO kinds, by the contract v1beta2 of Cluster API."""

from __future__ import annotations

from typing import Any, Final

from vestibule.api import aro, aso, conditions
from vestibule.api.gvk import Kind
from vestibule.aro import embedded, names
from vestibule.manifests import crds, schema

Object = dict[str, Any]
_LABELS: Final = {
    "cluster.x-k8s.io/v1beta2": "v1beta2",
    # without it clusterctl moves a Cluster and leaves these objects behind, to be deleted for want of an
    # owner
    "clusterctl.cluster.x-k8s.io": "",
}
_CLUSTER: Final = {
    "name": "Cluster",
    "type": "string",
    "jsonPath": ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",
}
_NOT_PERMITTED: Final = (
    "may not be embedded: want a kind of Azure Service Operator that clusters are made of ("
    + ", ".join(one.name for one in aso.SHIPPED)
    + ") or one that the administrator added"
)
_READY: Final = {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"}
_PROVISIONED: Final = {
    "name": "Provisioned",
    "type": "boolean",
    "jsonPath": ".status.initialization.provisioned",
}


def definitions(permitted: aso.PermittedKinds = aso.STANDARD) -> list[Object]:
    """All three; ``permitted`` are the kinds that may be embedded."""
    rendered = [
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
    for one in rendered:
        spec = one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["resources"] |= _resources(permitted)
    return rendered


def _resources(permitted: aso.PermittedKinds) -> Object:
    """Whole objects of others: nothing of them is pruned. Of what kind they are is asked by the API server
    itself, also without the webhook; the fields that it reads are bounded, so that the rule is cheap."""
    listed = ", ".join(f"'{one.name}'" for one in permitted.kinds)
    return {
        "maxItems": embedded.MOST,
        "items": {
            "type": "object",
            "properties": {
                "apiVersion": {"description": "API version.", "type": "string", "maxLength": 317},
                "kind": {"description": "Kind.", "type": "string", "maxLength": 63},
            },
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-validations": [
                {
                    "rule": "!has(self.apiVersion) || !has(self.kind) || "
                    f"(self.apiVersion.split('/')[0] + '/' + self.kind) in [{listed}]",
                    "message": _NOT_PERMITTED,
                    "fieldPath": ".kind",
                    "reason": "FieldValueForbidden",
                }
            ],
        },
    }


def _definition(
    kind: Kind, about: str, short: str, shapes: tuple[type, type], columns: list[Object]
) -> Object:
    spec, status = map(schema.structural, shapes)
    if "controlPlaneEndpoint" in spec["properties"]:
        spec["properties"]["controlPlaneEndpoint"]["minProperties"] = 1
    status["properties"]["conditions"] = conditions.SCHEMA
    if "ready" in status.get("required", ()):
        status["properties"]["ready"]["default"] = False
    _wide(status)
    crd = crds.definition(kind, about, spec, columns, [short], status)
    crd["metadata"]["labels"] = dict(_LABELS)
    crd["spec"]["names"]["categories"] = ["cluster-api"]
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    if not spec.get("required"):
        root.pop("required", None)
    return crd


def _wide(part: Object) -> None:
    """Generations are 64 bits wide."""
    for name, child in (part.get("properties") or {}).items():
        if name == "observedGeneration":
            child["format"] = "int64"
        _wide(child)
        _wide(child.get("items") or {})
