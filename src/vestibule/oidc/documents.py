"""The two documents of an issuer as bytes, in the format of the tools that installers use.

A ``Shape`` is data: names, layout, claims. Two tabs here and four spaces there are not arbitrary: a user who
compares a copy byte by byte must find the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule.oidc import discovery
from vestibule.oidc.keys import PublicKey

DISCOVERY_NAME: Final = discovery.PATH.removeprefix("/")
CONTENT_TYPE: Final = "application/json"
CACHE_SECONDS: Final = 300
"""A cache in front may keep a document for five minutes: a rotation waits three times that."""
CACHE_CONTROL: Final = f"public, max-age={CACHE_SECONDS}"
INDENT: Final = 4
AZWI_INDENT: Final = 2


class DocumentFormat(NamedTuple):
    """How the documents of one family of tools look."""

    name: str
    keys_name: str
    """Where the keys are, below the issuer."""
    member: str
    """White space before ``issuer`` and ``jwks_uri``."""
    listed: str
    """White space before a list."""
    item: str
    """White space before what a list holds."""
    last: str
    """White space before the last brace."""
    claims: tuple[str, ...] = ()


AZURE: Final = DocumentFormat("azure", "openid/v1/jwks", "\t\t", "\t\t", "\t\t  ", "\t  ")
# sub is listed twice, as the tools write it
_CLAIMS: Final = ("aud", "exp", "sub", "iat", "iss", "sub")
AWS: Final = DocumentFormat("aws", "keys.json", "\t", "    ", "        ", "", _CLAIMS)
GCP: Final = AWS._replace(name="gcp")
SHAPES: Final[Mapping[str, DocumentFormat]] = {shape.name: shape for shape in (AZURE, AWS, GCP)}


def keys_address(issuer: str, shape: DocumentFormat = AZURE) -> str:
    """The ``jwks_uri`` of an issuer."""
    return f"{issuer.removesuffix('/')}/{shape.keys_name}"


def configuration(
    issuer: str, shape: DocumentFormat = AZURE, algorithms: Sequence[str] = ("RS256",)
) -> bytes:
    """The discovery document; no line feed at its end."""
    lists = {
        "response_types_supported": ("id_token",),
        "subject_types_supported": ("public",),
        "id_token_signing_alg_values_supported": tuple(dict.fromkeys(algorithms)),
    }
    if shape.claims:
        lists["claims_supported"] = shape.claims
    parts = [f"{shape.member}{_quoted('issuer')}: {_quoted(issuer)}"]
    parts.append(f"{shape.member}{_quoted('jwks_uri')}: {_quoted(keys_address(issuer, shape))}")
    for name, values in lists.items():
        items = ",\n".join(shape.item + _quoted(value) for value in values)
        parts.append(f"{shape.listed}{_quoted(name)}: [\n{items}\n{shape.listed}]")
    return ("{\n" + ",\n".join(parts) + f"\n{shape.last}}}").encode()


def key_set(keys: Sequence[PublicKey], indent: int = INDENT) -> bytes:
    """The JWKS of these keys; no line feed at its end. Raises ValueError when there is none."""
    return entries([key.jwk for key in keys], indent)


def entries(listed: Sequence[Mapping[str, Any]], indent: int = INDENT) -> bytes:
    """The JWKS of keys that are JSON objects already. Raises ValueError for none: a cloud that reads an
    empty list refuses every token."""
    if not listed:
        raise ValueError("has no key, want at least one: an empty list of keys is never written")
    return msgspec.json.format(msgspec.json.encode({"keys": listed}), indent=indent)


def algorithms(keys: Sequence[PublicKey]) -> tuple[str, ...]:
    """What tokens of these keys are signed with; RS256 first, which every cloud wants to see."""
    return tuple(sorted({key.algorithm for key in keys}, key=lambda name: (name != "RS256", name)))


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
