"""The documents byte by byte, and what becomes of those that are published already."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.oidc import making
from tests.oidc.test_keys import VECTOR
from vestibule import errors
from vestibule.oidc import discovery, documents, key_merge, keys

ISSUER = "https://demo1.blob.core.windows.net/demo1"
AZURE = (
    "{\n"
    f'\t\t"issuer": "{ISSUER}",\n'
    f'\t\t"jwks_uri": "{ISSUER}/openid/v1/jwks",\n'
    '\t\t"response_types_supported": [\n'
    '\t\t  "id_token"\n'
    "\t\t],\n"
    '\t\t"subject_types_supported": [\n'
    '\t\t  "public"\n'
    "\t\t],\n"
    '\t\t"id_token_signing_alg_values_supported": [\n'
    '\t\t  "RS256"\n'
    "\t\t]\n"
    "\t  }"
)
OTHER = "https://other.example/c1"


def test_the_discovery_document_of_azure_is_that_of_ccoctl_to_the_byte() -> None:
    body = documents.configuration(ISSUER)

    assert (body.decode(), len(body)) == (AZURE, 299)


@pytest.mark.parametrize("shape", [documents.AWS, documents.GCP], ids=["aws", "gcp"])
def test_the_other_clouds_have_claims_and_another_name_for_the_keys(shape: documents.DocumentFormat) -> None:
    body = documents.configuration("https://x.example", shape)
    found = json.loads(body)

    assert found["jwks_uri"] == "https://x.example/keys.json"
    assert found["claims_supported"] == ["aud", "exp", "sub", "iat", "iss", "sub"]
    assert body.startswith(b'{\n\t"issuer": "https://x.example",\n\t"jwks_uri"')
    assert b'\n    "claims_supported": [\n        "aud",\n' in body
    assert body.endswith(b'"sub"\n    ]\n}')


def test_a_slash_at_the_end_is_the_issuers_and_not_doubled() -> None:
    found = discovery.parse(documents.configuration("https://x.example/"))

    assert found == ("https://x.example/", "https://x.example/openid/v1/jwks", ("RS256",))


def test_the_keys_are_those_of_ccoctl_to_the_byte() -> None:
    (key,) = keys.read(VECTOR, "k.pem")
    body = documents.key_set([key])

    assert len(body) == 576
    assert body == json.dumps({"keys": [key.jwk]}, indent=4).encode()
    assert (
        documents.key_set([key], documents.AZWI_INDENT) == json.dumps({"keys": [key.jwk]}, indent=2).encode()
    )


def test_no_empty_list_is_ever_written() -> None:
    with pytest.raises(ValueError, match="never written"):
        documents.key_set([])


# ── merging ────────────────────────────────────────────────────────────────────────────────────────────────


def merge(published: bytes | None, *metrics: int, retire: tuple[str, ...] = ()) -> key_merge.MergedKeys:
    return key_merge.merge(
        published, [making.key(number) for number in metrics], place="there", retire=retire
    )


def kids(*metrics: int) -> tuple[str, ...]:
    return tuple(making.key(number).kid for number in metrics)


def refused(published: bytes | None, *metrics: int, retire: tuple[str, ...] = ()) -> str:
    with pytest.raises(errors.InvalidInput) as caught:
        merge(published, *metrics, retire=retire)
    return str(caught.value)


def test_the_first_key() -> None:
    found = merge(None, 0)

    assert found == (documents.key_set([making.key(0)]), kids(0), kids(0), (), True)


def test_a_new_key_stands_beside_the_old_one() -> None:
    found = merge(documents.key_set([making.key(0)]), 1)

    assert (found.kids, found.added, found.changed) == (kids(0, 1), kids(1), True)
    assert found.body == documents.key_set([making.key(0), making.key(1)])


def test_what_says_the_same_already_stays_as_it_is_laid_out() -> None:
    published = json.dumps({"keys": [making.key(1).jwk, making.key(0).jwk]}).encode()

    assert merge(published, 0, 1) == (published, kids(1, 0), (), (), False)


def test_strange_entries_and_members_stay() -> None:
    strange: list[dict[str, Any]] = [
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {**making.key(2).jwk, "x5c": ["MII"]},
    ]
    published = json.dumps({"keys": strange}).encode()

    found = merge(published, 0)
    assert json.loads(found.body)["keys"][:2] == strange
    assert found.added == kids(0)


def test_a_key_goes_when_it_is_named() -> None:
    published = documents.key_set([making.key(0), making.key(1)])

    found = merge(published, 1, retire=kids(0))
    assert (found.kids, found.retired) == (kids(1), kids(0))
    assert merge(found.body, 1, retire=kids(0)).changed is False


def test_the_last_key_does_not_go() -> None:
    published = documents.key_set([making.key(0)])

    assert "no key would be left" in refused(published, retire=kids(0))
    assert "cannot retire and be published at once" in refused(published, 0, retire=kids(0))


@pytest.mark.parametrize("published", [b"", b"\n", b'{"keys": []}'], ids=["nothing", "blank", "empty"])
def test_an_empty_document_which_a_tool_once_wrote_is_healed(published: bytes) -> None:
    assert merge(published, 0).kids == kids(0)


@pytest.mark.parametrize(
    "published", [b"<html>", b"[]", b"{}", b'{"keys": {}}', b'{"keys": [1]}', b"\xff"], ids=repr
)
def test_what_is_no_list_of_keys_is_not_overwritten(published: bytes) -> None:
    refused(published, 0)


def test_another_key_under_our_id_is_not_overwritten() -> None:
    published = json.dumps({"keys": [{**making.key(1).jwk, "kid": making.key(0).kid}]}).encode()

    assert "is another key than ours" in refused(published, 0)


def test_a_published_private_key_is_an_alarm() -> None:
    published = json.dumps({"keys": [{**making.key(1).jwk, "d": "AAAA"}]}).encode()

    reported = refused(published, 0)
    assert "keys[0]: holds a private key" in reported
    assert "AAAA" not in reported


# ── whose it is ────────────────────────────────────────────────────────────────────────────────────────────


OURS = documents.key_set([making.key(0)])
THEIRS = documents.key_set([making.key(1)])


@pytest.mark.parametrize(
    ("configuration", "published", "message"),
    [
        (None, None, ""),
        (documents.configuration(ISSUER), None, ""),
        (documents.configuration(ISSUER), THEIRS, ""),
        (None, OURS, ""),
        (None, b"", ""),
        (b"", b"", ""),
        (None, b'{"keys": []}', ""),
        (documents.configuration(OTHER), OURS, "names the issuer 'https://other.example/c1'"),
        (documents.configuration(ISSUER + "/"), OURS, "they differ in the slash at the end"),
        (b"<html>", OURS, "it is not ours"),
        (None, THEIRS, "none of them ours"),
        (None, b"<html>", "it is not ours"),
    ],
)
def test_whose_documents_they_are(configuration: bytes | None, published: bytes | None, message: str) -> None:
    found = key_merge.foreign(ISSUER, configuration, published, [making.key(0)])

    assert (found == "") == (message == "")
    assert message in found


def needed(
    configuration: bytes | None, key_set: bytes = OURS, shape: documents.DocumentFormat = documents.AZURE
) -> Any:
    return key_merge.needed(ISSUER, configuration, key_set, place="there", shape=shape)


def test_a_discovery_document_that_says_enough_stays() -> None:
    own = json.dumps({**json.loads(AZURE), "more": 1}).encode()

    assert needed(None) == AZURE.encode()
    assert needed(AZURE.encode()) is None
    assert needed(own) is None


def test_a_key_with_another_algorithm_changes_the_discovery_document() -> None:
    (elliptic,) = keys.read(making.spki(making.elliptic()), "k.pem")
    both = documents.key_set([making.key(0), elliptic])

    found = json.loads(needed(AZURE.encode(), both))
    assert found["id_token_signing_alg_values_supported"] == ["RS256", "ES256"]


def test_keys_do_not_move_to_another_address_unnoticed() -> None:
    with pytest.raises(errors.InvalidInput, match="--shape azure fits"):
        needed(AZURE.encode(), shape=documents.AWS)
