"""TLS as we serve it: contexts are built here, the current one is held here, client names are checked here.

Reading and judging certificate files is ``certificate_watcher``. The server takes ``current`` for each socket
it accepts, so a swap is one assignment: it changes certificate, client CA and settings together, never
touches a connection that is already open, and needs no front context with an SNI callback.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal

__all__ = ["MinVersion", "TlsHolder", "ciphers", "left_out"]

MinVersion = Literal["1.2", "1.3"]

_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_TLS_1_2_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"  # forward secret and authenticated; 1.3 has no others
_IANA: Final = re.compile(
    r"TLS_(ECDHE_(?:RSA|ECDSA))_WITH_(AES_(?:128|256)_GCM_SHA(?:256|384)|CHACHA20_POLY1305)(?:_SHA256)?"
)
_OPENSSL: Final = re.compile(
    r"ECDHE-(?:RSA|ECDSA)-(?:AES(?:128-GCM-SHA256|256-GCM-SHA384)|CHACHA20-POLY1305)"
)

_TLS_1_3: Final = re.compile(r"TLS_(AES_(128|256)_(GCM|CCM(_8)?)|CHACHA20_POLY1305)_SHA(256|384)")


def ciphers(suites: Collection[str]) -> str:
    """OpenSSL's names for suites given by their IANA names or by OpenSSL's own; what is not both forward
    secret and authenticated is left out, and so are those of TLS 1.3, which cannot be chosen. Empty suites:
    the usual ones."""
    return ":".join(name for suite in suites if (name := _openssl(suite))) or _TLS_1_2_CIPHERS


def _openssl(suite: str) -> str:
    """OpenSSL's name for a suite that can be chosen; empty when it cannot."""
    if _OPENSSL.fullmatch(suite):
        return suite
    match = _IANA.fullmatch(suite)
    return f"{match[1]}_{match[2]}".replace("AES_", "AES").replace("_", "-") if match else ""


def left_out(suites: Collection[str]) -> list[str]:
    """The suites of TLS 1.2 that ``ciphers`` leaves out, or does not know."""
    return [suite for suite in suites if not (_openssl(suite) or _TLS_1_3.fullmatch(suite))]


class TlsHolder:
    """The context new connections get, and how contexts are made."""

    def __init__(
        self,
        *,
        min_version: MinVersion = "1.2",
        client_names: Collection[str] = (),
        suites: Collection[str] = (),
    ) -> None:
        """TLS 1.3 is preferred either way; ``min_version`` "1.2" also admits peers that know no better.

        ``client_names``: common names or subject alternative names, one of which a client certificate must
        carry; empty admits every certificate of the client CA. ``suites``: see ``ciphers``.
        """
        self._ciphers = ciphers(suites)
        self._min_version = _VERSIONS[min_version]
        self._client_names = frozenset(client_names)
        self._current: ssl.SSLContext | None = None

    @property
    def current(self) -> ssl.SSLContext:
        """The context for the next connection."""
        if self._current is None:
            raise RuntimeError("no certificate has been loaded yet")
        return self._current

    @property
    def checks_client_names(self) -> bool:
        """Whether a client certificate must carry one of certain names."""
        return bool(self._client_names)

    def replace(self, context: ssl.SSLContext) -> None:
        """Serve new connections with ``context``."""
        self._current = context

    def build(self, certificate: Path, key: Path, client_ca: str | None = None) -> ssl.SSLContext:
        """A context from files; with ``client_ca`` (PEM text) clients must show a certificate of that CA.

        Raises OSError if a file cannot be read, and ssl.SSLError, which is one, if its contents are no use.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._min_version
        context.set_ciphers(self._ciphers)
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
        context.num_tickets = 0  # kube-apiserver keeps no session cache: a ticket is a write for nothing
        context.set_alpn_protocols(["http/1.1"])
        if client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=client_ca)
        # without a password OpenSSL would ask for one on the terminal
        context.load_cert_chain(certificate, key, password="")
        return context

    def refuses(self, certificate: Mapping[str, Any] | None) -> bool:
        """Whether a verified peer (as by ``getpeercert``) carries none of the names we want."""
        return bool(self._client_names) and self._client_names.isdisjoint(_names(certificate or {}))


def _names(certificate: Mapping[str, Any]) -> set[str]:
    common = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return common | {value for _, value in certificate.get("subjectAltName", ())}
