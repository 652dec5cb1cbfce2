"""With a certificate of our own the API server trusts us wherever it calls us, by the printed rights."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver import sandbox_installation
from tests.apiserver.sandbox_installation import INJECTION, KATA, configure, label
from tests.apiserver.test_permissions import used
from tests.apiserver.test_render import render
from tests.apiserver.test_sandbox_render import SETTINGS, create, pod, pointed
from tests.apiserver.webhook_installation import WebhookInstallation, path_of
from tests.process.webhook import free_port
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]


def trusts(installation: WebhookInstallation, path: str) -> bool:
    """Whether every webhook of a registration trusts what the Secret holds."""
    secret = installation.plane.admin.get(at("secrets", installation.name, f"{installation.name}-tls")).object
    stored = base64.b64decode(secret.get("data", {}).get("ca.crt", ""))
    hooks = installation.plane.admin.get(path).object["webhooks"]
    return bool(stored) and all(
        base64.b64decode(hook["clientConfig"].get("caBundle", "")) == stored for hook in hooks
    )


def test_every_webhook_configuration_trusts_our_own_certificate_also_one_that_comes_later(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    admin, port = control_plane.admin, free_port()
    own = {"certificate": "self", "caBundle": ""}
    installation = WebhookInstallation(control_plane, tmp_path, "webhook-trusted", **SETTINGS, install=own)
    installation.change_settings(selfCertificate={"names": ["127.0.0.1"]})
    settings = tmp_path / "render.json"
    install = {"name": installation.name, "namespace": installation.name}
    settings.write_text(json.dumps({**SETTINGS, "install": install}))
    registrations: dict[str, Json] = {}
    try:
        installation.apply()
        admin.wait(at("kataconfigs", api=KATA))
        sandbox_installation.classes(control_plane)
        configure(installation, {"runtimeClassInjection": INJECTION}, peer_pods=False)
        for obj in yaml.safe_load_all(render(control_plane.kubeconfig(), settings).stdout):
            if obj["kind"].endswith("WebhookConfiguration"):
                registrations[path_of(obj)] = pointed(obj, port)
        general, sandbox, validating = registrations
        for path in (general, validating):
            admin.apply(path, registrations[path], "render", force=True).object  # noqa: B018 - raises
        installation.start(port=port, own_certificate=True)
        process.wait("trust", lambda: trusts(installation, general) and trusts(installation, validating), 20)

        admin.apply(sandbox, registrations[sandbox], "render", force=True).object  # noqa: B018 - raises
        process.wait("trust of the one that came later", lambda: trusts(installation, sandbox), 20)
        admin.apply(sandbox, registrations[sandbox], "render", force=True).object  # noqa: B018 - raises
        assert trusts(installation, sandbox)  # applying again leaves the bundle alone

        label(installation, namespace, sandboxed="true")

        def classed() -> bool:
            answer = create(installation, namespace, pod())
            return answer.status == 201 and "runtimeClassName" in answer.object["spec"]

        process.wait("a class, under Fail", classed, 20)
        done, refused = used(control_plane, installation)
        assert refused == set()
        assert installation.issued is not None
        of_issuer = {
            (event["objectRef"]["resource"], event["verb"])
            for event in control_plane.audit.events(user=installation.issued.user)
        }
        for resource in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            assert not {verb for what, verb in done if what == resource}
            assert {verb for what, verb in of_issuer if what == resource} == {"get", "patch"}
    finally:
        for path in registrations:
            admin.delete(path)
        installation.close()
        sandbox_installation.remove(control_plane)
