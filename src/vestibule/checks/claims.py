"""Checks of a token that every relying party makes: format, signature, issuer, subject and times."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from vestibule.checks.check import Check, fail, ok, skipped, warn
from vestibule.checks.clocks import FAIL, WARN
from vestibule.oidc import discovery, jwks
from vestibule.oidc.jwks import JwkSet
from vestibule.oidc.tokens import ServiceAccountToken

SUBJECT: Final = "system:serviceaccount:"
_SOON: Final = 60.0
"""Seconds of lifetime below which a token may expire before it reaches a cloud."""


def signature(
    about: str, token: ServiceAccountToken, published: JwkSet | None, own: JwkSet | None
) -> Iterator[Check]:
    """Algorithm, key and signature; ``published`` is what clouds read, ``own`` the cluster's list."""
    algorithm = token.algorithm
    if algorithm not in jwks.ALGORITHMS:
        want = ", ".join(jwks.ALGORITHMS)
        advice = "sign ServiceAccount tokens with an RSA or EC key"
        yield fail("token.algorithm", about, f"alg is {algorithm!r}", want, advice)
        return
    yield ok("token.algorithm", about, f"alg is {algorithm}")
    if published is None and own is None:
        why = "no keys to verify with"
        yield skipped("token.key", about, why, "give --issuer or --kubeconfig")
        yield skipped("token.signature", about, why)
        return
    keys = (published or own or JwkSet()).by_kid
    if not token.kid:
        yield fail("token.key", about, "the header has no kid", "the id of a published key")
        return
    key = keys.get(token.kid)
    if key is None:
        yield _unknown(about, token, keys, own)
        return
    yield ok(
        "token.key", about, f"kid {token.kid} is {'published' if published else 'among the cluster keys'}"
    )
    if jwks.verifies(token, key):
        yield ok("token.signature", about, "is valid")
    else:
        yield fail(
            "token.signature",
            about,
            f"does not match key {token.kid}",
            "a signature of that key",
            "the token was changed, or another key is published under this id: publish the keys again",
        )


def _unknown(about: str, token: ServiceAccountToken, keys: dict[str, jwks.Jwk], own: JwkSet | None) -> Check:
    shown = ", ".join(keys) or "none"
    advice = "publish the cluster's /openid/v1/jwks; see docs/issuer.md"
    if own is not None and token.kid in own.by_kid:
        advice = "the cluster has the key and the published copy lacks it: publish /openid/v1/jwks again"
    elif own is not None:
        advice = (
            "the cluster does not have the key either: is the token from another cluster or signed with "
            "an old key?"
        )
    return fail("token.key", about, f"kid is {token.kid!r}, published are {shown}", "one of these", advice)


def issuer(about: str, token: ServiceAccountToken, configured: str) -> Check:
    """``iss`` against the issuer that is configured in the cloud; empty if that is unknown."""
    iss = token.issuer
    if not iss:
        return fail("token.issuer", about, "iss is missing", "the issuer")
    if not configured:
        return ok("token.issuer", about, f"iss is {iss}")
    differs = discovery.issuer_mismatch(iss, configured)
    if not differs:
        return ok("token.issuer", about, f"iss is {iss}, byte for byte")
    return fail(
        "token.issuer",
        about,
        f"iss is {iss!r}: {differs}",
        f"{configured!r}, byte for byte",
        "configure the cloud with the token's iss, byte for byte; Azure compares case too",
    )


def subject(about: str, token: ServiceAccountToken, trusted: str) -> Check:
    """``sub``: a ServiceAccount, and the one that the cloud trusts if that is known."""
    sub = token.subject
    if not sub.startswith(SUBJECT) or sub.removeprefix(SUBJECT).count(":") != 1:
        want = f"{SUBJECT}<namespace>:<name>"
        return fail("token.subject", about, f"sub is {sub!r}", want, "use a ServiceAccount token")
    if not trusted or sub == trusted:
        return ok("token.subject", about, f"sub is {sub}")
    near = " (differs in case only; case matters)" if sub.lower() == trusted.lower() else ""
    return fail(
        "token.subject",
        about,
        f"sub is {sub!r}{near}",
        f"{trusted!r}",
        "correct the subject in the cloud's trust policy",
    )


def times(about: str, token: ServiceAccountToken, now: float) -> Check:
    """``exp``, ``nbf`` and ``iat`` against a clock."""
    ends, begins, issued = (token.seconds(claim) for claim in ("exp", "nbf", "iat"))
    absent = [name for name, value in (("exp", ends), ("iat", issued)) if value is None]
    if ends is None or issued is None:
        return fail("token.times", about, f"{' and '.join(absent)} missing", "exp and iat")
    early = max(issued, begins if begins is not None else issued)
    if early - now > WARN:
        found = f"not valid before {_when(early)}, {early - now:.0f} s from now"
        judged = fail if early - now > FAIL else warn
        return judged("token.times", about, found, "a token that is valid now", "compare the clocks")
    if ends <= now:
        found = f"expired at {_when(ends)}, {now - ends:.0f} s ago"
        return fail(
            "token.times",
            about,
            found,
            "a token that is valid now",
            "read it again: the kubelet renews the file",
        )
    if ends - now < _SOON:
        found = f"expires in {ends - now:.0f} s"
        return warn(
            "token.times",
            about,
            found,
            "a token with time left",
            "read it again: the kubelet renews the file",
        )
    return ok("token.times", about, f"from {_when(issued)} to {_when(ends)}, {(ends - issued) / 60:.0f} min")


def _when(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"second {seconds:.0f}"
