"""Plans: what a pod gets for one cloud, as plain values. Providers make them; ``render`` turns them into
patch pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from vestibule.core.kinds.vocabulary import Provider

Role = Literal["source", "identity", "extra"]


class Env(NamedTuple):
    """A variable and what a container says by setting it itself.

    ``source``    names the credentials: the container brings its own, the cloud is left to it as a whole.
    ``identity``  says *who*: the container's own word is kept, used with our token, and told.
    ``extra``     region, session name and the like: the container's own word is kept.
    """

    name: str
    value: str
    role: Role


class Mount(NamedTuple):
    """A mount of one of the plan's volumes."""

    volume: str
    path: str
    read_only: bool = True

    def body(self) -> dict[str, Any]:
        """As it stands in a container."""
        return {"name": self.volume, "mountPath": self.path, "readOnly": self.read_only}


class Volume(NamedTuple):
    """A volume: its name and its source."""

    name: str
    source: Mapping[str, Any]

    def body(self) -> dict[str, Any]:
        """As it stands in a pod."""
        return {"name": self.name, **self.source}


class Helper(NamedTuple):
    """An init container of ours. Lower order runs first."""

    order: int
    body: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the container."""
        return str(self.body["name"])


class ConfigMap(NamedTuple):
    """An object that must exist before the pod does; the namespace is the pod's."""

    name: str
    body: Mapping[str, Any]
    field_manager: str
    force: bool = False


class Plan(NamedTuple):
    """Everything one cloud adds to a pod."""

    provider: Provider
    volumes: tuple[Volume, ...]
    mounts: tuple[Mount, ...]
    env: tuple[Env, ...]
    helpers: tuple[Helper, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    config_map: ConfigMap | None = None
    stronger: tuple[str, ...] = ()
    """Variables that the cloud's SDKs prefer over what we inject."""
    include: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    required: bool = False
    notes: tuple[str, ...] = ()
    """What could not be planned as asked, told to the user."""
