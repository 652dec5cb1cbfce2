"""The foreign vocabularies where vectors do not reach: together in one process, and from pod to pod."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.vectors import case, offline
from vestibule.api.settings import schema

Json = dict[str, Any]
ROLE = "arn:aws:iam::123456789012:role/app"
CLIENT, TENANT = "3f0c9d44-8f5e-4a0e-b1a7-6a5b1f8f2d22", "7c1e3d9a-5b64-4a35-9e0d-2f4a0b7f1c11"
PROVIDER = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
ALL = {
    "eks.amazonaws.com/role-arn": ROLE,
    "azure.workload.identity/client-id": CLIENT,
    "cloud.google.com/workload-identity-provider": PROVIDER,
    "cloud.google.com/service-account-email": "a@b.iam.gserviceaccount.com",
}
USE = {"azure.workload.identity/use": "true"}
PROXY = {"azure.workload.identity/inject-proxy-sidecar": "true"}
GCLOUD = {"cloud.google.com/injection-mode": "gcloud"}
TOGETHER: Json = {"vocabularies": ["azwi", "eks", "wif"], "azwi": {"tenantId": TENANT}}


def account(annotations: Json) -> Json:
    meta = {"name": "app", "namespace": "team-a", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def pod(annotations: Json | None = None, labels: Json | None = None, **spec: Any) -> Json:
    meta: Json = {"generateName": "web-", "namespace": "team-a"}
    meta |= {"annotations": annotations} if annotations else {}
    meta |= {"labels": labels} if labels else {}
    body = {"serviceAccountName": "app", "containers": [{"name": "app", "image": "a"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body}


def ask(obj: Json, annotations: Json, data: Json) -> case.Answer:
    """The answer, after it was found to be the same offline and to be complete."""
    objects = [account(annotations)]
    cluster, settings = case.cluster_of([*objects]), schema.parse(data, "test")
    answer = case.ask(obj, cluster, settings)
    if answer.response["allowed"]:
        again = case.ask(copy.deepcopy(answer.pod), cluster, settings)
        assert again.operations == []
        assert again.response.get("warnings") == answer.response.get("warnings")
        assert offline.compare(obj, objects, settings, answer) == []
    return answer


def variables(answer: case.Answer, name: str) -> set[str]:
    spec = answer.pod["spec"]
    container = next(
        one for one in [*spec.get("initContainers", []), *spec["containers"]] if one["name"] == name
    )
    return {one["name"].partition("_")[0] for one in container.get("env", [])}


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("version", ["v1.28.0", "v1.34.0"])
def test_containers_that_one_cloud_brings_get_nothing_of_another(mode: str, version: str) -> None:
    data = {**TOGETHER, "mode": mode, "azwi": {"tenantId": TENANT, "kubernetesVersion": version}}
    obj = pod(PROXY, USE, initContainers=[{"name": "setup", "image": "s"}])
    answer = ask(obj, {**ALL, **GCLOUD}, data)

    assert answer.response.get("warnings", []) == []
    assert {"AWS", "AZURE", "GOOGLE"} <= variables(answer, "app")
    assert {"AWS", "AZURE", "GOOGLE"} <= variables(answer, "setup")
    assert variables(answer, "azwi-proxy") == {"AZURE"}
    assert variables(answer, "azwi-proxy-init") == {"AZURE", "PROXY"}
    assert variables(answer, "gcloud-setup") == {"GCP", "CLOUDSDK"}


@pytest.mark.parametrize("mode", ["better", "strict"])
def test_beside_other_dialects_azure_serves_labelled_pods_only(mode: str) -> None:
    """The original is registered for them alone; a process that serves others, too, is registered for all."""
    answer = ask(pod(), ALL, {**TOGETHER, "mode": mode})

    assert {"AWS", "GOOGLE"} <= variables(answer, "app")
    assert "AZURE" not in variables(answer, "app")


def test_windows_is_no_reason_for_strict_to_do_nothing() -> None:
    answer = ask(pod(PROXY, USE, os={"name": "windows"}), ALL, {**TOGETHER, "mode": "strict"})

    assert "AZURE" in variables(answer, "azwi-proxy")


@pytest.mark.parametrize("vocabularies", [("cwii", "eks"), ("eks", "cwii")])
def test_two_dialects_that_ask_for_one_cloud_the_first_is_served_and_reported(
    vocabularies: tuple[str, ...],
) -> None:
    ours = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": f"{ROLE}-ours"}
    answer = ask(pod(), {**ALL, **ours}, {"vocabularies": vocabularies})
    served = {one["name"]: one["value"] for one in answer.pod["spec"]["containers"][0]["env"]}

    assert served["AWS_ROLE_ARN"] == (f"{ROLE}-ours" if vocabularies[0] == "cwii" else ROLE)
    assert len(answer.pod["spec"]["volumes"]) == 1
    first, second = vocabularies
    assert [warning for warning in answer.response["warnings"] if "annotations ask" in warning] == [
        f"Pod team-a/web-: both {first} and {second} annotations ask for aws identity: {first} is served, "
        "it is first in the settings' vocabularies"
    ]


ASSOCIATED = {"identities": [{"namespace": "team-a", "serviceAccount": "app"}]}


def life(obj: Json, mode: str) -> int:
    data = {"mode": mode, "vocabularies": ["eks"], "eks": {"containerCredentials": ASSOCIATED}}
    answer = ask(obj, {}, data)
    volume = next(one for one in answer.pod["spec"]["volumes"] if one["name"] == "eks-pod-identity-token")
    seconds: int = volume["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"]
    return seconds


@pytest.mark.parametrize("mode", ["better", "strict"])
def test_pods_of_one_workload_do_not_renew_all_at_once(mode: str) -> None:
    """They have no names yet; what admission drew for their API token volumes tells them apart."""

    def drawn(characters: str) -> Json:
        return pod(volumes=[{"name": f"kube-api-access-{characters}", "projected": {"sources": []}}])

    lives = {life(drawn(characters), mode) for characters in ("abcde", "bcdfg", "x7k2p", "99999", "zzzzz")}

    assert len(lives) > 3
    assert all(79200 <= seconds <= 86400 for seconds in lives)
    assert life(drawn("abcde"), mode) == life(drawn("abcde"), mode)


def test_a_life_of_the_settings_that_is_no_day_is_kept_to_the_second() -> None:
    data = {"vocabularies": ["eks"], "eks": {"tokenExpiration": 7200, "containerCredentials": ASSOCIATED}}
    answer = ask(pod(), {}, data)
    token = answer.pod["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]

    assert token["expirationSeconds"] == 7200


def test_a_pod_that_comes_back_from_the_api_server_with_empty_values_left_out() -> None:
    """The API server writes no ``value: ""``; the container that was ours is still ours."""
    annotations = {**ALL, **GCLOUD, "cloud.google.com/service-account-email": "nobody"}
    settings = schema.parse({"mode": "strict", "vocabularies": ["wif"]}, "test")
    cluster = case.cluster_of([account(annotations)])
    answer = case.ask(pod(), cluster, settings)
    listed = [*answer.pod["spec"]["containers"], *answer.pod["spec"]["initContainers"]]
    for container in listed:
        container["env"] = [{k: v for k, v in one.items() if v != ""} for one in container["env"]]

    assert case.ask(answer.pod, cluster, settings).operations == []
