"""What must be read to decide one pod: its owners, its ServiceAccount, its namespace, in this order.

The caller passes the reader: informer caches, or a directory of manifests. For an object that the reader
does not have, ``LookupUnknown`` is raised; the caller fetches it and collects again. That is cheap, since it
is only lookups, and keeps this package free of I/O.
"""

from __future__ import annotations

from typing import Final

from vestibule.admission.review import AdmissionRequest, Pod
from vestibule.api import annotation_keys, gvk
from vestibule.injection import owners
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.facts import (
    NO_ANNOTATIONS,
    UNKNOWN,
    Facts,
    LookupUnknown,
    ReadObject,
    SourceAnnotations,
    SourceObject,
)

DEFAULT: Final = "default"
"""The namespace and the ServiceAccount of who names none."""


def names(request: AdmissionRequest, pod: Pod, rules: CompatRules) -> tuple[str, str]:
    """Namespace and ServiceAccount of the pod; an empty string where the upstream webhook would fail."""
    account = pod.spec.service_account_name
    if rules.default_names:
        return request.namespace or pod.metadata.namespace or DEFAULT, account or DEFAULT
    namespace = request.namespace if request.namespace is not None else pod.metadata.namespace
    if account is None:
        account = "" if rules.nameless == "pass" else DEFAULT
    return DEFAULT if namespace is None else namespace, account


def collect(request: AdmissionRequest, pod: Pod, rules: CompatRules, read: ReadObject) -> Facts:
    """The facts; raises LookupUnknown for the first object that the reader does not have. With
    generateName the pod has no name yet."""
    namespace, account = names(request, pod, rules)
    meta = pod.metadata
    remaining = (
        annotation_keys.relevant_of_pod(meta.annotations, every=rules.own_prefixes)
        if meta.annotations
        else None
    )
    own = SourceAnnotations(remaining) if remaining else NO_ANNOTATIONS
    levels = [SourceObject("Pod", namespace, meta.name or meta.generate_name or "", "", own)]
    annotations = [own]
    notes: tuple[str, ...] = ()
    if rules.walks and meta.owner_references:
        walk = owners.by_controller if rules.controller_owner else owners.by_kind
        walked = walk(namespace, meta.owner_references, read)
        for owner in walked.owners:
            levels.append(owner)
            annotations.append(owner.annotations)
        notes = walked.notes
    service_account = read(gvk.SERVICE_ACCOUNT, namespace, account)
    if service_account is UNKNOWN:
        raise LookupUnknown(gvk.SERVICE_ACCOUNT, namespace, account)
    account_level = -1
    if service_account is not None:
        account_level = len(levels)
        levels.append(service_account)
        annotations.append(service_account.annotations)
    found = read(gvk.NAMESPACE, "", namespace) if rules.namespaces else None
    if found is UNKNOWN:
        raise LookupUnknown(gvk.NAMESPACE, "", namespace)
    last = found or SourceObject("Namespace", "", namespace)
    levels.append(last)
    annotations.append(last.annotations)
    return Facts(
        namespace,
        account,
        tuple(levels),
        tuple(annotations),
        account_level,
        notes,
    )
