"""Public keys from PEM text: which blocks count, the id that the API server gives them, and their JWK.

The ``kid`` is the unpadded base64url SHA-256 of the DER SubjectPublicKeyInfo, the rule of kube-apiserver, so
that tokens find their key. Whose rules hold is data (``KeySelection``). No message ever holds a piece of a
key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from vestibule import errors
from vestibule.errors import InputProblem
from vestibule.oidc import tokens

SMALLEST: Final = 2048
"""Bits of an RSA key that every cloud takes."""
_LARGEST: Final = 1024 * 1024
"""Characters of a file with keys."""
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,64})-----(.*?)-----END \1-----", re.DOTALL)
_CURVES: Final[Mapping[str, tuple[str, str, int]]] = {
    "secp256r1": ("P-256", "ES256", 32),
    "secp384r1": ("P-384", "ES384", 48),
    "secp521r1": ("P-521", "ES512", 66),
}
_CURVE_TYPES: Final[Mapping[str, type[ec.EllipticCurve]]] = {
    "secp256r1": ec.SECP256R1,
    "secp384r1": ec.SECP384R1,
    "secp521r1": ec.SECP521R1,
}
_WANT: Final = "want a PEM block with an RSA or EC public key, or a certificate"


class KeySelection(NamedTuple):
    """Which keys are taken."""

    pkcs1: bool = True
    """``RSA PUBLIC KEY``: the same key in another wrapping."""
    elliptic: bool = True
    certificates: bool = True
    private: bool = False
    """Take the public half of a private key; else it is refused, since it has no business there."""
    first_only: bool = False
    """Read the first block and no other."""
    repeats: bool = False
    """Keep a key that is listed twice."""
    smallest: int = SMALLEST


BETTER: Final = KeySelection()
"""Ours."""
CCOCTL: Final = KeySelection(pkcs1=False, elliptic=False, certificates=False, first_only=True, smallest=0)
"""What ccoctl takes, apart from text that is no PEM at all: of that it makes an empty document."""
AZWI: Final = KeySelection(pkcs1=False, private=True, repeats=True, smallest=0)
"""What ``azwi jwks`` takes."""


class PublicKey(NamedTuple):
    """One public key."""

    kid: str
    members: tuple[tuple[str, str], ...]
    """The JWK, in the order in which it is written."""
    bits: int
    """Of the modulus, or of the curve."""
    pem: str
    """SubjectPublicKeyInfo."""
    origin: str = ""
    """File and block it was read from."""

    @property
    def jwk(self) -> dict[str, str]:
        """The members by name."""
        return dict(self.members)

    @property
    def algorithm(self) -> str:
        """What its tokens are signed with."""
        return self.jwk["alg"]

    @property
    def kind(self) -> str:
        """``RSA`` or ``EC``."""
        return self.jwk["kty"]


def read(text: str, place: str, intake: KeySelection = BETTER) -> tuple[PublicKey, ...]:
    """The keys in one text. Raises InvalidInput with everything that is wrong with it."""
    problems: list[InputProblem] = []
    found: list[PublicKey] = []
    if len(text) > _LARGEST:
        raise errors.InvalidInput(InputProblem(place, "", f"has more than {_LARGEST} characters, {_WANT}"))
    blocks = [block for block in _BLOCK.findall(text) if block[0] != "EC PARAMETERS"]
    for number, (label, content) in enumerate(blocks[:1] if intake.first_only else blocks, 1):
        where = f"block {number} ({label})"
        try:
            found.append(_key(label, content, intake)._replace(origin=f"{place}, {where}"))
        except ValueError as error:
            problems.append(InputProblem(place, where, str(error)))
    if not blocks:
        problems.append(InputProblem(place, "", f"{_nothing(text)}, {_WANT}"))
    if problems:
        raise errors.InvalidInput(*problems)
    return tuple(found) if intake.repeats else tuple(distinct(found))


def read_all(texts: Sequence[tuple[str, str]], intake: KeySelection = BETTER) -> tuple[PublicKey, ...]:
    """The keys of several texts, given with their places. Raises InvalidInput for all of them at once."""
    problems: list[InputProblem] = []
    found: list[PublicKey] = []
    for place, text in texts:
        try:
            found += read(text, place, intake)
        except errors.InvalidInput as error:
            problems += error.problems
    if problems:
        raise errors.InvalidInput(*problems)
    return tuple(found) if intake.repeats else tuple(distinct(found))


def distinct(keys: Sequence[PublicKey]) -> Iterator[PublicKey]:
    """Each key once, in the order of their first appearance."""
    seen: set[str] = set()
    for key in keys:
        if key.kid not in seen:
            seen.add(key.kid)
            yield key


def of(public: object, origin: str = "") -> PublicKey:
    """The value of a key object. Raises ValueError when clouds cannot use such a key."""
    if isinstance(public, rsa.RSAPublicKey):
        public_numbers = public.public_numbers()
        bits = public.key_size
        rest: tuple[tuple[str, str], ...] = (
            ("alg", "RS256"),
            ("n", _number(public_numbers.n)),
            ("e", _number(public_numbers.e)),
        )
    elif isinstance(public, ec.EllipticCurvePublicKey):
        if public.curve.name not in _CURVES:
            raise ValueError(f"has the curve {public.curve.name}, want P-256, P-384 or P-521")
        curve, algorithm, size = _CURVES[public.curve.name]
        point = public.public_numbers()
        bits = public.curve.key_size
        rest = (
            ("crv", curve),
            ("alg", algorithm),
            ("x", _number(point.x, size)),
            ("y", _number(point.y, size)),
        )
    else:
        name = type(public).__name__.strip("_").removesuffix("PublicKey")
        raise ValueError(f"is a key of the kind {name}, want RSA or EC")
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    kid = _base64url(hashlib.sha256(der).digest())
    kind = "RSA" if isinstance(public, rsa.RSAPublicKey) else "EC"
    return PublicKey(kid, (("use", "sig"), ("kty", kind), ("kid", kid), *rest), bits, pem.decode(), origin)


def of_jwk(entry: Mapping[str, object], origin: str = "") -> PublicKey:
    """The JWK of a key from another publisher, with its published id. Raises ValueError."""
    kid, kind = entry.get("kid"), entry.get("kty")
    if not isinstance(kid, str) or not kid:
        raise ValueError("has no kid, want the id that tokens name")
    if kind == "RSA":
        n, e = (_integer(entry, name) for name in ("n", "e"))
        found: object = rsa.RSAPublicNumbers(e, n).public_key()
    elif kind == "EC":
        curves = {name: curve for curve, (name, _, _) in _CURVES.items()}
        curve = curves.get(str(entry.get("crv")))
        if curve is None:
            raise ValueError(f"has the curve {entry.get('crv')!r}, want P-256, P-384 or P-521")
        x, y = (_integer(entry, name) for name in ("x", "y"))
        found = ec.EllipticCurvePublicNumbers(x, y, _CURVE_TYPES[curve]()).public_key()
    else:
        raise ValueError(f"has kty {kind!r}, want RSA or EC")
    key = of(found, origin)
    members = tuple((name, kid if name == "kid" else value) for name, value in key.members)
    return key._replace(kid=kid, members=members)


def _integer(entry: Mapping[str, object], name: str) -> int:
    text = entry.get(name)
    raw = tokens.decoded(text) if isinstance(text, str) else None
    if not raw:
        raise ValueError(f"has no {name}, want a base64url number")
    return int.from_bytes(raw)


def _key(label: str, content: str, intake: KeySelection) -> PublicKey:
    if "PRIVATE KEY" in label:
        return _sized(of(_public_half(label, content, intake)), intake)
    try:
        der = base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"is no base64 text, {_WANT}") from None
    try:
        public: object = serialization.load_der_public_key(der)
    except (ValueError, UnsupportedAlgorithm):
        public = _certified(der, intake)
    else:
        if not intake.pkcs1 and _bare(der):
            raise ValueError("is in PKCS#1 and cannot be parsed, want SubjectPublicKeyInfo (PUBLIC KEY)")
    if isinstance(public, ec.EllipticCurvePublicKey) and not intake.elliptic:
        raise ValueError("is an EC key, want RSA")
    return _sized(of(public), intake)


def _bare(der: bytes) -> bool:
    """Whether this is an RSA key without the wrapping that names its kind: a sequence that begins with a
    number."""
    length = der[1] if len(der) > 1 else 0
    begins = 2 + (length & 0x7F if length & 0x80 else 0)
    return der[begins : begins + 1] == b"\x02"


def _certified(der: bytes, intake: KeySelection) -> object:
    """The key that a certificate holds."""
    try:
        if not intake.certificates:
            raise ValueError("certificates are not taken")
        return x509.load_der_x509_certificate(der).public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(f"cannot be parsed, {_WANT}") from None


def _public_half(label: str, content: str, intake: KeySelection) -> object:
    if not intake.private:
        raise ValueError("is a private key, want its public half: a private key is never published")
    if label == "ENCRYPTED PRIVATE KEY" or "ENCRYPTED" in content:
        raise ValueError("is an encrypted private key, want its public half")
    pem = f"-----BEGIN {label}-----{content}-----END {label}-----\n".encode()
    try:
        return serialization.load_pem_private_key(pem, None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("is a private key that cannot be parsed, want RSA or EC") from None


def _sized(key: PublicKey, intake: KeySelection) -> PublicKey:
    if key.kind == "RSA" and key.bits < intake.smallest:
        raise ValueError(f"is an RSA key of {key.bits} bits, want {intake.smallest} or more")
    return key


def _nothing(text: str) -> str:
    if not text.strip():
        return "is empty"
    if text.lstrip().startswith(("{", "[")):
        return "is JSON and no PEM"
    return "has no PEM block"


def _number(value: int, size: int = 0) -> str:
    return _base64url(value.to_bytes(size or (value.bit_length() + 7) // 8))


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
