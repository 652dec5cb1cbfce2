"""Throw-away serving certificates: a self-signed leaf for a demonstration or a test, as PEM text."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vestibule.pki import x509_builders

_SKEW = datetime.timedelta(hours=1)  # clocks differ; a certificate must not be "not yet valid" next door


class CertificatePair(NamedTuple):
    """A certificate and its private key."""

    certificate: str
    key: str


def self_signed(names: Sequence[str], *, now: datetime.datetime, days: int = 30) -> CertificatePair:
    """A certificate for these names and addresses, its own issuer; P-256, quick to sign with."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vestibule")])
    certificate = (
        x509_builders.begun(
            subject,
            subject,
            key.public_key(),
            since=now - _SKEW,
            until=now + datetime.timedelta(days=days),
        )
        .add_extension(x509_builders.alternative(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509_builders.key_usage(sign=True, sign_certificates=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return CertificatePair(x509_builders.certificate_text(certificate), x509_builders.key_text(key))
