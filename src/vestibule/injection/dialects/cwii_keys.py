"""The keys of the ``cwii.dev`` dialect, and the search for the one that was meant."""

from __future__ import annotations

import difflib
import functools
from typing import Final

from vestibule.api import annotation_keys
from vestibule.api.annotation_keys import cwii
from vestibule.injection import precedence

_COMMON: Final = (
    annotation_keys.INJECT,
    annotation_keys.AUDIENCE,
    annotation_keys.TOKEN_EXPIRATION,
    annotation_keys.VERIFY,
    annotation_keys.VERIFY_ENFORCE,
    annotation_keys.VERIFY_IMAGE,
    annotation_keys.REQUIRED,
    annotation_keys.SKIP_CONTAINERS,
    annotation_keys.INCLUDE_CONTAINERS,
)
SKIP_ALL: Final = annotation_keys.CWII_PREFIX + annotation_keys.SKIP_CONTAINERS
INCLUDE_ALL: Final = annotation_keys.CWII_PREFIX + annotation_keys.INCLUDE_CONTAINERS
KEYS: Final = frozenset(
    {
        *(cwii(provider, name) for provider in annotation_keys.PROVIDERS for name in _COMMON),
        annotation_keys.GCP_SERVICE_ACCOUNT,
        annotation_keys.GCP_DELIVERY,
        annotation_keys.GCP_TOKEN_AUDIENCE,
        annotation_keys.AWS_ROLE_ARN,
        annotation_keys.AWS_REGION,
        annotation_keys.AWS_SESSION_NAME,
        annotation_keys.AZ_CLIENT_ID,
        annotation_keys.AZ_TENANT_ID,
        annotation_keys.AZ_AUTHORITY_HOST,
        SKIP_ALL,
        INCLUDE_ALL,
        annotation_keys.INJECTED,
        annotation_keys.GCP_CREDENTIALS,
        annotation_keys.AWS_CONFIG,
    }
)
"""Every key that means something, the ones we write included."""


WITH_SUFFIX: Final = frozenset(
    {
        annotation_keys.AWS_ROLE_ARN,
        annotation_keys.AZ_CLIENT_ID,
        annotation_keys.GCP_SERVICE_ACCOUNT,
        annotation_keys.AWS_PROFILE,
        annotation_keys.GCP_CREDENTIALS,
    }
)
"""Keys that may be followed by a dot and the name of a container (or profile)."""


def _stem(key: str) -> str:
    prefix, slash, name = key.partition("/")
    return f"{prefix}{slash}{name.partition('.')[0]}"


def report_unknown(found: precedence.PrecedenceLevels) -> None:
    """Report every unknown key under our prefix, and every key that almost is under our
    prefix."""
    for level, key, value in found.items():
        if found.enough_unknown:
            return
        if (
            key in KEYS
            or _stem(key) in WITH_SUFFIX
            or not (key.startswith(annotation_keys.CWII_PREFIX) or annotation_keys.resembles_our_prefix(key))
        ):
            continue
        ours = key.startswith(annotation_keys.CWII_PREFIX)
        found.unknown_key(level, key, value, functools.partial(_nearest, key), hinted_only=not ours)


def _nearest(key: str) -> str:
    """The known key that is nearest to this one; empty when none is near."""
    if len(key) > _LONGEST:
        return ""
    # names alone: the prefix is the same for all, and comparing it is most of the work
    name = key.rpartition("/")[2].lower()
    meant = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.65)
    return _BY_NAME[meant[0]] if meant else ""


_BY_NAME: Final = {key.partition("/")[2]: key for key in sorted(KEYS)}
_LONGEST: Final = 2 * max(map(len, KEYS))
"""Characters of a key that may be a misspelt one; comparing longer ones costs more than the hint is worth."""
