"""The signature that a storage account's key makes over a request; read and written by the same rule."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

_SIGNED: Final = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)


def signature(
    key: str,
    account: str,
    method: str,
    raw_path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
) -> str:
    """The signature; ``headers`` by lower-case name."""
    plain = dict(headers)
    if plain.get("content-length") == "0":
        del plain["content-length"]
    own = sorted((name, value.strip()) for name, value in headers.items() if name.startswith("x-ms-"))
    text = "".join(
        [
            f"{method}\n",
            *(f"{plain.get(name, '')}\n" for name in _SIGNED),
            *(f"{name}:{value}\n" for name, value in own),
            f"/{account}{raw_path}",
            *(f"\n{name.lower()}:{query[name]}" for name in sorted(query)),
        ]
    )
    try:
        secret = base64.b64decode(key)
    except binascii.Error:
        secret = b""
    return base64.b64encode(hmac.new(secret, text.encode(), hashlib.sha256).digest()).decode()
