"""``--as``: a process started with another webhook's command line serves as that webhook does, and what would
take the other one down does not take it down."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.compat_process import (
    CLIENT,
    EMAIL,
    POD,
    ROLE,
    TENANT,
    CompatProcess,
    Program,
    patch,
    running_compat,
)
from tests.process.webhook import free_port, until
from tests.vectors import case

CHART = ("--log-level=info", "--metrics-backend=prometheus")
EKS = (
    "--in-cluster=false",
    "--namespace=default",
    "--service-name=pod-identity-webhook",
    "--annotation-prefix=eks.amazonaws.com",
    "--token-audience=sts.amazonaws.com",
    "--logtostderr",
)
SUITES = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
)
SIDECAR = (
    "--audience=api://AzureADTokenExchange",
    "--log-level=info",
    f"--tls-cipher-suites={','.join(SUITES)}",
    "--tls-min-version=VersionTLS12",
    "--disable-cert-rotation",
)


def vestibule(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vestibule", "webhook", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
def test_the_azure_chart(tmp_path: Path) -> None:
    environ = {
        "AZURE_TENANT_ID": TENANT,
        "AZURE_ENVIRONMENT": "AzurePublicCloud",
        "POD_NAMESPACE": "azure-workload-identity-system",
    }
    with running_compat("azwi", tmp_path, *CHART, **environ) as webhook:
        for version in ("v1", "v1beta1"):
            answer = webhook.review(version=f"admission.k8s.io/{version}")

            assert answer["apiVersion"] == f"admission.k8s.io/{version}"
            assert answer["response"]["allowed"] is True
            for part in (CLIENT, TENANT, "azure-identity-token", "https://login.microsoftonline.com/"):
                assert part in patch(answer)
        assert [webhook.probe(path) for path in ("/healthz", "/readyz")] == [200, 200]
        assert webhook.metric("vestibule_injections_total") == 2
        assert webhook.end() == 0


def test_the_eks_manifests_with_both_review_versions(tmp_path: Path) -> None:
    with running_compat("eks", tmp_path, *EKS) as webhook:
        for version in ("v1", "v1beta1"):
            answer = webhook.review(version=f"admission.k8s.io/{version}")

            assert answer["apiVersion"] == f"admission.k8s.io/{version}"
            assert ROLE in patch(answer)
            assert "/var/run/secrets/eks.amazonaws.com/serviceaccount/token" in patch(answer)
        assert webhook.get("/healthz") == (200, "ok")
        assert webhook.metric("vestibule_injections_total") == 2


@pytest.mark.slow
def test_pod_identity_associations_follow_their_file(tmp_path: Path) -> None:
    file = tmp_path / "associations.json"
    with running_compat("eks", tmp_path, *EKS, f"--watch-container-credentials-config={file}") as webhook:
        assert ROLE in patch(webhook.review())

        file.write_text(json.dumps({"identities": [{"namespace": "team-a", "serviceAccount": "app"}]}))
        until(lambda: "eks-pod-identity-token" in patch(webhook.review()), "the association", 15)
        assert ROLE not in patch(webhook.review())


def test_the_gcp_webhook_with_single_dashes(tmp_path: Path) -> None:
    flags = ("-annotation-prefix=cloud.google.com", "-gcp-default-region", "europe-west3", "-zap-devel=false")
    with running_compat("wif", tmp_path, *flags) as webhook:
        answer = patch(webhook.review())

        for part in (EMAIL, "europe-west3", "/var/run/secrets/workload-identity/federation.json"):
            assert part in answer
        assert webhook.probe("/readyz") == 200


@pytest.mark.parametrize("program", ["azwi", "eks", "wif"])
def test_strict_answers_as_upstream_without_a_word(tmp_path: Path, program: Program) -> None:
    with running_compat(program, tmp_path, "--mode", "strict") as webhook:
        answer = webhook.review()

        assert "patch" in answer["response"]
        assert "warnings" not in answer["response"]
        assert "auditAnnotations" not in answer["response"]


def tls(webhook: CompatProcess, context: ssl.SSLContext) -> tuple[str, str]:
    connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, context=context, timeout=10)
    try:
        connection.connect()
        assert isinstance(connection.sock, ssl.SSLSocket)
        cipher = connection.sock.cipher()
        assert cipher is not None
        return connection.sock.version() or "", cipher[0]
    finally:
        connection.close()


def test_the_sidecar_of_hosted_control_planes_speaks_as_its_profile_says(tmp_path: Path) -> None:
    with running_compat("azwi", tmp_path, *SIDECAR, AZURE_TENANT_ID=TENANT) as webhook:
        old = webhook.authority.trusting()
        old.maximum_version = ssl.TLSVersion.TLSv1_2

        assert tls(webhook, webhook.authority.trusting())[0] == "TLSv1.3"
        version, cipher = tls(webhook, old)
        assert (version, cipher.startswith("ECDHE-ECDSA-")) == ("TLSv1.2", True)
        assert webhook.notes() == []


def test_without_a_word_about_it_azure_speaks_tls_1_3_alone(tmp_path: Path) -> None:
    with running_compat("azwi", tmp_path, AZURE_TENANT_ID=TENANT) as webhook:
        old = webhook.authority.trusting()
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(ssl.SSLError):
            tls(webhook, old)

        assert tls(webhook, webhook.authority.trusting())[0] == "TLSv1.3"


def test_suites_that_nobody_should_speak_are_left_out_and_reported(tmp_path: Path) -> None:
    suites = "--tls-cipher-suites=TLS_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256," + SUITES[0]
    with running_compat("azwi", tmp_path, suites, "--tls-min-version=1.2", AZURE_TENANT_ID=TENANT) as webhook:
        old = webhook.authority.trusting()
        old.maximum_version = ssl.TLSVersion.TLSv1_2

        assert tls(webhook, old) == ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256")
        assert '"suites":["TLS_RSA_WITH_AES_128_GCM_SHA256"]' in webhook.logged()


# ── what would take the original down ───────────────────────────────────────────────────────────────────────


def test_an_empty_tenant_and_a_cloud_nobody_knows_are_reported_and_survived(tmp_path: Path) -> None:
    environ = {"AZURE_TENANT_ID": "", "AZURE_ENVIRONMENT": "AzureStackCloud"}
    with running_compat("azwi", tmp_path, *SIDECAR, **environ) as webhook:
        answer = webhook.review()

        assert CLIENT in patch(answer)
        assert "AZURE_AUTHORITY_HOST" not in patch(answer)
        reported = " ".join(answer["response"]["warnings"])
        assert "the settings name no tenant" in reported
        assert "the webhook's cloud is 'AzureStackCloud', which is none that it knows" in reported
        assert webhook.probe("/readyz") == 200


def kubeconfig(folder: Path, port: int) -> Path:
    """For a control plane that will listen there."""
    path = folder / "kubeconfig"
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    data = {
        "current-context": "admin",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "admin", "user": {}}],
        "contexts": [{"name": "admin", "context": {"cluster": "cluster", "user": "admin"}}],
    }
    path.write_text(json.dumps(data))
    return path


@pytest.mark.slow
def test_an_api_server_that_is_not_up_yet_is_waited_for(tmp_path: Path) -> None:
    """Alive, not ready, and a pod that comes anyway is left to the failure policy."""
    arguments = [*SIDECAR, f"--kubeconfig={kubeconfig(tmp_path, free_port())}"]
    webhook = CompatProcess("azwi", tmp_path, arguments, {"AZURE_TENANT_ID": TENANT}, live=True)
    try:
        until(lambda: "API server not heard" in webhook.logged(), "the first attempt")
        until(lambda: "serving https" in webhook.logged(), "the start")

        assert (webhook.probe("/healthz"), webhook.probe("/readyz")) == (200, 503)
        status, _ = webhook.post(case.review(POD), "/mutate-v1-pod?timeout=2s")
        assert status == 503
        assert webhook.process.poll() is None
        assert webhook.end() == 0
    finally:
        webhook.close()


# ── what is told ────────────────────────────────────────────────────────────────────────────────────────────


def test_flags_without_effect_are_reported_once_at_the_start(tmp_path: Path) -> None:
    flags = ("--logtostderr", "--resync-period=60s", "--tls-secret=s")
    with running_compat("eks", tmp_path, *flags) as webhook:
        webhook.review()
        webhook.review()

        assert {note["flag"]: note["level"] for note in webhook.notes()} == {
            "--logtostderr": "warning",
            "--resync-period": "warning",
            "--tls-secret": "warning",
        }
        assert all(note["reason"].startswith("taken, without effect: ") for note in webhook.notes())
        assert len(webhook.notes()) == len(flags)


def test_a_certificate_that_nobody_renews_is_reported(tmp_path: Path) -> None:
    with running_compat("azwi", tmp_path, *CHART, AZURE_TENANT_ID=TENANT) as webhook:
        assert [note["flag"] for note in webhook.notes()] == ["--disable-cert-rotation"]


ODD: dict[str, tuple[list[str], str]] = {
    "a flag of nobody": (["azwi", "--nope"], "--nope: is not a flag of the upstream webhook"),
    "a flag of another original": (["wif", "--watch-config-map"], "--watch-config-map: is not a flag"),
    "a level that is none": (["azwi", "--log-level=loud"], "--log-level: is 'loud', want info"),
    "a boolean apart": (["azwi", "--disable-cert-rotation", "true"], "command line: has 'true', want a flag"),
    "a version of SSL": (["azwi", "--tls-min-version=VersionSSL30"], "--tls-min-version: is 'VersionSSL30'"),
    "a port that is none": (["eks", "--port=https"], "--port: is 'https', want a port"),
    "a path that is none": (["eks", "--token-mount-path=here"], "--token-mount-path: is 'here', want an abs"),
    "a prefix that is none": (["wif", "-annotation-prefix="], "--annotation-prefix: is '', want a domain"),
    "an endpoint by half": (
        ["azwi", "--custom-token-endpoint-audience=a"],
        "azwi.endpoint.annotationSuffix: annotation suffix cannot be empty",
    ),
    "a flag of ours with a bad value": (["eks", "--addr=here"], "--addr: is 'here', want HOST:PORT"),
    "a mode that is none": (["eks", "--mode=lax"], "'lax' is not one of"),
    "no program": ([], "'' is none of azwi, eks, wif"),
    "another program": (["istio"], "'istio' is none of azwi, eks, wif"),
}


@pytest.mark.parametrize("sentence", ODD)
def test_odd_flags_end_with_one_clear_error(tmp_path: Path, sentence: str) -> None:
    arguments, words = ODD[sentence]
    rest = [*arguments[1:], "--cluster", str(tmp_path), "--self-signed"]
    result = vestibule(*(["--as", arguments[0], *rest] if arguments else ["--as"]))

    assert result.returncode == 2
    assert words in result.stderr
    assert sum("rror" in line for line in result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr


def test_a_cloud_nobody_knows_ends_strict_by_the_name_of_its_variable(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vestibule", "webhook", "--as", "azwi", "--mode=strict", "--self-signed"]
    result = subprocess.run(
        [*command, "--cluster", str(tmp_path)],
        env={"AZURE_ENVIRONMENT": "AzureBleuCloud"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert result.returncode == 2
    assert result.stderr.startswith("error: AZURE_ENVIRONMENT: There is no cloud environment matching")


def test_help_knows_of_stand_ins_and_lists_their_flags() -> None:
    ours = vestibule("--help").stdout
    azwi, wif = vestibule("--as", "azwi", "--help"), vestibule("--as=wif", "-h")

    assert "--as [azwi|eks|wif]" in ours
    assert "vestibule webhook --as azwi" in ours
    assert (azwi.returncode, wif.returncode) == (0, 0)
    assert "--webhook-cert-dir" in azwi.stdout
    assert "--gcp-delivery VALUE" not in azwi.stdout
    assert "taken, without effect: every replica serves" in wif.stdout


def test_version_is_one_line_of_json() -> None:
    for program in ("azwi", "eks"):
        result = vestibule("--as", program, "--version")

        assert (result.returncode, json.loads(result.stdout)["as"]) == (0, program)
