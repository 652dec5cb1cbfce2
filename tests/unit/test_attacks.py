"""Attacks that once led around a policy, past the guard by an exception, or cost more than their size."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.property.test_guard import (
    EVIL_GUID,
    EVIL_MAIL,
    EVIL_POOL,
    EVIL_ROLE,
    GOOD_GUID,
    GOOD_MAIL,
    GOOD_ROLE,
    LIMITS,
    LOCKED,
    POD,
    POOL,
    ask,
)
from tests.unit import test_sandbox as sandbox
from tests.unit.test_sandbox_enforce import KEYS, enforcing
from tests.unit.test_work import _Work
from tests.vectors import case
from vestibule.api import kata
from vestibule.api.settings import schema
from vestibule.httpserver.server import HttpRequest
from vestibule.injection.policy import compile_policy
from vestibule.injection.sandbox import decision
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Json = dict[str, Any]
MOUNT = [{"name": "own", "mountPath": "/own"}]
FILES = [{"name": "c", "mountPath": "/cfg"}]
MAP = {"name": "c", "configMap": {"name": "c"}}
SKIP = {f"cwii.dev/{cloud}-skip-containers": "*" for cloud in ("aws", "az", "gcp")}
CONFIG = f"[profile x]\nrole_arn = {EVIL_ROLE}\nweb_identity_token_file = /own/token\n"
SHOWN = {
    "name": "c",
    "downwardAPI": {
        "items": [{"path": "config", "fieldRef": {"fieldPath": "metadata.annotations['my/cfg']"}}]
    },
}


def token(audience: str = "sts.amazonaws.com", path: str = "token") -> Json:
    source = {"serviceAccountToken": {"audience": audience, "path": path}}
    return {"name": "own", "projected": {"sources": [source]}}


def env(**values: str) -> list[Json]:
    return [{"name": name, "value": value} for name, value in values.items()]


def pod(
    variables: list[Json], volumes: list[Json], annotations: dict[str, str] | None = None, **more: Any
) -> Json:
    created = copy.deepcopy(POD)
    created["metadata"]["annotations"] = {**SKIP, **(annotations or {})}
    created["spec"]["containers"][0] |= {"env": variables, "volumeMounts": MOUNT, **more}
    created["spec"]["volumes"] = volumes
    return created


def windows(made: Json) -> Json:
    made["spec"]["os"] = {"name": "windows"}
    return made


UNSEEN: dict[str, Json] = {
    "variables from a ConfigMap beside an own token": pod(
        [], [token()], envFrom=[{"configMapRef": {"name": "evil"}}]
    ),
    "an AWS configuration of one's own": pod(
        env(AWS_CONFIG_FILE="/cfg/config", AWS_PROFILE="x"), [token(), MAP], volumeMounts=MOUNT + FILES
    ),
    "the same in an annotation of another key": pod(
        env(AWS_CONFIG_FILE="/cfg/config"), [token(), SHOWN], {"my/cfg": CONFIG}, volumeMounts=MOUNT + FILES
    ),
    "Google credentials of one's own": pod(
        env(GOOGLE_APPLICATION_CREDENTIALS="/cfg/c.json"),
        [token(EVIL_POOL), MAP],
        volumeMounts=MOUNT + FILES,
    ),
    "small letters on Windows": windows(
        pod(env(aws_role_arn=EVIL_ROLE, aws_web_identity_token_file="C:\\own\\token"), [token()])
    ),
}
ODD_PATHS: dict[str, Json] = {
    "the kubelet's link": {"value": "/own/..data/token"},
    "the process's own view": {"value": "/proc/self/" + "root/own/token"},
    "another variable": {"value": "$(X)/token"},
    "from a ConfigMap": {"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    "a relative path": {"value": "token"},
}


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
@pytest.mark.parametrize("attack", UNSEEN)
def test_what_cannot_be_seen_beforehand_is_refused(attack: str, policy: Json, mode: str) -> None:
    answer = ask(policy, UNSEEN[attack], mode=mode)

    assert not answer.response["allowed"], attack


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
@pytest.mark.parametrize("path", ODD_PATHS)
def test_a_token_that_cannot_be_found_has_an_unknown_audience(path: str, policy: Json, mode: str) -> None:
    file = {"name": "AWS_WEB_IDENTITY_TOKEN_FILE", **ODD_PATHS[path]}
    attack = pod([*env(AWS_ROLE_ARN=GOOD_ROLE), file], [token("evil-audience")], workingDir="/own")

    assert not ask(policy, attack, mode=mode).response["allowed"]


@pytest.mark.parametrize(
    "mounts",
    [
        [{"name": "own", "mountPath": "/own", "subPathExpr": "$(X)"}],
        [{"name": "own", "mountPath": "/own/"}, {"name": "other", "mountPath": "/own"}],
    ],
)
def test_mounts_that_hide_which_token_is_read_do_not_pass(mounts: list[Json]) -> None:
    variables = env(AWS_ROLE_ARN=GOOD_ROLE, AWS_WEB_IDENTITY_TOKEN_FILE="/own/token")
    other = {**token(), "name": "other"}
    attack = pod(variables, [token("evil-audience"), other], volumeMounts=mounts)

    assert not ask(LIMITS, attack).response["allowed"]


def test_a_token_file_alone_counts_as_its_cloud() -> None:
    only_aws = {"name": "only-aws", "limits": {"clouds": ["aws"]}}

    assert not ask(only_aws, pod(env(AZURE_FEDERATED_TOKEN_FILE="/x"), [token()])).response["allowed"]


@pytest.mark.parametrize("delivery", ["annotation", "init-container", "config-map"])
def test_what_a_policy_gives_passes_its_own_lock_in_every_delivery(delivery: str) -> None:
    more: Json = {"gcp": {"delivery": delivery, "allowConfigMapWrites": True}}
    plain = copy.deepcopy(POD)
    usual = {"prefix": "APP_", "configMapRef": {"name": "usual"}}
    plain["spec"]["containers"][0]["envFrom"] = [usual]

    first = ask(LOCKED, plain, **more)
    second = ask(LOCKED, first.pod, **more)

    for answer in (first, second):
        assert answer.response["allowed"], answer.response


FAILING: dict[str, tuple[dict[str, str], Json]] = {
    "an address that is none": (
        {
            "cwii.dev/gcp-credentials": json.dumps(
                {"audience": "x", "service_account_impersonation_url": "https://[x"}
            )
        },
        {},
    ),
    "a number of five thousand digits": (
        {
            "azure.workload.identity/client-id": GOOD_GUID,
            "azure.workload.identity/service-account-token-expiration": "9" * 5000,
        },
        {"vocabularies": ["azwi"], "azwi": {"requireLabel": False}},
    ),
    "a port of five thousand digits": (
        {
            "azure.workload.identity/client-id": GOOD_GUID,
            "azure.workload.identity/inject-proxy-sidecar": "true",
            "azure.workload.identity/proxy-sidecar-port": "9" * 5000,
        },
        {"vocabularies": ["azwi"], "azwi": {"requireLabel": False}, "mode": "strict"},
    ),
}


@pytest.mark.parametrize("what", FAILING)
def test_no_annotation_makes_the_handler_fail(what: str) -> None:
    annotations, more = FAILING[what]
    attack = pod(
        env(AWS_ROLE_ARN=EVIL_ROLE, AWS_WEB_IDENTITY_TOKEN_FILE="/own/token"), [token()], annotations
    )

    assert not ask(LIMITS, attack, **more).response["allowed"]


def test_an_unexpected_failure_refuses_the_pod_where_policies_apply() -> None:
    """Whatever makes a review fail: it must not lead past a policy, with any failure policy."""
    request = HttpRequest("POST", "/mutate", "", case.review(POD), "application/json", 0.0)
    limited, _ = case.handler_of(case.cluster_of([]), schema.parse({"policies": [LIMITS]}, "test"))
    open_, _ = case.handler_of(case.cluster_of([]), schema.parse({}, "test"))

    response = limited.fault(request)

    assert response is not None
    answer = json.loads(response.body)["response"]
    assert (answer["allowed"], answer["status"]["code"]) == (False, 500)
    assert open_.fault(request) is None, "elsewhere the failure policy decides"


COSTLY: dict[str, Json] = {
    "blanks in a configuration": pod(
        [], [token()], {"cwii.dev/aws-config": "role_arn = x" + " " * 40_000 + "x"}
    ),
    "deep paths": pod(env(AWS_WEB_IDENTITY_TOKEN_FILE="/a" * 2000) * 50, [token()]),
    "hidden keys": pod([], [], {f"cwii.dev/aws-role-arn.c{n}": "x" for n in range(5000)}),
}
MANY: Json = pod(
    [],
    [token()],
    {f"a{n}/external-credentials-json": '{"credential_source":{"file":"/a/b"}}' for n in range(1000)},
)
MANY["spec"]["containers"] = [{"name": f"c{n}", "volumeMounts": MOUNT} for n in range(1000)]
COSTLY["annotations times containers"] = MANY
WIDE: Json = pod(
    [],
    [token()],
    {f"a{n}/external-credentials-json": '{"credential_source":{"file":"/own/x/y/z"}}' for n in range(64)},
)
WIDE["spec"]["containers"] = [
    {
        "name": f"c{n}",
        "env": env(GOOGLE_APPLICATION_CREDENTIALS="/own/x/y/z"),
        "volumeMounts": [*MOUNT, *({"name": "v", "mountPath": f"/own/{n}/{m}/x"} for m in range(60))],
    }
    for n in range(60)
]
COSTLY["annotations times containers times mounts"] = WIDE
COSTLY["deep mounts"] = pod(
    env(AWS_WEB_IDENTITY_TOKEN_FILE="/own/token"),
    [token()],
    volumeMounts=[*MOUNT, *({"name": "v", "mountPath": "/a" * 400 + f"/{n}"} for n in range(60))],
)


@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
@pytest.mark.parametrize("what", COSTLY)
def test_a_review_costs_no_more_than_its_size_where_policies_apply(what: str, policy: Json) -> None:
    body = case.review(COSTLY[what])
    handler, _ = case.handler_of(case.cluster_of([]), schema.parse({"policies": [policy]}, "test"))
    with _Work() as work:
        response = case.post(handler, body)

    assert work.lines <= 60_000 + 2 * len(body)
    assert len(response.body) < 20_000


# ── sandboxes ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("container", [{}, {"name": "c"}])
def test_a_peer_pod_of_many_containers_is_refused(container: Json) -> None:
    attack = sandbox.pod("kata-remote", containers=[dict(container) for _ in range(300)])

    answer = sandbox.ask(attack, sandbox.namespace(), sandbox.kata({}, peer_pods=True))

    assert answer.response["status"]["code"] == 422
    assert "podLimits.containers" in answer.response["status"]["message"]


def test_amounts_of_any_length_are_no_amounts() -> None:
    from vestibule.injection.sandbox import quantities

    before = quantities._amount.cache_info().currsize
    for number in range(50):
        assert quantities.amount(f"{number}" + "9" * 5000) is None

    assert quantities._amount.cache_info().currsize == before


def test_a_forged_mark_chooses_no_weaker_enforcement() -> None:
    old = SandboxPolicy([kata.kata_config(sandbox.kata({"annotations": {"initdata": sandbox.INITDATA}}))])
    new = SandboxPolicy([kata.kata_config(sandbox.kata(enforcing(enforce={"runtimeClasses": ["kata-cc*"]})))])
    new.earlier = {old.digest: old}
    mark = {"vestibule.dev/sandbox": old.digest}

    replaced = decision.decide(
        sandbox.pod("kata-cc", {KEYS[1]: "agent.debug_console", **mark}), "team-a", {}, new
    )
    pinned = decision.decide(sandbox.pod("kata", mark), "team-a", {}, new)

    assert replaced.annotations[KEYS[1]] == ""
    assert pinned.refusal is not None


@pytest.mark.parametrize(
    "key",
    ["config_path", "config.hypervisor.kernel", "config.hypervisor.image", "config.agent.kernel_modules"],
)
def test_a_tenant_chooses_nothing_about_a_confidential_guest_but_its_size(key: str) -> None:
    one = f"io.katacontainers.{key}"
    size = {"io.katacontainers.config.hypervisor.default_vcpus": "4"}

    refused = sandbox.ask(sandbox.pod("kata-cc", {one: "x"}), sandbox.namespace(), sandbox.kata(enforcing()))
    sized = sandbox.ask(sandbox.pod("kata-cc", size), sandbox.namespace(), sandbox.kata(enforcing()))
    given = enforcing()
    given["annotations"]["custom"] = {one: "admin"}
    first = sandbox.ask(sandbox.pod("kata-cc"), sandbox.namespace(), sandbox.kata(given))
    second = sandbox.ask(first.pod, sandbox.namespace(), sandbox.kata(given))

    assert f"{one} may not be set" in refused.response["status"]["message"]
    assert sized.response["allowed"]
    assert second.response["allowed"], "what the administrator wrote passes when the pod comes again"
    assert compile_policy(schema.parse({}, "test")).closed is False


# What a variable or a mount of the pod's own leads to. Each of these once passed beside a token that the
# webhook itself had injected.
OURS = {
    "cwii.dev/aws-inject": "true",
    "cwii.dev/aws-role-arn": GOOD_ROLE,
    "cwii.dev/gcp-inject": "true",
    "cwii.dev/gcp-audience": POOL,
    "cwii.dev/gcp-service-account": GOOD_MAIL,
    "cwii.dev/az-inject": "true",
    "cwii.dev/az-client-id": GOOD_GUID,
    "cwii.dev/az-tenant-id": GOOD_GUID,
}
EVIL_MAP = {"name": "evil", "configMap": {"name": "evil"}}


def served(*clouds: str, **container: Any) -> Json:
    """A pod that the webhook gives the identities of some clouds, with more in its container."""
    created = copy.deepcopy(POD)
    created["metadata"]["annotations"] = {
        key: value
        for key, value in OURS.items()
        if key.startswith(tuple(f"cwii.dev/{one}-" for one in clouds))
    }
    created["spec"]["containers"][0] |= container
    created["spec"]["volumes"] = [EVIL_MAP]
    return created


def message(answer: case.Answer) -> str:
    return str(answer.response.get("status", {}).get("message", ""))


ENV_FROM = [{"configMapRef": {"name": "evil"}}]


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
@pytest.mark.parametrize("cloud", ["aws", "az", "gcp"])
@pytest.mark.parametrize(
    "source", [{}, {"prefix": "A"}, {"prefix": "AWS_"}, {"prefix": "aws_"}, {"prefix": "CLOUDSDK_"}]
)
def test_variables_from_elsewhere_beside_an_injected_token_are_refused(
    source: Json, cloud: str, policy: Json, mode: str
) -> None:
    reachable = {"aws": ("", "A", "AWS_", "aws_"), "az": ("", "A"), "gcp": ("", "CLOUDSDK_")}
    if policy is LOCKED:  # gives all three clouds
        reachable[cloud] = ("", "A", "AWS_", "aws_", "CLOUDSDK_")
    attack = served(cloud, envFrom=[{**ENV_FROM[0], **source}])

    answer = ask(policy, attack, mode=mode)

    assert answer.response["allowed"] is (source.get("prefix", "") not in reachable[cloud]), message(answer)
    if not answer.response["allowed"]:
        assert "container app, envFrom" in message(answer)
        assert "prefix" in message(answer), "the refusal says what helps"


@pytest.mark.parametrize("audience", ["sts.amazonaws.com", "any-audience-that-a-cloud-was-told-to-trust"])
def test_a_token_of_any_audience_beside_variables_from_elsewhere_is_refused(audience: str) -> None:
    attack = pod([], [token(audience)], envFrom=ENV_FROM)

    assert not ask(LIMITS, attack).response["allowed"]
    attack["spec"]["containers"][0]["volumeMounts"] = []
    assert ask(LIMITS, attack).response["allowed"], "without a token there is nothing to use"


@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
def test_an_administrator_may_allow_variables_from_elsewhere(policy: Json) -> None:
    allowing = {**policy, "envFrom": "Allow"}

    answer = ask(allowing, served("aws", envFrom=ENV_FROM))
    assert answer.response["allowed"], message(answer)
    # variables that can be seen are judged all the same
    env_ = env(AWS_PROFILE="evil")
    assert not ask(allowing, served("aws", envFrom=ENV_FROM, env=env_)).response["allowed"]
    # all policies of an account must allow it
    both = schema.parse({"policies": [allowing, {**LIMITS, "name": "other"}]}, "test")
    answer = case.ask(served("aws", envFrom=ENV_FROM), case.cluster_of([]), both)
    assert not answer.response["allowed"]


VARIABLES = {
    "a profile by its other name": ("aws", env(AWS_DEFAULT_PROFILE="x")),
    "more tenants": ("az", env(AZURE_ADDITIONALLY_ALLOWED_TENANTS=f"{GOOD_GUID};{EVIL_GUID}")),
    "all tenants": ("az", env(AZURE_ADDITIONALLY_ALLOWED_TENANTS="*")),
    "an account to impersonate": ("gcp", env(CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT=EVIL_MAIL)),
    "accounts to impersonate": (
        "gcp",
        env(CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT=f"{GOOD_MAIL},{EVIL_MAIL}"),
    ),
}


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
@pytest.mark.parametrize("attack", VARIABLES)
def test_every_variable_that_an_sdk_reads_is_judged(attack: str, policy: Json, mode: str) -> None:
    cloud, variables = VARIABLES[attack]

    assert not ask(policy, served(cloud, env=variables), mode=mode).response["allowed"]


def test_variables_that_name_allowed_identities_pass() -> None:
    tenants = env(AZURE_ADDITIONALLY_ALLOWED_TENANTS=f" {GOOD_GUID} ; ")
    accounts = env(
        CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT=f"other@team-a.iam.gserviceaccount.com,{GOOD_MAIL}"
    )

    assert ask(LIMITS, served("az", env=tenants)).response["allowed"]
    assert ask(LIMITS, served("gcp", env=accounts)).response["allowed"]


def test_a_profile_that_we_wrote_may_be_chosen_and_no_other() -> None:
    created = served("aws", env=env(AWS_PROFILE="ours"))
    created["metadata"]["annotations"]["cwii.dev/aws-profile.ours"] = GOOD_ROLE

    answer = ask(LIMITS, created)
    assert answer.response["allowed"], message(answer)
    created["spec"]["containers"][0]["env"] = env(AWS_PROFILE="other")
    assert not ask(LIMITS, created).response["allowed"]


def files_of(pod_: Json, field: str, name: str) -> set[str]:
    """The files that variables of a container name."""
    listed = [one for one in pod_["spec"][field] if one["name"] == name]
    values = [str(one.get("value", "")) for container in listed for one in container.get("env", ())]
    return {value for value in values if value.startswith("/var/run/")}


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
@pytest.mark.parametrize("delivery", ["annotation", "init-container", "config-map"])
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_a_mount_over_a_file_of_ours_is_refused(field: str, delivery: str, policy: Json, mode: str) -> None:
    settings: Json = {"mode": mode, "gcp": {"delivery": delivery, "allowConfigMapWrites": True}}
    if policy is LIMITS:
        policy = copy.deepcopy(LIMITS)
        policy["limits"]["gcp"]["audiences"] = [POOL]
    plain = served("aws", "az", "gcp")
    plain["metadata"]["annotations"]["cwii.dev/aws-profile.ours"] = GOOD_ROLE
    plain["spec"]["initContainers"] = [{"name": "first", "image": "x"}]
    answer = ask(policy, plain, **settings)
    assert answer.response["allowed"], message(answer)
    files = files_of(answer.pod, field, "first" if field == "initContainers" else "app")
    files |= {"/var/run/secrets/cwii.dev/gcp/token"} if files else set()  # named in the credentials file
    # the original gives init containers nothing
    assert len(files) >= 3 or (not files and mode == "strict" and field == "initContainers")

    passed = []
    for file in sorted(files):
        folder, _, name = file.rpartition("/")
        over = [
            file,
            f"{file}/",
            f"{folder}//{name}",
            f"{folder}/./{name}",
            f"{folder}/x/../{name}",
            f"/elsewhere/..{file}",
            file.removeprefix("/var"),
            f"{folder}/..data",
            f"{folder}/../{folder.rpartition('/')[2]}/{name}",
        ]
        for path in over:
            for how in ("volumeMounts", "volumeDevices"):
                attack = copy.deepcopy(plain)
                key = "mountPath" if how == "volumeMounts" else "devicePath"
                attack["spec"][field][0][how] = [{"name": "evil", key: path}]
                if name == "token" and how == "volumeMounts":  # only a token can take the place of a token
                    attack["spec"][field][0][how][0]["subPath"] = "token" * ("..data" not in path)
                    attack["spec"]["volumes"] = [{**token("evil-audience"), "name": "evil"}]
                elif "/gcp/token" in file:
                    continue
                if ask(policy, attack, **settings).response["allowed"]:
                    passed.append((path, how))
    assert not passed


@pytest.mark.parametrize("mode", ["better", "strict"])
def test_a_mount_elsewhere_passes(mode: str) -> None:
    for path in (
        "/var",
        "/var/run",
        "/run/secrets",
        "/var/run/secrets/cwii.dev",
        "/var/run/secrets/cwii.dev/aws-x",
    ):
        fine = served("aws", volumeMounts=[{"name": "evil", "mountPath": path}])

        answer = ask(LIMITS, fine, mode=mode)

        assert answer.response["allowed"], (path, message(answer))
        assert any(one["name"] == "AWS_ROLE_ARN" for one in answer.pod["spec"]["containers"][0]["env"])


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
def test_a_volume_of_the_pods_own_under_one_of_our_names_is_refused_or_unused(
    policy: Json, mode: str
) -> None:
    """A container that takes nothing of ours names our file, and a volume of its own stands there."""
    source = {"serviceAccountToken": {"audience": POOL, "path": "token"}}
    shown = {"configMap": {"name": "evil"}}
    for sources in ([shown], [source, shown]):
        attack = served("gcp")
        container = attack["spec"]["containers"][0]
        container["env"] = env(
            GOOGLE_APPLICATION_CREDENTIALS="/var/run/secrets/cwii.dev/gcp/credentials.json"
        )
        container["volumeMounts"] = [
            {"name": "cwii-gcp-token", "mountPath": "/var/run/secrets/cwii.dev/gcp"},
            {"name": "own", "mountPath": "/own"},
        ]
        attack["spec"]["volumes"] = [
            {"name": "cwii-gcp-token", "projected": {"sources": sources}},
            token(POOL),
        ]

        assert not ask(policy, attack, mode=mode).response["allowed"], sources


def test_a_skipped_container_cannot_borrow_a_file_of_ours() -> None:
    attack = served("gcp")
    attack["metadata"]["annotations"]["cwii.dev/gcp-skip-containers"] = "side"
    attack["spec"]["containers"].append(
        {
            "name": "side",
            "image": "x",
            "env": env(GOOGLE_APPLICATION_CREDENTIALS="/var/run/secrets/cwii.dev/gcp/credentials.json"),
            "volumeMounts": [
                {"name": "evil", "mountPath": "/var/run/secrets/cwii.dev/gcp"},
                {"name": "cwii-gcp-token", "mountPath": "/elsewhere"},
            ],
        }
    )

    assert not ask(LIMITS, attack).response["allowed"]


def test_containers_that_look_alike_but_for_one_are_all_judged() -> None:
    created = served("aws")
    created["spec"]["containers"] = [{"name": f"c{number}", "image": "x"} for number in range(50)]
    assert ask(LIMITS, created).response["allowed"]

    for number in (0, 17, 49):
        attack = copy.deepcopy(created)
        attack["spec"]["containers"][number]["env"] = env(AWS_ROLE_ARN=EVIL_ROLE)

        assert f"container c{number}, AWS_ROLE_ARN" in message(ask(LIMITS, attack))
