"""Attacks on locks and limits through files that SDKs find by themselves, and through the cost of the guard.

Each of these passed, or cost more than its size, while the tests of the guard were green.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.property.test_guard import EVIL_GUID, EVIL_MAIL, EVIL_ROLE, GOOD_GUID, LIMITS, LOCKED, POOL, ask
from tests.unit import test_sandbox as sandbox
from tests.unit.test_attacks import env, message, pod, served, token
from tests.unit.test_sandbox_enforce import enforcing
from tests.unit.test_work import _Work
from tests.vectors import case
from vestibule import errors
from vestibule.api import glob_patterns, identitypolicy, kata
from vestibule.api.settings import schema

Json = dict[str, Any]
MODES = pytest.mark.parametrize("mode", ["better", "strict"])
POLICIES = pytest.mark.parametrize("policy", [LIMITS, LOCKED], ids=["limits", "locked"])


def at(path: str, **more: Any) -> list[Json]:
    return [{"name": "evil", "mountPath": path, **more}]


@MODES
@POLICIES
@pytest.mark.parametrize(
    "mounts",
    [
        at("/opt/.aws"),
        at("/opt/.aws/config", subPath="config"),
        at("/h/.AWS/credentials"),
        at("/h/x/../.aws//config"),
    ],
)
def test_a_volume_where_an_aws_sdk_looks_by_itself_is_refused(
    mounts: list[Json], policy: Json, mode: str
) -> None:
    answer = ask(policy, served("aws", volumeMounts=mounts), mode=mode)

    assert not answer.response["allowed"]
    assert ".aws" in message(answer)


@POLICIES
@pytest.mark.parametrize(
    "source",
    [
        {"configMap": {"name": "evil", "items": [{"key": "k", "path": ".aws/config"}]}},
        {
            "projected": {
                "sources": [{"secret": {"name": "s", "items": [{"key": "k", "path": "u/.aws/config"}]}}]
            }
        },
    ],
)
def test_a_volume_that_brings_such_a_file_is_refused(source: Json, policy: Json) -> None:
    attack = served("aws", volumeMounts=at("/opt"))
    attack["spec"]["volumes"] = [{"name": "evil", **source}]

    assert not ask(policy, attack).response["allowed"]


def test_volumes_elsewhere_and_without_a_token_pass() -> None:
    assert ask(LIMITS, served("aws", volumeMounts=at("/data/aws"))).response["allowed"]
    assert ask(LIMITS, served("az", volumeMounts=at("/opt/.aws"))).response["allowed"], (
        "no token that AWS takes"
    )
    assert ask(LIMITS, served(volumeMounts=at("/opt/.aws"))).response["allowed"], "no token at all"


def test_files_that_are_switched_off_are_not_read() -> None:
    off = env(AWS_CONFIG_FILE="/dev/null", AWS_SHARED_CREDENTIALS_FILE="/dev/null")

    assert ask(LIMITS, served("aws", env=off, volumeMounts=at("/opt/.aws"))).response["allowed"]
    attack = served("aws", env=off, volumeMounts=at("/dev/null"))
    assert not ask(LIMITS, attack).response["allowed"], "something is mounted there"


def test_the_remedy_that_a_refusal_of_env_from_names_works() -> None:
    attack = served("aws", envFrom=[{"configMapRef": {"name": "evil"}}])
    limited = {"name": "aws", "limits": {"aws": {"roleArns": LIMITS["limits"]["aws"]["roleArns"]}}}
    named = message(ask(limited, attack))
    assert "AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE, AWS_DEFAULT_PROFILE" in named
    remedy = env(
        AWS_CONFIG_FILE="/dev/null",
        AWS_SHARED_CREDENTIALS_FILE="/dev/null",
        AWS_PROFILE="default",
        AWS_DEFAULT_PROFILE="default",
    )
    attack["spec"]["containers"][0]["env"] = remedy
    answer = ask(limited, attack)
    assert answer.response["allowed"], message(answer)
    attack["spec"]["containers"][0]["env"] = remedy[:-1]
    assert "AWS_DEFAULT_PROFILE" in message(ask(limited, attack)), "the one that is left"


def test_what_env_from_may_bring_in_one_container_hides_nothing_in_another() -> None:
    policy = {**LIMITS, "envFrom": "Allow"}
    attack = served("aws", envFrom=[{"configMapRef": {"name": "evil"}}])
    second = {"name": "b", "image": "b", "env": env(AWS_PROFILE="evil")}
    attack["spec"]["containers"].append(second)

    assert not ask(policy, attack).response["allowed"]


WRITER = {
    "name": "cwii-gcp-creds-writer",
    "image": "busybox",
    "volumeMounts": [{"name": "cwii-gcp-creds", "mountPath": "/c"}],
}


@MODES
@POLICIES
@pytest.mark.parametrize(
    "container", [WRITER, {**WRITER, "name": "other"}, {**WRITER, "name": "other", "restartPolicy": "Always"}]
)
def test_nobody_else_writes_the_credentials_file(container: Json, policy: Json, mode: str) -> None:
    attack = served("gcp")
    attack["metadata"]["annotations"] |= {
        "cwii.dev/gcp-delivery": "init-container",
        "cwii.dev/gcp-skip-containers": "other",
    }
    clean = copy.deepcopy(attack)
    attack["spec"]["initContainers"] = [container]

    assert ask(policy, clean, mode=mode).response["allowed"]
    assert not ask(policy, attack, mode=mode).response["allowed"]


def test_a_container_that_only_reads_the_credentials_file_passes() -> None:
    attack = served("gcp")
    attack["metadata"]["annotations"]["cwii.dev/gcp-delivery"] = "init-container"
    reading = [{"name": "cwii-gcp-creds", "mountPath": "/c", "readOnly": True}]
    attack["spec"]["initContainers"] = [{**WRITER, "name": "other", "volumeMounts": reading}]

    answer = ask(LIMITS, attack)
    assert answer.response["allowed"], message(answer)
    assert ask(LIMITS, answer.pod).response["allowed"], "the second pass, too"


TOOLS = {
    "Pod Identity of one's own": (
        env(
            AWS_CONTAINER_CREDENTIALS_FULL_URI="http://169.254.170.23/v1/credentials",
            AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="/own/token",
        ),
        token("pods.eks.amazonaws.com"),
    ),
    "Terraform for Azure": (
        env(ARM_CLIENT_ID=EVIL_GUID, ARM_TENANT_ID=GOOD_GUID, ARM_OIDC_TOKEN_FILE_PATH="/own/token"),
        token("api://AzureADTokenExchange"),
    ),
    "Terraform for Google Cloud": (env(GOOGLE_CREDENTIALS="{}"), token(POOL)),
    "an account that Terraform impersonates": (
        env(GOOGLE_IMPERSONATE_SERVICE_ACCOUNT=EVIL_MAIL),
        token(POOL),
    ),
}


@MODES
@POLICIES
@pytest.mark.parametrize("attack", TOOLS)
def test_variables_of_other_tools_are_judged(attack: str, policy: Json, mode: str) -> None:
    variables, volume = TOOLS[attack]

    answer = ask(policy, pod(variables, [volume]), mode=mode)

    if answer.response["allowed"]:  # by variables of ours, which SDKs read first
        names = {one["name"] for one in answer.pod["spec"]["containers"][0]["env"]}
        assert names >= {"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"}
        assert (attack, policy["name"]) == ("Pod Identity of one's own", "locked")


@pytest.mark.parametrize(
    "host",
    [
        "https://[",
        "http://login.microsoftonline.com",
        "https://evil.example:x@login.microsoftonline.com",
        "https://evil.example\\@login.microsoftonline.com",
        "https://login.microsoftonline.com:port/",
    ],
)
def test_an_authority_of_another_form_does_not_pass_a_lock(host: str) -> None:
    answer = ask(LOCKED, served("az", env=env(AZURE_AUTHORITY_HOST=host)))

    assert not answer.response["allowed"]
    assert "authority host" in message(answer)


# ── what the guard costs ───────────────────────────────────────────────────────────────────────────────────

MANY = 3000
TEXT = '{"audience":"x","credential_source":{"file":"/own/a/b/c/d/e/f/g/token"}}'
COSTLY: dict[str, Json] = {
    "a list of tenants": pod(env(AZURE_ADDITIONALLY_ALLOWED_TENANTS="a;" * 200_000), [token("x")]),
    "a list of different tenants": pod(
        env(AZURE_ADDITIONALLY_ALLOWED_TENANTS=";".join(f"{n:x}" for n in range(50_000))), [token("x")]
    ),
    "accounts to impersonate": pod(
        env(CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT="a," * 200_000), [token("x")]
    ),
    "credentials in variables": pod(env(CWII_GCP_CREDS_JSON=TEXT) * MANY, [token()]),
    "roles": pod([one for n in range(MANY) for one in env(AWS_ROLE_ARN=f"{EVIL_ROLE}{n}")], [token()]),
    "token files": pod(
        [one for n in range(MANY) for one in env(AWS_WEB_IDENTITY_TOKEN_FILE=f"/own/{n}")], [token()]
    ),
    "profiles": pod([one for n in range(MANY) for one in env(AWS_PROFILE=f"p{n}")], [token()]),
}
for _n, _one in enumerate(COSTLY["credentials in variables"]["spec"]["containers"][0]["env"]):
    _one["value"] = TEXT.replace("x", f"x{_n}")
_WIDE = pod([], [token()])
_WIDE["spec"]["containers"] = [
    {
        "name": f"c{n}",
        "env": [one for m in range(25) for one in env(CWII_GCP_CREDS_JSON=TEXT.replace("x", f"{n}-{m}"))],
        "volumeMounts": [{"name": "own", "mountPath": "/own" + f"/{n}" * 20}],
    }
    for n in range(100)
]
COSTLY["credentials and mounts in many containers"] = _WIDE
GLOBS = {"roleArns": [f"arn:aws:iam::{n:012}:role/*" for n in range(500)]}
WIDE_LIMITS = {"name": "many", "limits": {"aws": GLOBS, "az": {"tenantIds": [GOOD_GUID]}}}


@pytest.mark.parametrize("policy", [LIMITS, LOCKED, WIDE_LIMITS], ids=["limits", "locked", "500 globs"])
@pytest.mark.parametrize("what", COSTLY)
def test_the_guard_costs_no_more_than_the_size_of_the_review(what: str, policy: Json) -> None:
    body = case.review(COSTLY[what])
    handler, _ = case.handler_of(case.cluster_of([]), schema.parse({"policies": [policy]}, "test"))
    with _Work() as work:
        response = case.post(handler, body)

    assert work.lines <= 60_000 + len(body)
    assert len(response.body) < 20_000


def test_more_identities_than_the_cap_are_refused_with_its_name() -> None:
    roles = [f"arn:aws:iam::111111111111:role/team-a-{n}" for n in range(101)]
    attack = pod([], [token()])
    attack["spec"]["containers"] = [
        {
            "name": f"c{n}",
            "env": env(AWS_ROLE_ARN=role, AWS_WEB_IDENTITY_TOKEN_FILE="/own/token"),
            "volumeMounts": [{"name": "own", "mountPath": "/own"}],
        }
        for n, role in enumerate(roles)
    ]
    allowing = {"name": "l", "limits": {"aws": {"roleArns": ["arn:aws:iam::111111111111:role/team-a-*"]}}}

    assert "podLimits.identityValues" in message(ask(allowing, attack))
    attack["spec"]["containers"] = attack["spec"]["containers"][:99]
    assert ask(allowing, attack).response["allowed"]


@pytest.mark.parametrize("text", ["a", "ab", "a/b", "", "abc\n", "xab", "a*", "ab" * 100])
def test_a_matcher_of_many_globs_agrees_with_each_of_them(text: str) -> None:
    globs = ["a", "a*", "*b", "a*c", "", "a/*/c", "**"]
    for end in range(len(globs)):
        some = globs[: end + 1]
        assert glob_patterns.matcher(some)(text) == any(glob_patterns.matches(glob, text) for glob in some), (
            some
        )


# ── policies that would do nothing ─────────────────────────────────────────────────────────────────────────

IDLE: dict[str, tuple[Json, str]] = {
    "nothing at all": ({}, "want one of the two"),
    "a lock without identities": ({"locked": True, "limits": {"clouds": []}}, "which it would lock"),
    "empty limits": ({"limits": {}}, "limits nothing"),
    "an empty role": ({"identities": {"aws": {"roleArn": ""}}}, "is empty, want a value"),
    "an empty list of globs": ({"limits": {"aws": {"roleArns": []}}}, "leave it out"),
    "a regular expression": ({"limits": {"aws": {"roleArns": ["^arn:.*$"]}}}, "want a glob"),
    "a template in a glob": ({"limits": {"aws": {"roleArns": ["arn:{namespace}"]}}}, "want a glob"),
    "no namespace": ({"match": {"namespaces": []}, "limits": {"clouds": []}}, "matches nothing"),
    "no account": ({"match": {"serviceAccounts": []}, "limits": {"clouds": []}}, "matches nothing"),
    "a variable that is never used": (
        {"limits": {"clouds": []}, "variables": {"namespace": "x"}},
        "is never used",
    ),
}


@pytest.mark.parametrize("what", IDLE)
def test_a_policy_without_effect_is_refused(what: str) -> None:
    spec, text = IDLE[what]

    with pytest.raises(errors.InvalidSettings) as settings:
        schema.parse({"policies": [{"name": "p", **spec}]}, "test")
    with pytest.raises(errors.InvalidInput) as stored:
        identitypolicy.of_object({"metadata": {"name": "p"}, "spec": spec})
    assert text in str(settings.value)
    assert text in str(stored.value)


@pytest.mark.parametrize(
    ("key", "hint"), [("limits", "did you mean spec.limits?"), ("Spec", "did you mean spec?")]
)
def test_fields_beside_the_spec_are_refused(key: str, hint: str) -> None:
    with pytest.raises(errors.InvalidInput, match="is no known field") as found:
        identitypolicy.of_object({"metadata": {"name": "p"}, key: {"clouds": []}})

    assert hint in str(found.value)


def test_a_stored_lock_without_identities_refuses_identities_and_an_empty_one_does_not() -> None:
    loaded = identitypolicy.load(
        (),
        [
            {"metadata": {"name": "lock"}, "spec": {"locked": True}},
            {"metadata": {"name": "empty"}, "spec": {}},
        ],
    )

    assert [one.name for one in loaded.broken] == ["lock"]
    assert [one.name for one in loaded.policies] == ["empty"]


# ── what is enforced does not wait for a status ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("classes", [(), ("kata",)])
@pytest.mark.parametrize("key", kata.ENFORCED)
@pytest.mark.parametrize("action", ["Replace", "Refuse"])
def test_enforcement_holds_before_a_status_lists_the_class(
    action: str, key: str, classes: tuple[str, ...]
) -> None:
    given = enforcing()
    given["enforce"]["action"] = action
    configured = sandbox.kata(given)
    configured["status"] = {"runtimeClasses": list(classes)}

    answer = sandbox.ask(sandbox.pod("kata-cc", {key: "evil"}), sandbox.namespace(), configured)

    if answer.response["allowed"]:
        assert answer.pod["metadata"]["annotations"][key] != "evil"
        assert action == "Replace"


@pytest.mark.parametrize("value", ["4\nkernel_params=x", "NaN", "-5", "", "1e9"])
def test_a_size_of_a_confidential_guest_is_a_number(value: str) -> None:
    attack = sandbox.pod("kata-cc", {kata.DEFAULT_VCPUS: value})

    answer = sandbox.ask(attack, sandbox.namespace(), sandbox.kata(enforcing()))

    assert "want a number" in message(answer)
