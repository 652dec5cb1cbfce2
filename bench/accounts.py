"""A large cluster's namespaces and ServiceAccounts, as Helm leaves them: labels, annotations, managedFields.

Every tenth account asks for an identity with a role of its own, so that no two share what is kept of them;
the first of each namespace is the bare `default`. The same seed gives the same objects.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

from bench.pod import Json

_TIME = "2026-11-16T05:00:00Z"
_APPS = ("orders", "checkout", "invoices", "catalogue", "sessions", "reports", "payments", "search")
_PARTS = ("api", "worker", "scheduler", "migrations", "exporter", "gateway", "importer")


def space(number: int) -> str:
    return f"team-{number:04d}"


def namespaces(count: int, seed: int) -> Iterator[Json]:
    dice = random.Random(f"{seed}/namespaces")
    for number in range(count):
        name = space(number)
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": _born(dice, name=name, labels={"kubernetes.io/metadata.name": name}),
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }


def accounts(spaces: int, metrics: range, seed: int) -> Iterator[Json]:
    """Of each namespace the accounts with these numbers."""
    dice = random.Random(f"{seed}/accounts/{metrics.start}")
    for number in range(spaces):
        for within in metrics:
            yield _account(dice, space(number), within, asks=(number + within) % 10 == 3)


def _account(dice: random.Random, namespace: str, number: int, *, asks: bool) -> Json:
    if number == 0:
        metadata = _born(dice, name="default", namespace=namespace)
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    app = _APPS[number % len(_APPS)]
    name = f"{app}-{_PARTS[number % len(_PARTS)]}-{number}"
    labels = {
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": f"{app}-1.4.2",
    }
    annotations = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
    if asks:
        annotations |= {
            "cwii.dev/aws-inject": "true",
            "cwii.dev/aws-role-arn": f"arn:aws:iam::123456789012:role/{namespace}/{name}",
            "cwii.dev/aws-region": "eu-central-1",
        }
    metadata = _born(dice, name=name, namespace=namespace, labels=labels, annotations=annotations)
    metadata["managedFields"] = [
        {
            "manager": "helm",
            "operation": "Update",
            "apiVersion": "v1",
            "time": _TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:annotations": _owned(annotations), "f:labels": _owned(labels)}},
        }
    ]
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _born(dice: random.Random, **metadata: object) -> Json:
    """What the API server adds when an object is made."""
    uid = str(uuid.UUID(int=dice.getrandbits(128), version=4))
    return {**metadata, "uid": uid, "creationTimestamp": _TIME}


def _owned(keys: dict[str, str]) -> Json:
    return {".": {}, **{f"f:{key}": {} for key in keys}}
