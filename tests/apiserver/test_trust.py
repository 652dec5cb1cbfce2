"""With a certificate of our own the API server trusts us wherever it calls us, by the printed rights."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver import sandboxed
from tests.apiserver.hall import Hall, path_of
from tests.apiserver.sandboxed import INJECTION, KATA, configure, label
from tests.apiserver.test_render import render
from tests.apiserver.test_rights import used
from tests.apiserver.test_sandbox_render import SETTINGS, create, pod, pointed
from tests.process.webhook import free_port
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]


def trusts(hall: Hall, path: str) -> bool:
    """Whether every webhook of a registration trusts what the Secret holds."""
    secret = hall.plane.admin.get(at("secrets", hall.name, f"{hall.name}-tls")).object
    kept = base64.b64decode(secret.get("data", {}).get("ca.crt", ""))
    hooks = hall.plane.admin.get(path).object["webhooks"]
    return bool(kept) and all(
        base64.b64decode(hook["clientConfig"].get("caBundle", "")) == kept for hook in hooks
    )


def test_every_registration_trusts_our_own_certificate_also_one_that_comes_later(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    admin, port = control_plane.admin, free_port()
    own = {"certificate": "self", "caBundle": ""}
    hall = Hall(control_plane, tmp_path, "hall-trusted", **SETTINGS, install=own)
    hall.change_settings(selfCertificate={"names": ["127.0.0.1"]})
    settings = tmp_path / "render.json"
    install = {"name": hall.name, "namespace": hall.name}
    settings.write_text(json.dumps({**SETTINGS, "install": install}))
    registrations: dict[str, Json] = {}
    try:
        hall.apply()
        admin.wait(at("kataconfigs", api=KATA))
        sandboxed.classes(control_plane)
        configure(hall, {"runtimeClassInjection": INJECTION}, peer_pods=False)
        for thing in yaml.safe_load_all(render(control_plane.kubeconfig(), settings).stdout):
            if thing["kind"].endswith("WebhookConfiguration"):
                registrations[path_of(thing)] = pointed(thing, port)
        general, sandbox, validating = registrations
        for path in (general, validating):
            admin.apply(path, registrations[path], "render", force=True).object  # noqa: B018 - raises
        hall.start(port=port, own_certificate=True)
        process.wait("trust", lambda: trusts(hall, general) and trusts(hall, validating), 20)

        admin.apply(sandbox, registrations[sandbox], "render", force=True).object  # noqa: B018 - raises
        process.wait("trust of the one that came later", lambda: trusts(hall, sandbox), 20)
        admin.apply(sandbox, registrations[sandbox], "render", force=True).object  # noqa: B018 - raises
        assert trusts(hall, sandbox)  # applying again leaves the bundle alone

        label(hall, namespace, sandboxed="true")

        def classed() -> bool:
            answer = create(hall, namespace, pod())
            return answer.status == 201 and "runtimeClassName" in answer.object["spec"]

        process.wait("a class, under Fail", classed, 20)
        done, refused = used(control_plane, hall)
        assert refused == set()
        assert hall.issued is not None
        of_issuer = {
            (event["objectRef"]["resource"], event["verb"])
            for event in control_plane.audit.events(user=hall.issued.user)
        }
        for resource in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            assert not {verb for what, verb in done if what == resource}
            assert {verb for what, verb in of_issuer if what == resource} == {"get", "patch"}
    finally:
        for path in registrations:
            admin.delete(path)
        hall.close()
        sandboxed.remove(control_plane)
