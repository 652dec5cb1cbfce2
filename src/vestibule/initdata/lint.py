"""What is unwise in a document that all parsers take, and what must never be in one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Final, NamedTuple

from vestibule.initdata import document, measure
from vestibule.initdata.document import InitdataDocument, InitdataError

KNOWN: Final = ("aa.toml", "cdh.toml", "policy.rego")
_PACKAGE: Final = re.compile(r"^\s*package\s+agent_policy\s*(#.*)?$", re.MULTILINE)
_PRIVATE: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_REMOTE_WARN: Final = 12 * 1024
"""Bytes; AWS takes 16 KiB of user data, and there is more in it than initdata."""


class InitdataWarning(NamedTuple):
    """One thing to think about; ``code`` is for machines."""

    code: str
    text: str


def refuse_secrets(found: InitdataDocument) -> None:
    """Initdata is measured and not encrypted: it is readable with the permission to read the pod. Raises
    InitdataError."""
    for name, content in found.data.items():
        if _PRIVATE.search(content):
            raise InitdataError(
                "InitdataPrivateKey",
                f"has a private key in {name}; every user who can read the pod can read initdata",
            )


def warnings(found: InitdataDocument) -> Iterator[InitdataWarning]:
    """Everything unwise."""
    policy = found.data.get("policy.rego")
    if policy is not None and _PACKAGE.search(policy) is None:
        yield InitdataWarning(
            "PolicyPackage", "policy.rego does not declare 'package agent_policy': the agent does not find it"
        )
    for name in found.data:
        if name not in KNOWN:
            yield InitdataWarning(
                "UnknownEntry", f"{name} is measured, but neither Kata nor the peer-pods adaptor reads it"
            )
    for name in ("aa.toml", "cdh.toml"):
        try:
            tomllib.loads(found.data.get(name, ""))
        except tomllib.TOMLDecodeError as error:
            yield InitdataWarning("EntryBadToml", f"{name} is no TOML: {error}")
    cut = measure.cut_on(found.algorithm)
    if cut:
        yield InitdataWarning(
            "DigestCut", f"{', '.join(cut)} shows only the beginning of a {found.algorithm} digest"
        )
    size = len(document.encode(found.text))
    if size > _REMOTE_WARN:
        yield InitdataWarning(
            "LargeForRemote",
            f"the annotation has {size} bytes; peer pods on AWS are limited to 16 KiB of user data in total",
        )
