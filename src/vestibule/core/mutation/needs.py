"""What must be read to decide one pod, as questions: yields a Need, is sent a Source or None, returns the
Facts.

Whoever drives it does the reading: from caches without a pause, live within a deadline, or from a directory.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from vestibule.core.admission.review import Pod, Request
from vestibule.core.kinds import gvk, vocabulary
from vestibule.core.mutation import owners
from vestibule.core.mutation.facts import NO_ANNOTATIONS, Annotations, Facts, Source
from vestibule.core.mutation.owners import Need
from vestibule.core.mutation.rules import Rules

Questions = Generator[Need, Source | None, Facts]
_DEFAULT: Final = "default"


def names(request: Request, pod: Pod, rules: Rules) -> tuple[str, str]:
    """Namespace and ServiceAccount of the pod; an empty string where the original would fail on one."""
    namespace = request.namespace if request.namespace is not None else pod.metadata.namespace
    account = pod.spec.service_account_name
    if rules.default_names:
        return namespace or pod.metadata.namespace or _DEFAULT, account or _DEFAULT
    return _DEFAULT if namespace is None else namespace, _DEFAULT if account is None else account


def questions(request: Request, pod: Pod, rules: Rules) -> Questions:
    """Owner chain, ServiceAccount, namespace, in this order."""
    namespace, account = names(request, pod, rules)
    levels = [pod_source(pod, namespace)]
    notes: tuple[str, ...] = ()
    if pod.metadata.owner_references:
        walk = owners.by_controller if rules.controller_owner else owners.by_kind
        walked = yield from walk(namespace, pod.metadata.owner_references)
        levels += walked.owners
        notes = walked.notes
    service_account = yield Need(gvk.SERVICE_ACCOUNT, namespace, account)
    if service_account is not None:
        levels.append(service_account)
    found = yield Need(gvk.NAMESPACE, "", namespace)
    levels.append(found or Source("Namespace", "", namespace))
    return Facts(namespace, account, tuple(levels), notes)


def pod_source(pod: Pod, namespace: str) -> Source:
    """The pod itself as a level; with generateName it has no name yet."""
    annotations = pod.metadata.annotations
    kept = vocabulary.relevant(annotations) if annotations else None
    return Source(
        "Pod",
        namespace,
        pod.metadata.name or pod.metadata.generate_name or "",
        annotations=Annotations(kept) if kept else NO_ANNOTATIONS,
    )
