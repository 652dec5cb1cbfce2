"""How a container starts its program: arguments and environment as the kubelet would put them together.

Secrets are not read; the variables that come from one are reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

Object = Mapping[str, Any]
ConfigMaps = Callable[[str], Mapping[str, str] | None]
"""Name of a ConfigMap of the container's namespace to its data; None when it is not known."""

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
_REFERENCE: Final = re.compile(r"\$\$|\$\(([A-Za-z_.-][\w.-]*)\)")


class ContainerCommand(NamedTuple):
    """One program as it is started."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    unread: Mapping[str, str]
    """Variables that come from where we do not look, and from where."""
    problems: tuple[str, ...] = ()


def started(container: Object, config_maps: ConfigMaps) -> ContainerCommand:
    """Arguments and environment of a container."""
    environment: dict[str, str] = {}
    unread: dict[str, str] = {}
    problems: list[str] = []
    for source in container.get("envFrom") or ():
        _env_from(source, config_maps, environment, problems)
    for variable in container.get("env") or ():
        _one(variable, config_maps, environment, unread)
    words = [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
    command = container.get("command") or ()
    if command and str(command[0]).rpartition("/")[2] in _SHELLS:
        problems.append(f"is started by {command[0]}: its flags are in a script and are not read")
        words = []
    elif command:
        words = words[1:]
    arguments = tuple(_expanded(word, environment) for word in words)
    return ContainerCommand(arguments, environment, unread, tuple(problems))


def config_map_names(pod: Object) -> Iterator[str]:
    """The ConfigMaps of which a pod's programs read."""
    for volume in pod.get("volumes") or ():
        if volume.get("configMap"):
            yield str(volume["configMap"].get("name"))
    for container in pod.get("containers") or ():
        for source in container.get("envFrom") or ():
            if source.get("configMapRef"):
                yield str(source["configMapRef"].get("name"))
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get("configMapKeyRef")
            if reference:
                yield str(reference.get("name"))


def _env_from(
    source: Object, config_maps: ConfigMaps, environment: dict[str, str], problems: list[str]
) -> None:
    prefix = str(source.get("prefix") or "")
    if source.get("secretRef"):
        problems.append(f"has variables from Secret {source['secretRef'].get('name')}, which is not read")
        return
    name = str((source.get("configMapRef") or {}).get("name"))
    data = config_maps(name)
    if data is None:
        problems.append(f"has variables from ConfigMap {name}, which does not exist")
        return
    environment.update({f"{prefix}{key}": value for key, value in data.items()})


def _one(
    variable: Object, config_maps: ConfigMaps, environment: dict[str, str], unread: dict[str, str]
) -> None:
    name = str(variable.get("name"))
    source = variable.get("valueFrom")
    if not source:
        environment[name] = _expanded(str(variable.get("value") or ""), environment)
        return
    reference = source.get("configMapKeyRef")
    if reference:
        data = config_maps(str(reference.get("name"))) or {}
        key = str(reference.get("key"))
        if key in data:
            environment[name] = data[key]
        else:
            unread[name] = f"ConfigMap {reference.get('name')} key {key}"
    elif source.get("secretKeyRef"):
        secret = source["secretKeyRef"]
        unread[name] = f"Secret {secret.get('name')} key {secret.get('key')}"


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    """``$(NAME)`` as the kubelet expands it; what is not known stays as it is."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return environment.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def file(pod: Object, container: Object, path: str, config_maps: ConfigMaps) -> str | None:
    """The text of a file that a ConfigMap of the pod shows at this path; None when none does."""
    for mount in container.get("volumeMounts") or ():
        directory = str(mount.get("mountPath", "")).rstrip("/")
        single_file = path == directory and mount.get("subPath")
        if not single_file and not path.startswith(f"{directory}/"):
            continue
        inside = str(mount["subPath"]) if single_file else path.removeprefix(f"{directory}/")
        for volume in pod.get("volumes") or ():
            source = volume.get("configMap")
            if volume.get("name") != mount.get("name") or not source:
                continue
            data = config_maps(str(source.get("name"))) or {}
            items = {str(item["path"]): str(item["key"]) for item in source.get("items") or ()}
            return data.get(items.get(inside, inside))
    return None
