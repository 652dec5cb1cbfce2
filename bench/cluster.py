"""The embedded cluster of the bench: the namespace, the owners and one ServiceAccount per shape.

Ours gets them as a directory of manifests with `cwii.dev/*` annotations, the EKS webhook through the stub
API server with its own annotation. The owners are here because real pods have them and our decision walks
to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from bench import fixtures
from bench.pod import DEPLOYMENT, NAMESPACE, OWNER, Json

ROLE = "arn:aws:iam::123456789012:role/checkout"

_POOL = "projects/123456789012/locations/global/workloadIdentityPools/prod/providers/cluster"
_AWS = {
    "cwii.dev/aws-inject": "true",
    "cwii.dev/aws-role-arn": ROLE,
    "cwii.dev/aws-region": "eu-central-1",
}
_GCP = {
    "cwii.dev/gcp-inject": "true",
    "cwii.dev/gcp-audience": f"//iam.googleapis.com/{_POOL}",
    "cwii.dev/gcp-service-account": "checkout@shop-prod.iam.gserviceaccount.com",
}
_AZ = {
    "cwii.dev/az-inject": "true",
    "cwii.dev/az-client-id": "5f0d1c5e-3a7b-4d51-9c3e-0a1b2c3d4e5f",
    "cwii.dev/az-tenant-id": "9b8a7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d",
}
ANNOTATIONS: dict[str, dict[str, str]] = {
    "none": {},
    "aws": _AWS,
    "gcp": _GCP,
    "az": _AZ,
    "all": {**_AWS, **_GCP, **_AZ},
    "verify": {**_AWS, "cwii.dev/aws-verify": "true"},
    "refused": {"cwii.dev/aws-inject": "true", "cwii.dev/aws-required": "true"},
}
"""What the ServiceAccount of each shape asks for."""


def objects() -> list[Json]:
    """Everything the reviews of all shapes refer to."""
    return [namespace(NAMESPACE), *_owners(), *map(account, fixtures.SHAPES)]


def eks_accounts() -> list[Json]:
    """The ServiceAccount the EKS webhook must know: the aws shape, annotated its way."""
    found = account("aws")
    found["metadata"] |= {
        "annotations": {"eks.amazonaws.com/role-arn": ROLE},
        "uid": "3f0e8c0a-7b4d-4f5e-9a61-0c2d4e6f8a10",
        "resourceVersion": "7",
    }
    return [found]


def write(folder: Path, items: Sequence[Json] | None = None) -> None:
    """Writes objects as manifests, one file each; those of `objects` if none are given."""
    folder.mkdir(parents=True, exist_ok=True)
    for item in objects() if items is None else items:
        name = f"{item['kind'].lower()}-{item['metadata']['name']}.yaml"
        (folder / name).write_text(yaml.safe_dump(item, sort_keys=False))


def namespace(name: str) -> Json:
    labels = {"kubernetes.io/metadata.name": name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def account(shape: str, namespace: str = NAMESPACE) -> Json:
    """The ServiceAccount of a shape."""
    annotations = ANNOTATIONS[shape]
    metadata = {"name": fixtures.account(shape), "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def workloads(count: int) -> list[Json]:
    """The owners of as many workloads, none of which is like another."""
    return [
        owner
        for number in range(count)
        for owner in _owners(
            (f"{DEPLOYMENT[0]}-{number}", fixtures.other(DEPLOYMENT[1], number)),
            (f"{OWNER[0]}-{number}", fixtures.other(OWNER[1], number)),
        )
    ]


def _owners(deployment: tuple[str, str] = DEPLOYMENT, replica_set: tuple[str, str] = OWNER) -> list[Json]:
    controller = {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment[0], "uid": deployment[1]}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": deployment[0], "namespace": NAMESPACE, "uid": deployment[1]},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": replica_set[0],
                "namespace": NAMESPACE,
                "uid": replica_set[1],
                "ownerReferences": [{**controller, "controller": True}],
            },
        },
    ]
