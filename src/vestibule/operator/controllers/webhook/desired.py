"""The objects of one installation, from what its object asks for and what the cluster says. Pure.

They are what ``vestibule render`` prints, but for what an operator does better: it keeps the certificate and
shows the replicas nothing of it but their own pair, it says where the replicas are reached, and it leaves
alone what is shared with others (the namespace, the definitions of kinds).
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from vestibule import errors
from vestibule.api import vestibulewebhook
from vestibule.api.settings import schema
from vestibule.api.settings.schema import Settings
from vestibule.api.vestibulewebhook import VestibuleWebhookSpec
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.manifests import install, webhook_configurations, workload

Object = dict[str, Any]
_SHARED: Final = ("Namespace", "CustomResourceDefinition")
_REGISTRATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_PRIORITY: Final = 1_000_000_000
"""The highest that is not the system's own."""
_UNKNOWN: Final = "AA=="
"""Stands for a bundle that is not known yet; no registration is published with it."""
SERVING: Final = "vestibule.dev/serving"
"""Annotation of the replicas: digest of the settings that they take up at their start only."""
_ACTIONS: Final[dict[str, list[str]]] = {"Deny": ["Deny"], "Warn": ["Warn", "Audit"], "Audit": ["Audit"]}


class Desired(NamedTuple):
    """What should be there, in the order in which it is made."""

    base: list[Object]
    """All that the webhook needs to run."""
    registrations: list[Object]
    """What makes the API server call it."""


def topology(nodes: int) -> str:
    """What OpenShift calls a cluster of so many nodes."""
    return "SingleReplica" if nodes == 1 else "HighlyAvailable"


def replicas_for(topology: str | None) -> int:
    """How many where nobody asks for a number; raises LookupFailed when the topology is not known."""
    if topology is None:
        raise errors.LookupFailed("the cluster's topology", "it says none")
    return 1 if topology == "SingleReplica" else 2


def replicas(wanted: int | None, nodes: int) -> int:
    """How many: as asked, else 2, and 1 on a single node."""
    return wanted if wanted is not None else replicas_for(topology(nodes))


def budgeted(count: int) -> bool:
    """Whether there is a disruption budget; one replica could then never be drained."""
    return count > 1


def names(name: str, namespace: str, spec: VestibuleWebhookSpec) -> tuple[str, ...]:
    """Names that the serving certificate is for."""
    host = urlsplit(spec.target.url).hostname if spec.target.type == "Url" else None
    return (f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local", *((host,) if host else ()))


def settings(
    name: str, namespace: str, spec: VestibuleWebhookSpec, image: str, count: int, bundle: str
) -> Settings:
    """The settings that an object asks for; raises InvalidInput with every problem. ``bundle`` is base64 PEM,
    empty while it is not known."""
    data = copy.deepcopy(spec.settings)
    place = f"{vestibulewebhook.KIND} {name}"
    problems = [
        errors.InputProblem(place, f"spec.settings.{field}", f"is not for the operator, want {instead}")
        for field, instead in (("install", "the fields of spec"), ("selfCertificate", "spec.certificate"))
        if field in data
    ]
    webhook = data.get("webhook") or {}
    if isinstance(webhook, Mapping) and "failurePolicy" in webhook:
        problems.append(
            errors.InputProblem(place, "spec.settings.webhook.failurePolicy", "want spec.failurePolicy")
        )
    if not image:
        problems.append(errors.InputProblem(place, "spec.image", "is empty, and the operator knows no image"))
    if problems:
        raise errors.InvalidInput(*problems)
    mode = spec.certificate.mode
    data["install"] = {
        "name": name,
        "namespace": namespace,
        "image": image,
        "replicas": count,
        "cpu": spec.resources.cpu,
        "memory": spec.resources.memory,
        # for the replicas ours is a Secret like any other
        "certificate": "secret" if mode == "self" else mode,
        "caBundle": bundle or _UNKNOWN,
        "guard": spec.guard != "Off",
        "finalCheck": spec.final_check.lower(),
    }
    data["webhook"] = {**webhook, "failurePolicy": spec.failure_policy}
    life = spec.certificate
    lives = {"authorityLife": life.authority_life, "leafLife": life.leaf_life, "overlap": life.overlap}
    data["selfCertificate"] = lives  # looked at here, and kept from the replicas
    parsed = schema.parse(data, place)
    return msgspec.structs.replace(parsed, self_certificate=schema.CertificateSettings())


def objects(settings: Settings, spec: VestibuleWebhookSpec, found: SandboxPolicy | None) -> Desired:
    """All objects."""
    base: list[Object] = [] if spec.priority_class_name else [_priority_class(settings)]
    registrations: list[Object] = []
    for thing in install.objects(settings, found):
        kind = thing["kind"]
        if kind in _SHARED or (kind == "PodDisruptionBudget" and not budgeted(settings.install.replicas)):
            continue
        if kind in _REGISTRATIONS:
            registrations.append(_registration(thing, settings, spec))
            continue
        base.append(_adapted(thing, settings, spec))
    if spec.certificate.mode == "service-ca":
        base.append(_service_ca(settings))
    return Desired(base, registrations)


def secret(settings: Settings, name: str, data: Mapping[str, str]) -> Object:
    """A Secret of the certificate that we keep."""
    return _labelled(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": settings.install.namespace},
            "type": "Opaque",
            "data": dict(data),
        },
        settings,
    )


def service_ca_map(name: str) -> str:
    """The ConfigMap into which OpenShift writes its service CA."""
    return f"{name}-service-ca"


def _priority_class(settings: Settings) -> Object:
    about = "Pods of the cluster get their identity from these: they come before others."
    return _labelled(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": settings.install.name},
            "value": _PRIORITY,
            "globalDefault": False,
            "preemptionPolicy": "PreemptLowerPriority",
            "description": about,
        },
        settings,
    )


def _service_ca(settings: Settings) -> Object:
    meta = {
        "name": service_ca_map(settings.install.name),
        "namespace": settings.install.namespace,
        "annotations": {"service.beta.openshift.io/inject-cabundle": "true"},
    }
    return _labelled({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}, settings)


def _labelled(thing: Object, settings: Settings) -> Object:
    labels = {
        "app.kubernetes.io/name": "vestibule",
        "app.kubernetes.io/instance": settings.install.name,
        "app.kubernetes.io/managed-by": install.OWNER,
    }
    return {**thing, "metadata": {**thing["metadata"], "labels": labels}}


def _adapted(thing: Object, settings: Settings, spec: VestibuleWebhookSpec) -> Object:
    changed = copy.deepcopy(thing)
    if thing["kind"] == "Deployment":
        template = changed["spec"]["template"]
        template["metadata"]["annotations"] = {SERVING: _serving(settings)}
        template["spec"]["priorityClassName"] = spec.priority_class_name or settings.install.name
        for volume in template["spec"]["volumes"]:
            if volume["name"] == "tls" and spec.certificate.mode == "self":
                volume["secret"]["items"] = workload.serving_items()
    if thing["kind"] == "ValidatingAdmissionPolicyBinding" and thing["metadata"]["name"].endswith("-guard"):
        changed["spec"]["validationActions"] = _ACTIONS[spec.guard]
    return changed


def _serving(settings: Settings) -> str:
    text = msgspec.json.encode(install.changed_settings(settings).get("serving", {}), order="sorted")
    return hashlib.sha256(text).hexdigest()[:16]


def _registration(thing: Object, settings: Settings, spec: VestibuleWebhookSpec) -> Object:
    changed = copy.deepcopy(thing)
    if spec.certificate.mode in ("cert-manager", "service-ca"):
        # they keep the bundle, too; both of us write the same one
        keeper = msgspec.structs.replace(settings.install, ca_bundle="")
        annotations = webhook_configurations.ca_injection(msgspec.structs.replace(settings, install=keeper))
        changed["metadata"]["annotations"] = {**changed["metadata"].get("annotations", {}), **annotations}
    if spec.target.type == "Url":
        for hook in changed["webhooks"]:
            service = hook["clientConfig"].pop("service")
            hook["clientConfig"]["url"] = f"{spec.target.url.rstrip('/')}{service['path']}"
    return changed
