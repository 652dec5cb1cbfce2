"""What must hold for every pod under the foreign vocabularies, alone and together."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
from hypothesis import example, given
from hypothesis import strategies as st

from tests.property import pods
from tests.vectors import case
from vestibule.api.settings import schema

Json = dict[str, Any]
PROVIDER = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
EMAIL = "app@project.iam.gserviceaccount.com"
GUID = "11111111-1111-1111-1111-111111111111"
A, E, G = "azure.workload.identity/", "eks.amazonaws.com/", "cloud.google.com/"
NAMES = {
    A: ["client-id", "tenant-id", "service-account-token-expiration", "skip-containers",
        "inject-proxy-sidecar", "proxy-sidecar-port", "use-binding", "client_id", "client-id.app"],
    E: ["role-arn", "audience", "sts-regional-endpoints", "token-expiration", "skip-containers",
        "role-arn.app"],
    G: ["workload-identity-provider", "service-account-email", "audience", "token-expiration",
        "gcloud-run-as-user", "injection-mode", "skip-containers", "external-credentials-json", "neg"],
}  # fmt: skip
KEYS = st.sampled_from([prefix + name for prefix, names in NAMES.items() for name in names])
VALUES = st.one_of(
    pods.VALUES,
    st.sampled_from(
        [PROVIDER, EMAIL, GUID, "3600", "7200", "8000", "gcloud", "direct", "app;side", "app, side"]
    ),
)
ASKS: list[Json] = [
    {f"{A}client-id": GUID},
    {f"{A}client-id": GUID, f"{A}inject-proxy-sidecar": "true"},
    {f"{E}role-arn": "arn:aws:iam::123456789012:role/app"},
    {f"{G}workload-identity-provider": PROVIDER, f"{G}service-account-email": EMAIL},
    {f"{G}workload-identity-provider": PROVIDER, f"{G}injection-mode": "gcloud"},
    {"iam.gke.io/gcp-service-account": EMAIL},
]
ANNOTATIONS = st.builds(
    lambda asks, more: {key: value for ask in [*asks, more] for key, value in ask.items()},
    st.lists(st.sampled_from(ASKS), max_size=4),
    st.dictionaries(KEYS, VALUES, max_size=2),
)
VARIABLES = [
    "AWS_ROLE_ARN", "AWS_REGION", "AWS_STS_REGIONAL_ENDPOINTS", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "PATH",
]  # fmt: skip
ENV = st.builds(
    lambda name, value: {"name": name, **value},
    st.sampled_from(VARIABLES),
    st.sampled_from([{"value": "x"}, {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {}]),
)
VOLUME_NAMES = st.sampled_from(
    ["azure-identity-token", "aws-iam-token", "eks-pod-identity-token", "gcp-iam-token", "gcloud-config",
     "external-credential-config", "azure-workload-identity-reserved-" + "a" * 30,
     "kube-api-access-abcde", "data"]
)  # fmt: skip
MOUNT = st.builds(
    lambda name, path: {"name": name, "mountPath": path},
    VOLUME_NAMES,
    st.sampled_from(
        ["/data", "/var/run/secrets/azure/tokens", "/var/run/secrets/azure/wi/",
         "/var/run/secrets/eks.amazonaws.com/serviceaccount", "/var/run/secrets/gcloud/config"]
    ),
)  # fmt: skip
AZURE_TOKEN = {"projected": {"sources": [{"serviceAccountToken": {"path": "azure-identity-token"}}]}}
VOLUME = st.one_of(
    st.builds(lambda name: {"name": name, "emptyDir": {}}, VOLUME_NAMES),
    # under a name that another original would replace, strict comes to an end after the second pass only
    st.builds(
        lambda name: {"name": name, **AZURE_TOKEN}, st.sampled_from(["azure-identity-token", "aws-iam-token"])
    ),
)


@st.composite
def containers(draw: st.DrawFn, names: list[str]) -> Json:
    """A container with one of the names that are left."""
    name = draw(st.sampled_from(names))
    names.remove(name)
    obj: Json = {"name": name, "image": "a", **draw(pods.UNKNOWN)}
    if draw(st.booleans()):
        obj["env"] = draw(st.lists(ENV, max_size=3, unique_by=lambda one: one["name"]))
    if draw(st.booleans()):
        obj["volumeMounts"] = draw(st.lists(MOUNT, max_size=2, unique_by=lambda one: one["mountPath"]))
    return obj


@st.composite
def asking(draw: st.DrawFn) -> Json:
    """A pod that the API server would let pass."""
    names = ["app", "side", "setup", "azwi-proxy", "azwi-proxy-init", "gcloud-setup"]
    meta: Json = {"namespace": "team-a", **draw(st.sampled_from([{"name": "p"}, {"generateName": "p-"}]))}
    if draw(st.booleans()):
        meta["annotations"] = draw(ANNOTATIONS)
    if draw(st.sampled_from([True, True, False])):
        meta["labels"] = {f"{A}use": "true"}
    spec: Json = {"serviceAccountName": "app", **draw(pods.UNKNOWN)}
    spec["containers"] = [draw(containers(names)) for _ in range(draw(st.integers(1, 2)))]
    if draw(st.booleans()):
        spec["initContainers"] = [draw(containers(names)) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        spec["volumes"] = draw(st.lists(VOLUME, max_size=3, unique_by=lambda one: one["name"]))
    if draw(st.sampled_from([True, False, False, False])):
        spec["os"] = {"name": "windows"}
    if draw(st.sampled_from([True, False, False, False])):
        spec["hostNetwork"] = True
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@st.composite
def settings(draw: st.DrawFn) -> Json:
    """Any of the foreign vocabularies, in any order."""
    listed = draw(st.lists(st.sampled_from(["azwi", "eks", "wif", "gke"]), min_size=1, unique=True))
    identities = [{"namespace": "team-a", "serviceAccount": "app"}] if draw(st.booleans()) else []
    azwi: Json = {
        "tenantId": draw(st.sampled_from(["", GUID])),
        "layout": draw(st.sampled_from(["1.5", "1.6.0", "1.6.1"])),
        "kubernetesVersion": draw(st.sampled_from(["", "v1.28.0", "v1.34.0"])),
    }
    if draw(st.booleans()):
        azwi["legacyMount"] = "/opt/legacy/"
    eks: Json = {
        "awsDefaultRegion": draw(st.sampled_from(["", "eu-west-1"])),
        "stsRegionalEndpoint": draw(st.booleans()),
        "containerCredentials": {"identities": identities},
    }
    wif = {
        "provider": draw(st.sampled_from(["", PROVIDER])),
        "injectionMode": draw(st.sampled_from(["", "gcloud"])),
    }
    return {
        "mode": draw(st.sampled_from(["better", "strict"])),
        "vocabularies": listed,
        "azwi": azwi,
        "eks": eks,
        "wif": wif,
    }


def decided(pod: Json, annotations: Json, data: Json) -> case.Answer:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "app", "namespace": "team-a", "annotations": annotations},
    }
    return case.ask(pod, case.cluster_of([account]), schema.parse(data, "property"))


PROXIED: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "team-a", "labels": {f"{A}use": "true"}},
    "spec": {"serviceAccountName": "app", "containers": [{"name": "app", "image": "a"}]},
}
EVERYTHING = {key: value for ask in ASKS for key, value in ask.items()}
ALL = {
    "vocabularies": ["azwi", "eks", "wif", "gke"],
    "azwi": {"tenantId": GUID},
    "wif": {"provider": PROVIDER},
}


@given(asking(), ANNOTATIONS, settings())
@example(PROXIED, EVERYTHING, ALL)
@example(PROXIED, EVERYTHING, {**ALL, "mode": "strict"})
def test_the_patch_applies_by_a_foreign_implementation_and_a_second_pass_is_empty(
    pod: Json, annotations: Json, data: Json
) -> None:
    before = copy.deepcopy((pod, annotations, data))
    first = decided(pod, annotations, data)

    assert (pod, annotations, data) == before
    assert jsonpatch.apply_patch(copy.deepcopy(pod), first.operations) == first.pod
    assert decided(pod, annotations, data).response == first.response
    if first.response["allowed"]:
        second = decided(first.pod, annotations, data)
        assert second.response["allowed"]
        assert second.operations == []


@given(asking(), ANNOTATIONS, settings())
@example(PROXIED, EVERYTHING, ALL)
def test_better_adds_and_takes_nothing_away(pod: Json, annotations: Json, data: Json) -> None:
    answer = decided(pod, annotations, {**data, "mode": "better"})

    assert {operation["op"] for operation in answer.operations} <= {"add"}
    for field in ("containers", "initContainers"):
        found = {one["name"]: one for one in answer.pod["spec"].get(field) or []}
        assert len(found) == len(answer.pod["spec"].get(field) or [])
        for old in pod["spec"].get(field) or []:
            new = found[old["name"]]
            assert {**new, "env": 0, "volumeMounts": 0} == {**old, "env": 0, "volumeMounts": 0}
            for part in ("env", "volumeMounts"):
                assert (new.get(part) or [])[: len(old.get(part) or [])] == (old.get(part) or [])
    volumes = answer.pod["spec"].get("volumes") or []
    assert volumes[: len(pod["spec"].get("volumes") or [])] == (pod["spec"].get("volumes") or [])


@given(asking(), ANNOTATIONS, settings())
@example(PROXIED, EVERYTHING, ALL)
def test_better_makes_no_pod_that_the_api_server_refuses(pod: Json, annotations: Json, data: Json) -> None:
    """Names, paths and variables are unique, every mount has its volume, lives are possible."""
    answer = decided(pod, annotations, {**data, "mode": "better"})
    spec = answer.pod["spec"]
    volumes = [one["name"] for one in spec.get("volumes") or []]
    listed = [*(spec.get("initContainers") or []), *spec["containers"]]
    added = {one["name"] for one in spec.get("volumes") or []} - {
        one["name"] for one in pod["spec"].get("volumes") or []
    }

    assert len(set(volumes)) == len(volumes)
    assert len({one["name"] for one in listed}) == len(listed)
    for one in listed:
        paths = [mount["mountPath"].rstrip("/") for mount in one.get("volumeMounts") or []]
        assert len(set(paths)) == len(paths)
        names = [variable["name"] for variable in one.get("env") or []]
        assert len(set(names)) == len(names)
    mounted = {mount["name"] for one in listed for mount in one.get("volumeMounts") or []}
    assert added <= mounted
    for volume in spec.get("volumes") or []:
        if volume["name"] in added:
            for source in volume.get("projected", {}).get("sources", []):
                assert 600 <= source["serviceAccountToken"]["expirationSeconds"] <= 86400


@given(asking(), ANNOTATIONS, settings())
def test_warnings_are_few_short_and_printable(pod: Json, annotations: Json, data: Json) -> None:
    warnings = decided(pod, annotations, data).response.get("warnings", [])

    assert len(warnings) <= 3
    assert all(len(text) <= 200 and text.isascii() and text.isprintable() for text in warnings)
    assert data["mode"] == "better" or not warnings
