"""Tokens: the given one, and fresh ones that the API server issues for a ServiceAccount. None is ever shown,
logged or stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final, NamedTuple

from vestibule import errors
from vestibule.api.annotation_keys import Provider
from vestibule.api.settings.schema import Settings
from vestibule.checks import check, claims, clouds
from vestibule.checks.check import Check
from vestibule.diagnose.doctor.issuer import IssuerDocumentsRead
from vestibule.diagnose.doctor.options import DoctorOptions, ServiceAccountName
from vestibule.kube import serviceaccount_issuer
from vestibule.kube.client import Client
from vestibule.oidc import tokens
from vestibule.oidc.tokens import ServiceAccountToken

INSPECTION_AUDIENCE: Final = "vestibule.dev/doctor"
"""Audience of a token that is only inspected: no service accepts it."""


class InspectedToken(NamedTuple):
    """A token and the clouds that it is for."""

    about: str
    token: ServiceAccountToken
    clouds: tuple[Provider, ...]
    audience: str
    subject: str


def given(question: DoctorOptions) -> tuple[InspectedToken | None, list[Check]]:
    """The token from the command line."""
    if question.token is None:
        return None, []
    about = question.token.place
    try:
        token = tokens.parse(question.token.text)
    except tokens.MalformedToken as error:
        advice = "use the content of the mounted token file, or the output of kubectl create token"
        return None, [check.fail("token.form", about, str(error), "a signed token", advice)]
    chosen = question.clouds or clouds.addressed(token)
    subject = question.subject or (question.account.subject if question.account else "")
    held = InspectedToken(about, token, chosen, question.audience, subject)
    return held, [check.ok("token.form", about, "header, claims and signature")]


async def minted(
    question: DoctorOptions, client: Client, settings: Settings
) -> AsyncIterator[InspectedToken | Check]:
    """Fresh tokens of the account, one for each cloud; a Check where none can be issued."""
    account = question.account
    if account is None:
        advice = "give --service-account NAMESPACE/NAME"
        yield check.skipped("token.mint", "a fresh token", "no ServiceAccount is chosen", advice)
        return
    requested: list[tuple[Provider | None, str]] = [(None, question.audience or INSPECTION_AUDIENCE)]
    if question.clouds:
        requested = [(cloud, question.audience or _audience(cloud, settings)) for cloud in question.clouds]
    for cloud, audience in requested:
        about = f"{account}, a fresh token" + (f" for {clouds.NAMES[cloud]}" if cloud else "")
        if not audience:
            yield check.skipped("token.mint", about, "no audience is known", "give --audience")
            continue
        found = await _mint(client, account, audience, about)
        if isinstance(found, Check):
            yield found
            return
        subject = question.subject or account.subject
        yield InspectedToken(
            about,
            found,
            (cloud,) if cloud else (),
            audience if cloud == "gcp" else question.audience,
            subject,
        )


def _audience(cloud: Provider, settings: Settings) -> str:
    if cloud == "aws":
        return settings.aws.default_audience
    if cloud == "az":
        return settings.az.default_audience
    provider = settings.wif.provider
    return settings.gcp.default_audience or (f"//iam.googleapis.com/{provider}" if provider else "")


async def _mint(
    client: Client, account: ServiceAccountName, audience: str, about: str
) -> ServiceAccountToken | Check:
    try:
        return await serviceaccount_issuer.token(client, account.namespace, account.name, audience)
    except errors.Forbidden as error:
        advice = "allow create of serviceaccounts/token, or give --token FILE"
        return check.skipped("token.mint", about, str(error), advice)
    except errors.NotFound as error:
        return check.fail("token.mint", about, str(error), str(account))
    except errors.Unavailable as error:
        return check.fail("token.mint", about, str(error), "a token")


def judged(held: InspectedToken, seen: IssuerDocumentsRead, now: float) -> Iterator[Check]:
    """Everything about one token."""
    about, token = held.about, held.token
    yield from claims.signature(about, token, seen.public.keys, seen.cluster.keys)
    yield claims.issuer(about, token, seen.issuer)
    yield claims.subject(about, token, held.subject)
    yield claims.times(about, token, now)
    for cloud in held.clouds:
        yield from clouds.judge(about, token, cloud, held.audience)
    if not held.clouds and token.audiences != (INSPECTION_AUDIENCE,):
        yield _unknown_audience(held)


def _unknown_audience(held: InspectedToken) -> Check:
    audiences = ", ".join(held.token.audiences) or "missing"
    if held.audience:
        if held.audience in held.token.audiences:
            return check.ok("token.audience", held.about, f"aud is {audiences}")
        return check.fail(
            "token.audience", held.about, f"aud is {audiences}", f"{held.audience!r}, byte for byte"
        )
    want = "; ".join(
        f"{required.audience} for {clouds.NAMES[cloud]}" for cloud, required in clouds.REQUIREMENTS.items()
    )
    advice = (
        "no cloud accepts this audience by default; give --audience if the cloud is configured with another"
    )
    return check.fail("token.audience", held.about, f"aud is {audiences}", want, advice)
