"""Values that have the shape of a Kubernetes field, as JSON Schema: a name that Kubernetes does not know is
refused by Helm, before the API server drops it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta

_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_YES: Final = {"type": "boolean"}
_QUANTITIES: Final = {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
_ANY: Final = {"type": "object", "additionalProperties": True}


def _shape(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _each(**properties: Any) -> dict[str, Any]:
    return {"items": _shape(**properties)}


_REQUIREMENTS: Final = {
    "type": "array",
    "items": _shape(key=_TEXT, operator=_TEXT, values={"type": "array", "items": _TEXT}),
}
_SELECTOR: Final = _shape(
    matchLabels={"type": "object", "additionalProperties": _TEXT}, matchExpressions=_REQUIREMENTS
)
_ENV: Final = _each(name=_TEXT, value=_TEXT, valueFrom=_ANY)

Resources = Annotated[
    dict[str, Any], Meta(extra_json_schema=_shape(requests=_QUANTITIES, limits=_QUANTITIES))
]
Affinity = Annotated[
    dict[str, Any],
    Meta(extra_json_schema=_shape(nodeAffinity=_ANY, podAffinity=_ANY, podAntiAffinity=_ANY)),
]
Tolerations = Annotated[
    tuple[Any, ...],
    Meta(
        extra_json_schema=_each(
            key=_TEXT, operator=_TEXT, value=_TEXT, effect=_TEXT, tolerationSeconds=_WHOLE
        )
    ),
]
Spread = Annotated[
    tuple[Any, ...],
    Meta(
        extra_json_schema=_each(
            maxSkew=_WHOLE,
            minDomains=_WHOLE,
            topologyKey=_TEXT,
            whenUnsatisfiable={"enum": ["DoNotSchedule", "ScheduleAnyway"]},
            labelSelector=_SELECTOR,
            matchLabelKeys={"type": "array", "items": _TEXT},
            nodeAffinityPolicy=_TEXT,
            nodeTaintsPolicy=_TEXT,
        )
    ),
]
PodSecurity = Annotated[
    dict[str, Any],
    Meta(
        extra_json_schema=_shape(
            runAsUser={"type": ["integer", "null"], "minimum": 1},
            runAsGroup={"type": ["integer", "null"]},
            fsGroup={"type": ["integer", "null"]},
            fsGroupChangePolicy=_TEXT,
            supplementalGroups={"type": "array", "items": _WHOLE},
            seLinuxOptions=_ANY,
            seccompProfile=_ANY,
            appArmorProfile=_ANY,
        )
    ),
]
PullSecrets = Annotated[tuple[Any, ...], Meta(extra_json_schema=_each(name=_TEXT))]
Environment = Annotated[tuple[Any, ...], Meta(extra_json_schema=_ENV)]
Volumes = Annotated[tuple[Any, ...], Meta(extra_json_schema={"items": {**_ANY, "required": ["name"]}})]
Mounts = Annotated[
    tuple[Any, ...],
    Meta(
        extra_json_schema=_each(
            name=_TEXT,
            mountPath=_TEXT,
            subPath=_TEXT,
            subPathExpr=_TEXT,
            readOnly=_YES,
            mountPropagation=_TEXT,
        )
    ),
]
Requirements = Annotated[tuple[Any, ...], Meta(extra_json_schema={"items": _REQUIREMENTS["items"]})]
Conditions = Annotated[tuple[Any, ...], Meta(extra_json_schema=_each(name=_TEXT, expression=_TEXT))]
Peers = Annotated[
    tuple[Any, ...],
    Meta(
        extra_json_schema=_each(
            namespaceSelector=_SELECTOR,
            podSelector=_SELECTOR,
            ipBlock=_shape(cidr=_TEXT, **{"except": {"type": "array", "items": _TEXT}}),
        )
    ),
]
Egress = Annotated[
    tuple[Any, ...],
    Meta(
        extra_json_schema=_each(
            to={"type": "array", "items": _ANY},
            ports={
                "type": "array",
                "items": _shape(protocol=_TEXT, port={"type": ["integer", "string"]}, endPort=_WHOLE),
            },
        )
    ),
]
