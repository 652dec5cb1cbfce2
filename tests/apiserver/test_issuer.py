"""The issuer controller on a real API server whose key is really rotated: what is published follows."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jwt
import pytest

from tests.apiserver.operator_installation import API, OperatorInstallation, operator_installed
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import MASTERS, ControlPlane
from tests.rig.fixtures import Planes
from vestibule.oidc import keys
from vestibule.provision import keypair

pytestmark = pytest.mark.waits

Json = dict[str, Any]
JWKS = "openid/v1/jwks"
USER = "rig:operator"
"""By certificate: a token of the operator's would end with the key that signed it."""
ISSUER = "https://issuer.example/cluster"


def condition(found: Json, kind: str) -> Json:
    listed = found.get("status", {}).get("conditions", [])
    return next((one for one in listed if one["type"] == kind), {})


class Scene(NamedTuple):
    environment: OperatorInstallation
    folder: Path
    """Where the documents are published."""
    keys: Path

    @property
    def plane(self) -> ControlPlane:
        return self.environment.plane

    @property
    def path(self) -> str:
        return at("publishedissuers", name="cluster", api=API)

    def ask(self, **spec: Any) -> None:
        obj = {
            "apiVersion": API,
            "kind": "PublishedIssuer",
            "metadata": {"name": "cluster"},
            "spec": {"to": f"dir:{self.folder}", "interval": "1s", **spec},
        }
        self.environment.admin.apply(self.path, obj, "test", force=True).object  # noqa: B018 - raises

    def start(self) -> None:
        self.environment.start(kubeconfig=self.plane.kubeconfig(USER, MASTERS))

    def wait(self, kind: str, status: str, reason: str = "") -> Json:
        def holds(found: Json) -> bool:
            one = condition(found, kind)
            return one.get("status") == status and (not reason or one["reason"] == reason)

        return condition(self.environment.admin.wait(self.path, holds), kind)

    def published(self) -> list[str]:
        path = self.folder / JWKS
        return [key["kid"] for key in json.loads(path.read_text())["keys"]] if path.exists() else []

    def verified(self) -> None:
        """A fresh token, against what is published, by an implementation that is not ours."""
        body = {"spec": {"audiences": ["a"], "expirationSeconds": 600}}
        created = self.plane.admin.create(at("serviceaccounts", "default", "default", "token"), body).object
        token = str(created["status"]["token"])
        found = jwt.PyJWKSet.from_json((self.folder / JWKS).read_text())
        kid = jwt.get_unverified_header(token)["kid"]
        jwt.decode(token, found[kid].key, ["RS256"], audience="a", issuer=ISSUER)

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

    def writes(self, since: int) -> list[str]:
        return [
            f"{event['verb']} {event['objectRef']['resource']} {event['objectRef'].get('name')}"
            for event in self.plane.audit.events(since, user=USER)
            if event["verb"] not in ("get", "list", "watch") and event["objectRef"]["resource"] != "leases"
        ]

    def looked(self, times: int = 3) -> None:
        """Until the issuer was looked at again so many times."""

        def looks() -> int:
            text = self.environment.operators[-1].get("/metrics")[1]
            names = 'vestibule_operator_reconciles_total{controller="issuers"'
            return sum(int(float(one.split()[-1])) for one in text.splitlines() if one.startswith(names))

        before = looks()
        process.wait("looks at the issuer", lambda: looks() >= before + times, 30)

    def events(self) -> set[tuple[str, str]]:
        found = self.environment.admin.list(at("events", "default", api="events.k8s.io/v1"))
        return {(one["reason"], one["note"]) for one in found if one["regarding"]["name"] == "cluster"}


@pytest.fixture
def scene(private_control_plane: Planes, tmp_path: Path) -> Iterator[Scene]:
    created = keypair.create(tmp_path / "first", bits=2048)
    flags = {
        "service-account-issuer": ISSUER,
        "service-account-key-file": str(created.public),
        "service-account-signing-key-file": str(created.private),
    }
    plane = private_control_plane(controllers=False, flags=flags)
    folder = tmp_path / "operator"
    folder.mkdir()
    with operator_installed(plane, folder) as environment:
        yield Scene(environment, tmp_path / "published", tmp_path)


def kid(public: Path) -> str:
    (found,) = keys.read(public.read_text(), str(public))
    return found.kid


@pytest.mark.slow
def test_what_is_published_follows_the_keys_of_the_cluster(scene: Scene) -> None:
    first, second = scene.keys / "first", scene.keys / "second"
    keypair.create(second, bits=2048)
    old, new = kid(first / keypair.PUBLIC_NAME), kid(second / keypair.PUBLIC_NAME)
    scene.ask()
    scene.start()
    scene.wait("Published", "True")

    assert scene.published() == [old]
    document = json.loads((scene.folder / ".well-known/openid-configuration").read_text())
    assert (document["issuer"], document["jwks_uri"]) == (ISSUER, f"{ISSUER}/{JWKS}")
    scene.verified()

    # the steady state writes nothing, neither here nor there
    scene.looked()
    mark, before = scene.plane.audit.mark(), (scene.folder / JWKS).stat().st_mtime_ns
    scene.looked(5)
    assert (scene.writes(mark), (scene.folder / JWKS).stat().st_mtime_ns) == ([], before)

    # somebody removes a key, or a document: it comes back
    (scene.folder / JWKS).unlink()
    process.wait("the keys are back", lambda: scene.published() == [old], 20)

    # both keys, then the new one alone; the old one stays while its tokens may live
    publics = [one / keypair.PUBLIC_NAME for one in (first, second)]
    scene.sign_with(second / keypair.PRIVATE_NAME, *publics)
    process.wait("both keys are published", lambda: scene.published() == [old, new], 30)
    scene.verified()
    scene.sign_with(second / keypair.PRIVATE_NAME, second / keypair.PUBLIC_NAME)

    def left(found: Json) -> bool:
        return [one["kid"] for one in found.get("status", {}).get("keys", []) if one.get("left")] == [old]

    scene.environment.admin.wait(scene.path, left)
    scene.looked()
    assert scene.published() == [old, new]
    noted = {reason for reason, _ in scene.events()}
    assert {"KeyPublished", "KeyLeft"} <= noted

    # a key that nobody of the cluster ever showed is somebody else's, and stays
    third = keypair.create(scene.keys / "third", bits=2048)
    stored = json.loads((scene.folder / JWKS).read_text())
    stored["keys"].append(dict(third.key.jwk))
    (scene.folder / JWKS).write_text(json.dumps(stored))

    # its time has come: a status that says so is as good as a day
    found = scene.environment.admin.get(scene.path).object
    aged = [
        {**one, "left": "2020-01-01T00:00:00Z"} if one["kid"] == old else one
        for one in found["status"]["keys"]
    ]
    where = at("publishedissuers", name="cluster", sub="status", api=API)
    scene.environment.admin.patch(where, {"status": {"keys": aged}}).object  # noqa: B018 - raises
    process.wait("the old key is gone", lambda: scene.published() == [new, third.key.kid], 20)
    scene.verified()
    process.wait("it is told", lambda: ("KeyRetired") in {reason for reason, _ in scene.events()}, 10)

    # nothing goes with the object
    scene.environment.admin.delete(scene.path)
    scene.environment.admin.wait_gone(scene.path)
    mark = scene.plane.audit.mark()
    assert scene.published() == [new, third.key.kid]
    assert scene.writes(mark) == []


@pytest.mark.slow
def test_what_cannot_be_is_refused_and_reported(scene: Scene) -> None:
    scene.ask(issuer=f"{ISSUER}/")
    scene.start()
    reported = scene.wait("Degraded", "True", "Refused")
    assert "they differ in the slash at the end" in reported["message"]
    assert not scene.folder.exists()

    scene.ask(issuer=ISSUER, to="ftp://nowhere")
    scene.environment.admin.wait(
        scene.path, lambda found: "spec.to: is 'ftp://nowhere'" in condition(found, "Degraded")["message"]
    )

    # documents of somebody else are left alone
    theirs = scene.folder / ".well-known" / "openid-configuration"
    theirs.parent.mkdir(parents=True)
    theirs.write_text(json.dumps({"issuer": "https://other.example", "jwks_uri": "https://other.example/k"}))
    digest = hashlib.sha256(theirs.read_bytes()).hexdigest()
    scene.ask(issuer=ISSUER)
    scene.environment.admin.wait(
        scene.path, lambda found: "names the issuer 'https://other" in condition(found, "Degraded")["message"]
    )
    assert hashlib.sha256(theirs.read_bytes()).hexdigest() == digest
    assert scene.published() == []

    theirs.unlink()
    scene.wait("Published", "True")
    scene.wait("Degraded", "False")
    assert base64.urlsafe_b64decode(f"{scene.published()[0]}=")
    assert 'vestibule_issuer_keys{name="cluster"} 1.0' in scene.environment.operators[-1].get("/metrics")[1]

    # it is not seen at the public address, where somebody wants that looked at
    scene.ask(issuer=ISSUER, verify="Always")
    reported = scene.wait("Published", "False", "NotVisible")
    assert "issuer.example" in reported["message"]
