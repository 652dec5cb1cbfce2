"""Who the webhook is in the guest: a token of its own ServiceAccount there, in a Secret beside it.

It is asked for in the guest, bound to the account, and renewed with a third of its life left; the webhook
reads the file again. Who deletes the account takes it away. No key of the guest is needed. A guest that signs
with another key and has forgotten the old one makes the token useless before its time; its published keys
tell.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from typing import Any, Final

from vestibule.oidc import tokens
from vestibule.operator.controllers.hosted import certificates, serving_certificate
from vestibule.operator.controllers.hosted.control_plane import ControlPlane
from vestibule.operator.controllers.hosted.serving_certificate import HostedServerAddress

Object = dict[str, Any]
LIFE: Final = datetime.timedelta(days=3)
"""Renewed after two days, so that a day without the operator, or without the guest, does no harm."""
_KEY: Final = "token"


def request() -> Object:
    """What is asked of the guest; it may give less."""
    spec = {"expirationSeconds": int(LIFE.total_seconds())}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


def valid_token(secret: Object | None, account: Object, now: datetime.datetime) -> str:
    """The token that is there, while it is good for this very account; empty: ask for another."""
    text = certificates.text_of(secret or {}, _KEY)
    try:
        token = tokens.parse(text)
    except tokens.MalformedToken:
        return ""
    begin, end = token.seconds("iat"), token.seconds("exp")
    claims = token.claims.get("kubernetes.io")
    bound = claims.get("serviceaccount") if isinstance(claims, dict) else None
    uid = bound.get("uid") if isinstance(bound, dict) else None
    if begin is None or end is None or uid != account["metadata"].get("uid"):
        return ""
    return text if now.timestamp() < begin + (end - begin) * 2 / 3 else ""


def doubtful(token: str, kids: Collection[str] | None) -> bool:
    """Whether the guest publishes its keys, and none that this token was signed with."""
    return kids is not None and _kid(token) not in kids


def chosen(token: str, fresh: str) -> str:
    """The one to keep of a doubtful token and one that was just asked for: not every key is published, and
    what a guest still signs with it still knows."""
    return token if token and _kid(token) == _kid(fresh) else fresh


def _kid(token: str) -> str:
    try:
        return tokens.parse(token).kid
    except tokens.MalformedToken:
        return ""


def secret(target: ControlPlane, server: HostedServerAddress, token: str) -> Object:
    """The Secret with the kubeconfig, which names the file with the token beside it."""
    text = certificates.kubeconfig_text(server.address, server.trusted, {"tokenFile": _KEY}, server.name)
    return serving_certificate.secret(target, target.secret("kubeconfig"), {"kubeconfig": text, _KEY: token})
