"""What is published and what should be, brought together key by key. Nothing is dropped that was not named.

A document is ours if its discovery document names our issuer, or if it already holds one of our keys; any
other has another owner and is not changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from vestibule import errors
from vestibule.errors import InputProblem
from vestibule.oidc import discovery, documents, jwks
from vestibule.oidc.keys import PublicKey


class MergedKeys(NamedTuple):
    """What to write."""

    body: bytes
    kids: tuple[str, ...]
    """All that are published then, in their order."""
    added: tuple[str, ...]
    retired: tuple[str, ...]
    changed: bool
    """False: the published document has the same content already, in any format."""


def merge(
    published: bytes | None,
    ours: Sequence[PublicKey],
    *,
    place: str,
    retire: Collection[str] = (),
    indent: int = documents.INDENT,
) -> MergedKeys:
    """Our keys and the published ones, without those that retire.

    Entries that we do not know stay as they are. Raises InvalidInput when what is there is no JWKS, holds a
    private key, or another key under one of our ids; and when nothing, or nothing of ours, would be left.
    """
    entries = _entries(published, place)
    problems = _problems(entries, ours, place, retire)
    if problems:
        raise errors.InvalidInput(*problems)
    retained = [entry for entry in entries if entry.get("kid") not in retire]
    has = {entry.get("kid") for entry in retained}
    added = [key for key in ours if key.kid not in has]
    listed = [*retained, *(key.jwk for key in added)]
    if not listed:
        text = "no key would be left, want at least one: an empty list of keys is never written"
        raise errors.InvalidInput(InputProblem(place, "keys", text))
    retired = tuple(str(entry["kid"]) for entry in entries if entry.get("kid") in retire)
    changed = published is None or bool(added or retired)
    return MergedKeys(
        documents.entries(listed, indent) if changed or published is None else published,
        tuple(str(entry.get("kid", "")) for entry in listed),
        tuple(key.kid for key in added),
        retired,
        changed,
    )


def foreign(
    issuer: str, configuration: bytes | None, published: bytes | None, ours: Sequence[PublicKey]
) -> str:
    """Why what is published is not ours to change; empty when it is, or when there is nothing."""
    if configuration is not None and configuration.strip():
        try:
            named = discovery.parse(configuration).issuer
        except ValueError as error:
            return f"{documents.DISCOVERY_NAME} {error}: it is not ours"
        differs = discovery.issuer_mismatch(named, issuer)
        return f"{documents.DISCOVERY_NAME} names the issuer {named!r}: {differs}" if differs else ""
    if published is None or not published.strip():
        return ""
    try:
        found = jwks.parse(published)
    except ValueError as error:
        return f"the document with the keys {error}: it is not ours"
    if not found.keys or {key.kid for key in found.keys} & {key.kid for key in ours}:
        return ""
    return "there are keys, none of them ours, and no discovery document that says whose they are"


def needed(
    issuer: str, configuration: bytes | None, key_set: bytes, *, place: str, shape: documents.DocumentFormat
) -> bytes | None:
    """The discovery document to write; None when the one that is there says all that it must.

    Raises InvalidInput when the one that is there has the keys elsewhere: clouds would still look there.
    """
    listed = {key.algorithm for key in jwks.parse(key_set).keys if key.algorithm in jwks.ALGORITHMS}
    algorithms = sorted(listed or {"RS256"}, key=lambda name: (name != "RS256", name))
    try:
        found = discovery.parse(configuration or b"")
    except ValueError:
        return documents.configuration(
            issuer, shape, algorithms
        )  # nothing is there, or nothing that anybody reads
    address = documents.keys_address(issuer, shape)
    if found.keys_address != address:
        fitting = [
            one.name
            for one in documents.SHAPES.values()
            if documents.keys_address(issuer, one) == found.keys_address
        ]
        advice = f"; --shape {fitting[0]} fits" if fitting else ""
        text = f"is {found.keys_address!r}, want {address!r}{advice}"
        raise errors.InvalidInput(InputProblem(place, "jwks_uri", text))
    if found.issuer == issuer and set(found.algorithms) >= set(algorithms):
        return None
    more = [name for name in found.algorithms if name not in algorithms]
    return documents.configuration(issuer, shape, [*algorithms, *more])


def _entries(published: bytes | None, place: str) -> list[dict[str, Any]]:
    """The keys that are there, as they are. Nothing at all, which a tool once wrote, counts as none."""
    if published is None or not published.strip():
        return []
    try:
        jwks.parse(published)
        found = msgspec.json.decode(published, type=dict[str, Any])["keys"]
    except ValueError as error:
        raise errors.InvalidInput(InputProblem(place, "", f"what is published {error}")) from None
    odd = [number for number, entry in enumerate(found) if not isinstance(entry, dict)]
    if odd:
        raise errors.InvalidInput(
            *(InputProblem(place, f"keys[{number}]", "is no object, want a key") for number in odd)
        )
    return list(found)


def _problems(
    entries: Sequence[dict[str, Any]], ours: Sequence[PublicKey], place: str, retire: Collection[str]
) -> list[InputProblem]:
    problems = [
        InputProblem(place, f"keys[{number}]", "holds a private key: remove it by hand, and make a new key")
        for number, entry in enumerate(entries)
        if "d" in entry
    ]
    mine = {key.kid: jwks.parse(documents.entries([key.jwk])).keys[0] for key in ours}
    for key in jwks.parse(documents.entries(entries)).keys if entries else ():
        if key.kid in mine and not jwks.same(key, mine[key.kid]):
            problems.append(
                InputProblem(place, f"kid {key.kid}", "is another key than ours, want the same key")
            )
    problems += [
        InputProblem(place, f"kid {kid}", "cannot retire and be published at once")
        for kid in mine
        if kid in retire
    ]
    return problems
