"""The CRDs of vestibule."""

from __future__ import annotations

from typing import Any, Final

from vestibule.api import (
    conditions,
    downtime,
    glob_patterns,
    gvk,
    hostedwebhook,
    identitypolicy,
    kata,
    label_selectors,
    publishedissuer,
    vestibulewebhook,
)
from vestibule.api.gvk import IDENTITY_POLICY, KATA_CONFIG, OSC_WEBHOOK_CONFIG, VESTIBULE_WEBHOOK, Kind
from vestibule.manifests import descriptions, schema

Object = dict[str, Any]
_READY: Final = {
    "name": "Ready",
    "type": "string",
    "jsonPath": f".status.conditions[?(@.type=='{conditions.READY}')].status",
}


def identity_policy() -> Object:
    """The CRD of IdentityPolicy; its name is the object's, so the spec has none.

    A misspelt field must not vanish before anybody sees it, and a limit with it: unknown fields are stored,
    and refused by the validating webhook, or at the latest by the webhook that reads the policy.
    """
    spec = schema.open_objects(schema.structural(identitypolicy.IdentityPolicy))
    fields = spec["properties"]
    del fields["name"]
    spec.pop("required", None)
    for name in ("namespaces", "serviceAccounts"):
        listed = fields["match"]["properties"][name]
        listed |= {"minItems": 1, "maxItems": _MOST_GLOBS}
        listed["items"] |= {"maxLength": 253, "pattern": f"^{glob_patterns.NAME_GLOB}$"}
    value = {"maxLength": _LONGEST_VALUE, "pattern": identitypolicy.VALUE_PATTERN}
    for cloud in ("aws", "az", "gcp"):
        for given in fields["identities"]["properties"][cloud]["properties"].values():
            given.update(value)
        for globs in fields["limits"]["properties"][cloud]["properties"].values():
            globs["maxItems"] = _MOST_GLOBS
            globs["items"].update(value)
    images = fields["limits"]["properties"]["images"]
    images["maxItems"] = _MOST_GLOBS
    images["items"] |= value
    fields["variables"]["additionalProperties"] |= value
    status = {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64"},
            "conditions": conditions.SCHEMA,
        },
    }
    columns = [
        _READY,
        {"name": "Priority", "type": "integer", "jsonPath": ".spec.priority"},
        {"name": "Locked", "type": "boolean", "jsonPath": ".spec.locked"},
        {"name": "Namespaces", "type": "string", "jsonPath": ".spec.match.namespaces"},
        {
            "name": "Accepted",
            "type": "string",
            "jsonPath": ".status.conditions[?(@.type=='Accepted')].status",
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    about = "Identities and limits for many ServiceAccounts."
    return definition(IDENTITY_POLICY, about, spec, columns, ["idp"], status)


_MOST_GLOBS: Final = 500
"""Globs in one list; enough for one for each namespace of a large tenant."""
_LONGEST_VALUE: Final = 2048


def webhook() -> Object:
    """The CRD of VestibuleWebhook; all objects of an installation have its name."""
    spec = schema.structural(vestibulewebhook.VestibuleWebhookSpec)
    fields = spec["properties"]
    # the operator checks them and reports every problem; pruned here, a misspelt one would vanish silently
    fields["settings"] |= {"x-kubernetes-preserve-unknown-fields": True}
    fields["settings"].pop("additionalProperties", None)
    fields["replicas"] |= {"minimum": 1}
    repair = fields["audit"]["properties"]["repair"]["properties"]
    repair["perMinute"] |= {"minimum": 1, "maximum": vestibulewebhook.MOST_PER_MINUTE}
    fields["certificate"]["properties"]["caBundle"]["maxLength"] = 262_144
    fields["certificate"]["x-kubernetes-validations"] = [
        {
            "rule": "!has(self.caBundle) || self.caBundle == '' || (has(self.mode) && self.mode == 'secret')",
            "message": "caBundle is for mode 'secret' only",
        }
    ]
    fields["target"]["properties"]["url"]["maxLength"] = 2048
    fields["target"]["x-kubernetes-validations"] = [
        {
            "rule": "(has(self.type) && self.type == 'Url') == (has(self.url) && self.url != '')",
            "message": "url is for type 'Url', and type 'Url' wants one",
        },
        {
            "rule": "!has(self.url) || self.url == '' || self.url.matches('^https://[^/?#]+$')",
            "message": "url wants https://HOST:PORT without a path",
        },
    ]
    status = {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64"},
            "certificateNotAfter": {"type": "string", "format": "date-time"},
            "conditions": conditions.SCHEMA,
            "outages": downtime.SCHEMA,
        },
    }
    columns: list[Object] = [
        _READY,
        *(
            {"name": name, "type": "string", "jsonPath": f".status.conditions[?(@.type=='{name}')].status"}
            for name in ("Available", "Progressing", "Degraded")
        ),
        {
            "name": "PodsServed",
            "type": "string",
            "jsonPath": ".status.conditions[?(@.type=='PodsServed')].status",
            "priority": 1,
        },
        {
            "name": "Reason",
            "type": "string",
            "jsonPath": ".status.conditions[?(@.type=='Available')].reason",
            "priority": 1,
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    crd = definition(
        VESTIBULE_WEBHOOK, "The webhook, as it should be in this cluster.", spec, columns, ["vw"], status
    )
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    root["x-kubernetes-validations"] = [
        {
            "rule": (
                f"self.metadata.name.size() <= {vestibulewebhook.LONGEST_NAME}"
                " && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
            ),
            "message": f"metadata.name wants at most {vestibulewebhook.LONGEST_NAME} lower case letters, "
            "digits, -",
        }
    ]
    return crd


def hosted_webhook() -> Object:
    """The CRD of HostedWebhook, which is in the namespace of its control plane."""
    spec = schema.structural(hostedwebhook.HostedWebhookSpec)
    fields = spec["properties"]
    fields["replicas"] |= {"minimum": 1}
    for name in ("url", "server"):
        fields[name] |= {"maxLength": 2048, "pattern": "^(https://[^/?#]+)?$"}
    status = {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64"},
            "conditions": conditions.SCHEMA,
        },
    }
    columns = [
        _READY,
        {"name": "Flavour", "type": "string", "jsonPath": ".spec.target.flavour"},
        {
            "name": "Guest",
            "type": "string",
            "jsonPath": ".status.conditions[?(@.type=='GuestReachable')].status",
        },
        {
            "name": "Available",
            "type": "string",
            "jsonPath": ".status.conditions[?(@.type=='Available')].status",
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    about = "The identity webhook of a hosted cluster."
    return definition(hostedwebhook.HOSTED_WEBHOOK, about, spec, columns, ["hw"], status)


def published_issuer() -> Object:
    """The CRD of PublishedIssuer."""
    spec = schema.structural(publishedissuer.PublishedIssuerSpec)
    fields = spec["properties"]
    fields["to"] |= {"minLength": 1, "maxLength": 2048}
    fields["issuer"] |= {"maxLength": 2048, "pattern": "^(https://[^?#]+)?$"}
    moment = {"type": "string", "format": "date-time"}
    key = {
        "type": "object",
        "required": ["kid"],
        "properties": {"kid": {"type": "string"}, "since": moment, "left": moment},
    }
    status = {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64"},
            "issuer": {"type": "string"},
            "where": {"type": "string"},
            "keys": {"type": "array", "items": key},
            "conditions": conditions.SCHEMA,
        },
    }
    columns = [
        _READY,
        {"name": "Issuer", "type": "string", "jsonPath": ".status.issuer"},
        *(
            {"name": name, "type": "string", "jsonPath": f".status.conditions[?(@.type=='{name}')].status"}
            for name in ("Published", "Degraded")
        ),
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    about = "Where the cluster's issuer is published: its discovery document and its keys."
    return definition(gvk.PUBLISHED_ISSUER, about, spec, columns, ["pubiss"], status)


def sandboxes() -> list[Object]:
    """KataConfig, with the fields it always had and ``spec.webhook``, and OSCWebhookConfig."""
    return [_kata_config(), _osc_webhook_config()]


_NODES: Final = (
    "installed", "installing", "waitingToInstall", "failedToInstall", "uninstalling", "waitingToUninstall",
    "failedToUninstall",
)  # fmt: skip


def _kata_config() -> Object:
    webhook = schema.open_objects(schema.structural(kata.KataWebhookSpec))  # so that a misspelt field is seen
    annotations = webhook["properties"]["annotations"]["properties"]
    annotations["memoryOverheadMB"] |= {"minimum": 1, "maximum": 2048, "default": kata.OVERHEAD_DEFAULT}
    annotations["defaultVCPUs"] |= {"minimum": 1}
    webhook["properties"]["enabled"]["default"] = True
    webhook["properties"]["failurePolicy"] |= {"enum": ["Fail", "Ignore"], "default": "Fail"}
    spec = {
        "type": "object",
        "nullable": True,
        "required": ["checkNodeEligibility"],
        "properties": {
            "checkNodeEligibility": {"type": "boolean", "default": False},
            "enablePeerPods": {"type": "boolean", "default": False},
            "kataConfigPoolSelector": {**schema.structural(label_selectors.LabelSelector), "nullable": True},
            "logLevel": {"type": "string", "default": "info"},
            "webhook": webhook,
        },
    }
    text = {"type": "string"}
    condition = {
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            **dict.fromkeys(("message", "reason", "status", "type"), text),
            "observedGeneration": {"type": "integer", "format": "int64"},
        },
    }
    names = {"type": "array", "items": text}
    nodes = {"nodeCount": {"type": "integer"}, "readyNodeCount": {"type": "integer"}}
    status = {
        "type": "object",
        "properties": {
            "conditions": {"type": "array", "items": condition},
            "kataNodes": {"type": "object", "properties": {**nodes, **dict.fromkeys(_NODES, names)}},
            "runtimeClasses": names,
            "waitingForMcoToStart": {"type": "boolean"},
        },
    }
    progress = ".status.conditions[?(@.type=='InProgress')].status"
    columns = [
        {"name": "InProgress", "type": "string", "jsonPath": progress},
        {"name": "Completed", "type": "integer", "jsonPath": ".status.kataNodes.readyNodeCount"},
        {"name": "Total", "type": "integer", "jsonPath": ".status.kataNodes.nodeCount"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    return definition(KATA_CONFIG, "Where and how Kata runs.", spec, columns, [], status)


def _osc_webhook_config() -> Object:
    rules = schema.structural(kata.RuleSet)["properties"]["spec"]
    listed = rules["properties"]["rules"]
    listed["maxItems"] = _MOST_RULES
    listed["items"]["required"] = ["mutate", "name"]
    listed["items"]["properties"]["name"] |= {"minLength": 1, "maxLength": 63}
    listed["x-kubernetes-list-type"] = "map"
    listed["x-kubernetes-list-map-keys"] = ["name"]
    mutate = listed["items"]["properties"]["mutate"]
    mutate["x-kubernetes-validations"] = [
        {
            "rule": "has(self.runtimeClassName) || has(self.annotations) || has(self.labels)",
            "message": "changes nothing, want runtimeClassName, annotations or labels",
        }
    ]
    status = {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64"},
            "conditions": {
                "type": "array",
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
    }
    columns = [
        _READY,
        {"name": "Rules", "type": "string", "jsonPath": ".spec.rules[*].name"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    return definition(OSC_WEBHOOK_CONFIG, "Rules for sandboxes.", rules, columns, [], status)


_MOST_RULES: Final = 256


def definition(
    kind: Kind,
    about: str,
    spec: Object,
    columns: list[Object],
    short: list[str],
    status: Object | None = None,
) -> Object:
    """One CRD, with one version that is served and stored."""
    schema = {
        "type": "object",
        "description": about,
        # an empty list is stored as none, and would differ for ever from what is applied
        **({} if spec.get("nullable") else {"required": ["spec"]}),
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            **({"status": status} if status else {}),
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                **({"shortNames": short} if short else {}),
            },
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": descriptions.filled(schema)},
                    "additionalPrinterColumns": columns,
                    **({"subresources": {"status": {}}} if status else {}),
                }
            ],
        },
    }
