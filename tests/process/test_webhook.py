"""The process as a whole: it serves, follows its files, and leaves without losing a request."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.webhook import MANIFESTS, POD, Load, running, until
from tests.vectors import case


def vestibule(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vestibule", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environ or None, check=False
    )


def test_a_pod_is_mutated_counted_and_audited(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        answer = webhook.mutate()

        assert answer["allowed"] is True
        assert answer["patchType"] == "JSONPatch"
        assert webhook.metric("vestibule_injections_total") == 1
        until(webhook.audited, "an audit line")
        assert webhook.audited()[0]["providers"] == ["aws"]
        assert webhook.get("/healthz") == (200, "ok")
        assert webhook.get("/nowhere")[0] == 404


def test_flags_and_variables_of_cwii_work_as_they_are(tmp_path: Path) -> None:
    with running(
        tmp_path, "--mount-root", "/opt/ids", "--gcp-enabled=false", CWII_AWS_DEFAULT_AUDIENCE="mine"
    ) as webhook:
        import base64

        patch = base64.b64decode(webhook.mutate()["patch"]).decode()

        assert "/opt/ids/aws" in patch
        assert '"audience":"mine"' in patch


def test_sigterm_under_load_loses_no_request_and_exits_0(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[serving]\ndrainSeconds = 3\n")
    with (
        running(tmp_path, "--settings", str(settings)) as webhook,
        Load(webhook) as load,
        Load(webhook, 2, fresh=True) as fresh,
    ):
        until(lambda: load.sent > 200 and fresh.sent > 20, "some load")
        webhook.process.terminate()
        until(lambda: "draining" in webhook.logged(), "the drain to begin")
        assert webhook.get("/readyz")[0] == 503
        before = (load.sent, fresh.sent)
        until(
            lambda: load.sent > before[0] + 20 and fresh.sent > before[1] + 10, "service while draining", 2.5
        )
        load.stop()  # by now the endpoints have forgotten us
        fresh.stop()
        assert webhook.process.wait(15) == 0

        assert load.failures == []
        assert fresh.failures == []


def test_a_certificate_swap_under_load_loses_no_request(tmp_path: Path) -> None:
    with running(tmp_path) as webhook, Load(webhook) as load, Load(webhook, 2, fresh=True) as fresh:
        for _ in range(3):
            seen = len(fresh.serials)
            webhook.mount.write_pair(webhook.authority.leaf())
            until(lambda seen=seen: len(fresh.serials) > seen, "the new certificate")
        until(lambda: load.sent > 300, "some load")
        load.stop()
        fresh.stop()

        assert load.failures == []
        assert fresh.failures == []
        assert webhook.metric("vestibule_certificate_failures_total") == 0


def test_a_bad_certificate_is_kept_out_and_shown(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        good, other = webhook.authority.leaf(), webhook.authority.leaf()
        webhook.mount.write({"tls.crt": good.cert, "tls.key": other.key})
        until(lambda: webhook.metric("vestibule_certificate_failures_total") > 0, "the failure to show")

        assert webhook.mutate()["allowed"] is True
        assert "certificate not loaded, keeping the old one" in webhook.logged()
        assert "PRIVATE KEY" not in webhook.logged()


def test_manifests_are_read_again_and_a_bad_change_is_kept_out(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        file = webhook.cluster / "all.yaml"
        file.write_text(MANIFESTS.replace('aws-inject: "true"', 'aws-inject: "false"'))
        until(lambda: "patch" not in webhook.mutate(), "the change")

        file.write_text("kind: [")
        until(lambda: "manifests" in webhook.logged(), "the refusal")
        assert "patch" not in webhook.mutate()

        file.write_text(MANIFESTS)
        until(lambda: "patch" in webhook.mutate(), "the repair")


def test_settings_are_read_again_and_a_bad_change_is_kept_out(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[aws]\nenabled = true\n")
    with running(tmp_path, "--settings", str(settings)) as webhook:
        assert "patch" in webhook.mutate()

        settings.write_text("[aws]\nenabled = false\n")
        until(lambda: "patch" not in webhook.mutate(), "the change")

        settings.write_text("[aws]\nenabled = 'perhaps'\n")
        until(lambda: webhook.metric("vestibule_settings_failures_total") == 1, "the refusal")
        assert "patch" not in webhook.mutate()
        assert "settings.toml:2: aws.enabled" in webhook.logged()


def test_one_bad_review_harms_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        for body, status in ((b"{", 400), (b"{}", 422), (case.review(POD)[:-5], 400), (b"\xff" * 100, 400)):
            assert webhook.post(body)[0] == status
        assert webhook.mutate()["allowed"] is True
        assert webhook.metric("vestibule_bad_requests_total") == 4


def test_only_callers_with_a_certificate_are_served_where_that_is_asked(tmp_path: Path) -> None:
    from tests.process.webhook import Webhook
    from tests.serving.authority import Authority

    authority = Authority("process tests")
    ca = tmp_path / "client-ca.pem"
    ca.write_bytes(authority.pem)
    webhook = Webhook(tmp_path, authority, ["--client-ca", str(ca)])
    try:
        until(lambda: "serving https" in webhook.logged(), "the start")
        with pytest.raises(OSError, match=r"(?i)certificate|reset|eof|closed"):
            webhook.get("/healthz")
        client = authority.client(tmp_path, authority.leaf("kube-apiserver", client=True))
        import http.client

        connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, context=client, timeout=10)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok"
        connection.close()
    finally:
        webhook.close()


def test_a_port_in_use_is_said_and_exits_1(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = vestibule(
            "webhook", "--cluster", str(tmp_path / "x"), "--self-signed", "--addr", f"127.0.0.1:{port}"
        )

    assert result.returncode == 1
    assert str(port) in result.stderr
    assert "Traceback" not in result.stderr


BAD = {
    "a flag that is none": (["--addr", "nowhere"], "--addr: is 'nowhere', want HOST:PORT"),
    "a directory that is none": (["--cluster", "/does/not/exist"], "/does/not/exist"),
    "no cluster at all": ([], "want a kubeconfig"),
    "a settings file that is none": (["--settings", "x.toml"], "x.toml: does not exist"),
    "a certificate that is none": (["--tls-cert", "/no/cert"], "/no/cert"),
}


@pytest.mark.parametrize("sentence", BAD)
def test_a_bad_start_is_refused_with_a_reason_and_exits_2(tmp_path: Path, sentence: str) -> None:
    arguments, words = BAD[sentence]
    (tmp_path / "c").mkdir()
    if "--cluster" not in arguments and sentence != "no cluster at all":
        arguments = ["--cluster", str(tmp_path / "c"), *arguments]

    result = vestibule("webhook", *arguments, HOME=str(tmp_path), PATH=os.environ["PATH"])

    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
