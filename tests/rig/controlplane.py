"""A whole control plane: etcd, API server and, as asked, controllers, scheduler, kwok.

Parts boot at the same time where they can and are ended in the opposite order. ``plane.apiserver.kill()``,
``.start()``, ``.restart()``, ``.freeze()`` and ``.thaw()`` act on one part.
"""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

from tests.rig import build, catalogue, kubeconfig
from tests.rig.apiserver import ApiServer
from tests.rig.audit import AuditLog
from tests.rig.client import Client, Object, at
from tests.rig.controllermanager import ControllerManager
from tests.rig.etcd import Etcd
from tests.rig.faultproxy import FaultProxy
from tests.rig.kwok import Kwok, node
from tests.rig.part import START_SECONDS, Part
from tests.rig.pki import Authority
from tests.rig.scheduler import Scheduler

ADMIN = "rig:admin"
MASTERS = ("system:masters",)


class ControlPlane:
    """Everything below one folder. ``with ControlPlane(folder) as plane: plane.admin.get(…)``."""

    def __init__(
        self,
        folder: Path,
        *,
        version: str = catalogue.NEW,
        controllers: bool = True,
        scheduler: bool = False,
        nodes: bool = False,
        flags: Mapping[str, str | None] | None = None,
        etcd: Etcd | None = None,
        prefix: str = "/registry",
        etcd_url: Callable[[Etcd], str] = lambda etcd: etcd.url,
        guarded: bool = True,
        tell: Callable[[str], None] = build.say,
    ) -> None:
        """Builds what is missing; starts nothing.

        ``nodes`` adds kwok, ``flags`` changes flags of the API server, ``etcd`` is one that somebody else
        starts and stops, ``etcd_url`` is asked once etcd runs and can put a proxy in between.
        Raises toolchain.CannotBuild.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder, self.version, self._etcd_url = folder, version, etcd_url
        names = ["etcd", "kube-apiserver"]
        expected = {"kube-controller-manager": controllers, "kube-scheduler": scheduler, "kwok": nodes}
        names += [name for name, yes in expected.items() if yes]
        binaries = build.ensure(names, version, tell)
        self.authority = Authority(folder / "pki")
        self._owns_etcd = etcd is None
        self.etcd = etcd or Etcd(binaries["etcd"], folder, guarded=guarded)
        self.apiserver = ApiServer(
            binaries["kube-apiserver"], folder, self.authority, prefix=prefix, flags=flags, guarded=guarded
        )
        self.audit = AuditLog(self.apiserver.audit_log)
        self._clients: dict[tuple[str, tuple[str, ...], str], Client] = {}
        self._numbers = itertools.count()
        self.controllers = self.scheduler = self.kwok = None
        if controllers:
            self.controllers = ControllerManager(
                binaries["kube-controller-manager"],
                folder,
                self.authority,
                self.apiserver.token_key,
                kubeconfig=lambda: self.kubeconfig("system:kube-controller-manager"),
                admin=lambda: self.admin,
                guarded=guarded,
            )
        if scheduler:
            self.scheduler = Scheduler(
                binaries["kube-scheduler"],
                folder,
                self.authority,
                kubeconfig=lambda: self.kubeconfig("system:kube-scheduler"),
                guarded=guarded,
            )
        if nodes:
            self.kwok = Kwok(
                binaries["kwok"],
                folder,
                kubeconfig=lambda: self.kubeconfig("rig:kwok", MASTERS),
                guarded=guarded,
            )

    @property
    def parts(self) -> list[Part]:
        """In the order of booting, without an etcd that is not ours."""
        own: list[Part | None] = [self.etcd if self._owns_etcd else None, self.apiserver]
        return [part for part in [*own, self.controllers, self.scheduler, self.kwok] if part is not None]

    @property
    def url(self) -> str:
        return self.apiserver.url

    @property
    def admin(self) -> Client:
        return self.client(ADMIN, MASTERS)

    def start(self, seconds: float = START_SECONDS) -> Self:
        """Boots; on return pods can be created. On failure everything is stopped and Failed raised."""
        try:
            self.launch()
            self.wait(seconds)
        except BaseException:
            self.stop()
            raise
        return self

    def launch(self) -> None:
        """etcd to readiness, the API server only started: two planes can boot at the same time."""
        if self._owns_etcd:
            self.etcd.start()
        self.apiserver.etcd_url = self._etcd_url(self.etcd)
        self.apiserver.launch()

    def wait(self, seconds: float = START_SECONDS) -> None:
        """The rest of the boot; clients started before the API server would only slow it down."""
        deadline = time.monotonic() + seconds
        self.apiserver.wait(seconds)
        rest = [part for part in (self.controllers, self.scheduler, self.kwok) if part is not None]
        for part in rest:
            part.launch()
        for part in rest:
            part.wait(max(1.0, deadline - time.monotonic()))
        if self.controllers is None:
            self.admin.create(at("serviceaccounts", "default"), _named("default"))

    def stop(self) -> None:
        """Ends every part, the API server by force: its farewell takes a second and its data is in etcd.

        The data stays on disk; ``start`` finds it again.
        """
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        for part in reversed(self.parts):
            if part is self.apiserver:
                part.kill()
            else:
                part.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self, user: str, groups: Iterable[str] = (), url: str = "") -> Client:
        """A client by certificate, closed by ``stop``; ``url`` leads through a proxy."""
        key = (user, tuple(groups), url or self.url)
        if key not in self._clients:
            pair = self.authority.client(user, key[1])
            self._clients[key] = Client(key[2], self.authority.trusting(pair))
        return self._clients[key]

    def token_client(self, token: str, url: str = "") -> Client:
        """A client by bearer token; the caller closes it."""
        return Client(
            url or self.url, self.authority.trusting(), headers={"Authorization": f"Bearer {token}"}
        )

    def proxy(self, user: str = ADMIN, groups: Iterable[str] = MASTERS, *, seed: int = 0) -> FaultProxy:
        """A fault proxy before the API server that calls it as the user; not started."""
        calling = self.authority.trusting(self.authority.client(user, groups))
        return FaultProxy(self.url, serving=self.authority.serving("proxy"), calling=calling, seed=seed)

    def kubeconfig(
        self, user: str = ADMIN, groups: Iterable[str] | None = None, *, url: str = "", embed: bool = True
    ) -> Path:
        """A new kubeconfig file for a user; the administrator when nobody is named."""
        if groups is None:
            groups = MASTERS if user == ADMIN else ()
        stem = re.sub(r"[^\w.-]+", "-", user)
        path = self.folder / "kubeconfig" / f"{stem}-{next(self._numbers)}.yaml"
        return kubeconfig.write(
            path, url or self.url, self.authority.ca, self.authority.client(user, groups), embed=embed
        )

    def namespace(self, stem: str = "test", **metadata: object) -> str:
        """Makes a namespace with a name of its own, ready for pods; its name."""
        name = f"{re.sub(r'[^a-z0-9]+', '-', stem.lower()).strip('-')[:40]}-{secrets.token_hex(4)}".strip("-")
        self.admin.create(at("namespaces"), _named(name, **metadata)).object  # noqa: B018 - raises if refused
        if self.controllers is None:
            self.admin.create(at("serviceaccounts", name), _named("default"))
        self.admin.wait(at("serviceaccounts", name, "default"))
        return name

    def node(self, name: str = "node-1") -> str:
        """Makes a fake node and waits until it is ready; needs ``nodes=True``."""
        self.admin.create(at("nodes"), node(name)).object  # noqa: B018 - raises if refused
        self.admin.wait(at("nodes", name=name), _ready)
        return name


def _named(name: str, **metadata: object) -> Object:
    return {"metadata": {"name": name, **metadata}}


def _ready(item: Object) -> bool:
    conditions = item.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
