"""Public keys from text: the id and the members that clouds and API servers expect, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding

from tests.doctor.issuer import rsa_key
from tests.oidc import making
from vestibule import errors
from vestibule.oidc import documents, jwks, keys, tokens
from vestibule.pki import signer

# made for the vectors of ccoctl; its id was computed by OpenSSL
VECTOR = """\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA38b10aYfr4izYd/+K7zO
xCkH5kPZ+S0RdDapcolvYypaxftDA+t1IEj2BuwL2yDDDiDs1ALF8WymDq9mtvhs
V55/Z6cItIfhEHCjnzc73IXQUU3igigG2hPu7m+sDfqMM2UtfTlywPaVx9nrICjt
GQFd5MELVCnfONzs/EAkkHjIxPxpchCmlWLKGOu6mZjvOKfpaoxAYioA83S9PgFQ
fL5acp10CyQrjxhaWFQqTMtiLHfkYP5izZxlRrQ7NzlG3TmTInsmJ837mi9XlwpL
d87XsN8ae5hOnzNymdjjdEPU0Id/Znm/gy5wYC/9IDGcFRAyZ2nmzCCJ9lD5drOx
VwIDAQAB
-----END PUBLIC KEY-----
"""
KID = "e-juVUU0F6LpJoshchvCsPQ5FYMC9CcLnXKPcUcWpM8"


def refusal(text: str, intake: keys.KeySelection = keys.BETTER) -> list[str]:
    with pytest.raises(errors.InvalidInput) as caught:
        keys.read(text, "k.pem", intake)
    return [str(problem) for problem in caught.value.problems]


def test_the_vector_has_the_id_that_openssl_gives_it() -> None:
    (key,) = keys.read(VECTOR, "k.pem")

    assert (key.kid, key.kind, key.algorithm, key.bits) == (KID, "RSA", "RS256", 2048)
    assert [name for name, _ in key.members] == ["use", "kty", "kid", "alg", "n", "e"]
    assert key.jwk["e"] == "AQAB"
    assert key.origin == "k.pem, block 1 (PUBLIC KEY)"


def test_the_id_is_the_digest_of_the_wrapped_key() -> None:
    der = rsa_key(0).public_key().public_bytes(serialization.Encoding.DER, making.SPKI)

    assert making.key().kid == base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()


CURVES = [
    (ec.SECP256R1, "P-256", "ES256", 43),
    (ec.SECP384R1, "P-384", "ES384", 64),
    (ec.SECP521R1, "P-521", "ES512", 88),
]


@pytest.mark.parametrize(("curve", "name", "algorithm", "length"), CURVES, ids=str)
def test_elliptic_keys(curve: type[ec.EllipticCurve], name: str, algorithm: str, length: int) -> None:
    (key,) = keys.read(making.spki(making.elliptic(curve)), "k.pem")

    assert [member for member, _ in key.members] == ["use", "kty", "kid", "crv", "alg", "x", "y"]
    assert (key.jwk["crv"], key.jwk["alg"], len(key.jwk["x"]), len(key.jwk["y"])) == (
        name, algorithm, length, length,
    )  # fmt: skip


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "ES384", "ES512"])
def test_tokens_are_verified_by_the_document_and_by_another_implementation(algorithm: str) -> None:
    created: Any = rsa_key(0)
    if algorithm != "RS256":
        created = making.elliptic({name: curve for curve, _, name, _ in CURVES}[algorithm])
    (key,) = keys.read(making.spki(created), "k.pem")
    body = documents.key_set([key])
    token = jwt.encode({"iss": "https://x"}, created, algorithm, {"kid": key.kid})

    assert jwt.decode(token, jwt.PyJWKSet.from_json(body.decode())[key.kid].key, [algorithm])
    assert jwks.verifies(tokens.parse(token), jwks.parse(body).by_kid[key.kid])


def _signed(header: dict[str, Any], private: Any) -> str:
    """A token with any header, signed by hand with RS256."""
    parts = [json.dumps(part).encode() for part in (header, {"iss": "https://x"})]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = private.sign(text, padding.PKCS1v15(), hashes.SHA256())
    return f"{text.decode()}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


@pytest.mark.parametrize(
    ("header", "good"),
    [
        ({"alg": "RS256", "typ": "JWT"}, True),
        ({"alg": "RS256", "crit": ["exp"], "exp": 1}, False),  # an extension that nobody here understands
        ({"alg": "RS256", "crit": []}, False),
        ({"alg": "RS512"}, False),
        ({"alg": "PS256"}, False),
        ({"alg": "HS256"}, False),
        ({"alg": "ES256"}, False),
        ({"alg": "none"}, False),
        ({"alg": None}, False),
        ({}, False),
    ],
    ids=str,
)
def test_only_headers_that_every_relying_party_takes_are_verified(header: dict[str, Any], good: bool) -> None:
    private = rsa_key(0)
    (key,) = keys.read(making.spki(private), "k.pem")
    published = jwks.parse(documents.key_set([key])).by_kid[key.kid]

    assert jwks.verifies(tokens.parse(_signed(header, private)), published._replace(algorithm="")) is good


def test_a_public_key_is_no_secret_for_an_hmac() -> None:
    (key,) = keys.read(making.public(), "k.pem")
    header, claims = (
        base64.urlsafe_b64encode(part).rstrip(b"=") for part in (b'{"alg":"HS256"}', b'{"iss":"https://x"}')
    )
    mac = hmac.new(key.pem.encode(), header + b"." + claims, "sha256").digest()
    text = b".".join((header, claims, base64.urlsafe_b64encode(mac).rstrip(b"="))).decode()
    published = jwks.parse(documents.key_set([key])).by_kid[key.kid]._replace(algorithm="")

    assert not jwks.verifies(tokens.parse(text), published)


def test_a_key_of_another_curve_or_off_its_curve_verifies_nothing() -> None:
    private = making.elliptic(ec.SECP256R1)
    (key,) = keys.read(making.spki(private), "k.pem")
    token = tokens.parse(jwt.encode({"iss": "https://x"}, private, "ES256", {"kid": key.kid}))
    published = jwks.parse(documents.key_set([key])).by_kid[key.kid]
    parameters = dict(published.parameters)

    assert jwks.verifies(token, published)
    for change in ({"crv": "P-384"}, {"crv": "P-521"}, {"crv": "secp256k1"}, {"x": "01"}, {"y": ""}):
        assert not jwks.verifies(
            token, published._replace(parameters=tuple({**parameters, **change}.items()))
        )


def test_the_same_key_in_other_wrappings_is_the_same_key() -> None:
    wrapped = [making.public(), making.public(form=making.PKCS1), making.certificate()]

    found = [keys.read(text, "k.pem")[0] for text in wrapped]
    assert {key.kid for key in found} == {making.key().kid}
    assert {key.pem for key in found} == {making.public()}


def test_several_keys_in_one_file_and_words_between_them() -> None:
    text = f"# ours\n{making.public(0)}\nand the next:\n{making.public(1)}{making.public(0)}"

    assert [key.kid for key in keys.read(text, "k.pem")] == [making.key(0).kid, making.key(1).kid]
    assert len(keys.read(text, "k.pem", keys.AZWI)) == 3
    assert len(keys.read(text, "k.pem", keys.CCOCTL)) == 1


@pytest.mark.parametrize("form", [making.OPENSSL, making.PKCS8], ids=["pkcs1", "pkcs8"])
def test_a_private_key_is_refused_unless_its_public_half_is_asked_for(
    form: serialization.PrivateFormat,
) -> None:
    (reported,) = refusal(making.private(form=form))

    assert "is a private key, want its public half: a private key is never published" in reported
    taken = keys.read(making.private(form=form), "k.pem", keys.AZWI)
    assert [key.kid for key in taken] == [making.key().kid]


def test_an_elliptic_private_key_as_openssl_writes_it() -> None:
    created = (
        making.elliptic().private_bytes(making.PEM, making.OPENSSL, serialization.NoEncryption()).decode()
    )
    text = f"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n{created}"

    assert len(keys.read(text, "k.pem", keys.AZWI)) == 1
    assert len(refusal(text)) == 1


def _encrypted() -> str:
    protection = serialization.BestAvailableEncryption(b"secret")
    return rsa_key(0).private_bytes(making.PEM, making.PKCS8, protection).decode()


REFUSED: dict[str, tuple[Callable[[], str], str]] = {
    "nothing": (lambda: "", "is empty"),
    "blanks": (lambda: " \n\t\n", "is empty"),
    "words": (lambda: "not a pem\n", "has no PEM block"),
    "JSON": (lambda: '{"keys": []}', "is JSON and no PEM"),
    "half a block": (lambda: making.public()[:200], "has no PEM block"),
    "no base64": (lambda: "-----BEGIN PUBLIC KEY-----\n???\n-----END PUBLIC KEY-----", "is no base64"),
    "no key": (lambda: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "cannot be parsed"),
    "another kind": (making.ed25519_public, "is a key of the kind Ed25519, want RSA or EC"),
    "a small key": (making.small, "is an RSA key of 1024 bits, want 2048 or more"),
    "an odd curve": (lambda: making.spki(making.elliptic(ec.SECP256K1)), "has the curve secp256k1"),
    "an encrypted key": (_encrypted, "is a private key"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_key_of_ours_is_refused_with_place_and_want(case: str) -> None:
    text, expected = REFUSED[case]

    (reported,) = refusal(text())
    assert reported.startswith("k.pem: ")
    assert expected in reported
    assert "want" in reported


def test_all_problems_of_all_files_at_once() -> None:
    texts = [("a.pem", "x"), ("b.pem", making.small() + making.ed25519_public()), ("c.pem", making.public())]

    with pytest.raises(errors.InvalidInput) as caught:
        keys.read_all(texts)
    places = [(problem.place, problem.field) for problem in caught.value.problems]
    assert places == [("a.pem", ""), ("b.pem", "block 1 (PUBLIC KEY)"), ("b.pem", "block 2 (PUBLIC KEY)")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (making.public(form=making.PKCS1), "is in PKCS#1"),
        (making.public(form=making.PKCS1).replace("RSA PUBLIC", "PUBLIC"), "is in PKCS#1"),
        (making.spki(making.elliptic()), "is an EC key, want RSA"),
        (making.certificate(), "cannot be parsed"),
    ],
    ids=["pkcs1", "pkcs1 under another label", "ec", "certificate"],
)
def test_what_ccoctl_refuses_is_refused_in_its_place(text: str, message: str) -> None:
    (reported,) = refusal(text, keys.CCOCTL)

    assert message in reported


def test_ccoctl_does_not_look_at_the_label() -> None:
    text = making.public().replace("PUBLIC KEY", "CERTIFICATE")

    assert [key.kid for key in keys.read(text, "k.pem", keys.CCOCTL)] == [making.key().kid]


def test_azwi_refuses_what_it_refuses() -> None:
    for text in (making.public(form=making.PKCS1), making.ed25519_public(), "x", _encrypted()):
        refusal(text, keys.AZWI)


def test_no_message_and_no_repr_holds_a_piece_of_a_private_key() -> None:
    secret = making.private(form=making.PKCS8)
    pieces = [line for line in secret.splitlines() if not line.startswith("---")]
    broken = secret.replace(pieces[3], pieces[3][::-1])

    reported = [*refusal(secret), *refusal(broken, keys.AZWI), *refusal(_encrypted(), keys.AZWI)]
    reported.append(repr(signer.of(making.private())))
    assert not any(piece in text or piece[::-1] in text for piece in pieces for text in reported)


def test_a_published_key_keeps_the_id_that_it_has_there() -> None:
    entry = {**making.key().jwk, "kid": "of-a-kms"}

    key = keys.of_jwk(entry)
    assert (key.kid, key.jwk["kid"], key.jwk["n"]) == ("of-a-kms", "of-a-kms", making.key().jwk["n"])
    for curve, *_ in CURVES:
        (created,) = keys.read(making.spki(making.elliptic(curve)), "k.pem")
        assert keys.of_jwk(created.jwk).members == created.members


@pytest.mark.parametrize(
    "change",
    [
        {"kid": ""},
        {"kty": "OKP"},
        {"n": "+"},
        {"e": None},
        {"kty": "EC", "crv": "P-1"},
        {"kty": "EC", "crv": "P-256"},
    ],
    ids=str,
)
def test_a_published_key_that_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="want"):
        keys.of_jwk({**making.key().jwk, **change})


def test_a_fresh_pair_is_what_installers_expect() -> None:
    created = signer.new(2048)

    assert created.private.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert created.public.startswith("-----BEGIN PUBLIC KEY-----\n")
    assert signer.of(created.private) == created
    assert signer.BITS == 4096
    assert re.fullmatch(r"Signer\(…\)", repr(created))


@pytest.mark.parametrize("text", ["some data", making.public(), making.spki(making.elliptic())])
def test_what_is_no_signer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        signer.of(text)
