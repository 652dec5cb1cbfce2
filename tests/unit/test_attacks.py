"""Attacks that once led around a policy, past the guard by an exception, or cost more than their size."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.property.test_guard import EVIL_POOL, EVIL_ROLE, GOOD_GUID, GOOD_ROLE, LIMITS, LOCKED, POD, ask
from tests.unit import test_sandbox as sandbox
from tests.unit.test_sandbox_enforce import KEYS, enforcing
from tests.unit.test_work import _Work
from tests.vectors import case
from vestibule.adapters.serving.server import HttpRequest
from vestibule.core.kinds import config, kata
from vestibule.core.mutation.policy import compile_policy
from vestibule.core.mutation.sandbox import decision
from vestibule.core.mutation.sandbox.world import World

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
    made = copy.deepcopy(POD)
    made["metadata"]["annotations"] = {**SKIP, **(annotations or {})}
    made["spec"]["containers"][0] |= {"env": variables, "volumeMounts": MOUNT, **more}
    made["spec"]["volumes"] = volumes
    return made


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
    plain["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "usual"}}]

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
    limited, _ = case.handler_of(case.cluster_of([]), config.parse({"policies": [LIMITS]}, "test"))
    open_, _ = case.handler_of(case.cluster_of([]), config.parse({}, "test"))

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


@pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])
@pytest.mark.parametrize("what", COSTLY)
def test_a_review_costs_no_more_than_its_size_where_policies_apply(what: str, policy: Json) -> None:
    body = case.review(COSTLY[what])
    handler, _ = case.handler_of(case.cluster_of([]), config.parse({"policies": [policy]}, "test"))
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
    from vestibule.core.mutation.sandbox import quantities

    before = quantities._amount.cache_info().currsize
    for number in range(50):
        assert quantities.amount(f"{number}" + "9" * 5000) is None

    assert quantities._amount.cache_info().currsize == before


def test_a_forged_mark_chooses_no_weaker_enforcement() -> None:
    old = World([kata.kata_config(sandbox.kata({"annotations": {"initdata": sandbox.INITDATA}}))])
    new = World([kata.kata_config(sandbox.kata(enforcing(enforce={"runtimeClasses": ["kata-cc*"]})))])
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
    assert compile_policy(config.parse({}, "test")).closed is False
