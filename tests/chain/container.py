"""A container without a container runtime: its environment, where its mounts are, programs that run in it.

Nothing is mounted at absolute paths, because that needs rights which a test machine may not give. So a path
that lies in a mount is prefixed with the folder where the pod is laid out, in these places and no others:

- values of the container's variables that are such a path as a whole;
- ``credential_source.file`` of a Google credentials file that a variable names: a copy is read instead;
- arguments of a program of the pod's own (``run``), wherever a mount path stands in them.

One address is exchanged: botocore asks the node's Pod Identity agent without a proxy, so the link-local
address becomes the gateway's. Added are the way out (a proxy and its CA), and HOME and PATH, which lead to an
empty folder unless the container sets them.
``KUBERNETES_SERVICE_*``, which a kubelet adds for the API server, no cloud SDK reads, and they are left out.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from tests.chain.clouds.aws import AGENT_URL
from tests.chain.gateway import Gateway
from tests.chain.kubelet import LaidOut, Unsupported, field
from tests.chain.sdks import Sdks

Json = dict[str, Any]
LOGIN = Path(__file__).with_name("login.py")
FILES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_KUBERNETES_CA_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE",
)
"""Variables whose value is a file that an SDK opens."""
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


class Outcome(NamedTuple):
    """How a login ended."""

    ok: bool
    who: Json
    """What the SDK came home with, when it did."""
    error: str
    refused: list[str]
    """Addresses outside this machine to which the program tried to connect by itself."""


class Container:
    """One container of a pod that is laid out."""

    def __init__(self, rendered: LaidOut, name: str) -> None:
        spec = rendered.pod["spec"]
        self.spec: Json = next(
            one for one in [*spec.get("initContainers", []), *spec["containers"]] if one["name"] == name
        )
        self.name, self._laid = name, rendered
        self.folder = rendered.folder / "containers" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.mounts: dict[str, Path] = {}
        for mount in self.spec.get("volumeMounts", []):
            if "subPathExpr" in mount:
                raise Unsupported(f"container {name}: subPathExpr")
            inside = mount["mountPath"].rstrip("/")
            self.mounts[inside] = rendered.volume(mount["name"]) / mount.get("subPath", "")
        self.env = self._environment()
        """As the kubelet would set it, paths and all."""

    def here(self, path: str) -> Path | None:
        """Where a path of the container is on this machine; None when it is in no mount, or no path."""
        for inside, place in self.mounts.items():
            if PurePosixPath(path).is_relative_to(inside):
                return place / PurePosixPath(path).relative_to(inside)
        return None

    def astray(self) -> list[str]:
        """Files that variables name (and the token that a credentials file names) but no mount holds."""
        named = [(name, self.env[name]) for name in FILES if name in self.env]
        for name, path in list(named):
            document = self._external_account(self.here(path))
            if document is not None:
                named.append((f"{name}: credential_source.file", document["credential_source"]["file"]))
        return [
            f"{name}={path}"
            for name, path in named
            if not path.startswith("/") or (file := self.here(path)) is None or not file.is_file()
        ]

    def unreadable(self) -> list[str]:
        """Files in mounts that somebody else than root cannot read, unless the kubelet gave them to him: a
        token to the one user that all containers have, everything to the pod's group."""
        pod = self._laid.pod["spec"].get("securityContext", {})
        if self.spec.get("securityContext", {}).get("runAsUser", pod.get("runAsUser")) == 0:
            return []
        found = []
        for inside, place in self.mounts.items():
            for file in place.rglob("*"):
                mode = stat.S_IMODE(file.stat().st_mode)
                given = mode == 0o600 or ("fsGroup" in pod and mode & 0o040)
                if file.is_file() and not (given or mode & 0o004):
                    found.append(f"{inside}/{file.relative_to(place)}")
        return found

    def run(self, tools: Path) -> None:
        """Run the container's own command to its end, as an init container does; needs a shell at most, and
        what is in the folder of tools."""
        command = [
            self._placed(expand(part, self.env))
            for part in [*self.spec["command"], *self.spec.get("args", [])]
        ]
        mounts = json.dumps({str(place): inside for inside, place in self.mounts.items()})
        environment = {"PATH": f"{tools}:{os.defpath}", "CHAIN_MOUNTS": mounts}
        environment |= {name: str(self.here(value) or value) for name, value in self.env.items()}
        subprocess.run(command, env=environment, cwd=self.folder, check=True, timeout=30)

    def environment(self, gateway: Gateway) -> dict[str, str]:
        """What a program in the container gets here; see above for what differs from ``env``."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        bundle = str(gateway.certificates.bundle)
        nowhere = {"HOME": str(home), "PATH": str(home)}
        ours = {
            "HTTP_PROXY": gateway.url,
            "HTTPS_PROXY": gateway.url,
            "NO_PROXY": "127.0.0.1",
            "AWS_CA_BUNDLE": bundle,
            "REQUESTS_CA_BUNDLE": bundle,
        }
        taken = set(ours) & set(self.env)
        if taken:
            raise Unsupported(f"container {self.name} sets {sorted(taken)}, which the test needs")
        return {**nowhere, **{name: self._value(value, gateway) for name, value in self.env.items()}, **ours}

    def _environment(self) -> dict[str, str]:
        if self.spec.get("envFrom"):
            raise Unsupported(f"container {self.name}: envFrom")
        found: dict[str, str] = {}
        for item in self.spec.get("env", []):
            source = item.get("valueFrom")
            if source is None:
                found[item["name"]] = expand(item.get("value", ""), found)
            elif "fieldRef" in source:
                found[item["name"]] = field(self._laid.pod, source["fieldRef"]["fieldPath"])
            else:
                raise Unsupported(f"container {self.name}: {item['name']} from {sorted(source)}")
        return found

    def _value(self, value: str, gateway: Gateway) -> str:
        if value == AGENT_URL:
            return f"{gateway.url}/v1/credentials"
        place = self.here(value) if value.startswith("/") else None
        if place is None:
            return value
        document = self._external_account(place)
        if document is None:
            return str(place)
        source = document["credential_source"]
        token = self.here(source["file"])
        copy = self.folder / f"rewritten-{place.name}"
        copy.write_text(
            json.dumps({**document, "credential_source": {**source, "file": str(token or source["file"])}})
        )
        return str(copy)

    def _external_account(self, place: Path | None) -> Json | None:
        """A Google credentials file that names a token file, or None."""
        if place is None or place.suffix != ".json" or not place.is_file():
            return None
        document: Json = json.loads(place.read_text())
        return document if "file" in document.get("credential_source", {}) else None

    def _placed(self, text: str) -> str:
        for inside, place in self.mounts.items():
            text = text.replace(f"{inside}/", f"{place}/")
        return text


def login(jobs: Sequence[tuple[Container, str]], gateway: Gateway, sdks: Sdks) -> list[Outcome]:
    """Start SDKs at the same time, each with the environment of a container; how they fared, in order."""
    prepared = [(container, sdk, container.environment(gateway)) for container, sdk in jobs]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(lambda job: _login(sdks, *job), prepared))


def _login(sdks: Sdks, container: Container, sdk: str, environment: dict[str, str]) -> Outcome:
    done = sdks.run(LOGIN, [sdk], environment, container.folder, fork=not sdks.early & set(container.env))
    if done.code != 0:
        raise AssertionError(f"{sdk} in {container.name}: exit {done.code}: {done.err[-2000:]}")
    return Outcome(**json.loads(done.out))


def expand(text: str, env: dict[str, str]) -> str:
    """References as the kubelet expands them: ``$(NAME)`` if it is known, ``$$`` to ``$``, the rest stays."""

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return env.get(match[1], match[0])

    return _REFERENCE.sub(replaced, text)
