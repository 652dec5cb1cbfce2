"""Pods that pass untouched, decided before anything is read. Each reason is one word for metrics and the
audit line."""

from __future__ import annotations

from vestibule.admission.review import AdmissionRequest, Pod
from vestibule.api import annotation_keys
from vestibule.api.settings import schema
from vestibule.injection import lookups
from vestibule.injection.policy import Policy


def reason(request: AdmissionRequest, policy: Policy) -> str:
    """Why this request is excluded; empty if it is not.

    Mirror pods: the API server refuses a token volume on them, so a patch would hide the static pod.
    Host-network pods: projected tokens work there, so they are served unless the settings say otherwise.
    """
    rules = policy.rules
    if rules.create_only and (request.operation != "CREATE" or request.sub_resource):
        return "not-a-create"
    pod = request.object
    if pod is None or not rules.exclusions:
        return ""
    annotations = pod.metadata.annotations
    if annotations is not None and annotation_keys.MIRROR_POD in annotations:
        return "mirror-pod"
    if policy.excluded(request.namespace or pod.metadata.namespace or lookups.DEFAULT):
        return "namespace-excluded"
    if not policy.central and host_network(pod, policy.settings):
        return "host-network"
    return ""


def host_network(pod: Pod, settings: schema.Settings) -> bool:
    """Whether the pod is left alone for being on the host network. It is the pod's author who chooses that,
    so where policies limit identities the pod is still judged."""
    return bool(settings.exclude.host_network and pod.spec.host_network)
