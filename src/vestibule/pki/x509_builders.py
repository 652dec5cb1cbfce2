"""What certificates of every kind are made of, and what is read from them: no kind of its own lives here."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey


def begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: PublicKey,
    *,
    since: datetime.datetime,
    until: datetime.datetime,
    serial: int | None = None,
) -> x509.CertificateBuilder:
    """A certificate without extensions; with a random serial number unless one is given."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number() if serial is None else serial)
        .not_valid_before(since)
        .not_valid_after(until)
    )


def alternative(names: Iterable[str]) -> x509.SubjectAlternativeName:
    """The subject alternative names that say these."""
    return x509.SubjectAlternativeName([_general(name) for name in names])


def _general(name: str) -> x509.GeneralName:
    """An address where the text is one, else a DNS name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def key_usage(*, sign: bool, sign_certificates: bool = False, encipher_keys: bool = False) -> x509.KeyUsage:
    """What a key may be used for: handshakes, certificates, and keys of handshakes where RSA does so."""
    return x509.KeyUsage(
        digital_signature=sign,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        key_encipherment=encipher_keys,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def names(certificate: x509.Certificate) -> tuple[str, ...]:
    """The subject alternative names."""
    try:
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in listed)


def issued_by(certificate: x509.Certificate, signer: x509.Certificate) -> bool:
    """Whether the signer signed it, under its own name."""
    try:
        certificate.verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def certificate_text(certificate: x509.Certificate) -> str:
    """PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def key_text(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey,
    form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> str:
    """PEM without a password."""
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
