"""Descriptions of CRD fields that no type of ours declares: metadata, status, fields of other operators."""

from __future__ import annotations

from typing import Any, Final

_TEXTS: Final[dict[str, str]] = {
    "apiVersion": "API version of the object.",
    "kind": "Kind of the object.",
    "spec": "Desired state.",
    "status": "Observed state; written by the operator.",
    "observedGeneration": "Generation of the spec that this describes.",
    "conditions": "Conditions, one for each type.",
    "lastTransitionTime": "When the status last changed.",
    "message": "Details for people.",
    "reason": "Cause in one CamelCase word.",
    "type": "Type of the condition.",
    "certificateNotAfter": "End of the validity of the serving certificate.",
    "outages": "Times in which the webhook did not answer, the latest last.",
    "since": "Beginning, or when it was first seen.",
    "until": "End; absent while it lasts.",
    "issuer": "Issuer of the cluster's tokens.",
    "where": "Where the documents are published.",
    "keys": "Published keys.",
    "kid": "Id of the key.",
    "left": "When the cluster stopped publishing the key.",
    "checkNodeEligibility": "Whether nodes are checked for Kata before it is installed.",
    "enablePeerPods": "Whether peer pods are used.",
    "logLevel": "Log level of the Kata runtime.",
    "kataNodes": "State of the installation by node.",
    "nodeCount": "Number of nodes selected.",
    "readyNodeCount": "Number of nodes that run Kata.",
    "installed": "Nodes that run Kata.",
    "installing": "Nodes that install Kata.",
    "waitingToInstall": "Nodes that wait for the installation.",
    "failedToInstall": "Nodes on which the installation failed.",
    "uninstalling": "Nodes that remove Kata.",
    "waitingToUninstall": "Nodes that wait for the removal.",
    "failedToUninstall": "Nodes on which the removal failed.",
    "runtimeClasses": "Runtime classes that Kata provides.",
    "waitingForMcoToStart": "Whether the Machine Config Operator has not begun yet.",
}
_STATUS: Final = "True, False or Unknown."


def filled(schema: dict[str, Any], name: str = "") -> dict[str, Any]:
    """The schema with a description for every property that has none; ``name`` is the schema's own."""
    result = dict(schema)
    if "description" not in schema and name in _TEXTS:
        text = _STATUS if name == "status" and schema.get("type") == "string" else _TEXTS[name]
        result["description"] = text
    if "properties" in schema:
        result["properties"] = {key: filled(child, key) for key, child in schema["properties"].items()}
    for below in ("items", "additionalProperties"):
        if isinstance(schema.get(below), dict):
            result[below] = filled(schema[below])
    return result
