"""Files of a run below its output directory: whole or not at all, private from birth, through no link."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from vestibule import atomicfiles
from vestibule.errors import InputProblem, InvalidInput
from vestibule.oidc import keys
from vestibule.provision import keypair

PRIVATE_KEY: Final = PurePosixPath(keypair.PRIVATE_NAME)
PUBLIC_KEY: Final = PurePosixPath(keypair.PUBLIC_NAME)
BOUND_KEY: Final = PurePosixPath(keypair.INSTALLER_NAME)
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
        atomicfiles.folder(self.directory)
        atomicfiles.folder(self.directory / name)

    def write(self, name: PurePosixPath, content: bytes | str, mode: int = atomicfiles.PRIVATE) -> None:
        """Write a file, in place of an older one. Raises InvalidInput for a link, OSError."""
        path = self.directory / name
        atomicfiles.folder(self.directory)
        atomicfiles.folder(path.parent)
        atomicfiles.replace(path, content.encode() if isinstance(content, str) else content, mode)
        self.written.append(str(name))

    def key_pair(self) -> bool:
        """Create the signing keys unless they exist; returns whether they were created. Raises InvalidInput
        for a file that is no RSA key, or not the other half."""
        before = {path for path in (PUBLIC_KEY, BOUND_KEY) if (self.directory / path).exists()}
        created = keypair.create(self.directory, existing="use", installer=True).created
        self.written += [str(PRIVATE_KEY)] if created else []
        self.written += [str(path) for path in (PUBLIC_KEY, BOUND_KEY) if path not in before]
        return created

    def public_key(self, given: Path | None) -> tuple[keys.PublicKey, ...]:
        """The keys to publish, from a file. Raises InvalidInput: no file, no key, not an RSA key."""
        path = given if given is not None else self.directory / PUBLIC_KEY
        try:
            text = path.read_text("utf-8", "replace")
        except OSError as error:
            want = f"cannot be read ({error.strerror}), want the file of a public key"
            raise InvalidInput(InputProblem(f"--public-key-file {path}", "", want)) from error
        found = keys.read(text, str(path))
        wrong = [
            InputProblem(str(path), key.origin.rpartition(", ")[2], f"is an {key.kind} key, want RSA")
            for key in found
            if key.kind != "RSA"
        ]
        if wrong:
            raise InvalidInput(*wrong)
        return found
