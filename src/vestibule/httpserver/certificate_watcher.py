"""The serving certificate on disk: loaded whole, proven, watched, swapped without a dropped connection.

The kubelet replaces a mounted Secret by renaming one symbolic link, ``..data``; resolving it once per load
keeps us from pairing an old certificate with a new key. A pair that does not work never replaces one that
does: it is reported in ``state`` and in the log, and watched until it changes. The hard thing is time: a pair
that is proven but expired or not yet valid waits, while the old one is good, and takes over when it is not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from vestibule.errors import InputProblem, InvalidSettings
from vestibule.httpserver.certificate_check import CheckedCertificate, prove
from vestibule.httpserver.tls import TlsHolder

__all__ = ["CertFiles", "CertState", "CertWatcher"]

logger = logging.getLogger(__name__)

_DATA_LINK: Final = "..data"
_AGAIN_SECONDS: Final = 5.0  # between two readings of files that could not be used
_ATTEMPTS: Final = (
    3  # reads of files that change while they are read; the kubelet swaps once a minute at most
)

_WANT_CERTIFICATE: Final = "want a PEM certificate chain, leaf first"
_WANT_KEY: Final = "want the PEM private key of the certificate, not encrypted"
_WANT_CA: Final = "want PEM certificates of the client CA"


class CertFiles(NamedTuple):
    """Where the pair lies, and the CA of the clients if they must show certificates."""

    cert: Path
    key: Path
    client_ca: Path | None = None


class CertState(msgspec.Struct):
    """What is served and what went wrong last; read by health checks and metrics."""

    generation: int = 0
    """Pairs served so far."""
    loaded_at: float = 0.0
    """Seconds since the epoch, of the pair being served, as the next two."""
    not_before: float = 0.0
    not_after: float = 0.0
    names: tuple[str, ...] = ()
    """Subject alternative names of the leaf being served."""
    valid: bool = False
    """Whether the dates of the pair being served are good, as of the last check."""
    reason: str = ""
    """Why not."""
    last_error: str = ""
    """Why the files as they are now are not what is served; empty if they are."""
    errors: int = 0
    """Failed loads so far."""


class _CertificateCandidate(NamedTuple):
    context: ssl.SSLContext
    checked: CheckedCertificate


_Stamp = tuple[tuple[int, int, int] | None, ...]


class CertWatcher:
    """Keeps a TlsHolder supplied from files."""

    def __init__(
        self,
        files: CertFiles,
        holder: TlsHolder,
        *,
        interval: float = 1.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``interval``: seconds between two checks of the files; one check is three ``stat`` calls."""
        self._files = files
        self._holder = holder
        self._interval = interval
        self._now = now
        self._stamp: _Stamp = ()
        self._serving: CheckedCertificate | None = None
        self._waiting: _CertificateCandidate | None = None
        self._refused: tuple[_Stamp, str] | None = None
        self._again_at = 0.0
        self.state = CertState()

    def load(self) -> None:
        """Load and serve the pair, even if its dates are bad; raises InvalidSettings if it is no pair."""
        if self._holder.checks_client_names and self._files.client_ca is None:
            raise InvalidSettings(
                InputProblem("client names", "", f"given without a client CA file, {_WANT_CA}")
            )
        self._adopt(self._read())
        self._judge()

    def check(self) -> bool:
        """Look once; True if another pair is served from now on. Never raises for what the files hold."""
        changed = _stamp(_resolved(self._files)) != self._stamp
        if changed or (self._refused is not None and self._now() >= self._again_at):
            self._take_up()
        swapped = self._promote()
        self._judge()
        return swapped

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(self._interval)
            self.check()

    def _take_up(self) -> None:
        """Read files that have changed, or could not be read: that may be for want of file descriptors, and
        then the files do not change again."""
        try:
            self._waiting = self._read()
            self._refused = None
        except InvalidSettings as error:
            self._waiting = None
            self._again_at = self._now() + _AGAIN_SECONDS
            refused = self._stamp, str(error)
            if refused != self._refused:
                self._refused = refused
                self.state.errors += 1
                self.state.last_error = str(error)
                logger.warning("certificate not loaded, keeping the old one", extra={"error": str(error)})

    def _promote(self) -> bool:
        """Serve the waiting pair if its dates are good, or no worse than those of the one being served."""
        waiting, serving = self._waiting, self._serving
        if waiting is None:
            return False
        now = self._now()
        fault = waiting.checked.fault(now)
        if fault and serving is not None and not serving.fault(now):
            error = str(
                InputProblem(str(self._files.cert), "", f"certificate is {fault}, keeping the old one")
            )
            if self.state.last_error != error:
                self.state.last_error = error
                logger.warning("certificate held back, keeping the old one", extra={"error": error})
            return False
        self._adopt(waiting)
        return True

    def _adopt(self, candidate: _CertificateCandidate) -> None:
        self._holder.replace(candidate.context)
        self._serving, self._waiting = candidate.checked, None
        state = self.state
        state.generation += 1
        state.loaded_at = self._now()
        state.not_before, state.not_after, state.names = candidate.checked
        state.last_error = ""
        logger.info(
            "certificate loaded", extra={"generation": state.generation, "not_after": state.not_after}
        )

    def _judge(self) -> None:
        """Check whether the served certificate is still valid; only changes are logged."""
        if self._serving is None:
            return
        state = self.state
        reason = self._serving.fault(self._now())
        if reason and reason != state.reason:
            logger.error("certificate being served is not valid", extra={"reason": reason})
        state.valid, state.reason = not reason, reason

    def _read(self) -> _CertificateCandidate:
        """Build and prove a context; files swapped under our hands are read again. Raises InvalidSettings."""
        attempts = _ATTEMPTS
        while True:
            files = _resolved(self._files)
            self._stamp = _stamp(files)
            attempts -= 1
            try:
                return self._built(files)
            except InvalidSettings:
                if not attempts or _stamp(_resolved(self._files)) == self._stamp:
                    raise

    def _built(self, files: CertFiles) -> _CertificateCandidate:
        """``files`` are the resolved paths; problems name the paths the user gave."""
        named = self._files
        problems: list[InputProblem] = []
        leaf = _certificates(files.cert, InputProblem(str(named.cert), "", _WANT_CERTIFICATE), problems)
        client_ca = None
        if files.client_ca is not None:
            client_ca = _certificates(
                files.client_ca, InputProblem(str(named.client_ca), "", _WANT_CA), problems
            )
        context = None
        if not problems:
            key = InputProblem(str(named.key), "", _WANT_KEY)
            try:
                context = self._holder.build(files.cert, files.key, client_ca)
            except OSError as error:
                problems.append(_unusable(key, error))
        if context is None:
            raise InvalidSettings(*problems)
        try:
            return _CertificateCandidate(context, prove(context, leaf))
        except ssl.SSLError as error:
            raise InvalidSettings(
                _unusable(InputProblem(str(named.cert), "", _WANT_CERTIFICATE), error)
            ) from error


def _resolved(files: CertFiles) -> CertFiles:
    """The real paths; all files of one directory come from the same generation of it."""
    generations: dict[Path, Path] = {}

    def real(path: Path) -> Path:
        directory = path.parent
        if directory not in generations:
            link = directory / _DATA_LINK
            generations[directory] = Path(os.path.realpath(link)) if link.is_symlink() else directory
        return generations[directory] / path.name

    return CertFiles(
        real(files.cert), real(files.key), None if files.client_ca is None else real(files.client_ca)
    )


def _stamp(files: CertFiles) -> _Stamp:
    def fingerprint(path: Path) -> tuple[int, int, int] | None:
        try:
            seen = path.stat()
        except OSError:
            return None
        return seen.st_mtime_ns, seen.st_size, seen.st_ino

    return tuple(fingerprint(path) for path in files if path is not None)


def _certificates(path: Path, expected: InputProblem, problems: list[InputProblem]) -> str:
    """The certificates in a file as PEM text; what is wrong with it is added to ``problems``."""
    try:
        text = path.read_bytes().decode("ascii", "ignore")  # comments may be in any encoding, PEM is ASCII
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:  # ValueError: the file is empty
        problems.append(_unusable(expected, error))
        return ""
    return text


def _unusable(expected: InputProblem, error: OSError | ValueError) -> InputProblem:
    """``expected`` with the problem, in a text that quotes no file contents."""
    if isinstance(error, ssl.SSLCertVerificationError):
        cause = f"fails a TLS handshake ({error.verify_message})"
    elif isinstance(error, ssl.SSLError):
        cause = f"cannot be used ({(error.reason or 'no PEM').lower().replace('_', ' ')})"
    elif isinstance(error, ValueError):
        cause = "cannot be used (empty)"
    else:
        cause = f"cannot be read ({(error.strerror or type(error).__name__).lower()})"
    return expected._replace(text=f"{cause}, {expected.text}")
