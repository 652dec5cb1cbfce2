"""The settings file in its three forms: settings that compile, or InvalidSettings with its problems."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from tests.fuzz import mutators
from vestibule import errors, settingsfile
from vestibule.injection.policy import compile_policy

LONGEST: Final = 4096
WORDS: Final = (
    "mode", "strict", "better", "vocabularies", "cwii", "azwi", "mountRoot",
    "tokenExpirationSeconds", "required", "onInvalid", "refuse", "policies", "match", "namespaces",
    "serviceAccounts", "identities", "limits", "locked", "priority", "variables", "aws", "roleArn",
    "roleArns", "az", "clientId", "gcp", "audience", "delivery", "exclude", "serving", "addr",
    "0.0.0.0:8443", "maxConnections", "clientNames", "drainSeconds", "sandbox", "profiles", "name", "true",
    "null", "[]", "{}", "[[policies]]\n", "= ", ": ", '"', "'", "\n", "team-*", "{namespace}", "${x}",
    "1e400", "-1", "9999999999999999999999", "2026-11-18T00:00:00Z", "\x00", "\ufeff",
)  # fmt: skip
SUFFIXES: Final = (".toml", ".json", ".yaml")
_DIRECTORY: Final = Path(tempfile.mkdtemp(prefix="vestibule-fuzz-"))


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    """The first byte picks the form."""
    if data[:1] and data[0] % 3 == 1:
        return data[:1] + mutators.tree(data[1:], longest - 1, seed, WORDS)
    return data[:1] + mutators.flat(data[1:], longest - 1, seed, WORDS)


def check(data: bytes) -> None:
    """Read the bytes as a file, and compile what comes of it."""
    if not data:
        return
    path = _DIRECTORY / f"settings{SUFFIXES[data[0] % 3]}"
    path.write_bytes(data[1:])
    try:
        compile_policy(settingsfile.load(path, {}))
    except errors.InvalidSettings as error:
        if not error.problems:
            raise AssertionError("refused without a problem") from error
