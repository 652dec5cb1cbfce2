"""Command lines as Go reads them, and what those of the originals mean in our settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from vestibule import errors, settingsfile
from vestibule.api.settings import schema
from vestibule.api.settings.azwi import AzwiSettings
from vestibule.api.settings.eks import ContainerCredentials, EksSettings
from vestibule.api.settings.wif import WifSettings
from vestibule.compat import azwi_flags, eks_flags, goflags, wif_flags
from vestibule.compat.goflags import GoFlag

FLAGS = (GoFlag("name", ""), GoFlag("on", "", "bool"), GoFlag("old", "nobody needs it", used=False))
MODULES = {"azwi": azwi_flags, "eks": eks_flags, "wif": wif_flags}

GO: dict[str, tuple[list[str], dict[str, str]]] = {
    "two dashes, equals sign": (["--name=a"], {"name": "a"}),
    "one dash": (["-name=a", "-on"], {"name": "a", "on": "true"}),
    "the value apart": (["--name", "a", "-on"], {"name": "a", "on": "true"}),
    "a value that begins with a dash": (["--name", "-a"], {"name": "-a"}),
    "an empty value": (["--name="], {"name": ""}),
    "an equals sign in the value": (["--name=a=b"], {"name": "a=b"}),
    "the last of a name counts": (["--name=a", "--name", "b"], {"name": "b"}),
    "every word for a boolean": (["--on=T", "--on=0"], {"on": "0"}),
    "nothing": ([], {}),
    "the end of the flags": (["-on", "--"], {"on": "true"}),
}


@pytest.mark.parametrize("sentence", GO)
def test_flags_as_go_reads_them(sentence: str) -> None:
    arguments, expected = GO[sentence]

    assert goflags.parse(FLAGS, arguments) == expected


ODD: dict[str, tuple[list[str], str]] = {
    "a flag that is none": (["--nome=a"], "--nome: is not a flag of the upstream webhook"),
    "no flag at all": (["name"], "command line: has 'name', want a flag"),
    "a boolean with its value apart": (["--on", "false"], "command line: has 'false', want a flag"),
    "a boolean that is none": (["--on=yes"], "--on: is 'yes', want true or false"),
    "a value that is missing": (["--name"], "--name: has no value"),
    "three dashes": (["---name=a"], "command line: has '---name=a', want a flag"),
    "a dash alone": (["-"], "command line: has '-', want a flag"),
    "a flag without a name": (["--=a"], "command line: has '--=a', want a flag"),
    "words behind the end": (["--", "a", "b"], "command line: has 'a b', want flags only"),
}


@pytest.mark.parametrize("sentence", ODD)
def test_what_go_would_stumble_over_is_reported_by_name(sentence: str) -> None:
    arguments, expected = ODD[sentence]
    with pytest.raises(errors.InvalidSettings) as raised:
        goflags.parse(FLAGS, arguments)

    assert str(raised.value) == expected


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(errors.InvalidSettings) as raised:
        goflags.parse(FLAGS, ["--nome", "--on=x", "--name"])

    assert [problem.place for problem in raised.value.problems] == ["--nome", "--on", "--name"]


def meaning(program: str, arguments: Sequence[str], **environ: str) -> goflags.FlagSettings:
    module = MODULES[program]
    found: goflags.FlagSettings = module.settings(goflags.parse(module.FLAGS, arguments), environ)
    return found


def settings(program: str, arguments: Sequence[str], **environ: str) -> schema.Settings:
    message = meaning(program, arguments, **environ)
    return settingsfile.load(None, message.over, message.under)


def test_nothing_given_is_what_upstreams_have() -> None:
    azwi, eks, wif = (settings(program, []) for program in MODULES)

    assert [one.vocabularies for one in (azwi, eks, wif)] == [("azwi",), ("eks",), ("wif",)]
    assert {one.on_forbidden for one in (azwi, eks, wif)} == {"pass-over"}
    assert azwi.serving == schema.ServingSettings(
        addr="[::]:9443",
        health_addr="[::]:9440",
        metrics_addr="[::]:8095",
        tls_cert="/certs/tls.crt",
        tls_key="/certs/tls.key",
        tls_min_version="1.3",
        log_level="warning",
    )
    assert eks.serving == schema.ServingSettings(
        addr="[::]:443",
        metrics_addr="[::]:9999",
        tls_cert="/etc/webhook/certs/tls.crt",
        tls_key="/etc/webhook/certs/tls.key",
    )
    assert wif.serving == schema.ServingSettings(
        addr="[::]:9443",
        health_addr="[::]:8081",
        metrics_addr="[::]:8080",
        tls_cert="/tmp/k8s-webhook-server/serving-certs/tls.crt",
        tls_key="/tmp/k8s-webhook-server/serving-certs/tls.key",
    )
    assert (azwi.azwi, eks.eks, wif.wif) == (AzwiSettings(), EksSettings(), WifSettings())


def test_the_sidecar_of_hosted_control_planes() -> None:
    arguments = [
        "--webhook-cert-dir=/var/run/app/certs",
        "--health-addr=:9440",
        "--audience=api://AzureADTokenExchange",
        "--kubeconfig=/var/run/app/kubeconfig/kubeconfig",
        "--metrics-addr=:9441",
        "--log-level=info",
        "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "--tls-min-version=VersionTLS12",
        "--disable-cert-rotation",
    ]
    message = meaning("azwi", arguments, AZURE_TENANT_ID="t", AZURE_ENVIRONMENT="AzurePublicCloud")
    found = settings("azwi", arguments, AZURE_TENANT_ID="t", AZURE_ENVIRONMENT="AzurePublicCloud")

    assert message.kubeconfig == "/var/run/app/kubeconfig/kubeconfig"
    assert message.notes == ()
    assert (found.azwi.tenant_id, found.azwi.cloud) == ("t", "AzurePublicCloud")
    assert found.azwi.proxy_log_level == "info"
    assert found.serving.tls_cert == "/var/run/app/certs/tls.crt"
    assert found.serving.metrics_addr == "[::]:9441"
    assert found.serving.log_level == "info"
    assert found.serving.tls_min_version == "1.2"
    assert len(found.serving.tls_cipher_suites) == 2


def test_variables_of_azure_with_and_without_their_prefix() -> None:
    found = settings(
        "azwi",
        ["--custom-token-endpoint-annotation-suffix=b", "--custom-token-endpoint-audience=api://b"],
        CONFIG_AZURE_TENANT_ID="one",
        AZURE_TENANT_ID="two",
        PROXY_IMAGE="p",
        PROXY_INIT_IMAGE="i",
        AZURE_KUBERNETES_TOKEN_PROXY="https://p.example",
        AZURE_KUBERNETES_SNI_NAME="s",
        AZURE_KUBERNETES_CA_CTB_SIGNER_NAME="signer",
        AZURE_KUBERNETES_CA_CTB_LABEL_SELECTOR='{"matchLabels":{"a":"b"}}',
    ).azwi

    assert (found.tenant_id, found.proxy_image, found.proxy_init_image) == ("one", "p", "i")
    assert (found.endpoint.annotation_suffix, found.endpoint.audience) == ("b", "api://b")
    assert (found.endpoint.token_proxy, found.endpoint.ca_signer_name) == ("https://p.example", "signer")


def test_every_flag_of_eks() -> None:
    found = settings(
        "eks",
        [
            "--annotation-prefix=iam.example", "--token-audience", "aud", "--token-mount-path=/m",
            "--token-expiration=3600", "--aws-default-region=eu-west-1", "--sts-regional-endpoint",
            "--watch-config-map", "--namespace=kube-system",
            "--watch-container-credentials-config=/etc/c.json", "--container-credentials-audience=ca",
            "--container-credentials-mount-path=/cm", "--container-credentials-volume-name=cv",
            "--container-credentials-token-path=ct",
            "--container-credentials-full-uri=http://[fd00:ec2::23]/v1/credentials",
            "--port=4443", "--metrics-port=9998", "--tls-cert=/c", "--tls-key=/k", "-v=5",
        ],
    )  # fmt: skip

    assert found.eks == EksSettings(
        annotation_prefix="iam.example",
        token_audience="aud",
        token_mount_path="/m",
        token_expiration=3600,
        aws_default_region="eu-west-1",
        sts_regional_endpoint=True,
        mapping_config_map="kube-system/pod-identity-webhook",
        container_credentials=ContainerCredentials(
            file="/etc/c.json",
            audience="ca",
            mount_path="/cm",
            volume_name="cv",
            token_path="ct",
            full_uri="http://[fd00:ec2::23]/v1/credentials",
        ),
    )
    assert (found.serving.addr, found.serving.metrics_addr) == ("[::]:4443", "[::]:9998")
    assert (found.serving.tls_cert, found.serving.tls_key, found.serving.log_level) == ("/c", "/k", "debug")


def test_every_flag_of_the_gcp_webhook() -> None:
    found = settings(
        "wif",
        [
            "-annotation-prefix=g.example", "-token-audience=aud", "-token-expiration=1h30m",
            "-token-default-mode=0444", "-gcp-default-region=europe-west1", "-gcloud-image=g:1",
            '-setup-container-resources={"requests":{"cpu":"1"}}', "-default-injection-mode=gcloud",
            "-health-probe-bind-address=:1", "-metrics-bind-address=127.0.0.1:8080", "-webhook-port=9444",
            "-webhook-cert-dir=/c/", "-zap-log-level=2",
        ],
    )  # fmt: skip

    assert found.wif == WifSettings(
        annotation_prefix="g.example",
        token_audience="aud",
        token_expiration_seconds=5400,
        token_default_mode=0o444,
        default_region="europe-west1",
        gcloud_image="g:1",
        setup_resources={"requests": {"cpu": "1"}},
        injection_mode="gcloud",
    )
    assert (found.serving.addr, found.serving.health_addr) == ("[::]:9444", "[::]:1")
    assert (found.serving.metrics_addr, found.serving.tls_key) == ("127.0.0.1:8080", "/c/tls.key")
    assert found.serving.log_level == "debug"


ADDRESSES = {":8095": "[::]:8095", "0": "", "": "", "localhost:1": "127.0.0.1:1", "[::1]:2": "[::1]:2"}


@pytest.mark.parametrize("text", ADDRESSES)
def test_addresses_as_go_reads_them(text: str) -> None:
    assert settings("azwi", [f"--metrics-addr={text}"]).serving.metrics_addr == ADDRESSES[text]


MODES = {"0440": 0o440, "0o440": 0o440, "440": 440, "0": 0}


@pytest.mark.parametrize("text", MODES)
def test_a_file_mode_is_octal_with_a_leading_zero_only(text: str) -> None:
    assert meaning("wif", [f"--token-default-mode={text}"]).over["wif"]["tokenDefaultMode"] == MODES[text]


WRONG: dict[str, tuple[str, str, str]] = {
    "level": ("azwi", "--log-level=loud", "--log-level: is 'loud', want info, debug, trace or all"),
    "backend": ("azwi", "--metrics-backend=x", "--metrics-backend: is 'x', want prometheus"),
    "address": ("azwi", "--health-addr=here", "--health-addr: is 'here', want HOST:PORT or :PORT"),
    "version": ("azwi", "--tls-min-version=VersionSSL30", "--tls-min-version: is 'VersionSSL30', want 1.2"),
    "number": ("eks", "--token-expiration=1d", "--token-expiration: is '1d', want a whole number"),
    "port": ("eks", "--port=65536", "--port: is '65536', want a port"),
    "verbosity": ("eks", "-v=x", "--v: is 'x', want a whole number"),
    "duration": ("wif", "--token-expiration=60", "--token-expiration: is '60', want a duration such as 24h"),
    "mode": ("wif", "--token-default-mode=0999", "--token-default-mode: is '0999', want a file mode"),
    "resources": ("wif", "--setup-container-resources=[]", "--setup-container-resources: is '[]', want an"),
    "injection": ("wif", "--default-injection-mode=x", "--default-injection-mode: is 'x', want direct or"),
    "logs": ("wif", "--zap-log-level=loud", "--zap-log-level: is 'loud', want debug, info, error"),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_a_value_that_cannot_be_used_is_reported_by_its_flag(sentence: str) -> None:
    program, argument, expected = WRONG[sentence]
    with pytest.raises(errors.InvalidSettings) as raised:
        meaning(program, [argument])

    assert str(raised.value).startswith(expected)


NOTED: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "a flag without effect": ("eks", ["--logtostderr"], {"--logtostderr": "logs are JSON lines"}),
    "several": (
        "wif",
        ["--leader-elect", "--zap-devel=false"],
        {"--leader-elect": "every replica serves", "--zap-devel": "logs are JSON lines"},
    ),
    "certificates of the cluster": ("eks", ["--in-cluster"], {"--in-cluster": "certificates come from"}),
    "certificates of files": ("eks", ["--in-cluster=false"], {}),
    "rotation by the original": ("azwi", [], {"--disable-cert-rotation": "nothing renews"}),
    "rotation by somebody else": ("azwi", ["--disable-cert-rotation=true"], {}),
    "a version that nobody should speak": (
        "azwi",
        ["--disable-cert-rotation", "--tls-min-version=VersionTLS10"],
        {"--tls-min-version": "1.2 is the lowest"},
    ),
}


@pytest.mark.parametrize("sentence", NOTED)
def test_what_does_not_do_what_it_did_is_noted(sentence: str) -> None:
    program, arguments, expected = NOTED[sentence]
    notes = dict(meaning(program, arguments).notes)

    assert notes.keys() == expected.keys()
    assert all(expected[flag] in reason for flag, reason in notes.items())


def test_every_flag_without_effect_is_noted_when_it_is_given() -> None:
    for program, module in MODULES.items():
        for flag in module.FLAGS:
            if not flag.used:
                argument = f"--{flag.name}" if flag.form == "bool" else f"--{flag.name}=x"

                assert (f"--{flag.name}", flag.about) in meaning(program, [argument]).notes


def test_the_file_beats_what_nobody_said_and_flags_beat_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        'vocabularies = ["azwi", "eks"]\n[serving]\naddr = "127.0.0.1:9443"\nlogLevel = "error"\n'
        '[azwi]\ntenantId = "file"\nlayout = "1.6.1"\n'
    )
    message = meaning("azwi", ["--log-level=debug"], AZURE_ENVIRONMENT="AzureChinaCloud")
    found = settingsfile.load(file, message.over, message.under)

    assert found.vocabularies == ("azwi", "eks")
    assert (found.serving.addr, found.serving.health_addr) == ("127.0.0.1:9443", "[::]:9440")
    assert found.serving.log_level == "debug"
    assert (found.azwi.tenant_id, found.azwi.layout) == ("file", "1.6.1")
    assert found.azwi.cloud == "AzureChinaCloud"


def test_origins_lead_from_every_setting_to_its_flag() -> None:
    message = meaning("azwi", ["--audience=a", "--tls-min-version=1.2"], AZURE_TENANT_ID="t")

    def paths(data: Mapping[str, Any], above: str = "") -> list[str]:
        return [
            path
            for key, value in data.items()
            for path in (paths(value, f"{above}{key}.") if isinstance(value, dict) else [above + key])
        ]

    assert sorted(paths(message.over)) == sorted(message.origins)
    assert message.origins["azwi.tenantId"] == "AZURE_TENANT_ID"
    assert message.origins["serving.tlsMinVersion"] == "--tls-min-version"
