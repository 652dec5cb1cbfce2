"""What a kubelet does with an admitted pod before its containers start, as far as files are concerned.

It acts as a node: with the node's certificate, so that the API server's own rules for kubelets (the Node
authorizer, NodeRestriction, no audience but those that the pod's volumes name) stand in the way of a token
that no real node would get. Tokens are bound to the pod. Volumes are laid out once per pod, in the shape of
the kubelet's atomic writer (``..data`` and links), and shared by the containers that mount them.
What a kubelet can and this one cannot raises Unsupported, so that nothing is left out in silence.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.rig.client import Answer, Client, at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
GENERATION = "..2026_01_01_00_00_00.000000000"
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class Unsupported(Exception):
    """A pod asks for something that this kubelet does not do."""


class Asked(NamedTuple):
    """One ``serviceAccountToken`` of a volume, as it is asked for."""

    pod: Json
    audience: str
    seconds: int


Mint = Callable[[Asked], str]


class Kubelet:
    """The agent of one node."""

    def __init__(self, plane: ControlPlane, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._admin = plane.admin
        self.client = plane.client(f"system:node:{name}", ["system:nodes"])
        self._admin.create(at("nodes"), {"metadata": {"name": name}}).object  # noqa: B018 - raises

    def close(self) -> None:
        self._admin.delete(at("nodes", name=self.name))

    def run(self, namespace: str, name: str, mint: Mint | None = None) -> LaidOut:
        """Bind a pod to the node as the scheduler would, read it back, lay it out."""
        target = {"apiVersion": "v1", "kind": "Node", "name": self.name}
        binding = {"metadata": {"name": name}, "target": target}
        self._admin.create(at("pods", namespace, name, "binding"), binding).object  # noqa: B018 - raises
        pod = allowed(lambda: self.client.get(at("pods", namespace, name)))
        return LaidOut(self.client, pod, self.folder / pod["metadata"]["uid"], mint or self.mint)

    def mint(self, requested: Asked, seconds: float = 30.0) -> str:
        """A token of the API server for exactly this audience and life, bound to the pod."""
        meta = requested.pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        spec: Json = {"expirationSeconds": requested.seconds, "boundObjectRef": bound}
        if requested.audience:
            spec["audiences"] = [requested.audience]
        path = at("serviceaccounts", meta["namespace"], requested.pod["spec"]["serviceAccountName"], "token")
        created = allowed(lambda: self.client.create(path, {"spec": spec}), seconds)
        return str(created["status"]["token"])


def allowed(call: Callable[[], Answer], seconds: float = 30.0) -> Json:
    """The object, once the API server knows that the node runs the pod; its caches lag behind a binding."""
    deadline = time.monotonic() + seconds
    while (answer := call()).status in (403, 404) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer.object


class LaidOut:
    """A pod's volumes in a folder."""

    def __init__(self, client: Client, pod: Json, folder: Path, mint: Mint) -> None:
        self.pod, self.folder = pod, folder
        self._client, self._mint = client, mint
        self._volumes: dict[str, Path] = {}
        self.warnings: list[str] = []
        """What the author of the pod was told."""
        self.tokens: dict[str, str] = {}
        """Tokens by volume and path: ``cwii-aws-token/token``."""

    @property
    def subject(self) -> str:
        """Who the pod's tokens say it is."""
        account = self.pod["spec"]["serviceAccountName"]
        return f"system:serviceaccount:{self.pod['metadata']['namespace']}:{account}"

    def volume(self, name: str) -> Path:
        """Where the content of a volume is, laid out when it is first asked for."""
        if name not in self._volumes:
            body = next(volume for volume in self.pod["spec"]["volumes"] if volume["name"] == name)
            place = self.folder / "volumes" / name
            place.mkdir(parents=True)
            if "emptyDir" not in body:
                _write(place, self._files(name, body))
            self._volumes[name] = place
        return self._volumes[name]

    def _files(self, name: str, body: Json) -> dict[str, tuple[bytes, int]]:
        if "projected" in body:
            sources: list[Json] = body["projected"]["sources"]
            mode = body["projected"].get("defaultMode", 0o644)
        else:
            sources = [{kind: body[kind] for kind in ("downwardAPI", "configMap") if kind in body}]
            mode = next((source.get("defaultMode", 0o644) for source in sources[0].values()), 0o644)
        files: dict[str, tuple[bytes, int]] = {}
        for source in sources:
            for kind, value in source.items():
                match kind:
                    case "serviceAccountToken":
                        token = self._token(value)
                        self.tokens[f"{name}/{value['path']}"] = token
                        # no newline: SDKs send the file as it is
                        files[value["path"]] = (token.encode(), self._token_mode(mode))
                    case "downwardAPI":
                        for item in value.get("items", []):
                            text = field(self.pod, item["fieldRef"]["fieldPath"])
                            files[item["path"]] = (text.encode(), item.get("mode", mode))
                    case "configMap":
                        files |= self._config_map(value, mode)
                    case _:
                        raise Unsupported(f"volume {name}: {kind}")
        if not files:
            raise Unsupported(f"volume {name}: {sorted(body)}")
        return files

    def _token(self, source: Json) -> str:
        return self._mint(Asked(self.pod, source.get("audience", ""), source["expirationSeconds"]))

    def _token_mode(self, mode: int) -> int:
        """A kubelet that can give the file to one user or group keeps everybody else out."""
        spec = self.pod["spec"]
        pod_user = spec.get("securityContext", {}).get("runAsUser")
        containers = [*spec["containers"], *spec.get("initContainers", [])]
        users = {one.get("securityContext", {}).get("runAsUser", pod_user) for one in containers}
        alone = len(users) == 1 and None not in users
        return 0o600 if alone or "fsGroup" in spec.get("securityContext", {}) else mode

    def _config_map(self, source: Json, mode: int) -> dict[str, tuple[bytes, int]]:
        path = at("configmaps", self.pod["metadata"]["namespace"], source["name"])
        data = allowed(lambda: self._client.get(path)).get("data", {})
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        return {item["path"]: (data[item["key"]].encode(), item.get("mode", mode)) for item in items}


def field(pod: Json, path: str) -> str:
    """A field of the downward API; a key that is not there is empty."""
    if keyed := _KEYED.fullmatch(path):
        return str(pod["metadata"].get(keyed[1], {}).get(keyed[2], ""))
    if path in ("metadata.name", "metadata.namespace", "metadata.uid"):
        return str(pod["metadata"][path.partition(".")[2]])
    if path in ("spec.nodeName", "spec.serviceAccountName"):
        return str(pod["spec"][path.partition(".")[2]])
    raise Unsupported(f"field {path}")


def _write(place: Path, files: dict[str, tuple[bytes, int]]) -> None:
    for path, (content, mode) in files.items():
        file = place / GENERATION / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)
        link = place / Path(path).parts[0]
        if not link.is_symlink():
            link.symlink_to(Path("..data") / Path(path).parts[0])
    (place / "..data").symlink_to(GENERATION)
