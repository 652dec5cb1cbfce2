"""Runs the simulator: a throw-away authority, files that tell others where it is, and an end on demand."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import shlex
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import atomicfiles
from vestibule.errors import InputProblem, InvalidInput
from vestibule.pki import certificate_authority
from vestibule_simulators.azure.simulator import Simulator
from vestibule_simulators.azure.state import SimulatorSettings
from vestibule_simulators.https_server import HttpsSite

_LIFE: Final = datetime.timedelta(days=30)


class SimulatorOptions(NamedTuple):
    """How to run."""

    folder: Path
    """For the authority and the files for users."""
    host: str = "127.0.0.1"
    port: int = 0
    settings: SimulatorSettings | None = None
    state: Path | None = None
    """Read at the start when it exists, written at the end."""
    faults: Path | None = None
    azurite: str = ""
    trust: Path | None = None
    """PEM file of authorities of issuers and Azurite, beside this machine's."""


class RunningSimulator(NamedTuple):
    """A simulator at work."""

    simulator: Simulator
    base: str
    folder: Path

    @property
    def bundle(self) -> Path:
        """PEM file of its authority."""
        return self.folder / "ca.pem"

    @property
    def cloud(self) -> Path:
        """What ``--cloud`` wants."""
        return self.folder / "cloud.json"

    @property
    def variables(self) -> dict[str, str]:
        """What a shell needs."""
        settings = self.simulator.world.settings
        return {
            "AZURE_TENANT_ID": settings.tenant,
            "AZURE_CLIENT_ID": settings.client_id,
            "AZURE_CLIENT_SECRET": settings.client_secret,
            "AZURE_SUBSCRIPTION_ID": settings.subscription,
            "AZURE_AUTHORITY_HOST": self.base,
            "REQUESTS_CA_BUNDLE": str(self.bundle),
            "SSL_CERT_FILE": str(self.bundle),
            "VESTIBULE_SIMULATOR": self.base,
            "VESTIBULE_CLOUD": str(self.cloud),
        }

    @property
    def description(self) -> dict[str, Any]:
        """The cloud, as ``--cloud FILE`` reads it."""
        return {
            "name": "simulated",
            "resourceManager": self.base,
            "authority": self.base,
            "scope": "https://management.azure.com/.default",
            "blobSuffix": self.simulator.world.settings.blob_suffix,
            "blobAddress": f"{self.base}/{{account}}",
            "publicAddress": f"{self.base}/{{account}}",
            "vaultAddress": f"{self.base}/{{vault}}.vault",
        }


@contextlib.asynccontextmanager
async def running(wanted: SimulatorOptions) -> AsyncIterator[RunningSimulator]:
    """Serve until the block ends. Raises InvalidInput for files that are no use, OSError."""
    atomicfiles.folder(wanted.folder)
    tls, ours = _certified(wanted)
    trust = ssl.create_default_context()
    trust.load_verify_locations(cadata=ours)
    if wanted.trust is not None:
        try:
            trust.load_verify_locations(wanted.trust)
        except OSError as error:
            raise InvalidInput(
                InputProblem("--trust", str(wanted.trust), f"cannot be used: {error}")
            ) from error
    simulator = Simulator(wanted.settings, azurite=wanted.azurite, trust=trust)
    _load(simulator, wanted)
    async with HttpsSite(simulator.answer, tls, wanted.host, wanted.port) as site:
        host = "127.0.0.1" if wanted.host in ("", "0.0.0.0", "::") else wanted.host  # noqa: S104
        simulator.base = f"https://{f'[{host}]' if ':' in host else host}:{site.port}"
        found = RunningSimulator(simulator, simulator.base, wanted.folder)
        _tell(found)
        try:
            yield found
        finally:
            if wanted.state is not None:
                atomicfiles.replace(wanted.state, simulator.world.export())


def loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _certified(wanted: SimulatorOptions) -> tuple[ssl.SSLContext, str]:
    now = datetime.datetime.now(datetime.UTC)
    ours = certificate_authority.new_ca("vestibule simulator", now=now, life=_LIFE)
    names = ["localhost", "127.0.0.1", "::1"]
    if wanted.host not in ("", "0.0.0.0", "::", *names):  # noqa: S104
        names.append(wanted.host)
    leaf = certificate_authority.new_leaf(ours, names, now=now, life=_LIFE)
    certificate, key = wanted.folder / "server.pem", wanted.folder / "server.key"
    atomicfiles.replace(wanted.folder / "ca.pem", ours.certificate.encode(), 0o644)
    atomicfiles.replace(certificate, leaf.certificate.encode(), 0o644)
    atomicfiles.replace(key, leaf.key.encode())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context, ours.certificate


def _load(simulator: Simulator, wanted: SimulatorOptions) -> None:
    for flag, path, take in (
        ("--state", wanted.state, simulator.world.restore),
        ("--faults", wanted.faults, simulator.faults.add),
    ):
        if path is None or (flag == "--state" and not path.exists()):
            continue
        try:
            take(path.read_bytes())
        except (ValueError, OSError) as error:
            text = getattr(error, "strerror", None) or str(error)
            raise InvalidInput(InputProblem(flag, str(path), text)) from error


def _tell(found: RunningSimulator) -> None:
    """The files that users source and point at."""
    described = msgspec.json.format(msgspec.json.encode(found.description), indent=2) + b"\n"
    atomicfiles.replace(found.cloud, described, 0o644)
    lines = [f"export {name}={shlex.quote(value)}" for name, value in found.variables.items()]
    atomicfiles.replace(found.folder / "env.sh", "\n".join(["# source this", *lines, ""]).encode())
