"""Strangers at the webhook of a real API server: those without a client certificate are not served, and a
crowd of connections fails no create of others."""

from __future__ import annotations

import json
import ssl
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.apiserver.admitted_pod import AWS, WHOLE, created, identity
from tests.apiserver.webhook_installation import WebhookInstallation, installed, wait_called
from tests.process.test_floods import Peak, flood
from tests.process.webhook import free_port, until
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from tests.serving.authority import Authority
from vestibule.api.settings import schema
from vestibule.manifests import apiserver_client_certificate

MIB = 1024 * 1024


def test_the_printed_files_let_the_api_server_show_its_certificate_and_nobody_else_is_served(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    port = free_port()
    callers = Authority("webhook clients")
    pair = callers.leaf("kube-apiserver", client=True)
    (tmp_path / "client.crt").write_bytes(pair.cert)
    (tmp_path / "client.key").write_bytes(pair.key)
    (tmp_path / "ca.crt").write_bytes(callers.pem)
    admission, kubeconfig = apiserver_client_certificate.files(schema.Settings(), str(tmp_path))
    kubeconfig["users"][0]["name"] = f"127.0.0.1:{port}"  # the rig has no Service network
    (tmp_path / "admission.yaml").write_text(json.dumps(admission))
    (tmp_path / "kubeconfig.yaml").write_text(json.dumps(kubeconfig))
    flags = {"admission-control-config-file": str(tmp_path / "admission.yaml")}
    plane = private_control_plane(flags=flags)
    serving = {"clientCa": str(tmp_path / "ca.crt"), "clientNames": ["kube-apiserver"]}
    installation = WebhookInstallation(plane, tmp_path / "installation", "webhook-callers", serving=serving)
    try:
        installation.apply()
        installation.start(port=port)
        installation.register(port)
        wait_called(installation)

        assert identity(created(installation, plane.namespace()).pod, "app") == WHOLE
        with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
            urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", timeout=10, context=installation.tls())
    finally:
        installation.close()


def test_two_thousand_idle_connections_of_a_stranger_fail_no_create(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with installed(
        control_plane, tmp_path, "webhook-strangers", webhook={"failurePolicy": "Fail"}
    ) as installation:
        (replica,) = installation.replicas
        peak = Peak(replica)
        peak.start()
        done = threading.Event()
        made: list[bool] = []

        def create() -> None:
            while not done.is_set() or len(made) < 150:
                body = {
                    "metadata": {"name": f"p{len(made)}", "annotations": AWS},
                    "spec": {"containers": [{"name": "app", "image": "a"}]},
                }
                answer = installation.plane.admin.create(at("pods", namespace), body, dryRun="All")
                made.append(answer.status == 201 and identity(answer.object, "app") == WHOLE)

        creating = threading.Thread(target=create, daemon=True)
        creating.start()
        with flood(replica, "tls", 2_000):
            held = len(made)
            until(lambda: len(made) > held + 50, "creates while they are held", 60)
        done.set()
        creating.join(60)
        assert len(made) >= 150
        assert all(made)
        assert peak.stop() <= 110 * MIB
        assert replica.metric("vestibule_requests_shed_total") == 0
        assert replica.metric("vestibule_connections_evicted_total") > 0
