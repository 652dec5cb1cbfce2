"""A kept certificate as the data of a Secret, and the trust that registrations show. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from vestibule.core.pki import authority
from vestibule.core.pki.leaf import Pair
from vestibule.core.pki.rotation import Kept


def kept(data: Mapping[str, str] | None) -> Kept | None:
    """What a Secret holds; None when it holds nothing, or nothing that can be read."""
    try:
        text = {key: base64.b64decode(value, validate=True).decode() for key, value in (data or {}).items()}
        bundle = tuple(authority.split(text.get("ca.crt", "")))
        signer = next(ca for ca in bundle if ca == text["signer.crt"])
        prepared = text.get("next-signer.crt")
        found = Kept(
            Pair(signer, text["signer.key"]),
            Pair(text["tls.crt"], text["tls.key"]),
            bundle,
            Pair(prepared, text["next-signer.key"]) if prepared else None,
        )
        authority.dates(found.leaf.certificate)
    except (KeyError, ValueError, StopIteration):
        return None
    return found


def data(state: Kept) -> dict[str, str]:
    """The data of the Secret."""
    text = {
        "ca.crt": "".join(state.bundle),
        "signer.crt": state.signer.certificate,
        "signer.key": state.signer.key,
        "tls.crt": state.leaf.certificate,
        "tls.key": state.leaf.key,
    }
    if state.next_signer is not None:
        text |= {"next-signer.crt": state.next_signer.certificate, "next-signer.key": state.next_signer.key}
    return {key: encoded(value) for key, value in text.items()}


def encoded(text: str) -> str:
    """As Secrets and caBundles have it."""
    return base64.b64encode(text.encode()).decode()


def decoded(value: str | None) -> str:
    """The text behind base64; empty when there is none, or none that can be read."""
    try:
        return base64.b64decode(value or "", validate=True).decode()
    except ValueError:
        return ""


def trusted(registrations: Iterable[Mapping[str, Any]]) -> list[str]:
    """The CAs that every webhook of every registration trusts."""
    bundles = [authorities(hook) for one in registrations for hook in one.get("webhooks") or ()]
    return [ca for ca in bundles[0] if all(ca in bundle for bundle in bundles)] if bundles else []


def authorities(hook: Mapping[str, Any]) -> list[str]:
    """The CAs that one webhook trusts; none when its bundle cannot be read."""
    try:
        return authority.split(base64.b64decode(hook["clientConfig"].get("caBundle") or "").decode())
    except ValueError:
        return []
