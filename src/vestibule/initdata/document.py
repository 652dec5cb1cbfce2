"""The document: TOML with ``version``, ``algorithm`` and ``[data]``, and the annotation it travels in.

Three programs parse it (Kata in Rust, Kata in Go, the peer-pods adaptor) and they differ: what one of them
would refuse, or would read as another document with another digest, is refused here. The digest is over the
exact bytes of the text; one line feed changes it.
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

VERSION: Final = "0.1.0"
ALGORITHMS: Final = ("sha256", "sha384", "sha512")
LARGEST: Final = 1 << 20
"""Bytes of text that are unpacked at most: an annotation of 256 KiB could hold a thousand times as many."""
_GZIP: Final = 31
_CAPITALS: Final = frozenset({"version", "algorithm", "data"})


class InitdataError(ValueError):
    """What makes a document or an annotation useless; ``code`` is for machines."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


class InitdataDocument(NamedTuple):
    """A document that all parsers read identically."""

    text: str
    version: str
    algorithm: str
    data: Mapping[str, str]


def parse(text: str) -> InitdataDocument:
    """A document from its text; raises InitdataError."""
    if text.startswith("\ufeff"):
        raise InitdataError(
            "InitdataBadToml", "starts with a byte order mark, which the peer-pods adaptor refuses"
        )
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InitdataError("InitdataBadToml", f"is no TOML: {error}") from error
    for key in content:
        if key not in _CAPITALS and key.lower() in _CAPITALS:
            raise InitdataError(
                "InitdataBadToml", f"has {key!r}, want {key.lower()!r}: Kata in Rust is case-sensitive"
            )
    version = content.get("version")
    if version is None:
        raise InitdataError("InitdataNoVersion", f"has no version, want {VERSION!r}")
    if version != VERSION:
        raise InitdataError("InitdataBadVersion", f"has version {version!r}, want {VERSION!r}")
    algorithm = content.get("algorithm")
    if algorithm not in ALGORITHMS:
        what = "no algorithm" if algorithm is None else f"algorithm {algorithm!r}"
        raise InitdataError("InitdataBadAlgorithm", f"has {what}, want {', '.join(ALGORITHMS)}")
    data = content.get("data")
    if not isinstance(data, dict):
        raise InitdataError("InitdataNoData", "has no table [data]")
    for name, value in data.items():
        if not isinstance(value, str):
            hint = "; quote the key" if isinstance(value, dict) else ""
            raise InitdataError("InitdataDataNotString", f"has {name!r} in [data], which is no text{hint}")
    return InitdataDocument(text, version, algorithm, data)


def decode(annotation: str) -> InitdataDocument:
    """A document from the value of the annotation; raises InitdataError."""
    try:
        packed = base64.b64decode(annotation.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise InitdataError("InitdataBadBase64", f"is no padded base64 on one line: {error}") from error
    return parse(unpack(packed))


def unpack(packed: bytes) -> str:
    """The text in one gzip member; raises InitdataError for anything more, less or larger."""
    reader = zlib.decompressobj(_GZIP)
    try:
        text = reader.decompress(packed, LARGEST + 1)
    except zlib.error as error:
        raise InitdataError("InitdataNotGzip", f"is not gzip: {error}") from error
    if len(text) > LARGEST:
        raise InitdataError("InitdataTooLarge", f"unpacks to more than {LARGEST} bytes")
    if not reader.eof:
        raise InitdataError("InitdataNotGzip", "ends in the middle of the gzip data")
    if reader.unused_data:
        raise InitdataError(
            "InitdataTrailingData",
            f"has {len(reader.unused_data)} bytes behind the gzip data; some parsers read them, some do not",
        )
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InitdataError("InitdataBadToml", f"is no UTF-8: {error}") from error


def encode(text: str) -> str:
    """The value of the annotation; the same text gives the same value with the same zlib."""
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    return base64.b64encode(packer.compress(text.encode()) + packer.flush()).decode()


_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def build(files: Mapping[str, str], algorithm: str = "sha256") -> InitdataDocument:
    """The document that holds these files; raises InitdataError. Its parts come back byte for byte."""
    if algorithm not in ALGORITHMS:
        raise InitdataError(
            "InitdataBadAlgorithm", f"has algorithm {algorithm!r}, want {', '.join(ALGORITHMS)}"
        )
    lines = [f'version = "{VERSION}"', f'algorithm = "{algorithm}"', "", "[data]"]
    for name in sorted(files):
        if _NAME.fullmatch(name) is None:
            raise InitdataError(
                "InitdataBadName", f"has a file {name!r}, want letters, digits, '.', '_' and '-'"
            )
        found = _CONTROL.search(files[name])
        if found:
            line = files[name].count("\n", 0, found.start()) + 1
            raise InitdataError(
                "InitdataBadContent",
                f"{name}, line {line}: has {found[0]!r}, want text with line feeds alone",
            )
        lines.append(f'"{name}" = {_quoted(files[name])}')
    document = parse("\n".join(lines) + "\n")
    if dict(document.data) != dict(files):
        raise InitdataError("InitdataBadContent", "does not come back as it was written")
    return document


def _quoted(content: str) -> str:
    """A multi-line string; TOML drops the line feed right behind the opening quotes."""
    if "'''" not in content and not content.endswith("'"):
        return f"'''\n{content}'''"
    escaped = content.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""\n{escaped}"""'
