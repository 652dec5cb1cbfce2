"""A real API server that signs with our key, its issuer in a real blob container: published, checked and
rotated, every token verified by what the public reads."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jwt
import pytest

from tests.azurite.server import KEY, Azurite
from tests.oidc import making
from tests.oidc.site import Clock
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from vestibule import errors
from vestibule.clouds import publisher
from vestibule.clouds.objectstore.azure_blob import AzureBlobs
from vestibule.clouds.objectstore.ports import Content
from vestibule.kube import kubeconfig
from vestibule.oidc import documents
from vestibule.oidc import rotation as stages
from vestibule.provision import cluster_keys, keypair, rotation
from vestibule.provision.cluster_keys import TokenAccount

pytestmark = pytest.mark.slow

JWKS = "openid/v1/jwks"


class Scene(NamedTuple):
    plane: ControlPlane
    issuer: str
    target: str
    store: AzureBlobs
    bundle: str
    keys: Path

    @property
    def fetch(self) -> publisher.Fetch:
        return publisher.fetching(ssl.create_default_context(cafile=self.bundle))

    def run(self, *words: str) -> tuple[int, Any, str]:
        """A command with the trust and the key that the blob server needs."""
        environ = {
            "REQUESTS_CA_BUNDLE": self.bundle,
            "AZURE_STORAGE_KEY": KEY,
            "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
        }
        command = [
            sys.executable,
            "-m",
            "vestibule",
            "oidc",
            *words,
            "--ca-bundle",
            self.bundle,
            "-o",
            "json",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, env=environ)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    def check(self) -> tuple[int, dict[str, str]]:
        words = [
            "check",
            "--kubeconfig",
            str(self.plane.kubeconfig()),
            "--service-account",
            "default/default",
        ]
        code, report, message = self.run(*words, "--to", self.target)
        assert message == ""
        return code, {one["id"]: one["status"] for one in report["checks"]}

    def token(self) -> str:
        body = {"spec": {"audiences": ["api://AzureADTokenExchange"], "expirationSeconds": 600}}
        created = self.plane.admin.create(at("serviceaccounts", "default", "default", "token"), body).object
        return str(created["status"]["token"])

    def verified(self, token: str) -> bool:
        """As a cloud does it: with what the public reads, and with an implementation that is not ours."""
        found = jwt.PyJWKSet.from_json(self.fetch(documents.keys_address(self.issuer)).body.decode())
        kid = jwt.get_unverified_header(token)["kid"]
        if kid not in [key.key_id for key in found.keys]:
            return False
        jwt.decode(
            token, found[kid].key, ["RS256"], audience="api://AzureADTokenExchange", issuer=self.issuer
        )
        return True

    def sign_with(self, private: Path, *public: Path) -> None:
        """Start the API server anew with this signer, accepting these."""
        accepted = self.keys / "accepted.pem"
        accepted.write_text("".join(path.read_text() for path in public))
        self.plane.apiserver.flags |= {
            "service-account-key-file": str(accepted),
            "service-account-signing-key-file": str(private),
        }
        self.plane.apiserver.kill()
        self.plane.apiserver.start()


@pytest.fixture
def scene(private_control_plane: Planes, azurite: Azurite, tmp_path: Path) -> Scene:
    created = keypair.create(tmp_path / "first", bits=2048)
    container = azurite.container()
    issuer = f"{azurite.account_url}/{container}"
    flags = {
        "service-account-issuer": issuer,
        "service-account-jwks-uri": documents.keys_address(issuer),
        "service-account-key-file": str(created.public),
        "service-account-signing-key-file": str(created.private),
    }
    plane = private_control_plane(controllers=False, flags=flags)
    store = AzureBlobs(
        azurite.account_url, container, shared_key=lambda: KEY, connection_verify=azurite.bundle
    )
    return Scene(plane, issuer, f"azblob:{issuer}", store, azurite.bundle, tmp_path)


def published(scene: Scene) -> list[str]:
    stored = scene.store.read(JWKS)
    assert stored is not None
    return [key["kid"] for key in json.loads(stored.body)["keys"]]


@pytest.mark.slow
def test_what_we_publish_verifies_what_the_cluster_signs(scene: Scene) -> None:
    public = scene.keys / "first" / keypair.PUBLIC_NAME
    words = ["publish", "--to", scene.target, "--issuer", scene.issuer, "--public-key", str(public)]

    code, before = scene.check()
    assert (code, before["issuer.discovery"], before["store.served"]) == (3, "fail", "fail")
    assert scene.run(*words)[0] == 0
    assert scene.verified(scene.token())
    code, healthy = scene.check()
    assert (code, set(healthy.values())) == (0, {"ok"})
    assert {"token.signature", "issuer.same-keys", "issuer.equal", "token.issuer"} <= set(healthy)

    # the same from the cluster itself: nothing is left to write, and the document is the same but for layout
    code, again, _ = scene.run("publish", "--to", scene.target, "--kubeconfig", str(scene.plane.kubeconfig()))
    assert (code, [one["action"] for one in again["documents"]]) == (0, ["keep", "keep"])
    own = cluster_keys.documents(_access(scene))
    ours = json.loads(documents.key_set(own.keys))["keys"]
    theirs = json.loads(scene.plane.admin.raw("GET", "/openid/v1/jwks", headers={"Accept": "*/*"}).body)[
        "keys"
    ]
    assert (own.issuer, ours) == (scene.issuer, theirs)

    # a copy that lacks the key
    scene.store.write(JWKS, Content(documents.key_set([making.key(1)]), "application/json"))
    code, broken = scene.check()
    assert code == 3
    assert (broken["issuer.same-keys"], broken["token.key"]) == ("fail", "fail")
    assert not scene.verified(scene.token())


def _access(scene: Scene, user: str | None = None) -> Any:
    path = scene.plane.kubeconfig() if user is None else scene.plane.kubeconfig(user)
    return kubeconfig.load([path], None)


@pytest.mark.slow
def test_who_may_not_look_is_reported(scene: Scene) -> None:
    stranger = _access(scene, "nobody")

    with pytest.raises(errors.Forbidden, match="system:service-account-issuer-discovery"):
        cluster_keys.documents(stranger)
    with pytest.raises(errors.Forbidden, match="ServiceAccount default/default: we may not ask"):
        cluster_keys.signed(stranger, TokenAccount("default", "default"))
    with pytest.raises(errors.NotFound, match="ServiceAccount default/nobody: there is no such"):
        cluster_keys.signed(_access(scene), TokenAccount("default", "nobody"))


@pytest.mark.slow
def test_a_rotation_on_a_real_cluster(scene: Scene) -> None:
    first, second = scene.keys / "first", scene.keys / "second"
    clock = Clock()
    setup = rotation.RotationSetup(
        scene.store,
        scene.target,
        scene.issuer,
        second,
        bits=2048,
        access=_access(scene),
        account=TokenAccount("default", "default"),
        fetch=scene.fetch,
        patience=0.0,
        clock=clock,
    )
    old_key, new_key = first / keypair.PRIVATE_NAME, second / keypair.PRIVATE_NAME
    old_public, new_public = first / keypair.PUBLIC_NAME, second / keypair.PUBLIC_NAME
    publisher.publish(
        scene.store, scene.issuer, cluster_keys.documents(_access(scene)).keys, fetch=scene.fetch
    )
    (old,) = published(scene)
    stored = scene.token()

    def advance() -> rotation.RotationProgress:
        progress = rotation.advance(setup)
        assert scene.verified(scene.token()), "the cluster signs with a key that is not published"
        return progress

    begun = advance()
    new = begun.state.new
    assert (begun.stage, begun.signs, published(scene)) == ("published", (old,), [old, new])
    clock.pause(stages.SETTLE)
    assert (advance().stage, advance().next.do) == ("switching", "switch")

    scene.sign_with(new_key, old_public, new_public)
    switched = advance()
    assert (switched.stage, switched.signs, switched.state.observed) == ("draining", (new,), True)
    assert scene.verified(stored)
    assert scene.check()[0] == 0

    # somebody goes back just before the end: nothing retires, and the wait starts again
    clock.pause(stages.LONGEST + stages.MARGIN)
    scene.sign_with(old_key, old_public, new_public)
    back = advance()
    assert (back.stage, back.signs, published(scene)) == ("switching", (old,), [old, new])
    assert "starts again" in back.did[0]
    scene.sign_with(new_key, old_public, new_public)
    assert advance().stage == "draining"
    clock.pause(stages.LONGEST)
    assert advance().stage == "draining"
    clock.pause(stages.MARGIN)
    done = advance()
    assert (done.stage, published(scene)) == ("done", [new])
    assert not scene.verified(stored)
    scene.sign_with(new_key, new_public)
    assert scene.check()[0] == 0


@pytest.mark.slow
def test_a_cluster_that_signs_with_a_third_key_stops_a_rotation(scene: Scene) -> None:
    clock = Clock()
    setup = rotation.RotationSetup(
        scene.store,
        scene.target,
        scene.issuer,
        scene.keys / "second",
        bits=2048,
        access=_access(scene),
        account=TokenAccount("default", "default"),
        clock=clock,
    )
    publisher.publish(scene.store, scene.issuer, cluster_keys.documents(_access(scene)).keys)
    rotation.advance(setup)
    third = keypair.create(scene.keys / "third", bits=2048)
    scene.sign_with(third.private, third.public)

    with pytest.raises(errors.Conflict, match=f"signs with {third.key.kid}, which is neither old nor new"):
        rotation.advance(setup)
    assert len(published(scene)) == 2
