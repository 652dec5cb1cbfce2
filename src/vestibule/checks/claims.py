"""A token as any relying party judges it: its form, its signature, who it is from and for, and when."""

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
"""Seconds to live below which a token will not reach a cloud."""


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
        why = "there are no keys to look into"
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
        yield ok("token.signature", about, "is good")
    else:
        yield fail(
            "token.signature",
            about,
            f"does not fit the key {token.kid}",
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
            "the cluster does not know the key either: is the token of another cluster, or of an old key?"
        )
    return fail("token.key", about, f"kid is {token.kid!r}, published are {shown}", "one of these", advice)


def issuer(about: str, token: ServiceAccountToken, wanted: str) -> Check:
    """``iss`` against the issuer that the cloud was told; empty: there is none to compare with."""
    said = token.issuer
    if not said:
        return fail("token.issuer", about, "iss is missing", "the issuer")
    if not wanted:
        return ok("token.issuer", about, f"iss is {said}")
    differs = discovery.issuer_difference(said, wanted)
    if not differs:
        return ok("token.issuer", about, f"iss is {said}, byte for byte")
    return fail(
        "token.issuer",
        about,
        f"iss is {said!r}: {differs}",
        f"{wanted!r}, byte for byte",
        "tell the cloud what the token says, character by character; Azure compares case as well",
    )


def subject(about: str, token: ServiceAccountToken, wanted: str) -> Check:
    """``sub``: of a ServiceAccount, and the one that the cloud trusts, where it is known."""
    said = token.subject
    if not said.startswith(SUBJECT) or said.removeprefix(SUBJECT).count(":") != 1:
        want = f"{SUBJECT}<namespace>:<name>"
        return fail("token.subject", about, f"sub is {said!r}", want, "take a ServiceAccount's token")
    if not wanted or said == wanted:
        return ok("token.subject", about, f"sub is {said}")
    near = " (they differ in case, which counts)" if said.lower() == wanted.lower() else ""
    return fail(
        "token.subject",
        about,
        f"sub is {said!r}{near}",
        f"{wanted!r}",
        "correct the subject in the cloud's trust",
    )


def times(about: str, token: ServiceAccountToken, now: float) -> Check:
    """``exp``, ``nbf`` and ``iat`` against a clock."""
    ends, begins, made = (token.seconds(claim) for claim in ("exp", "nbf", "iat"))
    absent = [name for name, value in (("exp", ends), ("iat", made)) if value is None]
    if ends is None or made is None:
        return fail("token.times", about, f"{' and '.join(absent)} missing", "exp and iat")
    early = max(made, begins if begins is not None else made)
    if early - now > WARN:
        found = f"counts from {_when(early)}, {early - now:.0f} s from now"
        judged = fail if early - now > FAIL else warn
        return judged("token.times", about, found, "a token of now", "compare the clocks")
    if ends <= now:
        found = f"ended at {_when(ends)}, {now - ends:.0f} s ago"
        return fail(
            "token.times", about, found, "a token of now", "read it again: the kubelet renews the file"
        )
    if ends - now < _SOON:
        found = f"ends in {ends - now:.0f} s"
        return warn(
            "token.times", about, found, "a token that lives", "read it again: the kubelet renews the file"
        )
    return ok("token.times", about, f"from {_when(made)} to {_when(ends)}, {(ends - made) / 60:.0f} min")


def _when(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"second {seconds:.0f}"
