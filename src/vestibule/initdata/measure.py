"""Digests of a document, and how each kind of hardware shows them.

Hardware registers have a fixed size; longer digests are cut at the end, shorter ones padded with zeros, as
Kata does it.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final, NamedTuple

from vestibule.initdata.document import InitdataDocument

SNP, TDX, CCA, SE = 32, 48, 64, 256
"""Bytes of SNP's host data, TDX' MRCONFIGID, CCA's personalization value and SE's user data."""


class InitdataDigests(NamedTuple):
    """What a verifier should see."""

    algorithm: str
    digest: str
    """Hexadecimal."""
    snp_host_data: str
    """Base64, as all below but the last."""
    tdx_mr_config_id: str
    cca_personalization: str
    se_user_data: str
    vtpm_pcr8: str
    """Hexadecimal: SHA-256 over 32 zero bytes and the first 32 bytes of the digest."""


def measured(document: InitdataDocument) -> InitdataDigests:
    """Digest and bindings of a document."""
    digest = hashlib.new(document.algorithm, document.text.encode()).digest()

    def shown(size: int) -> str:
        return base64.b64encode(digest[:size].ljust(size, b"\0")).decode()

    return InitdataDigests(
        document.algorithm,
        digest.hex(),
        shown(SNP),
        shown(TDX),
        shown(CCA),
        shown(SE),
        hashlib.sha256(bytes(32) + digest[:32]).hexdigest(),
    )


_CUT: Final = {"sha384": ("SNP",), "sha512": ("SNP", "TDX")}


def cut_on(algorithm: str) -> tuple[str, ...]:
    """Hardware that shows only the beginning of such a digest."""
    return _CUT.get(algorithm, ())
