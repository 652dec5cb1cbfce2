"""What is kept in memory changes no answer: a handler that has served many pods answers as a fresh one.

The reviews are those of pods of one workload: first passes, second passes with another webhook's changes,
objects that change in between, every dialect in both modes, with and without policies.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.vectors import case
from vestibule.admission import apply
from vestibule.api.settings import schema
from vestibule.kube.memory_cluster import MemoryCluster

Json = dict[str, Any]
ROLE = "arn:aws:iam::123456789012:role/"
GUID = "11111111-1111-1111-1111-111111111111"
POOL = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u", "controller": True}
ASKS: dict[str, dict[str, str]] = {
    "cwii": {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE + "a"},
    "gcp": {"cwii.dev/gcp-inject": "true", "cwii.dev/gcp-audience": f"//iam.googleapis.com/{POOL}"},
    "several": {
        "cwii.dev/aws-inject": "true",
        "cwii.dev/aws-role-arn": ROLE + "a",
        "cwii.dev/aws-role-arn.b": ROLE + "b",
        "cwii.dev/aws-skip-containers": "c*",
    },
    "azwi": {"azure.workload.identity/client-id": GUID, "azure.workload.identity/tenant-id": GUID},
    "eks": {"eks.amazonaws.com/role-arn": ROLE + "a"},
    "wif": {
        "cloud.google.com/workload-identity-provider": POOL,
        "cloud.google.com/service-account-email": "a@p.iam.gserviceaccount.com",
    },
    "gke": {"iam.gke.io/gcp-service-account": "a@p.iam.gserviceaccount.com"},
    "none": {},
}


def account(name: str, annotations: dict[str, str], namespace: str = "team-a") -> Json:
    meta = {"name": name, "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def replica_set(annotations: dict[str, str]) -> Json:
    meta = {"name": "rs", "namespace": "team-a", "uid": "u", "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta}


OBJECTS: list[Json] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}},
    *(account(name, annotations) for name, annotations in ASKS.items()),
    *(account(name, annotations, "kube-system") for name, annotations in ASKS.items()),
    replica_set({"cwii.dev/aws-region": "eu-west-1"}),
]
SETTINGS: list[Json] = [
    {},
    {"mode": "strict"},
    {"nativeAnnotations": True},
    {"exclude": {"hostNetwork": True}},
    {"vocabularies": ["cwii", "eks"], "eks": {"annotationPrefix": "iam.example.org"}},
    {"vocabularies": ["azwi"], "azwi": {"layout": "1.6.1", "requireLabel": False, "tenantId": "t"}},
    {"vocabularies": ["azwi"], "azwi": {"requireLabel": False}},
    {"vocabularies": ["azwi"], "mode": "strict"},
    {"vocabularies": ["eks"]},
    {"vocabularies": ["eks"], "mode": "strict"},
    {"vocabularies": ["wif"]},
    {"vocabularies": ["wif"], "mode": "strict"},
    {"vocabularies": ["gke", "wif"], "wif": {"provider": POOL}},
    {"vocabularies": ["cwii", "azwi", "eks", "wif", "gke"], "azwi": {"requireLabel": False}},
    {"vocabularies": ["cwii", "azwi", "eks", "wif", "gke"], "mode": "strict"},
    {
        "policies": [
            {
                "name": "p",
                "identities": {"aws": {"roleArn": ROLE + "{namespace}"}},
                "limits": {"aws": {"roleArns": [ROLE + "a", ROLE + "team-a"]}},
            }
        ]
    },
    {
        "vocabularies": ["eks"],
        "eks": {"containerCredentials": {"identities": [{"namespace": "team-a", "serviceAccount": "eks"}]}},
    },
]

noted_on_pods = st.sampled_from(
    [
        None,
        {},
        {"checksum": "1"},
        {"checksum": "2"},
        {"cwii.dev/aws-inject": "false"},
        {"cwii.dev/aws-role-arn": ROLE + "b"},
        {"cwii.dev/aws-profile.x": ROLE + "c"},
        {"cwii.dev/injected": "aws"},
        {"cwii.io/aws-inject": "true"},
        {"kubernetes.io/config.mirror": "x"},
        {"iam.example.org/role-arn": ROLE + "c"},
        {"azure.workload.identity/inject-proxy-sidecar": "true"},
    ]
)
containers = st.sampled_from(
    [
        [{"name": "a"}],
        [{"name": "a", "image": "x"}, {"name": "b"}],
        [{"name": "b"}, {"name": "c1"}],
        [{"name": "a", "env": [{"name": "X", "value": "1"}]}],
        [{"name": "a", "env": []}],
        [{"name": "a", "env": [{"name": "AWS_REGION", "value": "us-east-1"}]}],
        [{"name": "a", "env": [{"name": "AWS_ROLE_ARN", "value": ROLE + "own"}]}],
        [{"name": "a", "volumeMounts": [{"name": "kube-api-access-aaaaa", "mountPath": "/t"}]}],
        [{"name": "a", "volumeMounts": [{"name": "kube-api-access-bbbbb", "mountPath": "/t"}]}],
    ]
)
volumes = st.sampled_from(
    [
        None,
        [],
        [{"name": "kube-api-access-aaaaa"}],
        [{"name": "kube-api-access-bbbbb"}],
        [{"name": "cwii-aws-token"}],
        [{"name": "aws-iam-token", "emptyDir": {}}],
    ]
)


@st.composite
def pods(draw: st.DrawFn) -> Json:
    meta: Json = {"generateName": "web-", **draw(st.sampled_from([{}, {"namespace": "team-a"}]))}
    noted = draw(noted_on_pods)
    if noted is not None:
        meta["annotations"] = noted
    labels = draw(
        st.sampled_from(
            [
                None,
                {},
                {"app": "x"},
                {"cwii.dev/aws-inject": "true"},
                {"azure.workload.identity/use": "true"},
                {"eks.amazonaws.com/skip-pod-identity-webhook": ""},
            ]
        )
    )
    if labels is not None:
        meta["labels"] = labels
    owners = draw(st.sampled_from([None, [OWNER], [{**OWNER, "uid": "v"}], [OWNER, OWNER]]))
    if owners is not None:
        meta["ownerReferences"] = owners
    spec: Json = {
        "serviceAccountName": draw(st.sampled_from([*ASKS, "missing"])),
        "containers": draw(containers),
    }
    if draw(st.booleans()):
        spec["initContainers"] = [{"name": "i"}]
    listed = draw(volumes)
    if listed is not None:
        spec["volumes"] = listed
    spec |= draw(
        st.sampled_from(
            [
                {},
                {"hostNetwork": True},
                {"nodeSelector": {"kubernetes.io/os": "windows"}},
                {"os": {"name": "windows"}},
            ]
        )
    )
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def other_webhook(pod: Json) -> None:
    """What another webhook does between our two passes: images are pinned."""
    for container in pod["spec"]["containers"]:
        container["image"] = "registry/pinned"


def sidecar(pod: Json) -> None:
    """What another webhook does between our two passes: a container is added."""
    pod["spec"]["containers"].append({"name": "side", "image": "s"})


CHANGES = st.sampled_from(
    [
        None,
        None,
        account("eks", {}),
        account("eks", {"eks.amazonaws.com/role-arn": ROLE + "z"}),
        account("cwii", {**ASKS["cwii"], "cwii.dev/aws-role-arn": ROLE + "z"}),
        replica_set({}),
        replica_set({"cwii.dev/aws-inject": "true"}),
    ]
)
STEPS = st.tuples(
    pods(),
    st.sampled_from(["CREATE", "CREATE", "CREATE", "UPDATE"]),
    st.sampled_from(["team-a", "team-a", "kube-system"]),
    st.sampled_from([None, other_webhook, sidecar]),
    CHANGES,
    st.integers(1, 3),
)
WORKLOAD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "web-"},
    "spec": {"serviceAccountName": "eks", "containers": [{"name": "a", "image": "web"}]},
}


@settings(max_examples=200)
@given(st.lists(STEPS, min_size=1, max_size=8), st.sampled_from(SETTINGS))
@example([(WORKLOAD, "CREATE", "team-a", other_webhook, None, 3)] * 3, {"vocabularies": ["eks"]})
@example([(WORKLOAD, "CREATE", "team-a", sidecar, None, 3)] * 3, {"vocabularies": ["eks"], "mode": "strict"})
def test_a_handler_that_served_many_pods_answers_as_a_fresh_one(sent: list[Any], given_: Json) -> None:
    expected = schema.parse(given_, "test")
    cluster = MemoryCluster(OBJECTS)
    old, _ = case.handler_of(cluster, expected)

    for pod, operation, namespace, between, change, times in sent + sent:
        for _ in range(times):
            current = copy.deepcopy(pod)
            for _ in ("first pass", "second pass"):
                body = case.review(current, namespace=namespace, operation=operation)
                fresh, _ = case.handler_of(cluster, expected)
                answer = _answer(fresh, body)
                assert _answer(old, body) == answer
                if answer[0] == 200:
                    apply.patch(current, case.operations_of(answer[1]["response"]))
                if between is not None:
                    between(current)
        if change is not None:
            cluster.put(change)


def _answer(handler: Any, body: bytes) -> tuple[int, Any]:
    response = case.post(handler, body)
    return response.status, json.loads(response.body) if response.status == 200 else response.body


def test_pods_of_one_workload_beside_a_webhook_that_changes_images_all_get_their_identity() -> None:
    """The verdict "already injected" of one pod's second pass once reached the next pod's first."""
    for given_ in ({"vocabularies": ["eks"]}, {"vocabularies": ["azwi"], "azwi": {"requireLabel": False}}):
        cluster = MemoryCluster([*OBJECTS, account("app", {**ASKS["eks"], **ASKS["azwi"]})])
        handler, recorder = case.handler_of(cluster, schema.parse(given_, "test"))
        pod = copy.deepcopy(WORKLOAD)
        pod["spec"]["serviceAccountName"] = "app"
        injected = 0
        for _ in range(10):
            first = case.through(handler, recorder, pod)
            changed = copy.deepcopy(first.pod)
            other_webhook(changed)
            second = case.through(handler, recorder, changed)
            injected += bool(second.pod["spec"]["containers"][0].get("env"))

        assert injected == 10


def test_a_change_of_the_cluster_is_seen_by_the_next_pod() -> None:
    cluster = MemoryCluster(OBJECTS)
    handler, _ = case.handler_of(cluster, schema.parse({}, "test"))
    pod = copy.deepcopy(WORKLOAD)
    pod["spec"]["serviceAccountName"] = "cwii"
    body = case.review(pod)

    before = [_answer(handler, body) for _ in range(2)]
    cluster.put(account("cwii", {}))
    after = _answer(handler, body)

    assert "patch" in before[0][1]["response"]
    assert before[0] == before[1]
    assert "patch" not in after[1]["response"]
