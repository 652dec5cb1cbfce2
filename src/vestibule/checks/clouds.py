"""What each cloud requires of a token in addition: audience, algorithm, length, lifetime, subject.

============  ===================================  =====================  ===========================
              AWS                                  Azure                  Google Cloud
============  ===================================  =====================  ===========================
audience      ``sts.amazonaws.com``, or a client   the exchange's own,    the provider's full name,
              id of the identity provider          one per Azure cloud    with or without ``https:``
algorithm     RS and ES, all sizes                 RS256                  RS256, ES256
subject       as in the role's trust             exact, case counts     at most 127 bytes
life          -                                    -                      at most a day
============  ===================================  =====================  ===========================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vestibule.api.annotation_keys import PROVIDERS, Provider
from vestibule.api.settings import azwi
from vestibule.checks.check import Check, fail, ok, warn
from vestibule.injection import validators
from vestibule.oidc import jwks
from vestibule.oidc.tokens import ServiceAccountToken

NAMES: Final[dict[Provider, str]] = {"aws": "AWS", "az": "Azure", "gcp": "Google Cloud"}
_AZURE: Final = (azwi.DEFAULT_AUDIENCE, f"{azwi.DEFAULT_AUDIENCE}USGov", f"{azwi.DEFAULT_AUDIENCE}China")
_AWS: Final = ("sts.amazonaws.com",)
_AGENT: Final = "pods.eks.amazonaws.com"
_DAY: Final = 86_400


class CloudRequirements(NamedTuple):
    """What a cloud accepts."""

    audience: str
    algorithms: tuple[str, ...]
    longest: int = 0
    """Characters of a token; 0: no documented limit."""


REQUIREMENTS: Final[dict[Provider, CloudRequirements]] = {
    "aws": CloudRequirements("sts.amazonaws.com", jwks.ALGORITHMS, 20_000),
    "az": CloudRequirements(azwi.DEFAULT_AUDIENCE, ("RS256",)),
    "gcp": CloudRequirements(validators.POOL_PROVIDER.want, ("RS256", "ES256")),
}


def addressed(token: ServiceAccountToken) -> tuple[Provider, ...]:
    """The clouds that a token is for, by its audiences."""
    return tuple(cloud for cloud in PROVIDERS if any(_usual(cloud, one) for one in token.audiences))


def _usual(cloud: Provider, audience: str) -> bool:
    if cloud == "aws":
        return audience in (*_AWS, _AGENT)
    if cloud == "az":
        return audience in _AZURE
    return validators.POOL_PROVIDER.fits(audience) or audience == "sts.googleapis.com"


def judge(about: str, token: ServiceAccountToken, cloud: Provider, audience: str = "") -> Iterator[Check]:
    """All requirements of one cloud; ``audience`` is the configured one, empty for the cloud's default."""
    yield _audience(about, token, cloud, audience)
    requirements = REQUIREMENTS[cloud]
    if token.algorithm in jwks.ALGORITHMS and token.algorithm not in requirements.algorithms:
        yield fail(
            f"{cloud}.algorithm",
            about,
            f"alg is {token.algorithm}",
            f"{' or '.join(requirements.algorithms)}: {NAMES[cloud]} accepts no other",
            "give the API server an RSA key to sign with",
        )
    if 0 < requirements.longest < token.length:
        yield fail(
            f"{cloud}.length",
            about,
            f"has {token.length} characters",
            f"at most {requirements.longest}",
            "request fewer audiences",
        )
    if cloud == "gcp":
        yield from _google(about, token)


def _audience(about: str, token: ServiceAccountToken, cloud: Provider, audience: str) -> Check:
    id_, audiences = f"{cloud}.audience", ", ".join(token.audiences) or "missing"
    found = f"aud is {audiences}"
    want = audience or REQUIREMENTS[cloud].audience
    advice = (
        "set this audience in the annotation or the settings, or configure the cloud with the other one "
        "(--audience)"
    )
    if audience:
        if audience in token.audiences:
            return ok(id_, about, found)
        near = [one for one in token.audiences if one.rstrip("/").lower() == audience.rstrip("/").lower()]
        return fail(id_, about, f"{found} (nearly)" if near else found, f"{want!r}, byte for byte", advice)
    usual = [one for one in token.audiences if _usual(cloud, one)]
    if not usual:
        near = [one for one in token.audiences if one.lower() == want.lower()]
        return fail(id_, about, f"{found} (case matters)" if near else found, want, advice)
    if usual == [_AGENT]:
        agent = "the Pod Identity agent accepts it, STS does not"
        return warn(id_, about, found, want, agent)
    if usual == ["sts.googleapis.com"]:
        listed = "list it under the provider's allowed audiences"
        return warn(id_, about, found, want, listed)
    if cloud == "az" and usual[0] != azwi.DEFAULT_AUDIENCE:
        return ok(id_, about, f"{found}, of a sovereign Azure cloud")
    return ok(id_, about, found)


def _google(about: str, token: ServiceAccountToken) -> Iterator[Check]:
    length = len(token.subject.encode())
    limit = validators.GCP_SUBJECT_LIMIT
    if length > limit:
        yield fail(
            "gcp.subject",
            about,
            f"sub has {length} bytes",
            f"at most {limit}",
            "shorten the name of the namespace or ServiceAccount, or map google.subject to another attribute",
        )
    else:
        yield ok("gcp.subject", about, f"sub has {length} bytes of {limit}")
    ends, issued = token.seconds("exp"), token.seconds("iat")
    if ends is not None and issued is not None and ends - issued > _DAY:
        yield fail(
            "gcp.life",
            about,
            f"is valid for {(ends - issued) / 3600:.1f} h",
            "at most 24 h",
            "request a shorter lifetime",
        )
