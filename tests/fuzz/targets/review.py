"""A review: decoded, decided, answered, applied; what must hold for every pod, in both modes.

The answer is a valid AdmissionReview or an HTTP refusal; nothing but MalformedReview is raised; a patch
applies, by a foreign implementation too; a refused pod carries none; a second pass changes nothing; and a
handler that has seen much answers as a fresh one does.
"""

from __future__ import annotations

import base64
import copy
import functools
import json
from typing import Any, Final

import jsonpatch

from tests.fuzz import mutators
from tests.vectors import case
from vestibule.admission import apply
from vestibule.api.settings import schema
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.webhook.handler import Handler

Json = dict[str, Any]

LONGEST: Final = 16_384
MOST_ANSWERED: Final = 2 * 1024 * 1024
SETTINGS: Final[tuple[Json, ...]] = (
    {},
    {"mode": "strict"},
    {"vocabularies": ["eks", "azwi", "wif", "gke", "cwii"]},
    {"mode": "strict", "vocabularies": ["azwi"]},
    {"mode": "strict", "vocabularies": ["eks"]},
    {"mode": "strict", "vocabularies": ["wif"]},
    {"required": True, "onInvalid": "refuse", "nativeAnnotations": True},
    {
        "policies": [
            {
                "name": "one",
                "match": {"namespaces": ["team-*"]},
                "identities": {"aws": {"roleArn": "arn:aws:iam::123456789012:role/{namespace}"}},
            }
        ]
    },
)
ROLE: Final = "arn:aws:iam::123456789012:role/app"
CLIENT: Final = "3f0c9d44-8f5e-4a0e-b1a7-6a5b1f8f2d22"
POOL: Final = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
ACCOUNTS: Final[dict[str, dict[str, str]]] = {
    "app": {
        "cwii.dev/aws-inject": "true",
        "cwii.dev/aws-role-arn": ROLE,
        "eks.amazonaws.com/role-arn": ROLE,
        "azure.workload.identity/client-id": CLIENT,
        "cloud.google.com/workload-identity-provider": POOL[len("//iam.googleapis.com/") :],
        "cloud.google.com/service-account-email": "app@acme.iam.gserviceaccount.com",
    },
    "all": {
        "cwii.dev/aws-inject": "true",
        "cwii.dev/aws-role-arn": ROLE,
        "cwii.dev/gcp-inject": "true",
        "cwii.dev/gcp-audience": POOL,
        "cwii.dev/az-inject": "true",
        "cwii.dev/az-client-id": CLIENT,
        "cwii.dev/az-tenant-id": CLIENT,
    },
    "default": {},
}
OBJECTS: Final[list[Json | None]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
    *(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "team-a", "annotations": annotations},
        }
        for name, annotations in ACCOUNTS.items()
    ),
]
WORDS: Final = (
    "metadata", "annotations", "labels", "spec", "containers", "initContainers", "ephemeralContainers",
    "volumes", "env", "envFrom", "volumeMounts", "name", "value", "valueFrom", "mountPath", "projected",
    "sources", "serviceAccountToken", "serviceAccountName", "ownerReferences", "controller", "kind",
    "hostNetwork", "runtimeClassName", "nodeSelector", "os", "windows", "restartPolicy", "Always", "image",
    "uid", "request", "object", "oldObject", "operation", "CREATE", "UPDATE", "DELETE", "dryRun",
    "subResource", "namespace", "apiVersion", "admission.k8s.io/v1", "admission.k8s.io/v1beta1",
    "AdmissionReview", "Pod", "team-a", "app", "all", "default", "true", "false", "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_CLIENT_ID", "GOOGLE_APPLICATION_CREDENTIALS",
    "azure.workload.identity/use", "azure.workload.identity/skip-containers",
    "azure.workload.identity/inject-proxy-sidecar", "azure.workload.identity/proxy-sidecar-port",
    "azure.workload.identity/service-account-token-expiration", "eks.amazonaws.com/skip-containers",
    "eks.amazonaws.com/token-expiration", "eks.amazonaws.com/audience",
    "eks.amazonaws.com/sts-regional-endpoints", "cloud.google.com/token-expiration",
    "cloud.google.com/skip-containers", "cloud.google.com/injection-mode", "cwii.dev/injected",
    "cwii.dev/skip-containers", "cwii.dev/token-expiration", "cwii.dev/aws-inject",
    "cwii.dev/aws-role-arn", "cwii.dev/aws-role-arn.app", "cwii.dev/aws-profile.x", "cwii.dev/aws-region",
    "cwii.dev/gcp-inject", "cwii.dev/gcp-audience", "cwii.dev/gcp-delivery",
    "cwii.dev/gcp-service-account", "cwii.dev/az-inject", "cwii.dev/az-client-id", "cwii.dev/az-tenant-id",
    "cwii.dev/az-required", "cwii.dev/aws-verify", "cwii.dev/containers", "cwii.dev/nonsense", ROLE, POOL,
    CLIENT, "86400", "600", "init-container", "io.katacontainers.config.hypervisor.cc_init_data", "kata",
    "app@acme.iam.gserviceaccount.com",
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE},
    {"cwii.dev/gcp-inject": "true", "cwii.dev/gcp-audience": POOL, "cwii.dev/gcp-delivery": "init-container"},
    {"azure.workload.identity/use": "true"},
    [{"name": "app", "image": "a"}, {"name": "b", "env": [{"name": "AWS_ROLE_ARN", "value": "x"}]}],
    [{"name": "aws-iam-token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
    [{"name": "AWS_REGION", "value": "eu-west-1"}],
    [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True}],
    "true", "app", "all", "CREATE", "UPDATE", ROLE, POOL, CLIENT, "3600",
)  # fmt: skip


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    """The first byte picks the settings, the rest is the review."""
    first = data[:1] or b"\0"
    if seed % 8 == 0:
        first = bytes([seed // 8 % len(SETTINGS)])
    return first + mutators.tree(data[1:], longest - 1, seed, WORDS, VALUES)


def _cluster() -> MemoryCluster:
    return case.cluster_of(copy.deepcopy(OBJECTS))


@functools.cache
def _settings(number: int) -> schema.Settings:
    return schema.parse(SETTINGS[number], "fuzz")


@functools.cache
def _old(number: int) -> Handler:
    """A handler that has seen all inputs before."""
    return case.handler_of(_cluster(), _settings(number))[0]


def check(data: bytes) -> None:
    """Send the review, and what comes of it once more."""
    if not data:
        return
    number, body = data[0] % len(SETTINGS), data[1:]
    fresh, recorder = case.handler_of(_cluster(), _settings(number))
    response = case.post(fresh, body)
    again = case.post(_old(number), body)
    if (again.status, again.body) != (response.status, response.body):
        raise AssertionError(f"an old handler answers {again.body!r}, a fresh one {response.body!r}")
    if response.status != 200:
        if response.status not in {400, 413, 415, 422} or not recorder.bad:
            raise AssertionError(f"HTTP {response.status}")
        return
    if len(response.body) > MOST_ANSWERED:
        raise AssertionError(f"an answer of {len(response.body)} bytes")
    answer = json.loads(response.body)
    if recorder.bad:
        return  # what originals say to a body that they cannot use
    review = json.loads(body)
    found = _answered(answer, review)
    if found is None:
        return
    _second_pass(number, review, found)


def _answered(answer: Json, review: Json) -> Json | None:
    """The pod with its patch; None when there is none to go on with."""
    if answer["kind"] != "AdmissionReview" or answer["apiVersion"] != review["apiVersion"]:
        raise AssertionError(f"answers with {answer['apiVersion']} {answer['kind']}")
    response = answer["response"]
    if response["uid"] != review["request"]["uid"] or not isinstance(response["allowed"], bool):
        raise AssertionError("the answer is to another request")
    for warning in response.get("warnings", []):
        if not isinstance(warning, str) or any(ord(character) < 32 for character in warning):
            raise AssertionError(f"a warning that is no line of text: {warning!r}")
    if not response["allowed"]:
        if "patch" in response or not response["status"]["message"]:
            raise AssertionError("refused with a patch, or without a reason")
        return None
    pod = review["request"].get("object")
    if "patch" not in response:
        return None
    if response["patchType"] != "JSONPatch":
        raise AssertionError(f"a patch of type {response['patchType']!r}")
    operations = json.loads(base64.b64decode(response["patch"], validate=True))
    patched: Json = jsonpatch.apply_patch(copy.deepcopy(pod), operations)
    ours = copy.deepcopy(pod)
    apply.patch(ours, operations)
    if ours != patched:
        raise AssertionError("two implementations apply the patch differently")
    return patched


def _second_pass(number: int, review: Json, patched: Json) -> None:
    review = copy.deepcopy(review)
    review["request"]["object"] = patched
    handler, _ = case.handler_of(_cluster(), _settings(number))
    response = case.post(handler, json.dumps(review).encode())
    if response.status != 200:
        raise AssertionError(f"the patched pod is answered with HTTP {response.status}")
    answer = json.loads(response.body)["response"]
    operations = case.operations_of(answer)
    twice = copy.deepcopy(patched)
    apply.patch(twice, operations)
    if twice != patched or (operations and _settings(number).mode != "strict"):
        raise AssertionError(f"a second pass changes the pod: {operations}")
