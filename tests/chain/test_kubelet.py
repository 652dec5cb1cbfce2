"""The kubelet and the container of these tests do what a kubelet does, or say that they cannot."""

from __future__ import annotations

import stat
from typing import Any

import jwt
import pytest

from tests.chain.case import Case, Meta, container
from tests.chain.container import Container, expand
from tests.chain.kubelet import GENERATION, Asked, Unsupported, field
from tests.chain.stage import Stages
from tests.rig.client import Refused

TOKEN = {"serviceAccountToken": {"audience": "a.example", "expirationSeconds": 700, "path": "token/deep"}}
SHOWN = {
    "downwardAPI": {"items": [{"path": "note", "fieldRef": {"fieldPath": "metadata.annotations['x/note']"}}]}
}
SPEC: dict[str, Any] = {
    "securityContext": {"fsGroup": 1000},
    "containers": [
        container(
            "app",
            env=[
                {"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "/mnt/id/token/deep"},
                {"name": "AZURE_FEDERATED_TOKEN_FILE", "value": "/mnt/idle/token"},
                {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "spec.serviceAccountName"}}},
                {"name": "GREETING", "value": "$(WHO) $$(WHO)"},
            ],
            volumeMounts=[
                {"name": "id", "mountPath": "/mnt/id/"},
                {"name": "id", "mountPath": "/one/note", "subPath": "note"},
            ],
        )
    ],
    "volumes": [{"name": "id", "projected": {"sources": [TOKEN, SHOWN], "defaultMode": 0o640}}],
}


def test_a_volume_is_laid_out_as_a_kubelet_does(stages: Stages) -> None:
    rendered = stages.play(Case("by hand", (), pod=Meta({"x/note": "hello"}), spec=SPEC))
    app = Container(rendered, "app")
    place = rendered.volume("id")

    assert (place / "..data").readlink().name == GENERATION
    assert (place / "token").readlink().as_posix() == "..data/token"
    token, note = place / "token" / "deep", place / "note"
    assert [stat.S_IMODE(file.stat().st_mode) for file in (token, note)] == [0o600, 0o640]
    assert note.read_text() == "hello"
    assert (app.here("/one/note") or note.parent).read_text() == "hello"
    claims = jwt.decode(token.read_text(), options={"verify_signature": False})
    assert claims["aud"] == ["a.example"]
    assert claims["exp"] - claims["iat"] == 700
    assert claims["kubernetes.io"]["pod"]["uid"] == rendered.pod["metadata"]["uid"]
    # what every pod has from the API server
    usual = rendered.pod["spec"]["containers"][0]["volumeMounts"][-1]
    assert {"token", "ca.crt", "namespace"} <= {
        file.name for file in rendered.volume(usual["name"]).iterdir()
    }
    # variables, and a file that is in no mount although its name begins like one
    assert app.env["GREETING"] == "app $(WHO)"
    assert app.astray() == ["AZURE_FEDERATED_TOKEN_FILE=/mnt/idle/token"]
    # the API server gives a node no token but those that its pods ask for
    with pytest.raises(Refused, match="audience"):
        stages.kubelet.mint(Asked(rendered.pod, "b.example", 700), seconds=0)


def test_what_it_cannot_do_it_says(stages: Stages) -> None:
    source = {"name": "secret", "secret": {"secretName": "s"}}
    mount = {"name": "secret", "mountPath": "/s"}
    spec = {"volumes": [source], "containers": [container("app", volumeMounts=[mount])]}
    rendered = stages.play(Case("secret", (), spec=spec))

    with pytest.raises(Unsupported, match="secret"):
        Container(rendered, "app")
    with pytest.raises(Unsupported, match=r"status\.podIP"):
        field(rendered.pod, "status.podIP")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)-$(B)", "1-$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A $( $", "$A $( $"),
        ("100%", "100%"),
    ],
)
def test_references_are_expanded_as_the_kubelet_does(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected
