"""Checks that a certificate and a key belong together and can serve: a TLS handshake in memory.

The client trusts exactly the leaf and learns from the handshake what the leaf says; the standard library
offers no other parser, and ``cryptography`` would double the size of the process. The check of the dates is
switched off: whether they are good is judged by ``certificate_watcher``, which gets the time.
"""

from __future__ import annotations

import ssl
from typing import Any, Final, NamedTuple, cast

__all__ = ["CheckedCertificate", "prove"]

_NO_CHECK_TIME: Final = 0x200000  # X509_V_FLAG_NO_CHECK_TIME, which the ssl module does not name


class CheckedCertificate(NamedTuple):
    """What the leaf says of itself."""

    not_before: float
    """Seconds since the epoch."""
    not_after: float
    """Seconds since the epoch."""
    names: tuple[str, ...]
    """Subject alternative names."""

    def fault(self, now: float) -> str:
        """Why the dates forbid to serve this certificate at ``now``; empty if they do not."""
        if now < self.not_before:
            return "not yet valid"
        if now > self.not_after:
            return "expired"
        return ""


def prove(server: ssl.SSLContext, leaf: str) -> CheckedCertificate:
    """Shake hands with ``server`` as a client that trusts ``leaf`` (PEM text).

    Raises ssl.SSLError if the server signs with another key, shows another certificate, or one that is not
    made for servers.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.minimum_version = ssl.TLSVersion.TLSv1_3
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    client.load_verify_locations(cadata=leaf)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    # In TLS 1.3 the client has seen certificate and signature after the server's first flight; what the
    # server thinks of the client, of which it may want a certificate, does not matter.
    for hello in (ours, theirs):
        try:
            hello.do_handshake()
        except ssl.SSLWantReadError:
            continue
    ours.do_handshake()
    presented = cast(dict[str, Any], ours.getpeercert())
    return CheckedCertificate(
        float(ssl.cert_time_to_seconds(presented["notBefore"])),
        float(ssl.cert_time_to_seconds(presented["notAfter"])),
        tuple(value for _, value in presented.get("subjectAltName", ())),
    )
