"""Other webhooks that give pods an identity: the ones we replace, and another installation of our own.

Known by the names they register under. Two of them on one pod write two sets of variables and volumes, and
the first one wins; an administrator should know before the second one is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from vestibule.manifests import webhook_configurations

Object = dict[str, Any]

_BY_WEBHOOK: Final = {
    "mutate.cwii.dev": "cwii",
    "mutation.azure-workload-identity.io": "Azure workload identity",
    "pod-identity-webhook.azure.mutate.io": "Azure workload identity on OpenShift",
    "pod-identity-webhook.amazonaws.com": "the EKS pod identity webhook",
    "iam-for-pods.amazonaws.com": "the pod identity webhook of managed EKS",
    webhook_configurations.WEBHOOK_NAME: "another installation of Vestibule",
}
_BY_CONFIGURATION: Final = {
    "azure-wi-webhook-mutating-webhook-configuration": "Azure workload identity",
    "pod-identity-webhook": "the EKS pod identity webhook",
    "aws-pod-identity": "the EKS pod identity webhook on HyperShift",
}
_BY_PREFIX: Final = {
    # its chart puts a suffix behind the release name, and its webhook has the name of a scaffold
    "gcp-workload-identity-federation-webhook": "the GCP workload identity federation webhook",
}


class ForeignWebhook(NamedTuple):
    """A webhook that also gives pods an identity."""

    configuration: str
    webhook: str
    product: str


def known(configurations: Iterable[Object], own: str) -> Iterator[ForeignWebhook]:
    """Known webhooks that mutate pods at CREATE; ``own`` names the configuration of vestibule."""
    for one in configurations:
        configuration = str(one["metadata"]["name"])
        if configuration == own:
            continue
        for webhook in one.get("webhooks") or ():
            name = str(webhook.get("name"))
            product = _product(configuration, name)
            if product and any(map(_pods_at_create, webhook.get("rules") or ())):
                yield ForeignWebhook(configuration, name, product)


def _product(configuration: str, webhook: str) -> str:
    found = _BY_WEBHOOK.get(webhook) or _BY_CONFIGURATION.get(configuration)
    if found:
        return found
    return next((name for prefix, name in _BY_PREFIX.items() if configuration.startswith(prefix)), "")


_PODS_AT_CREATE: Final = {
    "apiGroups": {"", "*"},
    "apiVersions": {"v1", "*"},
    "operations": {"CREATE", "*"},
    # the API server takes pods/* to mean pods as well
    "resources": {"pods", "pods/*", "*", "*/*"},
}


def _pods_at_create(rule: Mapping[str, Any]) -> bool:
    return all(not accepted.isdisjoint(rule.get(field) or ()) for field, accepted in _PODS_AT_CREATE.items())
