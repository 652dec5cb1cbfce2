"""Keys as PEM and as values, made once in a run; and an issuer's place whose calls can be counted or cut."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from tests.doctor.issuer import rsa_key
from vestibule.clouds.objectstore.ports import Content, ObjectStore, StoredObject
from vestibule.oidc import keys
from vestibule.oidc.keys import PublicKey

PEM = serialization.Encoding.PEM
SPKI, PKCS1 = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.PublicFormat.PKCS1
OPENSSL, PKCS8 = serialization.PrivateFormat.TraditionalOpenSSL, serialization.PrivateFormat.PKCS8


def public(number: int = 0, form: serialization.PublicFormat = SPKI) -> str:
    return rsa_key(number).public_key().public_bytes(PEM, form).decode()


def private(number: int = 0, form: serialization.PrivateFormat = OPENSSL) -> str:
    return rsa_key(number).private_bytes(PEM, form, serialization.NoEncryption()).decode()


def key(number: int = 0) -> PublicKey:
    (created,) = keys.read(public(number), f"key-{number}.pem")
    return created


@functools.cache
def elliptic(curve: type[ec.EllipticCurve] = ec.SECP256R1) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve())


def spki(made: Any) -> str:
    return str(made.public_key().public_bytes(PEM, SPKI).decode())


def ed25519_public() -> str:
    return spki(ed25519.Ed25519PrivateKey.generate())


@functools.cache
def small() -> str:
    return spki(rsa.generate_private_key(65_537, 1024))  # noqa: S505 - it must be refused


def certificate(number: int = 0) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "signer")])
    now = datetime.datetime.now(datetime.UTC)
    created = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(rsa_key(number).public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(rsa_key(number), hashes.SHA256())
    )
    return created.public_bytes(PEM).decode()


class Killed(BaseException):
    """The power went."""


class Watched:
    """A store that calls back before each of its calls, and after each write."""

    def __init__(
        self,
        inner: ObjectStore,
        before: Callable[[str, str], None] = lambda *_: None,
        after: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.inner, self._before, self._after = inner, before, after

    @property
    def where(self) -> str:
        return self.inner.where

    @property
    def served(self) -> bool:
        return self.inner.served

    def read(self, name: str) -> StoredObject | None:
        self._before("read", name)
        return self.inner.read(name)

    def write(self, name: str, content: Content, *, if_match: str | None = None) -> str:
        self._before("write", name)
        etag = self.inner.write(name, content, if_match=if_match)
        self._after(name)
        return etag

    def remove(self, name: str, *, if_match: str | None = None) -> bool:
        self._before("remove", name)
        return self.inner.remove(name, if_match=if_match)
