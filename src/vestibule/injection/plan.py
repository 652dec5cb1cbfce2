"""Plans: what a pod gets for one cloud, as plain values. Providers make them; ``render`` turns them into
patch pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from vestibule.api.annotation_keys import Provider

Role = Literal["source", "identity", "extra"]
Field = Literal["initContainers", "containers"]


class PlannedEnv(NamedTuple):
    """A variable and what it means if a container sets it itself.

    ``source``    names the credentials: the container brings its own, the cloud is left to it as a whole.
    ``identity``  names the identity: the container's own value is preserved, used with our token, and
    reported.
    ``extra``     region, session name and the like: the container's own value is preserved.
    """

    name: str
    value: str
    role: Role
    field: str = ""
    """A field of the pod that the value comes from, in place of ``value``."""
    when: Literal["absent", "group", "replace"] = "absent"
    """Where an original is matched: added if the container lacks it; if it lacks all of the group; or put
    in place of what it has."""
    group: str = ""
    twin: str = ""
    """A variable of the same meaning in other SDKs: a container's value of it is used for this one, too."""

    def body(self) -> dict[str, Any]:
        """As in the container's JSON."""
        if self.field:
            return {"name": self.name, "valueFrom": {"fieldRef": {"fieldPath": self.field}}}
        return {"name": self.name, "value": self.value} if self.value else {"name": self.name}


class PlannedMount(NamedTuple):
    """A mount of one of the plan's volumes."""

    volume: str
    path: str
    read_only: bool = True
    when: Literal["absent", "replace"] = "absent"
    """In strict mode: whether the container's own mount of the volume is preserved or replaced."""

    def body(self) -> dict[str, Any]:
        """As in the container's JSON."""
        if not self.read_only and self.when == "replace":
            return {"name": self.volume, "mountPath": self.path}
        return {"name": self.volume, "mountPath": self.path, "readOnly": self.read_only}


class PlannedVolume(NamedTuple):
    """A volume: its name and its source."""

    name: str
    source: Mapping[str, Any]
    when: Literal["absent", "replace", "token"] = "absent"
    """Where an original is matched: added if no volume has its name; put in place of one that has; or added
    if no volume projects a token to the same path."""
    first: bool = False
    """Inserted before the user's volumes."""

    def body(self) -> dict[str, Any]:
        """As in the pod's JSON."""
        return {"name": self.name, **self.source}


class PlannedContainer(NamedTuple):
    """A container of ours. Lower order runs first."""

    order: int
    body: Mapping[str, Any]
    field: Field = "initContainers"
    position: Literal["first", "last", "replace"] = "first"
    """Before or after the user's; or in place of one of the same name, else first."""

    @property
    def name(self) -> str:
        """Name of the container."""
        return str(self.body["name"])


class PlannedConfigMap(NamedTuple):
    """An object that must exist before the pod does; the namespace is the pod's."""

    name: str
    body: Mapping[str, Any]
    field_manager: str
    force: bool = False


class CloudPlanForPod(NamedTuple):
    """Everything one cloud adds to a pod."""

    provider: Provider
    volumes: tuple[PlannedVolume, ...]
    mounts: tuple[PlannedMount, ...]
    env: tuple[PlannedEnv, ...]
    helpers: tuple[PlannedContainer, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    config_map: PlannedConfigMap | None = None
    stronger: tuple[str, ...] = ()
    """Variables that the cloud's SDKs prefer over what we inject."""
    include: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    required: bool = False
    marker: bool = True
    """Whether the pod is marked with the cloud it got."""
    init_containers: bool = True
    """Whether init containers and native sidecars get it too."""
    finished: tuple[frozenset[str], ...] = ()
    """A container that has a variable of each of these sets is left alone, where an original is matched."""
    grants: tuple[tuple[str, str], ...] = ()
    """What the pod may become: ``role_arn``, ``tenant_id``, ``client_id``, ``provider``, ``service_account``
    and ``audience`` with their values; what policies limit."""
    notes: tuple[str, ...] = ()
    """What could not be planned as requested, for a warning."""
