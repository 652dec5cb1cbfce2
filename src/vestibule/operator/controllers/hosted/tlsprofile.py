"""TLS profiles of OpenShift as flags: the lowest version, and cipher suites by their IANA names.

Profiles name suites as OpenSSL does; those of TLS 1.3 cannot be chosen, and what Go counts as insecure is
left out. HyperShift drops such names silently; ``dropped`` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

_AEAD: Final = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
)
_TLS13: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
IANA: Final = {
    "ECDHE-ECDSA-AES128-GCM-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305": "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-SHA": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "ECDHE-RSA-AES128-SHA": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "ECDHE-ECDSA-AES256-SHA": "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "ECDHE-RSA-AES256-SHA": "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
}
"""OpenSSL's names of what can be chosen and Go calls secure."""
_OLD: Final = (
    *_TLS13, *_AEAD,
    "ECDHE-ECDSA-AES128-SHA256", "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES128-SHA", "AES256-SHA", "DES-CBC3-SHA",
)  # fmt: skip
_PROFILES: Final[dict[str, tuple[str, Sequence[str]]]] = {
    "Old": ("VersionTLS10", _OLD),
    "Intermediate": ("VersionTLS12", (*_TLS13, *_AEAD)),
    "Modern": ("VersionTLS13", _TLS13),
}


class TlsFlags(NamedTuple):
    """What a profile asks for."""

    minimum: str
    """As Go spells it, ``VersionTLS12``; empty: nothing is said."""
    suites: tuple[str, ...]
    """IANA names; empty: nothing is said."""
    dropped: tuple[str, ...] = ()
    """Names that nobody knows or nobody should use."""


def flags(profile: dict[str, Any] | None) -> TlsFlags:
    """A ``tlsSecurityProfile`` in flags; nothing and a type nobody knows mean Intermediate."""
    kind = (profile or {}).get("type") or "Intermediate"
    if kind == "Custom":
        custom = (profile or {}).get("custom") or {}
        minimum, names = str(custom.get("minTLSVersion") or ""), custom.get("ciphers") or ()
    else:
        minimum, names = _PROFILES.get(kind, _PROFILES["Intermediate"])
    suites = tuple(IANA[name] for name in names if name in IANA)
    return TlsFlags(minimum, suites, tuple(name for name in names if name not in IANA and name not in _TLS13))


def of(control_plane: dict[str, Any]) -> TlsFlags:
    """The profile of a HostedControlPlane's API server."""
    configuration = (control_plane.get("spec") or {}).get("configuration") or {}
    return flags((configuration.get("apiServer") or {}).get("tlsSecurityProfile"))
