"""How to reach an API server and as whom: what a kubeconfig or a pod's mounted token comes down to.

Values and credentials only; reading a kubeconfig is ``kubeconfig``, speaking HTTP is ``client``. A
credential that can change (a file, a plug-in) is asked for the token on every call and keeps it as long as
it is good.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from vestibule import errors
from vestibule.httpclient.address_guard import AddressGuard

_TOKEN_LOOK_SECONDS: Final = 10.0
"""Between two looks at a token file; the kubelet replaces tokens at four fifths of their life."""


class ClusterCredential(Protocol):
    """Gives the ``Authorization`` header, or nothing."""

    async def authorization(self) -> str | None:
        """The header's value; raises Unavailable when there is none to be had."""
        ...

    def rejected(self) -> None:
        """The API server said 401: what is remembered is no good."""
        ...


class AnonymousCredential:
    """No header: a client certificate, or nobody."""

    async def authorization(self) -> str | None:
        """None."""
        return None

    def rejected(self) -> None:
        """Nothing is remembered."""


class StaticCredential:
    """A header that never changes."""

    def __init__(self, header: str) -> None:
        self._header = header

    async def authorization(self) -> str | None:
        """The header."""
        return self._header

    def rejected(self) -> None:
        """It is all we have."""

    @classmethod
    def basic(cls, user: str, password: str) -> StaticCredential:
        """User name and password."""
        return cls("Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


class TokenFileCredential:
    """A token in a file that somebody renews."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._header = ""
        self._read_at = float("-inf")

    async def authorization(self) -> str | None:
        """The token as it stands, read again every few seconds."""
        now = self._clock()
        if now - self._read_at >= _TOKEN_LOOK_SECONDS:
            try:
                self._header = f"Bearer {self._path.read_text().strip()}"
            except OSError as error:
                if not self._header:
                    raise errors.Unavailable(
                        f"token file {self._path} cannot be read: {error.strerror}"
                    ) from error
            self._read_at = now
        return self._header

    def rejected(self) -> None:
        """Read it again at once."""
        self._read_at = float("-inf")


class ExecSpec(NamedTuple):
    """A credential plug-in as a kubeconfig names it."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    api_version: str
    install_hint: str = ""


class _ExecStatus(msgspec.Struct, rename="camel"):
    token: str = ""
    expiration_timestamp: datetime.datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _ExecStatus


class ExecCredentialPlugin:
    """A token from a plug-in, kept until it expires or is rejected."""

    def __init__(self, spec: ExecSpec, now: Callable[[], float] = time.time) -> None:
        self._spec = spec
        self._now = now
        self._header = ""
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def authorization(self) -> str | None:
        """The token; runs the plug-in when there is none, once for all who wait."""
        async with self._lock:
            if not self._header or self._now() >= self._until:
                await self._run()
            return self._header

    def rejected(self) -> None:
        """Run the plug-in again."""
        self._header = ""

    async def _run(self) -> None:
        spec = self._spec
        question = {"apiVersion": spec.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        environ = {**os.environ, **spec.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(question).decode()}
        try:
            process = await asyncio.create_subprocess_exec(
                spec.command,
                *spec.args,
                env=environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"; {spec.install_hint}" if spec.install_hint else ""
            raise errors.Unavailable(f"credential plug-in {spec.command}: {error.strerror}{hint}") from error
        try:
            async with asyncio.timeout(60):
                output, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise errors.Unavailable(f"credential plug-in {spec.command} took more than 60 s") from None
        if process.returncode:
            raise errors.Unavailable(f"credential plug-in {spec.command} ended with {process.returncode}")
        try:
            status = msgspec.json.decode(output, type=_ExecCredential).status
        except msgspec.MsgspecError as error:
            raise errors.Unavailable(
                f"credential plug-in {spec.command} printed no ExecCredential"
            ) from error
        if not status.token:
            raise errors.Unavailable(
                f"credential plug-in {spec.command} gave no token (client certificates: not taken)"
            )
        self._header = f"Bearer {status.token}"
        expires = status.expiration_timestamp
        self._until = expires.timestamp() - 10 if expires is not None else float("inf")


class ClusterAccess(NamedTuple):
    """An API server, how to trust it, and as whom to speak."""

    server: str
    """Scheme, host, port and path prefix, without a final slash."""
    tls: ssl.SSLContext | None
    credential: ClusterCredential
    server_name: str | None = None
    """The name its certificate must carry, where that is not the host's."""
    namespace: str = "default"
    proxy: str | None = None
    guard: AddressGuard | None = None
    """For clusters that a tenant names: judges what is dialled. Their answers are limited in size, too."""


_MOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster(environ: Mapping[str, str], mount: Path = _MOUNT) -> ClusterAccess:
    """As the ServiceAccount of the pod we run in; raises InvalidSettings outside of one."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token, authority = mount / "token", mount / "ca.crt"
    problems = []
    if not host or not port:
        problems.append(
            errors.InputProblem(
                "environment", "KUBERNETES_SERVICE_HOST", "is not set, want a pod's environment"
            )
        )
    problems += [
        errors.InputProblem(str(path), "", "does not exist, want a projected ServiceAccount volume")
        for path in (token, authority)
        if not path.exists()
    ]
    if problems:
        raise errors.InvalidSettings(*problems)
    shown = f"[{host}]" if host and ":" in host else host
    namespace = mount / "namespace"
    return ClusterAccess(
        f"https://{shown}:{port}",
        ssl.create_default_context(cafile=str(authority)),
        TokenFileCredential(token),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def tls_context(
    authority: str | None, *, insecure: bool, certificate: str | None = None, key: str | None = None
) -> ssl.SSLContext:
    """A context from PEM texts. The key touches a file only while it is loaded, and only we can read it."""
    context = ssl.create_default_context(cadata=authority)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None and key is not None:
        descriptor, name = tempfile.mkstemp(prefix="vestibule-")  # 0600 from birth
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{certificate}\n{key}\n")
            context.load_cert_chain(name, password="")
        finally:
            Path(name).unlink()
    return context
