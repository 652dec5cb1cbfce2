"""No path leads around a lock or a limit.

A forbidden identity is put wherever a tenant can write: any dialect's key with or without a suffix, at any
level, any variable of any container, a credentials annotation. Whatever the order of dialects and the mode,
the pod is refused, or nothing that a container uses holds the forbidden value. The oracle is a plain search
over the finished pod; it shares no code with the guard.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.vectors import case
from vestibule.api.settings import schema

Json = dict[str, Any]
ACCOUNT = "123456789012"
GOOD_ROLE = f"arn:aws:iam::{ACCOUNT}:role/team-a-app"
EVIL_ROLE = "arn:aws:iam::666666666666:role/admin"
GOOD_GUID, EVIL_GUID = "11111111-1111-1111-1111-111111111111", "66666666-6666-6666-6666-666666666666"
POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
EVIL_POOL = "//iam.googleapis.com/projects/666666666666/locations/global/workloadIdentityPools/p/providers/c"
GOOD_MAIL, EVIL_MAIL = "app@team-a.iam.gserviceaccount.com", "admin@evil666666.iam.gserviceaccount.com"
EVIL = (EVIL_ROLE, EVIL_GUID, EVIL_POOL, EVIL_MAIL, "evil-audience")

LIMITS: Json = {
    "name": "limits",
    "match": {"namespaces": ["team-a"]},
    "limits": {
        "aws": {"roleArns": [f"arn:aws:iam::{ACCOUNT}:role/team-a-*"], "audiences": ["sts.amazonaws.com"]},
        "az": {
            "tenantIds": [GOOD_GUID],
            "clientIds": [GOOD_GUID],
            "audiences": ["api://AzureADTokenExchange"],
        },
        "gcp": {"providers": [POOL], "serviceAccounts": ["*@team-a.iam.gserviceaccount.com"]},
    },
}
LOCKED: Json = {
    "name": "locked",
    "match": {"namespaces": ["team-a"]},
    "locked": True,
    "identities": {
        "aws": {"roleArn": GOOD_ROLE},
        "az": {"clientId": GOOD_GUID, "tenantId": GOOD_GUID},
        "gcp": {"provider": POOL},
    },
}

_VALUES = {
    "cwii.dev/aws-role-arn": (GOOD_ROLE, EVIL_ROLE),
    "cwii.dev/aws-role-arn.app": (GOOD_ROLE, EVIL_ROLE),
    "cwii.dev/aws-role-arn.side": (GOOD_ROLE, EVIL_ROLE),
    "cwii.dev/aws-profile.x": (GOOD_ROLE, EVIL_ROLE),
    "cwii.dev/aws-audience": ("sts.amazonaws.com", "evil-audience"),
    "cwii.dev/az-client-id": (GOOD_GUID, EVIL_GUID),
    "cwii.dev/az-client-id.app": (GOOD_GUID, EVIL_GUID),
    "cwii.dev/az-tenant-id": (GOOD_GUID, EVIL_GUID),
    "cwii.dev/az-audience": ("api://AzureADTokenExchange", "evil-audience"),
    "cwii.dev/gcp-audience": (POOL, EVIL_POOL),
    "cwii.dev/gcp-service-account": (GOOD_MAIL, EVIL_MAIL),
    "cwii.dev/gcp-service-account.app": (GOOD_MAIL, EVIL_MAIL),
    "eks.amazonaws.com/role-arn": (GOOD_ROLE, EVIL_ROLE),
    "eks.amazonaws.com/role-arn.app": (GOOD_ROLE, EVIL_ROLE),
    "eks.amazonaws.com/audience": ("sts.amazonaws.com", "evil-audience"),
    "azure.workload.identity/client-id": (GOOD_GUID, EVIL_GUID),
    "azure.workload.identity/client-id.side": (GOOD_GUID, EVIL_GUID),
    "azure.workload.identity/tenant-id": (GOOD_GUID, EVIL_GUID),
    "cloud.google.com/workload-identity-provider": (POOL[21:], EVIL_POOL[21:]),
    "cloud.google.com/service-account-email": (GOOD_MAIL, EVIL_MAIL),
    "cloud.google.com/injection-mode": ("direct", "gcloud"),
    "iam.gke.io/gcp-service-account": (GOOD_MAIL, EVIL_MAIL),
}
_SWITCHES = {f"cwii.dev/{cloud}-inject": "true" for cloud in ("aws", "az", "gcp")}
ANNOTATIONS = st.builds(
    lambda chosen, evil: {key: _VALUES[key][key in evil] for key in chosen},
    st.lists(st.sampled_from(sorted(_VALUES)), unique=True, max_size=6),
    st.sets(st.sampled_from(sorted(_VALUES)), max_size=4),
)
_ENV = {
    "AWS_ROLE_ARN": EVIL_ROLE,
    "AZURE_CLIENT_ID": EVIL_GUID,
    "AZURE_TENANT_ID": EVIL_GUID,
}


@st.composite
def _containers(draw: st.DrawFn) -> list[Json]:
    found: list[Json] = []
    for name in draw(st.sampled_from([["app"], ["app", "side"]])):
        container: Json = {"name": name, "image": "x"}
        env = [{"name": key, "value": _ENV[key]} for key in draw(st.sets(st.sampled_from(sorted(_ENV))))]
        if draw(st.booleans()):
            container["env"] = env
        found.append(container)
    return found


SETTINGS = st.builds(
    lambda dialects, mode, native: {
        "vocabularies": dialects,
        "mode": mode,
        "nativeAnnotations": native,
        "azwi": {"requireLabel": False, "tenantId": GOOD_GUID},
        "wif": {"provider": POOL[21:], "tokenAudience": "sts.googleapis.com"},
    },
    st.lists(st.sampled_from(["cwii", "azwi", "eks", "wif", "gke"]), min_size=1, max_size=5, unique=True),
    st.sampled_from(["better", "better", "strict"]),
    st.booleans(),
)


def used(pod: Json, container: Json) -> str:
    """All that a container sees of its pod: its own spec, its volumes, and annotations that these show."""
    names = {mount["name"] for mount in container.get("volumeMounts") or ()}
    volumes = [one for one in pod["spec"].get("volumes") or () if one["name"] in names]
    text = json.dumps(volumes)
    shown = {
        key: value
        for key, value in (pod["metadata"].get("annotations") or {}).items()
        if f"metadata.annotations['{key}']" in text
    }
    return json.dumps([container, volumes, shown]).replace('\\"', '"')


def cluster(account: dict[str, str], namespace: dict[str, str]) -> Any:
    meta = {"name": "app", "namespace": "team-a", "annotations": account}
    return case.cluster_of(
        [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "team-a", "annotations": namespace},
            },
        ]
    )


@settings(max_examples=300)
@given(ANNOTATIONS, ANNOTATIONS, ANNOTATIONS, _containers(), SETTINGS, st.sampled_from([LIMITS, LOCKED]))
@example({"cwii.dev/aws-role-arn.app": EVIL_ROLE}, {}, {}, [{"name": "app"}], {}, LOCKED)
@example({"cwii.dev/aws-profile.x": EVIL_ROLE}, {}, {}, [{"name": "app"}], {}, LOCKED)
@example(
    {},
    {"eks.amazonaws.com/role-arn": EVIL_ROLE},
    {},
    [{"name": "app"}],
    {"vocabularies": ["eks", "cwii"]},
    LOCKED,
)
@example(
    {}, {"eks.amazonaws.com/role-arn": EVIL_ROLE}, {}, [{"name": "app"}], {"vocabularies": ["eks"]}, LOCKED
)
@example({}, {}, {}, [{"name": "app", "env": [{"name": "AWS_ROLE_ARN", "value": EVIL_ROLE}]}], {}, LOCKED)
def test_no_key_dialect_or_variable_leads_around_a_policy(
    on_pod: dict[str, str],
    on_account: dict[str, str],
    on_namespace: dict[str, str],
    containers: list[Json],
    given_: Json,
    policy: Json,
) -> None:
    expected = schema.parse({**given_, "policies": [policy]}, "test")
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {**_SWITCHES, **on_pod}},
        "spec": {"serviceAccountName": "app", "containers": copy.deepcopy(containers)},
    }

    answer = case.ask(pod, cluster(on_account, on_namespace), expected)

    if not answer.response["allowed"]:
        assert answer.operations == []
        return
    spec = answer.pod["spec"]
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        seen = used(answer.pod, container)
        for evil in EVIL:
            # a variable without any token of the pod names credentials that the program brings along
            assert evil not in seen or "serviceAccountToken" not in seen, (evil, seen)


POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "annotations": {}},
    "spec": {"serviceAccountName": "app", "containers": [{"name": "app", "image": "x"}]},
}


def ask(policy: Json, pod: Json, account: dict[str, str] | None = None, **more: Any) -> case.Answer:
    expected = schema.parse({"policies": [policy], **more}, "test")
    return case.ask(pod, cluster(account or {}, {}), expected)


def with_env(*env: Json, **more: Any) -> Json:
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0] |= {"env": list(env), **more}
    return pod


def test_a_locked_policy_serves_its_identity_whatever_dialects_the_settings_name() -> None:
    for dialects in (["cwii"], ["eks"], ["eks", "cwii"], ["azwi", "wif"]):
        for mode in ("better", "strict"):
            pod = copy.deepcopy(POD)
            answer = ask(
                LOCKED,
                pod,
                {"eks.amazonaws.com/role-arn": EVIL_ROLE},
                vocabularies=dialects,
                mode=mode,
                azwi={"requireLabel": False},
            )

            assert answer.response["allowed"], (dialects, mode, answer.response)
            env = {e["name"]: e.get("value") for e in answer.pod["spec"]["containers"][0]["env"]}
            assert env["AWS_ROLE_ARN"] == GOOD_ROLE, (dialects, mode)


def test_a_value_that_is_known_only_when_the_container_starts_is_refused() -> None:
    field = {"name": "AWS_ROLE_ARN", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}
    for policy in (LOCKED, LIMITS):
        pod = with_env(field)
        pod["metadata"]["annotations"] = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": GOOD_ROLE}

        answer = ask(policy, pod)

        assert not answer.response["allowed"]
        assert "container app, AWS_ROLE_ARN" in answer.response["status"]["message"]


def test_a_reference_that_the_kubelet_expands_does_not_pass_a_limit() -> None:
    wide = {**LIMITS, "limits": {"aws": {"roleArns": ["*team-a*"]}}}
    pod = with_env({"name": "team-a", "value": EVIL_ROLE}, {"name": "AWS_ROLE_ARN", "value": "$(team-a)"})
    pod["metadata"]["annotations"] = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": GOOD_ROLE}

    assert not ask(wide, pod).response["allowed"]


def test_a_token_of_the_pods_own_with_a_role_of_the_pods_own_is_judged_too() -> None:
    pod = with_env(
        {"name": "AWS_ROLE_ARN", "value": EVIL_ROLE},
        {"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "/own//./token"},
        volumeMounts=[{"name": "own", "mountPath": "/own"}],
    )
    source = {"serviceAccountToken": {"audience": "sts.amazonaws.com", "path": "token"}}
    pod["spec"]["volumes"] = [{"name": "own", "projected": {"sources": [source]}}]

    assert not ask(LIMITS, pod).response["allowed"]
    assert not ask(LOCKED, pod).response["allowed"]


def test_static_credentials_of_the_pods_own_are_no_business_of_a_policy() -> None:
    secret = {"secretKeyRef": {"name": "s", "key": "k"}}
    pod = with_env(
        {"name": "AZURE_CLIENT_ID", "valueFrom": secret}, {"name": "AZURE_CLIENT_SECRET", "valueFrom": secret}
    )

    assert ask(LIMITS, pod).response["allowed"]


def test_a_host_network_pod_that_is_left_alone_is_still_judged() -> None:
    pod = with_env(
        {"name": "AWS_ROLE_ARN", "value": EVIL_ROLE},
        {"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "/own/token"},
    )
    pod["spec"]["hostNetwork"] = True

    assert not ask(LIMITS, pod, exclude={"hostNetwork": True}).response["allowed"]
    harmless = copy.deepcopy(POD)
    harmless["spec"]["hostNetwork"] = True
    answer = ask(LIMITS, harmless, exclude={"hostNetwork": True})
    assert answer.response["allowed"]
    assert answer.verdict.reason == "host-network"


@pytest.mark.parametrize(
    "edit",
    [
        {"limits": {"clouds": ["azure"]}},
        {"match": {"namespaces": ["Team-*"]}},
        {"identities": {"aws": {"roleArn": "arn:aws:iam::1:role/{team}"}}},
        {"limits": {"aws": {"roleArn": [GOOD_ROLE]}}},
        {"limits": "none"},
        {"locked": "yes"},
        {"match": {"namespaces": ["team-a\n"]}},
        {"limits": {"aws": {"roleArns": ["arn:aws:iam::*\n"]}}},
    ],
)
def test_a_policy_that_cannot_be_understood_refuses_identities_in_its_scope(edit: Json) -> None:
    from vestibule import errors
    from vestibule.injection.policy import compile_policy

    spec = {"match": {"namespaces": ["team-*"]}, "limits": {"aws": {"roleArns": [GOOD_ROLE]}}, **edit}
    obj = {"metadata": {"name": "broken"}, "spec": spec}
    pod = copy.deepcopy(POD)
    pod["metadata"]["annotations"] = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": GOOD_ROLE}

    policy = compile_policy(schema.parse({}, "test"), [obj])
    asking, recorder = case.handler_with(case.cluster_of([]), policy)
    refused = case.through(asking, recorder, pod)
    plain = case.through(asking, recorder, POD)

    assert not refused.response["allowed"]
    assert "IdentityPolicy broken cannot be understood" in refused.response["status"]["message"]
    # a pod that asks for nothing may have had its identity from a policy that gives some
    assert plain.response["allowed"] is ("identities" not in edit)
    if "match" not in edit:
        other = case.through(asking, recorder, pod, namespace="other")
        assert other.response["allowed"], "outside of its scope"
    with pytest.raises(errors.InvalidSettings):
        schema.parse({"policies": [{"name": "broken", **spec}]}, "test")
