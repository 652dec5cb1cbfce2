"""The doubles and the gateway themselves: what the table does not ask of them, and whom they keep out."""

from __future__ import annotations

import hmac
import http.client
import json
from urllib.parse import urlsplit

import jwt
import pytest
from jwt.utils import base64url_encode

from tests.chain.case import AS_AZURE, EVERYWHERE, ROLE, Case, Meta, container
from tests.chain.clouds.aws import AGENT_URL
from tests.chain.container import Container
from tests.chain.gateway import Fault
from tests.chain.issuers import Issuers, Unverified
from tests.chain.login import stay_at_home
from tests.chain.logins import AgentLogin, Clouds
from tests.chain.rows.cwii import ALL
from tests.chain.stage import Stages
from tests.rig.client import at

AGENT = AgentLogin(ROLE)
MOUNT = "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount"
FILE = "eks-pod-identity-token"
BY_HAND = {
    "containers": [
        container(
            "app",
            env=[
                {"name": "AWS_CONTAINER_CREDENTIALS_FULL_URI", "value": AGENT_URL},
                {
                    "name": "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                    "value": f"{MOUNT}/{FILE}",
                },
            ],
            volumeMounts=[{"name": "agent", "mountPath": MOUNT, "readOnly": True}],
        )
    ],
    "volumes": [
        {
            "name": "agent",
            "projected": {
                "sources": [
                    {
                        "serviceAccountToken": {
                            "audience": AGENT.audience,
                            "expirationSeconds": AGENT.seconds,
                            "path": FILE,
                        }
                    }
                ]
            },
        }
    ],
}


def test_the_pod_identity_agent_knows_its_associations(stages: Stages, clouds: Clouds) -> None:
    """The pod is written by hand: this is about the double alone."""
    rendered = stages.play(Case("agent", (AGENT,), spec=BY_HAND))
    app = Container(rendered, "app")
    AGENT.trust(clouds, stages.issuer, rendered.subject)

    outcome = clouds.login([(app, "aws")])[0]
    assert outcome.error == ""
    AGENT.judge(clouds, outcome)
    assert app.astray() == []
    clouds.aws.associations.clear()
    AGENT.trust(clouds, stages.issuer, "system:serviceaccount:other:other")
    # asked without the SDK, which would ask three times, a second apart
    place = urlsplit(clouds.gateway.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=5)
    connection.request("GET", "/v1/credentials", headers={"Authorization": rendered.tokens[f"agent/{FILE}"]})
    answer = connection.getresponse()

    assert (answer.status, b"AccessDeniedException" in answer.read()) == (403, True)
    connection.close()


def test_msal_finds_its_way_by_both_discoveries(stages: Stages, clouds: Clouds) -> None:
    rendered = stages.play(Case("msal", (AS_AZURE,), account=Meta(ALL)))
    AS_AZURE.trust(clouds, stages.issuer, rendered.subject)

    outcome = clouds.login([(Container(rendered, "app"), "msal")])[0]

    assert outcome.error == ""
    AS_AZURE.judge(clouds, outcome)
    requested = [call.path for call in clouds.gateway.asked(AS_AZURE.host)]
    assert f"/{AS_AZURE.tenant}/v2.0/.well-known/openid-configuration" in requested


def test_a_cloud_that_stumbles_is_asked_again(stages: Stages, clouds: Clouds) -> None:
    """By the SDKs of AWS and Azure; google-auth leaves it to the program."""
    rendered = stages.play(Case("stumble", EVERYWHERE, account=Meta(ALL)))
    for one in EVERYWHERE:
        one.trust(clouds, stages.issuer, rendered.subject)
    hosts = ("sts.amazonaws.com", "sts.googleapis.com", "login.microsoftonline.com")
    clouds.gateway.faults = [Fault(host, 503, 0.1) for host in hosts]

    app = Container(rendered, "app")
    outcomes = clouds.login([(app, one.sdk) for one in EVERYWHERE])

    assert [outcome.ok for outcome in outcomes] == [True, False, True]
    assert [len(clouds.gateway.asked(host)) for host in hosts] == [2, 1, 2]
    assert clouds.gateway.faults == []


def test_only_a_signature_of_the_issuer_counts(stages: Stages) -> None:
    plane = stages.plane
    issuers, trusted = Issuers([plane]), {stages.issuer}
    created = plane.admin.create(at("serviceaccounts", "default", "default", "token"), {"spec": {}}).object
    real = created["status"]["token"]
    claims, header = jwt.decode(real, options={"verify_signature": False}), jwt.get_unverified_header(real)
    kid = {"kid": header["kid"]}
    head, body, signature = real.split(".")
    # the public key as a shared secret: PyJWT refuses to make such a token, an attacker would not
    symmetric = base64url_encode(json.dumps({"alg": "HS256", **kid}).encode()).decode()
    public = plane.apiserver.token_key.cert.read_bytes()
    made_up = base64url_encode(hmac.digest(public, f"{symmetric}.{body}".encode(), "sha256")).decode()
    hostile = {
        "no signature": jwt.encode(claims, "", "none", kid),
        "another algorithm": f"{symmetric}.{body}.{made_up}",
        "an unknown key": jwt.encode(claims, "x" * 32, "HS256", {"kid": "x"}),
        "changed after signing": f"{head}.{body[:-4]}AAAA.{signature}",
        "no token": "x",
    }

    assert issuers.claims(real, trusted).subject == "system:serviceaccount:default:default"
    for token in hostile.values():
        with pytest.raises(Unverified):
            issuers.claims(token, trusted)
    with pytest.raises(Unverified):
        issuers.claims(real, {"https://other.example"})
    assert len(issuers.seen) == 1


def test_nothing_lies_outside(clouds: Clouds) -> None:
    place = urlsplit(clouds.gateway.url)
    for target in ("s3.amazonaws.com", "sts.amazonaws.com.evil.example"):
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=5)
        connection.set_tunnel(target, 443)
        with pytest.raises(OSError, match="403"):
            connection.connect()
        connection.close()
    for event, arguments in (
        ("socket.connect", (None, ("169.254.170.23", 80))),
        ("socket.getaddrinfo", ("sts.amazonaws.com", 443, 0, 0, 0)),
    ):
        with pytest.raises(OSError, match="not on this machine"):
            stay_at_home(event, arguments)

    assert clouds.gateway.strays == ["s3.amazonaws.com", "sts.amazonaws.com.evil.example"]
