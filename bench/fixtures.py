"""The AdmissionReviews of the bench, built from a seed: the same bytes on every machine, no file from
elsewhere.

A shape changes only which ServiceAccount the pod (`bench.pod`) names; `bench.cluster` says what each of
those asks for. The hard thing is honesty: reviews come in VARIANTS bodies that differ in uid and hash, so
that an answer remembered for a body would not help, and each has the size we promise (9.6 to 10.2 KB).
"""

from __future__ import annotations

import random
import uuid

import msgspec

from bench.pod import NAMESPACE, Json, pod

SHAPES = ("none", "aws", "gcp", "az", "all", "verify", "refused")
"""Shapes that differ by ServiceAccount; the reinvocation is the aws one sent again with its patch applied."""
VARIANTS = 32
APART = 6 * VARIANTS
"""Pods that are not alike per batch."""
SMALLEST, LARGEST = 9_600, 10_200
PATH = "/mutate?timeout=10s"
SEED = 20_261_116


def account(shape: str) -> str:
    """The ServiceAccount that the pods of a shape run as."""
    return f"checkout-{shape}"


def review(shape: str, number: int = 0, seed: int = SEED) -> Json:
    """The AdmissionReview v1 of one pod creation, as the replicaset controller causes it."""
    dice = random.Random(f"{seed}/{number}")
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "namespace": NAMESPACE,
            "operation": "CREATE",
            "userInfo": {
                "username": "system:serviceaccount:kube-system:replicaset-controller",
                "uid": "6f0ce1a5-8a8d-4d0f-b3a2-3f1f5c2f2c11",
                "groups": [
                    "system:serviceaccounts",
                    "system:serviceaccounts:kube-system",
                    "system:authenticated",
                ],
            },
            "object": pod(account(shape), f"{dice.getrandbits(64):016x}"),
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }


def body(shape: str, number: int = 0, seed: int = SEED) -> bytes:
    """One review as compact JSON, its size checked."""
    data = msgspec.json.encode(review(shape, number, seed))
    if not SMALLEST <= len(data) <= LARGEST:
        raise ValueError(f"review {shape}/{number} has {len(data)} bytes, want {SMALLEST} to {LARGEST}")
    return data


def bodies(shape: str, seed: int = SEED) -> list[bytes]:
    return [body(shape, number, seed) for number in range(VARIANTS)]


def apart(shape: str, number: int, seed: int = SEED) -> Json:
    """The review of a pod that is the first of its workload: owner, volumes and image are its own."""
    found = review(shape, number, seed)
    pod = found["request"]["object"]
    owner = pod["metadata"]["ownerReferences"][0]
    owner |= {"name": f"{owner['name']}-{number}", "uid": other(owner["uid"], number)}
    pod["metadata"]["generateName"] = f"{owner['name']}-"
    pod["spec"]["volumes"][0]["configMap"]["name"] += f"-{number}"
    pod["spec"]["containers"][0]["image"] += f"-{number}"
    return found


def apart_bodies(shape: str, seed: int = SEED) -> list[bytes]:
    """The reviews of as many pods as a batch holds, each the first of its workload."""
    return [msgspec.json.encode(apart(shape, number, seed)) for number in range(APART)]


def other(uid: str, number: int) -> str:
    """A uid that is not this one, by number."""
    return f"{number:08x}{uid[8:]}"
