"""What ``better`` does that the original does not: one sentence, one test."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vectors import case
from vestibule.api import annotation_keys
from vestibule.api.settings import schema
from vestibule.manifests import webhook_configurations

ARN = "arn:aws:iam::123456789012:role/app"
POOL = (
    "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/pool/providers/cluster"
)
GUID = "11111111-1111-1111-1111-111111111111"
AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ARN}
GCP = {"cwii.dev/gcp-inject": "true", "cwii.dev/gcp-audience": POOL}
AZ = {"cwii.dev/az-inject": "true", "cwii.dev/az-client-id": GUID, "cwii.dev/az-tenant-id": GUID}
Json = dict[str, Any]


def pod(annotations: Json | None = None, meta: Json | None = None, **spec: Any) -> Json:
    body: Json = {"name": "web", "namespace": "team-a", **(meta or {})}
    if annotations is not None:
        body["annotations"] = annotations
    spec.setdefault("containers", [{"name": "app", "image": "a"}])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": body,
        "spec": {"serviceAccountName": "app", **spec},
    }


def cluster_objects(
    *objects: Json, namespace: Json | None = None, account: Json | None = None
) -> list[Json | None]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "team-a", "annotations": namespace or {}},
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "app", "namespace": "team-a", "annotations": account or {}},
        },
        *objects,
    ]


def ask(obj: Json, *, settings: Json | None = None, objects: list[Json | None] | None = None) -> case.Answer:
    expected = schema.parse(settings or {}, "test")
    return case.ask(obj, case.cluster_of(objects or cluster_objects()), expected)


def env(obj: Json, field: str, index: int) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in obj["spec"][field][index].get("env", [])}


def mounts(obj: Json, field: str, index: int) -> list[str]:
    return [item["mountPath"] for item in obj["spec"][field][index].get("volumeMounts", [])]


def test_init_containers_and_native_sidecars_get_the_identity() -> None:
    inits = [{"name": "migrate", "image": "m"}, {"name": "proxy", "image": "p", "restartPolicy": "Always"}]

    mutated = ask(pod(AWS, initContainers=inits)).pod

    assert env(mutated, "initContainers", 0)["AWS_ROLE_ARN"] == ARN
    assert env(mutated, "initContainers", 1)["AWS_ROLE_ARN"] == ARN
    assert mounts(mutated, "initContainers", 1) == ["/var/run/secrets/cwii.dev/aws"]


def test_our_helpers_stand_before_the_users_init_containers() -> None:
    inits = [{"name": "migrate", "image": "m"}]
    annotations = {**GCP, "cwii.dev/gcp-delivery": "init-container", "cwii.dev/gcp-verify": "true"}

    mutated = ask(pod(annotations, initContainers=inits)).pod

    names = [container["name"] for container in mutated["spec"]["initContainers"]]
    assert names == ["cwii-gcp-creds-writer", "cwii-gcp-verify", "migrate"]


SELECTION = {
    "skip names one": ({"cwii.dev/skip-containers": "side"}, {"app"}),
    "skip takes globs and both separators": ({"cwii.dev/skip-containers": "si*; nothing-else"}, {"app"}),
    "include names one": ({"cwii.dev/include-containers": "side"}, {"side"}),
    "skip beats include": ({"cwii.dev/include-containers": "*", "cwii.dev/skip-containers": "app"}, {"side"}),
    "a cloud's own list beats the common one": (
        {"cwii.dev/skip-containers": "app", "cwii.dev/aws-skip-containers": "side"},
        {"app"},
    ),
}


@pytest.mark.parametrize("sentence", SELECTION)
def test_containers_can_be_chosen(sentence: str) -> None:
    lists, expected = SELECTION[sentence]
    containers = [{"name": "app", "image": "a"}, {"name": "side", "image": "s"}]

    mutated = ask(pod({**AWS, **lists}, containers=containers)).pod

    served = {item["name"] for index, item in enumerate(containers) if env(mutated, "containers", index)}
    assert served == expected


def test_a_list_that_names_no_container_is_reported() -> None:
    answer = ask(pod({**AWS, "cwii.dev/skip-containers": "sidecar"}))

    assert answer.response["warnings"] == [
        "Pod team-a/web: no container is called 'sidecar', which an include or skip list names"
    ]


def test_a_cloud_that_no_container_takes_adds_nothing_and_is_reported() -> None:
    answer = ask(pod({**AWS, "cwii.dev/skip-containers": "app"}))

    assert answer.operations == []
    assert answer.response["warnings"] == [
        "Pod team-a/web: aws identity is asked for, but no container takes it"
    ]


def test_a_taken_mount_path_leaves_the_container_out_and_is_reported() -> None:
    taken = {"name": "mine", "mountPath": "/var/run/secrets/cwii.dev/aws/"}
    containers = [{"name": "app", "image": "a", "volumeMounts": [taken]}, {"name": "side", "image": "s"}]

    answer = ask(pod(AWS, containers=containers))

    assert env(answer.pod, "containers", 0) == {}
    assert env(answer.pod, "containers", 1)["AWS_ROLE_ARN"] == ARN
    assert answer.response["warnings"] == [
        "Pod team-a/web: container app mounts mine at /var/run/secrets/cwii.dev/aws: no aws identity there"
    ]


def test_a_container_with_its_own_role_keeps_it_and_gets_the_token() -> None:
    containers = [{"name": "app", "image": "a", "env": [{"name": "AWS_ROLE_ARN", "value": "arn:mine"}]}]

    answer = ask(pod(AWS, containers=containers))

    assert env(answer.pod, "containers", 0) == {
        "AWS_ROLE_ARN": "arn:mine",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/cwii.dev/aws/token",
    }
    assert "container app sets AWS_ROLE_ARN itself" in answer.response["warnings"][0]


def test_a_container_with_its_own_token_file_is_left_alone() -> None:
    own = [{"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "/mine"}]
    containers = [{"name": "app", "image": "a", "env": own}, {"name": "side", "image": "s"}]

    answer = ask(pod(AWS, containers=containers))

    assert answer.pod["spec"]["containers"][0] == containers[0]
    assert "left to it" in answer.response["warnings"][0]


def test_static_keys_that_win_in_sdks_are_reported() -> None:
    containers = [{"name": "app", "image": "a", "env": [{"name": "AWS_ACCESS_KEY_ID", "value": "x"}]}]

    answer = ask(pod(AWS, containers=containers))

    assert env(answer.pod, "containers", 0)["AWS_ROLE_ARN"] == ARN
    assert "which SDKs prefer" in answer.response["warnings"][0]


def test_a_mirror_pod_passes_untouched() -> None:
    answer = ask(pod({**AWS, annotation_keys.MIRROR_POD: "x"}))

    assert answer.operations == []
    assert answer.verdict.reason == "mirror-pod"


@pytest.mark.parametrize("namespace", ["kube-system", "kube-node-lease", "vestibule-system", "infra-7"])
def test_excluded_namespaces_are_out_even_when_the_api_server_asks(namespace: str) -> None:
    obj = pod(AWS, {"namespace": namespace})
    expected = schema.parse(
        {"exclude": {"namespaces": ["kube-system", "kube-node-lease", "infra-*"]}}, "test"
    )
    cluster = case.cluster_of(cluster_objects())
    handler, recorder = case.handler_of(cluster, expected)

    case.post(handler, case.review(obj, namespace=namespace))

    assert recorder.verdicts[-1].reason == "namespace-excluded"


def test_a_host_network_pod_is_served_because_tokens_work_there() -> None:
    assert env(ask(pod(AWS, hostNetwork=True)).pod, "containers", 0)["AWS_ROLE_ARN"] == ARN


def test_host_network_pods_can_be_excluded() -> None:
    answer = ask(pod(AWS, hostNetwork=True), settings={"exclude": {"hostNetwork": True}})

    assert answer.verdict.reason == "host-network"


@pytest.mark.parametrize(
    "spec",
    [{"os": {"name": "windows"}}, {"nodeSelector": {"kubernetes.io/os": "windows"}}],
    ids=["by os", "by node selector"],
)
def test_a_windows_pod_gets_windows_paths_and_no_linux_helper(spec: Json) -> None:
    answer = ask(
        pod({**AWS, **GCP, "cwii.dev/aws-verify": "true", "cwii.dev/gcp-delivery": "init-container"}, **spec)
    )

    assert env(answer.pod, "containers", 0)["AWS_WEB_IDENTITY_TOKEN_FILE"] == (
        r"C:\var\run\secrets\cwii.dev\aws\token"
    )
    assert "initContainers" not in answer.pod["spec"]
    assert len(answer.response["warnings"]) == 2


MALFORMED = {
    "an ARN": (AWS, "cwii.dev/aws-role-arn", "foo", "arn:<partition>:iam::<account>:role/<name>"),
    "a client id": (AZ, "cwii.dev/az-client-id", "app", "a GUID"),
    "a tenant": (AZ, "cwii.dev/az-tenant-id", "not_a_tenant", "a GUID or a domain name"),
    "a service account": (
        GCP,
        "cwii.dev/gcp-service-account",
        "app@example",
        "<name>@<project>.iam.gserviceaccount.com",
    ),
}


@pytest.mark.parametrize("sentence", MALFORMED)
def test_a_malformed_identity_is_reported_with_object_key_value_and_want(sentence: str) -> None:
    base, key, value, want = MALFORMED[sentence]

    answer = ask(pod({}), objects=cluster_objects(account={**base, key: value}))

    assert answer.response["allowed"]
    assert answer.response["warnings"] == [
        f"ServiceAccount team-a/app: {key} is '{value}', want {want}; used all the same"
    ]


@pytest.mark.parametrize("sentence", MALFORMED)
def test_a_malformed_identity_is_refused_where_the_settings_say_so(sentence: str) -> None:
    base, key, value, want = MALFORMED[sentence]

    answer = ask(
        pod({}), objects=cluster_objects(account={**base, key: value}), settings={"onInvalid": "refuse"}
    )

    assert not answer.response["allowed"]
    assert answer.response["status"]["code"] == 403
    assert f"{key} is '{value}', want {want}" in answer.response["status"]["message"]


def test_a_pool_provider_that_is_none_is_reported() -> None:
    answer = ask(pod({**GCP, "cwii.dev/gcp-audience": "my-pool"}))

    assert (
        "cwii.dev/gcp-audience is 'my-pool', want //iam.googleapis.com/projects/"
        in answer.response["warnings"][0]
    )


PASSED_OVER = {
    "region": ("cwii.dev/aws-region", "Frankfurt", "eu-central-1", "AWS_REGION"),
    "session name": ("cwii.dev/aws-role-session-name", "a b", "job", "AWS_ROLE_SESSION_NAME"),
}


@pytest.mark.parametrize("sentence", PASSED_OVER)
def test_a_bad_extra_is_passed_over_for_the_next_level(sentence: str) -> None:
    key, bad, good, variable = PASSED_OVER[sentence]

    answer = ask(pod({**AWS, key: bad}), objects=cluster_objects(namespace={key: good}))

    assert env(answer.pod, "containers", 0)[variable] == good
    assert answer.response["warnings"][0].endswith("; passed over")


def test_a_region_goes_into_both_variables_with_regional_sts() -> None:
    got = env(ask(pod({**AWS, "cwii.dev/aws-region": "eu-west-1"})).pod, "containers", 0)

    assert got["AWS_REGION"] == got["AWS_DEFAULT_REGION"] == "eu-west-1"
    assert got["AWS_STS_REGIONAL_ENDPOINTS"] == "regional"


AUTHORITIES = {
    "Microsoft's own is fine": ("https://login.microsoftonline.us/", True, 0),
    "an unknown one is told": ("https://evil.example/", True, 1),
    "plain http is passed over": ("http://login.microsoftonline.com/", False, 1),
    "one with credentials in it is passed over": ("https://a:b@login.microsoftonline.com/", False, 1),
}


@pytest.mark.parametrize("sentence", AUTHORITIES)
def test_an_authority_is_checked_because_tokens_go_there(sentence: str) -> None:
    url, used, warnings = AUTHORITIES[sentence]

    answer = ask(pod({**AZ, "cwii.dev/az-authority-host": url}))

    assert ("AZURE_AUTHORITY_HOST" in env(answer.pod, "containers", 0)) is used
    assert len(answer.response.get("warnings", [])) == warnings


def test_an_authority_the_administrator_allows_is_not_reported() -> None:
    settings = {"az": {"authorityHosts": ["login.corp.example"]}}
    obj = pod({**AZ, "cwii.dev/az-authority-host": "https://login.corp.example/"})

    assert "warnings" not in ask(obj, settings=settings).response


def test_a_subject_longer_than_google_takes_is_reported() -> None:
    account = "a" * 110
    obj = pod(GCP, serviceAccountName=account)

    answer = ask(obj)

    assert "Google Cloud takes 127" in answer.verdict.findings[0].text


def test_such_a_subject_is_refused_where_the_identity_is_required() -> None:
    obj = pod({**GCP, "cwii.dev/gcp-required": "true"}, serviceAccountName="a" * 110)

    assert not ask(obj).response["allowed"]


UNKNOWN = {
    "a misspelt name": ("cwii.dev/aws-rolearn", "cwii.dev/aws-role-arn"),
    "another top level": ("cwii.io/aws-role-arn", "cwii.dev/aws-role-arn"),
    "capitals": ("CWII.dev/aws-inject", "cwii.dev/aws-inject"),
    "a missing letter in the prefix": ("cwi.dev/gcp-audience", "cwii.dev/gcp-audience"),
}


@pytest.mark.parametrize("sentence", UNKNOWN)
def test_a_key_that_is_almost_one_of_ours_is_reported_with_the_one_meant(sentence: str) -> None:
    key, meant = UNKNOWN[sentence]

    answer = ask(pod({key: "x"}))

    assert answer.response["warnings"][0].endswith(f"did you mean {meant}?")


def test_a_key_under_our_prefix_that_is_like_nothing_is_reported() -> None:
    answer = ask(pod({"cwii.dev/quux": "x"}))

    assert answer.response["warnings"] == ["Pod team-a/web: cwii.dev/quux is 'x': no known key, ignored"]


def test_a_label_with_our_key_is_reported() -> None:
    answer = ask(pod({}, {"labels": {"cwii.dev/aws-inject": "true"}}))

    assert "make it an annotation" in answer.response["warnings"][0]


def test_an_identity_without_the_switch_is_reported_but_a_namespace_default_is_not() -> None:
    reported = ask(pod({}), objects=cluster_objects(account={"cwii.dev/aws-role-arn": ARN}))
    silent = ask(pod({}), objects=cluster_objects(namespace={"cwii.dev/aws-role-arn": ARN}))

    assert "cwii.dev/aws-inject is not set anywhere" in reported.response["warnings"][0]
    assert "warnings" not in silent.response


REQUIRED: dict[str, tuple[Json, Json]] = {
    "by annotation": ({"cwii.dev/aws-inject": "true", "cwii.dev/aws-required": "true"}, {}),
    "by settings": ({"cwii.dev/aws-inject": "true"}, {"required": True}),
}


@pytest.mark.parametrize("sentence", REQUIRED)
def test_enabled_but_unconfigured_is_refused_when_required(sentence: str) -> None:
    annotations, settings = REQUIRED[sentence]

    answer = ask(pod(annotations), settings=settings)

    assert not answer.response["allowed"]
    assert "cwii.dev/aws-role-arn is set nowhere" in answer.response["status"]["message"]


def test_all_problems_are_in_one_refusal() -> None:
    annotations = {"cwii.dev/aws-inject": "true", "cwii.dev/az-inject": "true"}

    answer = ask(pod(annotations), settings={"required": True})

    message = answer.response["status"]["message"]
    assert "cwii.dev/aws-role-arn" in message
    assert "cwii.dev/az-client-id and cwii.dev/az-tenant-id" in message


def owned(kind: str, name: str, uid: str, api: str) -> list[Json]:
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": True}]


def test_a_cronjob_counts_below_its_job() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "team-a",
            "uid": "1",
            "annotations": {"cwii.dev/aws-role-arn": ARN},
            "ownerReferences": owned("CronJob", "c", "2", "batch/v1"),
        },
    }
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": "c",
            "namespace": "team-a",
            "uid": "2",
            "annotations": {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::1:role/no"},
        },
    }
    obj = pod({}, {"ownerReferences": owned("Job", "j", "1", "batch/v1")})

    answer = ask(obj, objects=cluster_objects(job, cron))

    assert env(answer.pod, "containers", 0)["AWS_ROLE_ARN"] == ARN
    found = {value.key: value for value in answer.verdict.values}
    assert found["cwii.dev/aws-inject"].object == "CronJob team-a/c"
    assert found["cwii.dev/aws-role-arn"].shadowed == (("CronJob team-a/c", "arn:aws:iam::1:role/no"),)


@pytest.mark.parametrize(
    ("uid", "api", "controller"),
    [("other", "batch/v1", True), ("1", "batch.example/v1", True), ("1", "batch/v1", False)],
    ids=["another uid", "another group", "not the controller"],
)
def test_an_owner_that_is_not_the_controller_we_know_gives_nothing(
    uid: str, api: str, controller: bool
) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "team-a", "uid": "1", "annotations": AWS},
    }
    references = [{"apiVersion": api, "kind": "Job", "name": "j", "uid": uid, "controller": controller}]

    answer = ask(pod({}, {"ownerReferences": references}), objects=cluster_objects(job))

    assert answer.operations == []


def test_helpers_keep_a_guaranteed_pod_guaranteed_and_pass_the_restricted_profile() -> None:
    annotations = {**GCP, **AWS, **AZ, "cwii.dev/gcp-delivery": "init-container"}
    annotations |= {f"cwii.dev/{provider}-verify": "true" for provider in annotation_keys.PROVIDERS}

    helpers = ask(pod(annotations)).pod["spec"]["initContainers"]

    assert len(helpers) == 4
    for helper in helpers:
        assert helper["resources"]["requests"] == helper["resources"]["limits"]
        context = helper["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_verify_speaks_to_the_sovereign_cloud_of_the_authority() -> None:
    annotations = {
        **AZ,
        "cwii.dev/az-verify": "true",
        "cwii.dev/az-authority-host": "https://login.microsoftonline.us/",
    }

    script = ask(pod(annotations)).pod["spec"]["initContainers"][0]["args"][0]

    assert "az cloud set --name AzureUSGovernment" in script
    assert "--allow-no-subscriptions" in script


def test_config_map_delivery_is_immutable_and_named_by_content() -> None:
    annotations = {**GCP, "cwii.dev/gcp-delivery": "config-map"}
    settings: Json = {"gcp": {"allowConfigMapWrites": True}}

    one = ask(pod(annotations), settings=settings).applied
    other = ask(pod(annotations), settings={**settings, "mountRoot": "/elsewhere"}).applied

    assert one[0]["immutable"] is True
    assert one[0]["metadata"]["name"] != other[0]["metadata"]["name"]


def test_the_token_may_have_another_audience_than_the_pool_provider() -> None:
    mutated = ask(pod({**GCP, "cwii.dev/gcp-token-audience": "sts.example"})).pod

    source = mutated["spec"]["volumes"][0]["projected"]["sources"][0]
    assert source["serviceAccountToken"]["audience"] == "sts.example"
    assert POOL in mutated["metadata"]["annotations"][annotation_keys.GCP_CREDENTIALS]


def test_the_guard_freezes_what_the_annotation_delivery_writes() -> None:
    policy, binding = webhook_configurations.guard(schema.Settings())

    frozen = " ".join(rule["expression"] for rule in policy["spec"]["validations"])
    assert annotation_keys.GCP_CREDENTIALS in frozen
    assert binding["spec"]["validationActions"] == ["Deny"]


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE", "CONNECT"])
def test_only_a_create_is_mutated(operation: str) -> None:
    cluster = case.cluster_of(cluster_objects())
    handler, recorder = case.handler_of(cluster, schema.Settings())

    case.post(handler, case.review(pod(AWS), operation=operation))

    assert recorder.verdicts[-1].reason == "not-a-create"


def test_at_most_three_short_ascii_warnings_are_sent() -> None:
    annotations = {f"cwii.dev/x{number}é": "ü\n" * 200 for number in range(9)}

    warnings = ask(pod(annotations)).response["warnings"]

    assert len(warnings) == 3
    assert all(len(text) <= 200 and text.isascii() and text.isprintable() for text in warnings)
    assert warnings[-1] == "vestibule: and 2 more; 'vestibule explain' lists them all"
