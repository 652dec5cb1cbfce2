"""A throw-away certificate authority per control plane: serving and client certificates, the token key.

Elliptic keys everywhere but for the ServiceAccount key: RS256 is what cloud providers verify. Every key
file is 0600 from birth. Kubernetes reads a client certificate's CN as the user and each O as a group.
"""

from __future__ import annotations

import datetime
import ipaddress
import itertools
import os
import ssl
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = datetime.timedelta(days=1)
_PEM, _PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
_HERE: list[x509.GeneralName] = [
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
]


class Pair(NamedTuple):
    """The files of a certificate and of its key."""

    cert: Path
    key: Path


class Authority:
    """Signs for one control plane; its files live in one folder."""

    def __init__(self, folder: Path, name: str = "vestibule rig") -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._serials = itertools.count(2)
        self._clients: dict[tuple[str, tuple[str, ...], int], Pair] = {}
        self._lock = threading.Lock()
        own = (
            _valid(x509.CertificateBuilder().subject_name(self._subject).issuer_name(self._subject))
            .public_key(self._key.public_key())
            .serial_number(1)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca = folder / "ca.crt"
        self.pem = own.public_bytes(_PEM)
        self.ca.write_bytes(self.pem)

    def server(self, name: str) -> Pair:
        """A serving certificate for localhost and 127.0.0.1."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(name, subject, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, user: str, groups: Iterable[str] = (), days: int = 30) -> Pair:
        """The certificate of a user with groups; the same files for the same question."""
        requested = (user, tuple(groups), days)
        with self._lock:
            if requested not in self._clients:
                names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in requested[1]]
                subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])
                stem = f"client-{len(self._clients)}"
                self._clients[requested] = self._issue(stem, subject, ExtendedKeyUsageOID.CLIENT_AUTH, days)
            return self._clients[requested]

    def token_key(self) -> Pair:
        """The key that signs ServiceAccount tokens, its public half as ``cert``."""
        key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        public = key.public_key().public_bytes(_PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        pair = Pair(self._folder / "sa.pub", self._folder / "sa.key")
        pair.cert.write_bytes(public)
        write_key(pair.key, key)
        return pair

    def trusting(self, pair: Pair | None = None) -> ssl.SSLContext:
        """For a client that trusts this authority alone, and shows the pair if there is one."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=self.pem.decode())
        if pair is not None:
            context.load_cert_chain(pair.cert, pair.key)
        return context

    def serving(self, name: str) -> ssl.SSLContext:
        """For a server of ours, HTTP/1.1 only."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server(name))
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _issue(self, stem: str, subject: x509.Name, usage: x509.ObjectIdentifier, days: int = 30) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _valid(x509.CertificateBuilder().subject_name(subject).issuer_name(self._subject), days)
        serial = next(self._serials)
        certificate = (
            builder.public_key(key.public_key())
            .serial_number(serial)
            .add_extension(x509.SubjectAlternativeName(_HERE), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pair = Pair(self._folder / f"{stem}-{serial}.crt", self._folder / f"{stem}-{serial}.key")
        pair.cert.write_bytes(certificate.public_bytes(_PEM))
        write_key(pair.key, key)
        return pair


def _valid(builder: x509.CertificateBuilder, days: int = 30) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return builder.not_valid_before(now - _DAY).not_valid_after(now + days * _DAY)


def write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    """PKCS 8, readable by the owner only, from the first byte on."""
    write_private(path, key.private_bytes(_PEM, _PKCS8, serialization.NoEncryption()))


def write_private(path: Path, content: bytes) -> None:
    """A file that nobody else could read at any time."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
