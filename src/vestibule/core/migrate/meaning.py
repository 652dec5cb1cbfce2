"""What an installation means in our settings: its flags, its variables, its image's release and its
registration. What cannot be said is told, and never guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.core.kinds import (
    azwi,
    azwi_flags,
    eks,
    eks_flags,
    goflags,
    upstream,
    vocabulary,
    wif_flags,
)
from vestibule.core.migrate import container
from vestibule.core.migrate.installation import Cluster, Installation

Data = dict[str, Any]
_PLACES: Final = ("addr", "metricsAddr", "healthAddr", "tlsCert", "tlsKey")
"""Settings of a process that are the installation's own business, here as there."""

_Settings = Callable[[Mapping[str, str], Mapping[str, str]], goflags.Meaning]
_FLAGS: Final[dict[str, tuple[tuple[goflags.Flag, ...], _Settings]]] = {
    "azwi": (azwi_flags.FLAGS, azwi_flags.settings),
    "eks": (eks_flags.FLAGS, eks_flags.settings),
    "wif": (wif_flags.FLAGS, wif_flags.settings),
}


class Meaning(NamedTuple):
    """Settings data, and what they do not hold."""

    data: Data
    """For an installation of our own, without the mode."""
    command: tuple[str, ...]
    """To take the place of the program, with all else as it is; empty: there is no such way."""
    notes: tuple[str, ...]


def of(installation: Installation, cluster: Cluster) -> Meaning:
    """What one installation means."""
    notes: list[str] = []
    data: Data = {"vocabularies": [installation.program]}
    command: tuple[str, ...] = ()
    started = installation.started
    if started is None:
        notes.append("its Deployment is not known: flags and variables are taken as they are by default")
    else:
        notes += started.problems
        read = _cwii if installation.program == "cwii" else _go
        data = upstream.merged(data, read(installation, notes))
        command = _command(installation)
        notes += _unread(installation)
    if installation.program == "azwi":
        data = upstream.merged(data, {"azwi": _release(installation, data, notes)})
    if installation.program == "eks" and started is not None:
        data = _associations(installation, cluster, data, notes)
    return Meaning(upstream.merged(data, {"webhook": _webhook(installation, notes)}), command, tuple(notes))


def _command(installation: Installation) -> tuple[str, ...]:
    started = installation.started
    if started is None or any("in a script" in problem for problem in started.problems):
        return ()
    if installation.program == "cwii":
        return ("vestibule", "webhook", "--mode", "strict", *started.arguments)
    return ("vestibule", "webhook", "--as", installation.program, "--mode", "strict", *started.arguments)


# ── flags and variables ────────────────────────────────────────────────────────────────────────────────────


def _go(installation: Installation, notes: list[str]) -> Data:
    """Flags as Go reads them; those that mean nothing here are told and left out."""
    started = installation.started
    flags, settings = _FLAGS[installation.program]
    arguments = list(started.arguments) if started else []
    given: dict[str, str] = _tolerant(
        lambda: goflags.parse(flags, arguments), lambda names: _without(arguments, names), notes, {}
    )
    environment = started.environment if started else {}
    empty = goflags.Meaning({}, {}, {})
    meaning: goflags.Meaning = _tolerant(
        lambda: settings(given, environment), lambda names: _drop(given, names), notes, empty
    )
    notes += [f"{flag} {text}" for flag, text in meaning.notes]
    return _own(meaning.over)


def _cwii(installation: Installation, notes: list[str]) -> Data:
    started = installation.started
    flags = [goflags.Flag(flag.name, flag.about) for flag in upstream.CWII]
    arguments = list(started.arguments) if started else []
    given: dict[str, str] = _tolerant(
        lambda: goflags.parse(flags, arguments), lambda names: _without(arguments, names), notes, {}
    )
    environment = dict(started.environment) if started else {}

    def forget(names: set[str]) -> bool:
        return _drop(given, names) | _drop(environment, names)

    nothing: Data = {}
    return _own(_tolerant(lambda: upstream.overrides(given, environment), forget, notes, nothing))


def _own(data: Mapping[str, Any]) -> Data:
    """Without the places of the other's process."""
    kept = dict(data)
    serving = {key: value for key, value in (kept.pop("serving", None) or {}).items() if key not in _PLACES}
    return {**kept, "serving": serving} if serving else kept


def _tolerant(
    attempt: Callable[[], Any], forget: Callable[[set[str]], bool], notes: list[str], empty: Any
) -> Any:
    """What the attempt gives once everything that it cannot use is forgotten; each is told."""
    while True:
        try:
            return attempt()
        except errors.InvalidSettings as error:
            notes += [f"left out: {problem}" for problem in error.problems]
            if not forget({problem.place.lstrip("-") for problem in error.problems}):
                return empty


def _without(arguments: list[str], names: set[str]) -> bool:
    """Take flags of these names, and words that are no flags, out of the arguments; whether any was there."""
    before = len(arguments)
    kept: list[str] = []
    skip = False
    for position, word in enumerate(arguments):
        flag = word.startswith("-")
        if skip and not flag:
            skip = False
            continue
        name, equals, _ = word.lstrip("-").partition("=")
        if flag and name in names:
            skip = not equals
            continue
        follows = (
            position > 0 and arguments[position - 1].startswith("-") and "=" not in arguments[position - 1]
        )
        if not flag and not follows and "command line" in names:
            continue
        kept.append(word)
        skip = False
    arguments[:] = kept
    return len(kept) < before


def _drop(given: dict[str, str], names: set[str]) -> bool:
    found = [name for name in names if name in given]
    for name in found:
        del given[name]
    return bool(found)


def _unread(installation: Installation) -> Iterator[str]:
    started = installation.started
    meant = {"AZURE_TENANT_ID": "azwi.tenantId", "AZURE_ENVIRONMENT": "azwi.cloud"}
    for name, where in (started.unread if started else {}).items():
        told = f": set {meant[name]}" if name in meant else ""
        yield f"{name} comes from {where}, which is not read{told}"


# ── releases and files ─────────────────────────────────────────────────────────────────────────────────────


def _release(installation: Installation, data: Data, notes: list[str]) -> Data:
    """The layout of an Azure release, and the proxy images that were made with it."""
    section: Data = {}
    version = azwi.version(installation.version) if installation.version else None
    if version is None:
        notes.append(
            f"image {installation.image!r} names no release: layout 1.5 is taken; look at a pod's volumes"
        )
        return section
    if version >= (1, 6):
        patch = installation.version.partition("-")[0].rpartition(".")[2]
        section["layout"] = "1.6.0" if version == (1, 6) and patch == "0" else "1.6.1"
    said = data.get("azwi") or {}
    repository, _, name = installation.image.partition("@")[0].rpartition("/")
    if name.startswith("webhook:"):
        for field, image in (("proxyImage", "proxy"), ("proxyInitImage", "proxy-init")):
            wanted = f"{repository}/{image}:{installation.version}"
            if field not in said and wanted != getattr(azwi.Azwi(), _snake(field)):
                section[field] = wanted
    return section


def _snake(field: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in field)


class _File(msgspec.Struct):
    identities: list[eks.Identity] = []


def _associations(installation: Installation, cluster: Cluster, data: Data, notes: list[str]) -> Data:
    """The file of Pod Identity associations, where a ConfigMap holds it."""
    path = ((data.get("eks") or {}).get("containerCredentials") or {}).get("file")
    if not path or installation.container is None:
        return data
    found = cluster.config_maps(installation.namespace)
    text = container.file(installation.pod, installation.container, path, found)
    if text is None:
        notes.append(f"{path} comes from no ConfigMap that is known: mount it at the same place")
        return data
    try:
        listed = msgspec.json.decode(text, type=_File).identities
    except msgspec.MsgspecError as error:
        notes.append(f"{path} is left out: {error}")
        return data
    agent = {**data["eks"]["containerCredentials"], "identities": msgspec.to_builtins(listed)}
    del agent["file"]
    notes.append(f"the associations of {path} stand in the settings: they no longer follow the file")
    return {**data, "eks": {**data["eks"], "containerCredentials": agent}}


# ── the registration ───────────────────────────────────────────────────────────────────────────────────────


def _webhook(installation: Installation, notes: list[str]) -> Data:
    hook = installation.hook
    section: Data = {
        "failurePolicy": hook.get("failurePolicy", "Fail"),
        "timeoutSeconds": hook.get("timeoutSeconds", 10),
        "reinvocationPolicy": hook.get("reinvocationPolicy", "Never"),
    }
    for field in ("namespaceSelector", "objectSelector"):
        selector = hook.get(field) or {}
        wanted = dict(selector.get("matchLabels") or {})
        if installation.program == "azwi" and field == "objectSelector":
            wanted.pop(f"{vocabulary.AZWI_PREFIX}use", None)  # the settings ask for it by themselves
        if wanted:
            section[field] = wanted
        for rule in selector.get("matchExpressions") or ():
            values = f" {', '.join(map(str, rule['values']))}" if rule.get("values") else ""
            notes.append(
                f"{field}: {rule.get('key')} {rule.get('operator')}{values} cannot be said in the settings"
            )
    return section


# ── together ───────────────────────────────────────────────────────────────────────────────────────────────


def together(meanings: Sequence[Meaning], notes: list[str]) -> Data:
    """One settings file for all; where they disagree, the more careful one counts and it is told."""
    data: Data = {}
    for meaning in meanings:
        listed = [*data.get("vocabularies", ()), *meaning.data["vocabularies"]]
        webhook = _agreed(data.get("webhook"), meaning.data["webhook"], notes)
        data = upstream.merged(data, meaning.data)
        data |= {"vocabularies": list(dict.fromkeys(listed)), "webhook": webhook}
    return data


def _agreed(one: Data | None, other: Data, notes: list[str]) -> Data:
    if one is None or one == other:
        return other
    agreed: Data = {
        "failurePolicy": "Fail" if "Fail" in (one["failurePolicy"], other["failurePolicy"]) else "Ignore",
        "timeoutSeconds": max(one["timeoutSeconds"], other["timeoutSeconds"]),
        "reinvocationPolicy": "IfNeeded"
        if "IfNeeded" in (one["reinvocationPolicy"], other["reinvocationPolicy"])
        else "Never",
    }
    if one["failurePolicy"] != other["failurePolicy"]:
        notes.append("the webhooks have different failure policies: Fail is taken for all")
    for field in ("namespaceSelector", "objectSelector"):
        if one.get(field) == other.get(field):
            agreed |= {field: one[field]} if one.get(field) else {}
        else:
            notes.append(f"the webhooks have a different {field}: none is taken")
    return agreed
