"""AWS: the security token service of every region, and the EKS Pod Identity agent of the node.

STS checks in the order of the real one: provider of the account, signature, time, audience of the provider,
then the role's trust policy, whose refusal says nothing more than AccessDenied. GetCallerIdentity verifies
the version 4 signature, so its answer proves that the SDK holds and uses the whole session.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.chain.clouds import sigv4
from tests.chain.clouds.trust import Clock, Trust, stamp
from tests.chain.gateway import Call, Reply
from tests.chain.issuers import Issuers, Unverified

AGENT_URL = "http://169.254.170.23/v1/credentials"
LIFE = 3600
_HOST = re.compile(r"sts(\.[a-z]{2}(-[a-z]+)+-\d)?\.amazonaws\.com(\.cn)?")
_SESSION_NAME = re.compile(r"[\w+=,.@-]{2,64}", re.ASCII)
_NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"


class Session(NamedTuple):
    """Temporary credentials, and whose they are."""

    key: str
    secret: str
    token: str
    arn: str


class _Refused(Exception):
    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class Aws:
    """One account with its OIDC providers, roles and pod identity associations."""

    def __init__(self, issuers: Issuers, clock: Clock) -> None:
        self._issuers, self._clock = issuers, clock
        self.roles: dict[str, Trust] = {}
        self.associations: dict[Trust, str] = {}
        """Pod Identity: who gets which role."""
        self.sessions: dict[str, Session] = {}

    def owns(self, host: str) -> bool:
        return _HOST.fullmatch(host) is not None or host == "127.0.0.1"

    def answer(self, call: Call) -> Reply:
        if call.host == "127.0.0.1":
            return self._agent(call)
        requested = call.form if call.method == "POST" and call.path == "/" else {}
        try:
            if requested.get("Version") != "2011-06-15":
                raise _Refused("InvalidAction", "Could not find operation for version")
            if requested["Action"] == "AssumeRoleWithWebIdentity":
                return _xml(requested["Action"], self._assume(call.host, requested))
            if requested["Action"] == "GetCallerIdentity":
                return _xml(requested["Action"], self._caller(call))
            raise _Refused("InvalidAction", f"Could not find operation {requested['Action']}")
        except _Refused as refused:
            return _error(refused)

    def _assume(self, host: str, requested: dict[str, str]) -> str:
        name, role = requested.get("RoleSessionName", ""), requested.get("RoleArn", "")
        if not _SESSION_NAME.fullmatch(name):
            raise _Refused(
                "ValidationError", f"Value '{name}' at 'roleSessionName' failed to satisfy constraint"
            )
        if not role.startswith(f"arn:{_partition(host)}:iam::"):
            raise _Refused("ValidationError", "Request ARN is invalid")
        trust = self.roles.get(role)
        subject = self._verified(requested.get("WebIdentityToken", ""), trust)
        session = self._issue(f"{_assumed(role)}/{name}")
        return (
            f"<SubjectFromWebIdentityToken>{escape(subject)}</SubjectFromWebIdentityToken>"
            f"<AssumedRoleUser><Arn>{escape(session.arn)}</Arn>"
            f"<AssumedRoleId>AROADOUBLE:{escape(name)}</AssumedRoleId></AssumedRoleUser>"
            f"<Credentials><AccessKeyId>{session.key}</AccessKeyId>"
            f"<SecretAccessKey>{session.secret}</SecretAccessKey><SessionToken>{session.token}</SessionToken>"
            f"<Expiration>{self._clock.stamp(LIFE)}</Expiration></Credentials>"
        )

    def _verified(self, token: str, trust: Trust | None) -> str:
        providers = {known.issuer for known in self.roles.values()}
        try:
            claims = self._issuers.claims(token, providers)
        except Unverified as error:
            if error.issuer and error.issuer not in providers:
                message = f"No OpenIDConnect provider found in your account for {error.issuer}"
            else:
                message = f"Couldn't verify the provided token: {error.why}"
            raise _Refused("InvalidIdentityToken", message) from error
        if not claims.timely(self._clock.now()):
            text = (
                f"Token expired: current date/time {self._clock.stamp()} must be before the expiration "
                f"date/time {stamp(claims.ends)}"
            )
            raise _Refused("ExpiredTokenException", text)
        if not any(known.hears(claims) for known in self.roles.values() if known.issuer == claims.issuer):
            raise _Refused("InvalidIdentityToken", "Incorrect token audience")
        if trust is None or not trust.fits(claims):
            raise _Refused("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", 403)
        return claims.subject

    def _caller(self, call: Call) -> str:
        key = sigv4.key_of(call)
        session = self.sessions.get(key)
        if session is None or call.headers.get("X-Amz-Security-Token") != session.token:
            raise _Refused(
                "InvalidClientTokenId", "The security token included in the request is invalid", 403
            )
        if not sigv4.signed(call, session.secret):
            raise _Refused("SignatureDoesNotMatch", "The request signature we calculated does not match", 403)
        return (
            f"<Arn>{escape(session.arn)}</Arn><UserId>AROADOUBLE</UserId>"
            f"<Account>{_account(session.arn)}</Account>"
        )

    def _agent(self, call: Call) -> Reply:
        """The node's agent asks EKS with the pod's token; a refusal is passed on as text."""
        token = call.headers.get("Authorization", "")
        if call.path != "/v1/credentials" or not token:
            return Reply(400, b"Service account token cannot be empty", "text/plain")
        try:
            claims = self._issuers.claims(token, {trust.issuer for trust in self.associations})
        except Unverified as error:
            return _told(400, f"(InvalidTokenException): {error.why}, fault: client")
        if not claims.timely(self._clock.now()):
            return _told(400, "(ExpiredTokenException): The token has expired, fault: client")
        role = next((role for trust, role in self.associations.items() if trust.fits(claims)), "")
        if not role:
            return _told(403, "(AccessDeniedException): Unauthorized Exception!, fault: client")
        session = self._issue(f"{_assumed(role)}/eks-{secrets.token_hex(4)}")
        answer = {
            "AccessKeyId": session.key,
            "SecretAccessKey": session.secret,
            "Token": session.token,
            "AccountId": _account(session.arn),
            "Expiration": self._clock.stamp(LIFE),
        }
        return Reply(200, json.dumps(answer).encode())

    def _issue(self, arn: str) -> Session:
        key = f"ASIA{secrets.token_hex(8).upper()}"
        self.sessions[key] = Session(key, secrets.token_hex(20), secrets.token_hex(60), arn)
        return self.sessions[key]


def _partition(host: str) -> str:
    """Where a host belongs; a role of another partition is unknown there."""
    return "aws-cn" if host.endswith(".cn") else "aws-us-gov" if ".us-gov-" in host else "aws"


def _account(arn: str) -> str:
    return arn.split(":")[4]


def _assumed(role: str) -> str:
    """``arn:aws:iam::1:role/path/name`` as the session sees it: ``arn:aws:sts::1:assumed-role/name``."""
    partition, account, name = role.split(":")[1], _account(role), role.rpartition("/")[2]
    return f"arn:{partition}:sts::{account}:assumed-role/{name}"


def _xml(action: str, result: str) -> Reply:
    body = (
        f'<{action}Response xmlns="{_NAMESPACE}"><{action}Result>{result}</{action}Result>'
        f"<ResponseMetadata><RequestId>{secrets.token_hex(8)}</RequestId></ResponseMetadata></{action}Response>"
    )
    return Reply(200, body.encode(), "text/xml")


def _error(refused: _Refused) -> Reply:
    body = (
        f'<ErrorResponse xmlns="{_NAMESPACE}"><Error><Type>Sender</Type><Code>{refused.code}</Code>'
        f"<Message>{escape(str(refused))}</Message></Error><RequestId>{secrets.token_hex(8)}</RequestId></ErrorResponse>"
    )
    return Reply(refused.status, body.encode(), "text/xml")


def _told(status: int, text: str) -> Reply:
    return Reply(status, f"[{secrets.token_hex(8)}]: {text}".encode(), "text/plain")
