"""The key pair that signs ServiceAccount tokens, in files: their owner's alone from birth, never overwritten.

The names are those that installers know; the private key lies a second time where the OpenShift installer
takes it from.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final, Literal, NamedTuple

from vestibule import atomicfiles, errors
from vestibule.errors import InputProblem
from vestibule.oidc import keys
from vestibule.oidc.keys import PublicKey
from vestibule.pki import signer
from vestibule.pki.signer import SigningKeyPair

PRIVATE_NAME: Final = "serviceaccount-signer.private"
PUBLIC_NAME: Final = "serviceaccount-signer.public"
INSTALLER_NAME: Final = "tls/bound-service-account-signing-key.key"
_PUBLIC_MODE: Final = 0o644


class KeyPair(NamedTuple):
    """Where the pair lies."""

    private: Path
    public: Path
    installer: Path | None
    """The copy for the OpenShift installer."""
    key: PublicKey
    created: bool
    """False: it was there already."""


def create(
    folder: Path,
    *,
    bits: int = signer.BITS,
    existing: Literal["refuse", "use"] = "refuse",
    installer: bool = False,
) -> KeyPair:
    """A key pair in the folder. With ``use``, a good private key that is there is taken, and a public file
    that is missing is derived from it.

    Raises InvalidInput when a file is in the way or does not fit; OSError. A failure leaves no new file.
    """
    private, public = folder / PRIVATE_NAME, folder / PUBLIC_NAME
    copy = folder / INSTALLER_NAME if installer else None
    atomicfiles.folder(folder)
    found = atomicfiles.read(private)
    if found is not None and existing == "refuse":
        raise errors.InvalidInput(
            InputProblem(str(private), "", "exists already, want a directory without a key")
        )
    pair = signer.new(bits) if found is None else _known(private, found)
    with contextlib.ExitStack() as undo:
        if found is None:
            atomicfiles.create(private, pair.private.encode())
            undo.callback(private.unlink, missing_ok=True)
        if not _fits(public, pair, existing):
            atomicfiles.create(public, pair.public.encode(), _PUBLIC_MODE)
            undo.callback(public.unlink, missing_ok=True)
        if copy is not None:
            atomicfiles.folder(copy.parent)
            atomicfiles.replace(copy, pair.private.encode())
        undo.pop_all()
    (key,) = keys.read(pair.public, str(public))
    return KeyPair(private, public, copy, key, found is None)


def existing(folder: Path) -> tuple[PublicKey, ...]:
    """The public key of the private key in the folder; empty if there is none. Only reads.

    Raises InvalidInput for a file that is no key, or a public key that does not belong to the private one.
    """
    private, public = folder / PRIVATE_NAME, folder / PUBLIC_NAME
    found = atomicfiles.read(private)
    if found is None:
        return ()
    pair = _known(private, found)
    _fits(public, pair, "use")
    return keys.read(pair.public, str(public))


def _known(path: Path, content: bytes) -> SigningKeyPair:
    try:
        return signer.of(content.decode())
    except ValueError as error:
        why = "is no text" if isinstance(error, UnicodeDecodeError) else str(error)
        text = f"the private key is not a PEM RSA key: it {why}, want a PEM RSA private key or no file"
        raise errors.InvalidInput(InputProblem(str(path), "", text)) from None


def _fits(path: Path, pair: SigningKeyPair, existing: str) -> bool:
    """Whether the public file is there already. Raises InvalidInput when it is another key's."""
    content = atomicfiles.read(path)
    if content is None:
        return False
    if existing == "refuse":
        raise errors.InvalidInput(
            InputProblem(str(path), "", "exists already, want a directory without a key")
        )
    (ours,) = keys.read(pair.public, str(path))
    theirs = keys.read(content.decode("utf-8", "replace"), str(path))
    if ours.kid not in {key.kid for key in theirs}:
        raise errors.InvalidInput(
            InputProblem(str(path), "", f"does not belong to {PRIVATE_NAME} in the same directory")
        )
    return True
