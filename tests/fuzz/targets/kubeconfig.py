"""A kubeconfig: every file is an Access or InvalidSettings with its problems. One out of a cluster is data
alone: whatever it holds, it names no program and no file, and its server is an https address."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final

from tests.fuzz import mutators
from vestibule import errors
from vestibule.api import stored_kubeconfig
from vestibule.kube import kubeconfig, stored_access

LONGEST: Final = 4096
WORDS: Final = (
    "current-context: ", "contexts:\n", "clusters:\n", "users:\n", "- name: ", "context: ", "cluster: ",
    "user: ", "server: https://a", "http://", "certificate-authority-data: ", "client-certificate-data: ",
    "client-key-data: ", "insecure-skip-tls-verify: true", "token: ", "tokenFile: ", "username: ",
    "password: ", "exec:\n", "command: ", "args: [1]", "env: [{}]", "auth-provider: {}", "proxy-url: ",
    "tls-server-name: ", "namespace: ", "null", "[]", "{}", "|-\n", "&a ", "*a", "<<: ", "!!binary ",
    "\u0085", "AAAA", "LS0t", "1e3", "2026-11-18", "\n  ",
)  # fmt: skip
KEYS: Final = tuple(word.strip(" -:\n") for word in WORDS)
_FOREIGN: Final = re.compile(rb"/dev|/proc|/sys|\.\./")
_FILE: Final = Path(tempfile.mkdtemp(prefix="vestibule-fuzz-")) / "config"


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    return mutators.tree(data, longest, seed, KEYS)


def check(data: bytes) -> None:
    """Read the bytes as a file."""
    _stored(data)
    if _FOREIGN.search(data):
        return  # a kubeconfig of one's own may name any file; some never end
    _FILE.write_bytes(data)
    try:
        found = kubeconfig.load([_FILE])
    except errors.InvalidSettings as error:
        if not error.problems:
            raise AssertionError("refused without a problem") from error
        return
    if not found.server.startswith(("https://", "http://")):
        raise AssertionError(f"server {found.server!r}")


def _stored(data: bytes) -> None:
    """Read the bytes as what a Secret holds."""
    try:
        found = stored_access.parse(data, "Secret a/b")
    except errors.InvalidInput as error:
        if not error.problems:
            raise AssertionError("refused without a problem") from error
        return
    if stored_kubeconfig.server_problem(found.server):
        raise AssertionError(f"server {found.server!r}")
