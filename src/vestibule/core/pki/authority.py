"""A certificate authority of our own and the leaves it signs, as PEM text; nothing here knows a file or
a cluster."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vestibule.core.pki.leaf import Pair, general_name, key_usage

SKEW: Final = datetime.timedelta(hours=1)
"""Certificates are valid from an hour ago: clocks differ, and "not yet valid" is an outage."""


def new_authority(name: str, *, now: datetime.datetime, life: datetime.timedelta) -> Pair:
    """A self-signed CA that may sign leaves only."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, name),
            # two CAs with one name would be told apart by their keys alone, which some verifiers do badly
            x509.NameAttribute(NameOID.SERIAL_NUMBER, f"{serial:x}"[:32]),
        ]
    )
    certificate = (
        _builder(subject, subject, key.public_key(), serial, now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(sign=False, sign_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


def new_leaf(
    authority: Pair, names: Sequence[str], *, now: datetime.datetime, life: datetime.timedelta
) -> Pair:
    """A serving certificate for these names, signed by the authority; never outlives it."""
    signer = x509.load_pem_x509_certificate(authority.certificate.encode())
    signing_key = serialization.load_pem_private_key(authority.key.encode(), None)
    if not isinstance(signing_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is no elliptic-curve key")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    life = min(life, signer.not_valid_after_utc - now)
    certificate = (
        _builder(subject, signer.subject, key.public_key(), x509.random_serial_number(), now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(sign=True, sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([general_name(name) for name in names]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False
        )
        .sign(signing_key, hashes.SHA256())
    )
    return _pair(certificate, key)


class Dates(NamedTuple):
    """When a certificate counts."""

    since: datetime.datetime
    until: datetime.datetime

    def left(self, now: datetime.datetime) -> float:
        """The share of its life that is left: 1 at birth, 0 at the end. Birth is after the skew."""
        return (self.until - now) / (self.until - self.since - SKEW)


def dates(certificate: str) -> Dates:
    """When the first certificate of a PEM text counts; raises ValueError when there is none."""
    parsed = x509.load_pem_x509_certificate(certificate.encode())
    return Dates(parsed.not_valid_before_utc, parsed.not_valid_after_utc)


def names(certificate: str) -> tuple[str, ...]:
    """The subject alternative names of the first certificate."""
    parsed = x509.load_pem_x509_certificate(certificate.encode())
    try:
        listed = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in listed)


def signed_by(leaf: str, authority: str) -> bool:
    """Whether the authority signed the leaf."""
    parsed = x509.load_pem_x509_certificate(leaf.encode())
    signer = x509.load_pem_x509_certificate(authority.encode())
    try:
        parsed.verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def split(bundle: str) -> list[str]:
    """The certificates of a PEM bundle, one text each; raises ValueError when one is none."""
    if not bundle.strip():
        return []
    return [
        certificate.public_bytes(serialization.Encoding.PEM).decode()
        for certificate in x509.load_pem_x509_certificates(bundle.encode())
    ]


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    serial: int,
    now: datetime.datetime,
    life: datetime.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(now - SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    )
