"""The keys of the ``cwii.dev`` vocabulary, and the search for the one that somebody meant."""

from __future__ import annotations

import difflib
import functools
from typing import Final

from vestibule.core.kinds import vocabulary
from vestibule.core.kinds.vocabulary import cwii
from vestibule.core.mutation.identity import levels

_COMMON: Final = (
    vocabulary.INJECT,
    vocabulary.AUDIENCE,
    vocabulary.TOKEN_EXPIRATION,
    vocabulary.VERIFY,
    vocabulary.VERIFY_ENFORCE,
    vocabulary.VERIFY_IMAGE,
    vocabulary.REQUIRED,
    vocabulary.SKIP_CONTAINERS,
    vocabulary.INCLUDE_CONTAINERS,
)
SKIP_ALL: Final = vocabulary.CWII_PREFIX + vocabulary.SKIP_CONTAINERS
INCLUDE_ALL: Final = vocabulary.CWII_PREFIX + vocabulary.INCLUDE_CONTAINERS
KEYS: Final = frozenset(
    {
        *(cwii(provider, name) for provider in vocabulary.PROVIDERS for name in _COMMON),
        vocabulary.GCP_SERVICE_ACCOUNT,
        vocabulary.GCP_DELIVERY,
        vocabulary.GCP_TOKEN_AUDIENCE,
        vocabulary.AWS_ROLE_ARN,
        vocabulary.AWS_REGION,
        vocabulary.AWS_SESSION_NAME,
        vocabulary.AZ_CLIENT_ID,
        vocabulary.AZ_TENANT_ID,
        vocabulary.AZ_AUTHORITY_HOST,
        SKIP_ALL,
        INCLUDE_ALL,
        vocabulary.INJECTED,
        vocabulary.GCP_CREDENTIALS,
        vocabulary.AWS_CONFIG,
    }
)
"""Every key that means something, the ones we write included."""


WITH_SUFFIX: Final = frozenset(
    {
        vocabulary.AWS_ROLE_ARN,
        vocabulary.AZ_CLIENT_ID,
        vocabulary.GCP_SERVICE_ACCOUNT,
        vocabulary.AWS_PROFILE,
        vocabulary.GCP_CREDENTIALS,
    }
)
"""Keys behind which a dot and the name of a container (or profile) may stand."""


def _stem(key: str) -> str:
    prefix, slash, name = key.partition("/")
    return f"{prefix}{slash}{name.partition('.')[0]}"


def tell_unknown(found: levels.Levels) -> None:
    """Tell every key under our prefix that means nothing, and every key that almost is under our
    prefix."""
    for level, key, value in found.items():
        if found.enough_unknown:
            return
        if (
            key in KEYS
            or _stem(key) in WITH_SUFFIX
            or not (key.startswith(vocabulary.CWII_PREFIX) or vocabulary.looks_like_ours(key))
        ):
            continue
        ours = key.startswith(vocabulary.CWII_PREFIX)
        found.unknown_key(level, key, value, functools.partial(_nearest, key), hinted_only=not ours)


def _nearest(key: str) -> str:
    """The known key that is nearest to this one; empty when none is near."""
    if len(key) > _LONGEST:
        return ""
    # names alone: what stands before the slash is the same for all, and comparing it is most of the work
    name = key.rpartition("/")[2].lower()
    meant = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.65)
    return _BY_NAME[meant[0]] if meant else ""


_BY_NAME: Final = {key.partition("/")[2]: key for key in sorted(KEYS)}
_LONGEST: Final = 2 * max(map(len, KEYS))
"""Characters of a key that may be a misspelt one; comparing longer ones costs more than the hint is worth."""
