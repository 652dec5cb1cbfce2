"""Values that try to be more than a value: line breaks, addresses, names of sections. None reaches a pod."""

from __future__ import annotations

import configparser
import json
from typing import Any

import pytest

from tests.vectors import case
from vestibule.api import glob_patterns
from vestibule.api.settings import schema
from vestibule.injection import encoders

Json = dict[str, Any]
ROLE = "arn:aws:iam::123456789012:role/app"
GUID = "11111111-1111-1111-1111-111111111111"
POOL = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
MAIL = "app@p.iam.gserviceaccount.com"
EVIL_MAIL = "evil@x.iam.gserviceaccount.com:generateAccessToken?x=@p.iam.gserviceaccount.com"

ASKS: dict[str, tuple[list[str], dict[str, str]]] = {
    "cwii aws": (["cwii"], {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE}),
    "cwii az": (
        ["cwii"],
        {"cwii.dev/az-inject": "true", "cwii.dev/az-client-id": GUID, "cwii.dev/az-tenant-id": GUID},
    ),
    "cwii gcp": (
        ["cwii"],
        {
            "cwii.dev/gcp-inject": "true",
            "cwii.dev/gcp-audience": f"//iam.googleapis.com/{POOL}",
            "cwii.dev/gcp-service-account": MAIL,
        },
    ),
    "eks": (
        ["eks"],
        {"eks.amazonaws.com/role-arn": ROLE, "eks.amazonaws.com/audience": "sts.amazonaws.com"},
    ),
    "azwi": (
        ["azwi"],
        {"azure.workload.identity/client-id": GUID, "azure.workload.identity/tenant-id": GUID},
    ),
    "wif": (
        ["wif"],
        {
            "cloud.google.com/workload-identity-provider": POOL,
            "cloud.google.com/service-account-email": MAIL,
            "cloud.google.com/audience": "sts.googleapis.com",
        },
    ),
    "gke": (["gke"], {"iam.gke.io/gcp-service-account": MAIL}),
}


def ask(dialects: list[str], account: dict[str, str], pod: dict[str, str] | None = None, **more: Any) -> Any:
    settings = {
        "vocabularies": dialects,
        "azwi": {"requireLabel": False},
        "wif": {"provider": POOL},
        **more,
    }
    meta = {"name": "app", "namespace": "team-a", "annotations": account}
    cluster = case.cluster_of([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}])
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": pod or {}},
        "spec": {"serviceAccountName": "app", "containers": [{"name": "app"}]},
    }
    return case.ask(body, cluster, schema.parse(settings, "test"))


@pytest.mark.parametrize("mode", ["better", "strict"])
@pytest.mark.parametrize("control", ["\n", "\r", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u202e"])
@pytest.mark.parametrize("name", ASKS)
def test_control_characters_inside_a_value_pass_in_no_dialect_and_no_mode(
    name: str, control: str, mode: str
) -> None:
    dialects, asks = ASKS[name]
    for key, value in asks.items():
        if value in ("true",):
            continue
        bad = f"{value[:5]}{control}credential_process = /bin/sh{value[5:]}"

        answer = ask(dialects, {**asks, key: bad}, mode=mode)

        assert control not in json.dumps(answer.operations, ensure_ascii=False), (key, mode)
        if value != POOL or mode == "better":
            assert not answer.response["allowed"], (key, mode)
            assert key in answer.response["status"]["message"] or mode == "strict"


def test_a_line_break_in_the_role_of_a_profile_writes_no_line_into_the_configuration() -> None:
    key = "cwii.dev/aws-profile.x"
    answer = ask(["cwii"], {"cwii.dev/aws-inject": "true", key: f"{ROLE}\ncredential_process = /bin/sh"})

    assert not answer.response["allowed"]
    assert answer.response["status"]["code"] == 422
    assert answer.response["status"]["message"].startswith(
        f"ServiceAccount team-a/app: {key} is 'arn:aws:iam::123456789012:role/app\\ncredential_process"
    )


@pytest.mark.parametrize("suffix", ["x]\n[default", "a b", "", "x]", "../x"])
def test_a_profile_whose_name_is_none_is_refused(suffix: str) -> None:
    answer = ask(["cwii"], {"cwii.dev/aws-inject": "true", f"cwii.dev/aws-profile.{suffix}": ROLE})

    assert not answer.response["allowed"]


@pytest.mark.parametrize("dialects", [["cwii"], ["wif"], ["gke"]])
@pytest.mark.parametrize("mode", ["better", "strict"])
def test_an_account_never_changes_the_address_that_it_stands_in(dialects: list[str], mode: str) -> None:
    keys = {
        "cwii": "cwii.dev/gcp-service-account",
        "wif": "cloud.google.com/service-account-email",
        "gke": "iam.gke.io/gcp-service-account",
    }
    name = {"cwii": "cwii gcp", "wif": "wif", "gke": "gke"}[dialects[0]]
    asks = {**ASKS[name][1], keys[dialects[0]]: EVIL_MAIL}
    more = {"gcp": {"delivery": "annotation"}} if mode == "strict" else {}

    answer = ask(dialects, asks, mode=mode, **more)

    assert not answer.response["allowed"]
    url = encoders.impersonation_url("https://iam", EVIL_MAIL)
    assert url.count(":") == 2
    assert "?" not in url


def test_an_address_with_a_tail_does_not_pass_a_limit_by_its_end() -> None:
    policy = {
        "name": "limits",
        "limits": {"gcp": {"serviceAccounts": ["*@p.iam.gserviceaccount.com"]}},
    }
    for dialects, name in ((["wif"], "wif"), (["cwii"], "cwii gcp"), (["gke"], "gke")):
        key = next(key for key, value in ASKS[name][1].items() if value == MAIL)
        for mode in ("better", "strict"):
            answer = ask(dialects, {**ASKS[name][1], key: EVIL_MAIL}, mode=mode, policies=[policy])

            assert not answer.response["allowed"], (dialects, mode)


def test_a_tenant_cannot_end_the_path_that_libraries_put_it_into() -> None:
    answer = ask(["cwii"], {**ASKS["cwii az"][1], "cwii.dev/az-tenant-id": "common/../../evil"})

    assert not answer.response["allowed"]


@pytest.mark.parametrize("name", ["x\n$(POD_NAME)", "$(A) b", "$(A)\x1b", "a$(", "$(A)'"])
def test_a_session_name_with_a_reference_keeps_its_grammar(name: str) -> None:
    answer = ask(["cwii"], {**ASKS["cwii aws"][1], "cwii.dev/aws-role-session-name": name})

    assert "AWS_ROLE_SESSION_NAME" not in json.dumps(answer.operations)


def test_globs_match_no_control_characters() -> None:
    assert glob_patterns.matches("a*", "ab")
    assert not glob_patterns.matches("a*", "a\nb")
    assert not glob_patterns.matches("*", "\0")
    assert not glob_patterns.matches("a\nb", "a\nb")


def test_the_configuration_of_profiles_is_read_back_as_it_was_meant() -> None:
    profiles = [(f"p{n}", {"role_arn": f"{ROLE}{n}", "web_identity_token_file": "/t"}) for n in range(3)]

    parsed = configparser.RawConfigParser()
    parsed.read_string(encoders.aws_config(profiles))

    assert {name: dict(parsed[f"profile {name}"]) for name, _ in profiles} == dict(profiles)
    for name, values in (("a]", {}), ("a\nb", {}), ("", {}), ("x", {"role_arn": "a\nb = c"})):
        with pytest.raises(ValueError, match=r"want one line|no name"):
            encoders.aws_config([(name, values)])
