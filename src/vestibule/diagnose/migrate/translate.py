"""Translates an installation to settings: flags, variables, the image's release and the webhook
configuration.
What has no equivalent is reported, never guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestibule.api import annotation_keys
from vestibule.api.settings import azwi, eks
from vestibule.compat import cwii_flags
from vestibule.diagnose.migrate import container, flags
from vestibule.diagnose.migrate.installation import ForeignInstallation, InstallationObjects

Data = dict[str, Any]
_PLACES: Final = ("addr", "metricsAddr", "healthAddr", "tlsCert", "tlsKey")
"""Settings of a process that are the installation's own business, here as there."""


class TranslatedSettings(NamedTuple):
    """Settings data, and what they do not hold."""

    data: Data
    """For an installation of our own, without the mode."""
    command: tuple[str, ...]
    """To take the place of the program, with all else as it is; empty: there is no such way."""
    notes: tuple[str, ...]


def of(installation: ForeignInstallation, cluster: InstallationObjects) -> TranslatedSettings:
    """The settings of one installation."""
    notes: list[str] = []
    data: Data = {"vocabularies": [installation.program]}
    command: tuple[str, ...] = ()
    started = installation.started
    if started is None:
        notes.append("its Deployment is not known: flags and variables are taken as they are by default")
    else:
        notes += started.problems
        if installation.program == "cwii":
            settings = flags.cwii(started.arguments, started.environment, notes)
        else:
            meant = flags.read(installation.program, started.arguments, started.environment, notes)
            notes += [f"{flag} {text}" for flag, text in meant.notes]
            settings = dict(meant.over)
        data = cwii_flags.merged(data, _own(settings))
        command = _command(installation)
        notes += _unread(installation)
    if installation.program == "azwi":
        data = cwii_flags.merged(data, {"azwi": _release(installation, data, notes)})
    if installation.program == "eks" and started is not None:
        data = _associations(installation, cluster, data, notes)
    return TranslatedSettings(
        cwii_flags.merged(data, {"webhook": _webhook(installation, notes)}), command, tuple(notes)
    )


def _command(installation: ForeignInstallation) -> tuple[str, ...]:
    started = installation.started
    if started is None or any("in a script" in problem for problem in started.problems):
        return ()
    if installation.program == "cwii":
        return ("vestibule", "webhook", "--mode", "strict", *started.arguments)
    return ("vestibule", "webhook", "--as", installation.program, "--mode", "strict", *started.arguments)


def _own(data: Mapping[str, Any]) -> Data:
    """Without the places of the other's process."""
    own = dict(data)
    serving = {key: value for key, value in (own.pop("serving", None) or {}).items() if key not in _PLACES}
    return {**own, "serving": serving} if serving else own


def _unread(installation: ForeignInstallation) -> Iterator[str]:
    started = installation.started
    meant = {"AZURE_TENANT_ID": "azwi.tenantId", "AZURE_ENVIRONMENT": "azwi.cloud"}
    for name, where in (started.unread if started else {}).items():
        advice = f": set {meant[name]}" if name in meant else ""
        yield f"{name} comes from {where}, which is not read{advice}"


# ── releases and files ─────────────────────────────────────────────────────────────────────────────────────


def _release(installation: ForeignInstallation, data: Data, notes: list[str]) -> Data:
    """The layout of an AZWI release, and its proxy images."""
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
    current = data.get("azwi") or {}
    repository, _, name = installation.image.partition("@")[0].rpartition("/")
    if name.startswith("webhook:"):
        for field, image in (("proxyImage", "proxy"), ("proxyInitImage", "proxy-init")):
            image_name = f"{repository}/{image}:{installation.version}"
            if field not in current and image_name != getattr(azwi.AzwiSettings(), _snake(field)):
                section[field] = image_name
    return section


def _snake(field: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in field)


class _MountedFile(msgspec.Struct):
    identities: list[eks.PodIdentityAssociation] = []


def _associations(
    installation: ForeignInstallation, cluster: InstallationObjects, data: Data, notes: list[str]
) -> Data:
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
        listed = msgspec.json.decode(text, type=_MountedFile).identities
    except msgspec.MsgspecError as error:
        notes.append(f"{path} is left out: {error}")
        return data
    agent = {**data["eks"]["containerCredentials"], "identities": msgspec.to_builtins(listed)}
    del agent["file"]
    notes.append(f"the associations of {path} are copied to the settings: they no longer follow the file")
    return {**data, "eks": {**data["eks"], "containerCredentials": agent}}


# ── webhook configuration
# ───────────────────────────────────────────────────────────────────────────────────────


def _webhook(installation: ForeignInstallation, notes: list[str]) -> Data:
    hook = installation.hook
    section: Data = {
        "failurePolicy": hook.get("failurePolicy", "Fail"),
        "timeoutSeconds": hook.get("timeoutSeconds", 10),
        "reinvocationPolicy": hook.get("reinvocationPolicy", "Never"),
    }
    for field in ("namespaceSelector", "objectSelector"):
        selector = hook.get(field) or {}
        labels = dict(selector.get("matchLabels") or {})
        if installation.program == "azwi" and field == "objectSelector":
            labels.pop(f"{annotation_keys.AZWI_PREFIX}use", None)  # the settings ask for it by themselves
        if labels:
            section[field] = labels
        for rule in selector.get("matchExpressions") or ():
            values = f" {', '.join(map(str, rule['values']))}" if rule.get("values") else ""
            notes.append(
                f"{field}: {rule.get('key')} {rule.get('operator')}{values} has no equivalent in the settings"
            )
    return section


# ── together ───────────────────────────────────────────────────────────────────────────────────────────────


def together(meanings: Sequence[TranslatedSettings], notes: list[str]) -> Data:
    """One settings file for all; where they disagree, the stricter value is used and reported."""
    data: Data = {}
    for meaning in meanings:
        listed = [*data.get("vocabularies", ()), *meaning.data["vocabularies"]]
        webhook = _agreed(data.get("webhook"), meaning.data["webhook"], notes)
        data = cwii_flags.merged(data, meaning.data)
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
