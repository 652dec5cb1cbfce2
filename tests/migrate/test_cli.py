"""``vestibule migrate`` over manifests: installations are recognised, their flags mean the same here, and the
differences are those of the decisions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.migrate import charts
from vestibule import settingsfile
from vestibule.cli.compat import upstream_webhooks
from vestibule.cli.main import cli

Json = dict[str, Any]


def invoke(tmp_path: Path, objects: list[Json], *words: str) -> Result:
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return CliRunner().invoke(cli, ["migrate", "-f", str(file), *words], catch_exceptions=False)


def migrate(tmp_path: Path, objects: list[Json], *words: str) -> Json:
    result = invoke(tmp_path, objects, "-o", "json", *words)
    found: Json = json.loads(result.stdout)
    found["code"] = result.exit_code
    return found


def told(report: Json, mode: str) -> dict[str, int]:
    return {f"{one['kind']}: {one['text']}": one["number"] for one in report[mode]}


def test_azure_is_recognised_and_its_settings_are_the_same(tmp_path: Path) -> None:
    report = migrate(tmp_path, [*charts.azure(), *charts.azure_workloads()])

    (found,) = report["installations"]
    assert (found["program"], found["configuration"]) == ("azwi", charts.AZWI_CONFIGURATION)
    assert found["deployment"] == f"{charts.AZWI_SPACE}/azure-wi-webhook-controller-manager"
    assert report["settings"] == {
        "mode": "strict",
        "vocabularies": ["azwi"],
        "azwi": {
            "tenantId": charts.TENANT,
            "cloud": "AzurePublicCloud",
            "proxyImage": "registry.example/azure/workload-identity/proxy:v1.5.1",
            "proxyInitImage": "registry.example/azure/workload-identity/proxy-init:v1.5.1",
            "proxyLogLevel": "info",
        },
        "webhook": {"failurePolicy": "Fail", "timeoutSeconds": 10},
    }
    assert found["command"] == [
        "vestibule", "webhook", "--as", "azwi", "--mode", "strict",
        "--log-level=info", "--metrics-addr=:8095",
    ]  # fmt: skip
    assert [note for note in found["notes"] if "nothing renews the certificate" in note]
    assert report["serviceAccounts"] == {"azwi": 1}


def test_the_command_line_that_is_printed_can_be_typed(tmp_path: Path) -> None:
    report = migrate(tmp_path, charts.azure())
    (found,) = report["installations"]

    program, rest = upstream_webhooks._program(found["command"][2:])

    assert program == "azwi"
    assert "--metrics-addr=:8095" in rest


@pytest.mark.parametrize(
    ("version", "layout"),
    [
        ("v1.1.0", None),
        ("v1.5.1", None),
        ("v1.6.0", "1.6.0"),
        ("v1.6.0-alpha.0", "1.6.0"),
        ("v1.6.1", "1.6.1"),
        ("v1.7.2", "1.6.1"),
    ],
)
def test_the_layout_is_that_of_the_release(tmp_path: Path, version: str, layout: str | None) -> None:
    report = migrate(tmp_path, charts.azure(version))

    assert report["settings"]["azwi"].get("layout") == layout


def test_an_image_without_a_release_is_reported(tmp_path: Path) -> None:
    report = migrate(tmp_path, charts.azure("latest"))

    assert [note for note in report["installations"][0]["notes"] if "names no release" in note]


def test_a_tenant_in_a_secret_is_reported_and_not_guessed(tmp_path: Path) -> None:
    objects = charts.azure()
    container = next(one for one in objects if one["kind"] == "Deployment")["spec"]["template"]["spec"][
        "containers"
    ][0]
    del container["envFrom"]
    key = {"name": "azure-credentials", "key": "azure_tenant_id"}
    container["env"] = [{"name": "AZURE_TENANT_ID", "valueFrom": {"secretKeyRef": key}}]

    report = migrate(tmp_path, objects)

    assert "tenantId" not in report["settings"]["azwi"]
    assert (
        "AZURE_TENANT_ID comes from Secret azure-credentials key azure_tenant_id, which is not read: "
        "set azwi.tenantId"
    ) in report["installations"][0]["notes"]


def test_what_pods_get_in_strict_is_what_they_get_today(tmp_path: Path) -> None:
    report = migrate(tmp_path, [*charts.azure(), *charts.azure_workloads()])

    assert report["workloads"]["served"] == report["workloads"]["sameInStrict"] == 3
    assert report["strict"] == []
    assert report["code"] == 0


def test_what_better_changes_is_reported_once_with_examples(tmp_path: Path) -> None:
    report = migrate(tmp_path, [*charts.azure(), *charts.azure_workloads()], "--examples", "1")

    better = told(report, "better")
    assert better, report
    assert all(kind == "warning" for kind in {line.partition(":")[0] for line in better})
    assert any("azure.workload.identity/client_id" in line for line in better)
    assert all(len(one["examples"]) == 1 for one in report["better"])
    (example,) = next(one["examples"] for one in report["better"] if "client_id" in one["text"])
    assert example == "Deployment team-a/mistaken"


def test_a_pod_that_would_be_refused_is_an_exit_code(tmp_path: Path) -> None:
    windows = {"kubernetes.io/os": "windows"}
    proxied = charts.deployment("proxied", "app", labels=charts.USE, nodeSelector=windows)
    proxied["spec"]["template"]["metadata"]["annotations"] = {
        "azure.workload.identity/inject-proxy-sidecar": "true"
    }

    report = migrate(tmp_path, [*charts.azure(), *charts.azure_workloads(), proxied])

    assert report["code"] == 3
    (refused,) = report["refused"]
    assert refused["workload"] == "Deployment team-a/proxied"
    assert "which there is for Linux only" in refused["message"]
    assert report["better"][0]["kind"] == "refused"


def test_eks_with_its_mapping_and_its_associations(tmp_path: Path) -> None:
    listed = json.dumps({"identities": [{"namespace": "team-a", "serviceAccount": "agent"}]})
    flags = ["--token-audience=sts.example", "--watch-config-map=true", "--aws-default-region", "eu-west-1"]
    mapping = json.dumps({"team-a/mapped": {"RoleARN": charts.ARN, "Audience": "sts.example"}})
    objects = [
        *charts.eks(*flags, "--watch-container-credentials-config=/etc/agent/list.json", associations=listed),
        charts.thing("ConfigMap", "pod-identity-webhook", "default", data={"config": mapping}),
        charts.account("app", **{"eks.amazonaws.com/role-arn": charts.ARN}),
        charts.account("agent"),
        charts.account("mapped"),
        charts.deployment("web", "app", initContainers=[{"name": "init", "image": "a"}]),
        charts.deployment("by-agent", "agent"),
        charts.deployment("by-mapping", "mapped"),
        charts.deployment("left-out", "app", labels={"eks.amazonaws.com/skip-pod-identity-webhook": "true"}),
    ]

    report = migrate(tmp_path, objects)

    assert report["settings"]["eks"] == {
        "tokenAudience": "sts.example",
        "awsDefaultRegion": "eu-west-1",
        "mappingConfigMap": "default/pod-identity-webhook",
        "containerCredentials": {"identities": [{"namespace": "team-a", "serviceAccount": "agent"}]},
    }
    assert report["workloads"]["served"] == 3
    notes = report["installations"][0]["notes"]
    assert any(
        "skip-pod-identity-webhook DoesNotExist has no equivalent in the settings" in note for note in notes
    )
    strict = told(report, "strict")
    assert set(strict.values()) == {1}
    assert {example for one in report["strict"] for example in one["examples"]} == {
        "Deployment team-a/left-out"
    }
    assert report["workloads"]["sameInStrict"] == 3


def test_google_is_known_by_its_image(tmp_path: Path) -> None:
    provider = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
    keys = {
        "cloud.google.com/workload-identity-provider": provider,
        "cloud.google.com/service-account-email": "app@shop-1.iam.gserviceaccount.com",
    }
    objects = [*charts.google(), charts.account("app", **keys), charts.deployment("web", "app")]

    report = migrate(tmp_path, objects)

    (found,) = report["installations"]
    assert (found["program"], found["configuration"]) == ("wif", "my-webhooks")
    assert report["settings"]["wif"] == {"tokenExpirationSeconds": 7200, "defaultRegion": "europe-west4"}
    assert (report["workloads"]["served"], report["workloads"]["sameInStrict"]) == (1, 1)
    better = told(report, "better")
    assert better["container: init container gcloud-setup no longer added"] == 1


def test_cwii_needs_no_other_flags(tmp_path: Path) -> None:
    keys = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": charts.ARN}
    objects = [*charts.cwii(), charts.account("app", **keys), charts.deployment("web", "app")]

    report = migrate(tmp_path, objects)

    assert report["settings"]["mountRoot"] == "/var/run/identity"
    assert report["settings"]["aws"] == {"defaultAudience": "sts.example"}
    assert report["installations"][0]["command"] == [
        "vestibule", "webhook", "--mode", "strict",
        "--addr", "0.0.0.0:8443", "--mount-root", "/var/run/identity",
    ]  # fmt: skip
    assert report["workloads"]["sameInStrict"] == 1


def test_two_webhooks_become_one(tmp_path: Path) -> None:
    objects = [
        *charts.azure(),
        *charts.eks(),
        *charts.azure_workloads(),
        charts.account(
            "both",
            **{"azure.workload.identity/client-id": charts.CLIENT, "eks.amazonaws.com/role-arn": charts.ARN},
        ),
        charts.deployment("both", "both", labels=charts.USE),
    ]

    report = migrate(tmp_path, objects)

    assert report["settings"]["vocabularies"] == ["azwi", "eks"]
    assert report["settings"]["webhook"]["failurePolicy"] == "Fail"
    assert any("different failure policies" in note for note in report["notes"])
    assert report["workloads"]["served"] == report["workloads"]["sameInStrict"] == 4


def test_gkes_key_wants_a_provider(tmp_path: Path) -> None:
    provider = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
    objects = [
        charts.account("app", **{"iam.gke.io/gcp-service-account": "app@shop-1.iam.gserviceaccount.com"}),
        charts.deployment("web", "app"),
    ]

    without = migrate(tmp_path, objects)
    report = migrate(tmp_path, objects, "--gcp-provider", provider)

    assert without["settings"] == {}
    assert any("give --gcp-provider" in note for note in without["notes"])
    assert report["settings"]["vocabularies"] == ["gke"]
    assert report["settings"]["wif"] == {"provider": provider}
    assert report["workloads"]["served"] == 1


def test_workloads_alone_are_enough_to_see_what_better_changes(tmp_path: Path) -> None:
    report = migrate(tmp_path, charts.azure_workloads())

    assert report["installations"] == []
    assert report["settings"]["vocabularies"] == ["azwi"]
    assert report["workloads"]["served"] == 3


def test_flags_that_mean_nothing_here_are_reported(tmp_path: Path) -> None:
    report = migrate(
        tmp_path, charts.azure("v1.5.1", "--no-such-flag=1", "word", "--tls-min-version=9", "--audience=a")
    )

    notes = report["installations"][0]["notes"]
    assert "left out: --no-such-flag: is not a flag of the upstream webhook" in notes
    assert any(note.startswith("left out: --tls-min-version: is '9'") for note in notes)
    assert any("has 'word', want a flag" in note for note in notes)
    assert report["settings"]["azwi"]["audience"] == "a"


def test_a_program_in_a_script_is_reported(tmp_path: Path) -> None:
    objects = charts.azure()
    container = next(one for one in objects if one["kind"] == "Deployment")["spec"]["template"]["spec"][
        "containers"
    ][0]
    container |= {"command": ["/bin/sh", "-c"], "args": ["exec /manager --audience=x"]}

    (found,) = migrate(tmp_path, objects)["installations"]

    assert (found["command"], found["dropIn"]) == ([], [])
    assert any("its flags are in a script" in note for note in found["notes"])


def test_a_webhook_of_the_vendor_is_not_ours_to_remove(tmp_path: Path) -> None:
    configuration = charts.thing(
        "MutatingWebhookConfiguration",
        "pod-identity-webhook",
        webhooks=[
            {
                "name": "iam-for-pods.amazonaws.com",
                "clientConfig": {"url": "https://127.0.0.1:23443/mutate"},
                "rules": charts.PODS,
            }
        ],
    )

    report = migrate(tmp_path, [configuration])

    (found,) = report["installations"]
    assert (found["managed"], found["remove"]) == (True, [])
    assert any("switch it off there" in step for step in report["steps"])


def test_what_is_left_to_remove_is_the_others_own(tmp_path: Path) -> None:
    (found,) = migrate(tmp_path, charts.azure())["installations"]

    name, space = "azure-wi-webhook-controller-manager", charts.AZWI_SPACE
    assert found["remove"] == [
        f"MutatingWebhookConfiguration {charts.AZWI_CONFIGURATION}",
        f"Service {space}/{name}-service",
        f"Deployment {space}/{name}",
        f"Secret {space}/azure-wi-webhook-server-cert",
        f"ConfigMap {space}/azure-wi-webhook-config",
        f"ServiceAccount {space}/azure-wi-webhook-admin",
        f"ClusterRoleBinding {name}-rolebinding",
        f"ClusterRole {name}-role",
    ]


def test_the_settings_that_are_printed_are_a_settings_file(tmp_path: Path) -> None:
    result = invoke(tmp_path, [*charts.azure(), *charts.eks("--sts-regional-endpoint")], "-o", "settings")
    file = tmp_path / "settings.yaml"
    file.write_text(result.stdout)

    settings = settingsfile.load(file, {})

    assert (settings.mode, settings.vocabularies) == ("strict", ("azwi", "eks"))
    assert settings.azwi.tenant_id == charts.TENANT
    assert settings.eks.sts_regional_endpoint
    assert "warning: " in result.stderr


def test_people_read_it_from_top_to_bottom(tmp_path: Path) -> None:
    text = invoke(tmp_path, [*charts.azure(), *charts.azure_workloads()]).stdout

    heads = [line.partition("  ")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    assert heads == [
        "installed", "in its place", "ServiceAccounts", "settings", "side by side", "left to remove",
        "workloads", "in strict", "in better",
    ]  # fmt: skip
    assert "in strict  the same for 3 of 3" in text


def test_nothing_to_say_is_said(tmp_path: Path) -> None:
    result = invoke(tmp_path, [charts.deployment("web", "app")])

    assert result.exit_code == 0
    assert result.stdout.startswith("no other identity webhook is installed here")
    assert "no workload requests a cloud identity" in result.stdout


def test_keys_on_workloads_alone_count_too(tmp_path: Path) -> None:
    web = charts.deployment("web", "app")
    web["metadata"]["annotations"] = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": charts.ARN}

    report = migrate(tmp_path, [web])

    assert report["settings"] == {"mode": "strict"}
    assert report["workloads"]["served"] == 1


USAGE = {
    "nothing to look at": ([], "nothing to compare: give -f, --kubeconfig or --context"),
    "both": (["-f", "x", "--context", "y"], "-f and a cluster exclude each other"),
    "a file that is not there": (["-f", "no/such.yaml"], "no/such.yaml: cannot be read"),
}


@pytest.mark.parametrize("sentence", USAGE)
def test_a_question_that_makes_no_sense_exits_2(sentence: str) -> None:
    words, message = USAGE[sentence]
    command = [sys.executable, "-m", "vestibule", "migrate", *words]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert message in done.stderr
