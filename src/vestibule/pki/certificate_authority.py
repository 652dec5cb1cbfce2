"""A certificate authority of our own and the leaves it signs, as PEM text; nothing here knows a file or
a cluster."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vestibule.pki import x509_builders
from vestibule.pki.leaf import CertificatePair

SKEW: Final = datetime.timedelta(hours=1)
"""Certificates are valid from an hour ago: clocks differ, and "not yet valid" is an outage."""


def new_ca(name: str, *, now: datetime.datetime, life: datetime.timedelta) -> CertificatePair:
    """A self-signed CA that may sign leaves only."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, name),
            # two CAs with one name would differ by their keys alone, which some verifiers handle badly
            x509.NameAttribute(NameOID.SERIAL_NUMBER, f"{serial:x}"[:32]),
        ]
    )
    certificate = (
        _begun(subject, subject, key.public_key(), now, life, serial)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509_builders.key_usage(sign=False, sign_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


def new_leaf(
    ca: CertificatePair, names: Sequence[str], *, now: datetime.datetime, life: datetime.timedelta
) -> CertificatePair:
    """A serving certificate for these names, signed by the authority; never outlives it."""
    signer = x509.load_pem_x509_certificate(ca.certificate.encode())
    signing_key = serialization.load_pem_private_key(ca.key.encode(), None)
    if not isinstance(signing_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the CA's key is no elliptic-curve key")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    life = min(life, signer.not_valid_after_utc - now)
    certificate = (
        _begun(subject, signer.subject, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509_builders.key_usage(sign=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509_builders.alternative(names), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False
        )
        .sign(signing_key, hashes.SHA256())
    )
    return _pair(certificate, key)


class Validity(NamedTuple):
    """When a certificate counts."""

    since: datetime.datetime
    until: datetime.datetime

    def left(self, now: datetime.datetime) -> float:
        """The share of its life that is left: 1 at birth, 0 at the end. Birth is after the skew."""
        return (self.until - now) / (self.until - self.since - SKEW)


def dates(certificate: str) -> Validity:
    """When the first certificate of a PEM text counts; raises ValueError when there is none."""
    parsed = x509.load_pem_x509_certificate(certificate.encode())
    return Validity(parsed.not_valid_before_utc, parsed.not_valid_after_utc)


def names(certificate: str) -> tuple[str, ...]:
    """The subject alternative names of the first certificate."""
    return x509_builders.names(x509.load_pem_x509_certificate(certificate.encode()))


def signed_by(leaf: str, ca: str) -> bool:
    """Whether the authority signed the leaf."""
    signer = x509.load_pem_x509_certificate(ca.encode())
    return x509_builders.issued_by(x509.load_pem_x509_certificate(leaf.encode()), signer)


def split(bundle: str) -> list[str]:
    """The certificates of a PEM bundle, one text each; raises ValueError when one is none."""
    if not bundle.strip():
        return []
    return [
        x509_builders.certificate_text(certificate)
        for certificate in x509.load_pem_x509_certificates(bundle.encode())
    ]


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime.datetime,
    life: datetime.timedelta,
    serial: int | None = None,
) -> x509.CertificateBuilder:
    builder = x509_builders.begun(subject, issuer, key, since=now - SKEW, until=now + life, serial=serial)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> CertificatePair:
    return CertificatePair(x509_builders.certificate_text(certificate), x509_builders.key_text(key))
