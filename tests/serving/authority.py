"""A throw-away certificate authority and a directory that changes as the kubelet changes a mounted Secret."""

from __future__ import annotations

import datetime
import ipaddress
import itertools
import shutil
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = datetime.timedelta(days=1)
_NAMES: list[x509.GeneralName] = [
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    x509.IPAddress(ipaddress.ip_address("::1")),
]


class Pair(NamedTuple):
    """A certificate and its key, as PEM."""

    cert: bytes
    key: bytes
    serial: int


class Authority:
    """Signs leaves; ECDSA P-256 throughout."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._serials = itertools.count(1000)
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + 365 * _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)

    def leaf(
        self, name: str = "localhost", *, since: int = -1, until: int = 30, client: bool = False
    ) -> Pair:
        """A leaf valid from ``since`` to ``until``, in days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        serial = next(self._serials)
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(serial)
            .not_valid_before(now + since * _DAY)
            .not_valid_after(now + until * _DAY)
            .add_extension(x509.SubjectAlternativeName(_NAMES), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return Pair(
            certificate.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
            serial,
        )

    def trusting(self) -> ssl.SSLContext:
        """A client that trusts this authority."""
        return ssl.create_default_context(cadata=self.pem.decode())

    def client(self, directory: Path, pair: Pair) -> ssl.SSLContext:
        """A client that trusts this authority and shows ``pair``."""
        context = self.trusting()
        path = directory / f"client-{pair.serial}.pem"
        path.write_bytes(pair.cert + pair.key)
        context.load_cert_chain(path)
        return context


class Mount:
    """A mounted Secret: files are links through ``..data``, which the kubelet renames into place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._generations = itertools.count(1)
        self._current: Path | None = None
        path.mkdir()

    def write(self, files: Mapping[str, bytes]) -> None:
        """Replace all files at once, as the kubelet's atomic writer does."""
        generation = self.path / f"..2026_11_16_{next(self._generations):04}"
        generation.mkdir()
        for name, content in files.items():
            (generation / name).write_bytes(content)
        fresh = self.path / "..data_tmp"
        fresh.symlink_to(generation.name)
        fresh.rename(self.path / "..data")
        for name in files:
            link = self.path / name
            if not link.is_symlink():
                link.symlink_to(Path("..data") / name)
        if self._current is not None:
            shutil.rmtree(self._current)
        self._current = generation

    def write_pair(self, pair: Pair, client_ca: bytes | None = None) -> None:
        files = {"tls.crt": pair.cert, "tls.key": pair.key}
        self.write(files if client_ca is None else {**files, "ca.crt": client_ca})
