"""What must not log in: the same pod, when one thing about its token or its container is not as agreed.

Each test has rows that log in at all three clouds, one in our words and one in those of others, and changes
one thing; the clouds' words say that it was this thing which stood in the way.
"""

from __future__ import annotations

from collections.abc import Mapping

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.chain.case import AS_AWS, AS_AZURE, EMAIL, EVERYWHERE, POOL, Case, Meta
from tests.chain.container import Container, Outcome
from tests.chain.kubelet import Asked, LaidOut
from tests.chain.logins import AwsLogin, AzureLogin, Clouds, GcpLogin, Login
from tests.chain.rows import azwi, eks, together, wif
from tests.chain.rows.cwii import ALL, TWO
from tests.chain.stage import ACCOUNT, Stages

OURS = Case("all clouds", EVERYWHERE, account=Meta(ALL))
THEIRS = Case(
    "all clouds, each in words of its own",
    together.LOGINS,
    together.settings("better", "azwi", "eks", "wif"),
    account=together.ALL,
    pod=azwi.POD,
)
USUAL = pytest.mark.parametrize("case", [pytest.param(OURS, id="ours"), pytest.param(THEIRS, id="theirs")])
KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
SDKS = ("aws", "gcp", "azure")


def trusted(clouds: Clouds, issuer: str, subject: str, logins: tuple[Login, ...]) -> None:
    for one in logins:
        one.trust(clouds, issuer, subject)


def attempts(rendered: LaidOut, clouds: Clouds, container: str = "app") -> dict[str, Outcome]:
    inside = Container(rendered, container)
    return dict(zip(SDKS, clouds.login([(inside, sdk) for sdk in SDKS]), strict=True))


def assert_refused(outcomes: Mapping[str, Outcome], *words: str) -> None:
    """Every SDK failed, in the words of its cloud, and nobody looked for another way in."""
    for (sdk, outcome), word in zip(outcomes.items(), words, strict=True):
        assert not outcome.ok, sdk
        assert word in outcome.error, f"{sdk}: {outcome.error}"
        assert outcome.refused == []


@USUAL
def test_a_token_for_another_audience(stages: Stages, clouds: Clouds, case: Case) -> None:
    rendered = stages.play(case)
    others = (
        AwsLogin(AS_AWS.role, "other.example"),
        GcpLogin(POOL, "other.example", account=EMAIL),
        AzureLogin(AS_AZURE.client, AS_AZURE.tenant, "api://other"),
    )
    trusted(clouds, stages.issuer, rendered.subject, others)

    assert_refused(
        attempts(rendered, clouds), "Incorrect token audience", "The audience in ID Token", "AADSTS700212"
    )


@USUAL
def test_a_token_of_another_service_account(stages: Stages, clouds: Clouds, case: Case) -> None:
    rendered = stages.play(case, account="intruder")
    trusted(clouds, stages.issuer, rendered.subject.replace(":intruder", f":{ACCOUNT}"), case.logins)

    assert_refused(
        attempts(rendered, clouds),
        "AccessDenied",
        "iam.serviceAccounts.getAccessToken",
        "AADSTS700213",
    )


@USUAL
def test_a_token_that_has_expired(stages: Stages, clouds: Clouds, case: Case) -> None:
    rendered = stages.play(case)
    trusted(clouds, stages.issuer, rendered.subject, case.logins)
    clouds.clock.ahead = max(one.seconds for one in case.logins) + 1

    assert_refused(attempts(rendered, clouds), "ExpiredTokenException", "stale to sign-in", "AADSTS700024")


@USUAL
def test_a_token_of_another_issuer(stages: Stages, clouds: Clouds, case: Case) -> None:
    """A cluster that nobody registered, where the namespace and the ServiceAccount have the same names."""

    def mint(requested: Asked) -> str:
        claims = jwt.decode(stages.kubelet.mint(requested), options={"verify_signature": False})
        return jwt.encode({**claims, "iss": "https://other.example"}, KEY, "RS256", {"kid": "other"})

    rendered = stages.play(case, mint=mint)
    trusted(clouds, stages.issuer, rendered.subject, case.logins)

    outcomes = attempts(rendered, clouds)
    assert_refused(outcomes, "No OpenIDConnect provider found", "The issuer in ID Token", "AADSTS700211")


@USUAL
def test_a_token_that_another_user_signed(stages: Stages, clouds: Clouds, case: Case) -> None:
    """Every claim and the key's name are right; the key is not."""

    def forge(requested: Asked) -> str:
        real = stages.kubelet.mint(requested)
        claims = jwt.decode(real, options={"verify_signature": False})
        return jwt.encode(claims, KEY, "RS256", {"kid": jwt.get_unverified_header(real)["kid"]})

    rendered = stages.play(case, mint=forge)
    trusted(clouds, stages.issuer, rendered.subject, case.logins)

    outcomes = attempts(rendered, clouds)
    assert_refused(outcomes, "InvalidIdentityToken", "Error verifying the ID Token", "AADSTS700027")


SKIPS = {f"{prefix}skip-containers": "proxy" for prefix in (azwi.P, eks.P, wif.P)}
WITHOUT = {
    "skipped container": (OURS._replace(pod=Meta({"cwii.dev/skip-containers": "proxy"}), spec=TWO), "proxy"),
    "nothing asked": (OURS._replace(account=Meta()), "app"),
    "theirs, skipped container": (THEIRS._replace(pod=Meta(SKIPS, azwi.USE), spec=TWO), "proxy"),
    "theirs, nothing asked": (THEIRS._replace(account=Meta(), pod=Meta()), "app"),
}


@pytest.mark.parametrize(("case", "name"), WITHOUT.values(), ids=WITHOUT)
def test_a_container_without_identity(stages: Stages, clouds: Clouds, case: Case, name: str) -> None:
    """It has no variable and no mount of ours, and finds no node identity to fall back on either."""
    rendered = stages.play(case)
    trusted(clouds, stages.issuer, rendered.subject, case.logins)
    container = Container(rendered, name)

    outcomes = attempts(rendered, clouds, name)

    assert container.env == {}
    assert list(container.mounts) == ["/var/run/secrets/kubernetes.io/serviceaccount"]
    assert_refused(
        outcomes, "no credentials", "default credentials were not found", "failed to retrieve a token"
    )
    assert clouds.issuers.seen == []
    # the metadata service of a node, asked through the gateway, which refused
    assert set(clouds.gateway.strays) <= {"169.254.169.254", "metadata.google.internal"}


def test_a_mapping_without_an_audience_as_upstream_reads_it(stages: Stages, clouds: Clouds) -> None:
    """The token is for the API server itself; AWS takes no notice of who sent it."""
    mapping = {"*/app": {"RoleARN": AS_AWS.role}}
    rendered = stages.play(Case("mapping", (AS_AWS,), eks.settings("strict", mapping=mapping)))
    trusted(clouds, stages.issuer, rendered.subject, (AS_AWS,))

    outcome = clouds.login([(Container(rendered, "app"), "aws")])[0]

    assert not outcome.ok
    assert "Incorrect token audience" in outcome.error
