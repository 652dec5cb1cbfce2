"""Leaf certificates by the profile of another program: subject, names, usages, kind of key; and the faults of
an existing one.

A hosted control plane brings its own CA, mostly RSA, and other programs compare our leaves with what
they would have made. Certificates and keys are PEM text; time is an argument. A leaf is good only if it
verifies against the authority at hand, whatever else it says.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import warnings
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vestibule.pki import x509_builders
from vestibule.pki.leaf import CertificatePair

DAY: Final = datetime.timedelta(days=1)
YEAR: Final = 365 * DAY
_TOLERANCE: Final = datetime.timedelta(seconds=1)
_EXPONENT: Final = 65_537
Usage = Literal["clientAuth", "serverAuth"]
_USAGES: Final[dict[Usage, x509.ObjectIdentifier]] = {
    "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "serverAuth": ExtendedKeyUsageOID.SERVER_AUTH,
}
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class LeafProfile(NamedTuple):
    """What a leaf must say."""

    common_name: str
    organizations: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Subject alternative names: addresses and DNS names."""
    usages: tuple[Usage, ...] = ("serverAuth",)
    key: Literal["rsa-2048", "p-256"] = "rsa-2048"
    """RSA keys are written as PKCS#1, others as PKCS#8."""
    life: datetime.timedelta = YEAR
    skew: datetime.timedelta = datetime.timedelta(0)
    """How long before its birth it counts; clocks differ."""
    renew_below: datetime.timedelta = 30 * DAY
    """A successor is made when less is left."""


@contextlib.contextmanager
def _long_names() -> Iterator[None]:
    """User names of ServiceAccounts are longer than the 64 characters that X.520 allows; Kubernetes reads
    them anyway, and the library warns wherever it meets one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Attribute's length must be", UserWarning)
        yield


def issue(signer: CertificatePair, profile: LeafProfile, now: datetime.datetime) -> CertificatePair:
    """A new leaf; raises ValueError when the signer's PEM is no use. Never outlives the signer."""
    with _long_names():
        return _issue(signer, profile, now)


def _issue(signer: CertificatePair, profile: LeafProfile, now: datetime.datetime) -> CertificatePair:
    ca, signing_key = _certificate(signer.certificate), _key(signer.key)
    if ca is None or signing_key is None:
        raise ValueError("is no certificate and key in PEM, RSA or elliptic, without a password")
    now = now.replace(microsecond=0)
    key: Key = (
        ec.generate_private_key(ec.SECP256R1())
        if profile.key == "p-256"
        else rsa.generate_private_key(_EXPONENT, 2048)
    )
    builder = (
        x509_builders.begun(
            _subject(profile),
            ca.subject,
            key.public_key(),
            since=now - profile.skew,
            until=min(now + profile.life, ca.not_valid_after_utc),
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(profile), critical=True)
        .add_extension(x509.ExtendedKeyUsage([_USAGES[one] for one in profile.usages]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False
        )
    )
    if profile.names:
        builder = builder.add_extension(x509_builders.alternative(profile.names), critical=False)
    return CertificatePair(
        x509_builders.certificate_text(builder.sign(signing_key, hashes.SHA256())), _private(key)
    )


def faults(stored: CertificatePair, ca: str, profile: LeafProfile, now: datetime.datetime) -> tuple[str, ...]:
    """Every reason to issue a new leaf; none: the stored one stays."""
    certificate = _certificate(stored.certificate)
    if certificate is None:
        return ("no certificate",)
    with _long_names():
        return tuple(_faults(certificate, stored.key, ca, profile, now))


def _faults(
    certificate: x509.Certificate, key_text: str, ca: str, profile: LeafProfile, now: datetime.datetime
) -> Iterator[str]:
    key = _key(key_text)
    if key is None or _public(key.public_key()) != _public(certificate.public_key()):
        yield "the key is not the certificate's"
    if not _signed(certificate, ca):
        yield "the CA did not sign it"
    elif _expected(certificate, ca, profile) != certificate.not_valid_after_utc:
        yield "its lifetime is not the requested one"
    if certificate.not_valid_after_utc - now < profile.renew_below:
        yield "it ends soon"
    if _attributes(certificate.subject) != _attributes(_subject(profile)):
        yield "its subject differs"
    if {_plain(name) for name in x509_builders.names(certificate)} != {
        _plain(name) for name in profile.names
    }:
        yield "its names differ"
    if _extended(certificate) != {_USAGES[one] for one in profile.usages}:
        yield "its extended usages differ"
    if _usage(certificate) != _key_usage(profile) or _is_ca(certificate):
        yield "its usages differ"


def _expected(certificate: x509.Certificate, ca: str, profile: LeafProfile) -> datetime.datetime:
    """The notAfter that this profile would give; its own notAfter if that is near enough."""
    signer = _certificate(ca)
    end = certificate.not_valid_before_utc + profile.skew + profile.life
    if signer is not None:
        end = min(end, signer.not_valid_after_utc)
    found = certificate.not_valid_after_utc
    return found if abs(found - end) <= _TOLERANCE else end


def _certificate(text: str) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(text.encode())
    except ValueError:
        return None


def _key(text: str) -> Key | None:
    try:
        key = serialization.load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) else None


def _signed(certificate: x509.Certificate, ca: str) -> bool:
    signer = _certificate(ca)
    return signer is not None and x509_builders.issued_by(certificate, signer)


def _subject(profile: LeafProfile) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in profile.organizations]
    name = x509.NameAttribute(NameOID.COMMON_NAME, profile.common_name, _validate=False)
    return x509.Name([*organizations, name])


def _attributes(subject: x509.Name) -> list[tuple[str, str]]:
    return sorted((one.oid.dotted_string, str(one.value)) for one in subject)


def _plain(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def _extended(certificate: x509.Certificate) -> set[x509.ObjectIdentifier]:
    try:
        return set(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return set()


def _usage(certificate: x509.Certificate) -> x509.KeyUsage | None:
    try:
        return certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return None


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _key_usage(profile: LeafProfile) -> x509.KeyUsage:
    return x509_builders.key_usage(sign=True, encipher_keys=profile.key == "rsa-2048")


def _private(key: Key) -> str:
    form = serialization.PrivateFormat
    return x509_builders.key_text(
        key, form.TraditionalOpenSSL if isinstance(key, rsa.RSAPrivateKey) else form.PKCS8
    )


def _public(key: CertificatePublicKeyTypes) -> bytes:
    shape = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, shape)
