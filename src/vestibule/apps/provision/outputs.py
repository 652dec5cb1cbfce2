"""Files of a run below its output directory: whole or not at all, private from birth, through no link."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from vestibule.adapters import privatefiles
from vestibule.core.oidc import keys
from vestibule.core.pki import signer
from vestibule.errors import InvalidInput, Problem

PRIVATE_KEY: Final = PurePosixPath("serviceaccount-signer.private")
PUBLIC_KEY: Final = PurePosixPath("serviceaccount-signer.public")
BOUND_KEY: Final = PurePosixPath("tls/bound-service-account-signing-key.key")
CONFIGURATION: Final = PurePosixPath("openid-configuration")
KEYS: Final = PurePosixPath("jwks")
READABLE: Final = 0o644
"""For what is public anyway."""


class Output:
    """One output directory; made when something is written, those above it too."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.written: list[str] = []

    def folder(self, name: str) -> None:
        """Make a directory below, 0700. Raises OSError."""
        privatefiles.folder(self.directory)
        privatefiles.folder(self.directory / name)

    def write(self, name: PurePosixPath, content: bytes | str, mode: int = privatefiles.PRIVATE) -> None:
        """Write a file, in place of an older one. Raises InvalidInput for a link, OSError."""
        path = self.directory / name
        privatefiles.folder(self.directory)
        privatefiles.folder(path.parent)
        privatefiles.replace(path, content.encode() if isinstance(content, str) else content, mode)
        self.written.append(str(name))

    def key_pair(self) -> bool:
        """The signing keys: made unless there are some; whether they were made.

        A private key that exists is checked, its public half written where it is missing, and the copy for
        the installer is as long as the key. Raises InvalidInput for a file that is no RSA key.
        """
        self.folder("tls")
        path = self.directory / PRIVATE_KEY
        existing = privatefiles.read(path)
        pair = signer.new() if existing is None else _pair(existing, str(path))
        if existing is None:
            privatefiles.create(path, pair.private.encode())
            self.written.append(str(PRIVATE_KEY))
        public = self.directory / PUBLIC_KEY
        found = privatefiles.read(public)
        if existing is None or found is None:
            self.write(PUBLIC_KEY, pair.public, READABLE)
        elif keys.read(found.decode("utf-8", "replace"), str(public)) != keys.read(pair.public, str(public)):
            text = f"is not the public half of {PRIVATE_KEY}, want a pair: move one of them away"
            raise InvalidInput(Problem(str(public), "", text))
        self.write(BOUND_KEY, pair.private if existing is None else existing)
        return existing is None

    def public_key(self, given: Path | None) -> tuple[keys.PublicKey, ...]:
        """The keys to publish, from a file. Raises InvalidInput: no file, no key, not an RSA key."""
        path = given if given is not None else self.directory / PUBLIC_KEY
        try:
            text = path.read_text("utf-8", "replace")
        except OSError as error:
            want = f"cannot be read ({error.strerror}), want the file of a public key"
            raise InvalidInput(Problem(f"--public-key-file {path}", "", want)) from error
        found = keys.read(text, str(path))
        wrong = [
            Problem(str(path), key.origin.rpartition(", ")[2], f"is an {key.kind} key, want RSA")
            for key in found
            if key.kind != "RSA"
        ]
        if wrong:
            raise InvalidInput(*wrong)
        return found


def _pair(existing: bytes, place: str) -> signer.Signer:
    try:
        return signer.of(existing.decode("utf-8", "replace"))
    except ValueError:
        # the words of whoever parsed it may quote it
        raise InvalidInput(Problem(place, "", "is not a PEM RSA private key, want one or no file")) from None
