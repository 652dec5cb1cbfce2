"""The key pair that signs ServiceAccount tokens, as PEM text: RSA, which every cloud verifies."""

from __future__ import annotations

from typing import Final, NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from vestibule.pki import x509_builders

BITS: Final = 4096
_EXPONENT: Final = 65_537


class SigningKeyPair(NamedTuple):
    """A key pair. The private key can impersonate every ServiceAccount; it is never shown."""

    private: str
    """PKCS#1, ``RSA PRIVATE KEY``."""
    public: str
    """SubjectPublicKeyInfo, ``PUBLIC KEY``."""

    def __repr__(self) -> str:
        return "Signer(…)"


def new(bits: int = BITS) -> SigningKeyPair:
    """A fresh pair."""
    return _signer(rsa.generate_private_key(_EXPONENT, bits))


def of(private: str) -> SigningKeyPair:
    """The pair of a private key in PEM, with its text unchanged. Raises ValueError when it is no RSA key."""
    try:
        key = serialization.load_pem_private_key(private.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("is no private key in PEM without a password") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("is no RSA key")
    return _signer(key)._replace(private=private)


def _signer(key: rsa.RSAPrivateKey) -> SigningKeyPair:
    private = x509_builders.key_text(key, serialization.PrivateFormat.TraditionalOpenSSL)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return SigningKeyPair(private, public.decode())
