"""What is remembered never changes an answer: who has seen many pods says what a fresh handler says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vectors import case
from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.core.kinds import config

Json = dict[str, Any]
ROLE = "arn:aws:iam::123456789012:role/"
AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE + "a"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u", "controller": True}
OBJECTS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}},
    *(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        }
        for namespace in ("team-a", "kube-system")
        for name, annotations in (("plain", {}), ("asks", AWS))
    ),
    {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "rs",
            "namespace": "team-a",
            "uid": "u",
            "annotations": {"cwii.dev/aws-region": "eu-west-1"},
        },
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
        {"cwii.dev/injected": "aws"},
        {"cwii.io/aws-inject": "true"},
        {"kubernetes.io/config.mirror": "x"},
        {"iam.example.org/role-arn": ROLE + "c"},
    ]
)
containers = st.sampled_from(
    [
        [{"name": "a"}],
        [{"name": "a", "env": [{"name": "X", "value": "1"}]}],
        [{"name": "a", "env": [{"name": "AWS_REGION", "value": "us-east-1"}]}],
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
    ]
)


@st.composite
def reviews(draw: st.DrawFn) -> bytes:
    meta: Json = {"generateName": "web-", **draw(st.sampled_from([{}, {"namespace": "team-a"}]))}
    noted = draw(noted_on_pods)
    if noted is not None:
        meta["annotations"] = noted
    labels = draw(st.sampled_from([None, {}, {"app": "x"}, {"cwii.dev/aws-inject": "true"}]))
    if labels is not None:
        meta["labels"] = labels
    owners = draw(st.sampled_from([None, [OWNER], [{**OWNER, "uid": "v"}], [OWNER, OWNER]]))
    if owners is not None:
        meta["ownerReferences"] = owners
    spec: Json = {
        "serviceAccountName": draw(st.sampled_from(["plain", "asks", "none"])),
        "containers": draw(containers),
    }
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
    namespace = draw(st.sampled_from(["team-a", "team-a", "kube-system"]))
    operation = draw(st.sampled_from(["CREATE", "CREATE", "UPDATE"]))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    return case.review(pod, namespace=namespace, operation=operation)


SETTINGS = [
    {},
    {"mode": "strict"},
    {"exclude": {"hostNetwork": True}},
    {"vocabularies": ["cwii", "eks"], "eks": {"annotationPrefix": "iam.example.org"}},
    {"vocabularies": ["azwi"], "azwi": {"layout": "1.6.1", "requireLabel": False, "tenantId": "t"}},
]


@settings(max_examples=150, deadline=None)
@given(st.lists(reviews(), min_size=2, max_size=12), st.sampled_from(SETTINGS))
def test_a_handler_that_remembers_says_what_a_fresh_one_says(sent: list[bytes], given_: Json) -> None:
    wanted = config.parse(given_, "test")
    cluster = MemoryCluster(OBJECTS)
    old, _ = case.handler_of(cluster, wanted)

    for body in sent + sent:
        fresh, _ = case.handler_of(cluster, wanted)
        assert _answer(old, body) == _answer(fresh, body)


def _answer(handler: Any, body: bytes) -> tuple[int, Any]:
    response = case.post(handler, body)
    return response.status, json.loads(response.body) if response.status == 200 else response.body


def test_a_change_of_the_cluster_is_seen_by_the_next_pod() -> None:
    cluster = MemoryCluster(OBJECTS)
    handler, _ = case.handler_of(cluster, config.parse({}, "test"))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {"serviceAccountName": "asks", "containers": [{"name": "a"}]},
    }
    body = case.review(pod)

    before = [_answer(handler, body) for _ in range(2)]
    cluster.put({**OBJECTS[3], "metadata": {**OBJECTS[3]["metadata"], "annotations": {}}})  # type: ignore[dict-item]
    after = _answer(handler, body)

    assert "patch" in before[0][1]["response"]
    assert before[0] == before[1]
    assert "patch" not in after[1]["response"]
