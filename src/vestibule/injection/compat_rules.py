"""The differences between ``strict`` and ``better``, as data. Code asks a rule, never the mode."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from vestibule.api.settings import schema


class CompatRules(msgspec.Struct, frozen=True, kw_only=True):
    """One value per decision on which a compatible and a better webhook part ways; defaults are
    ``better``."""

    create_only: bool = True
    """Mutate only CREATE of the pod itself; updates and subresources pass."""
    exclusions: bool = True
    """Excluded namespaces, mirror pods and (if set) host-network pods are left alone by the server itself."""
    controller_owner: bool = True
    """Owner = controller reference with matching group and uid, CronJob included; else by kind alone, in
    list order."""
    default_names: bool = True
    """An empty namespace or ServiceAccount name means the default one; else it is an error."""
    nameless: Literal["refuse", "pass"] = "refuse"
    """What happens to a pod whose ServiceAccount name is empty, where that does not mean the default one."""
    walks: bool = True
    """Owners of the pod are read."""
    namespaces: bool = True
    """The pod's namespace is read."""
    fault: Literal["fault", "refuse", "pass"] = "fault"
    """A failed lookup or write is a fault, and the cluster's failure policy decides; or it refuses the pod;
    or the pod passes untouched."""
    fault_code: int = 0
    """Code of such a refusal; 0: none, and the text says no more than that it failed."""
    windows: Literal["all", "selector", "never"] = "all"
    """What makes a pod one for Windows: anything that says so, the node selector alone, or nothing."""
    denials: bool = False
    """A body that is no review is answered by a refusal; else by an HTTP status."""
    checked: bool = True
    """Values are checked against their grammar; an invalid value is skipped or reported."""
    admin_images: bool = True
    """Verify images come from the settings alone; else an annotation may name one."""
    write_namespace: bool = False
    """A pod that names no namespace gets that of the request written into it."""
    by_content: bool = True
    """What exists is compared by path and content, one cloud per container as a whole; else by name,
    piece by piece."""
    quiet_when_done: bool = True
    """A second pass is an empty patch; else the marker is written again."""
    own_marker: bool = True
    """The marker holds what we injected; else what the user wrote in it is preserved."""
    warn: bool = True
    """Warnings and audit annotations in the response."""
    own_prefixes: bool = False
    """An administrator changed the prefix of a dialect: keys cannot be recognised by the default prefix."""


BETTER: Final = CompatRules()
STRICT: Final = CompatRules(
    create_only=False,
    exclusions=False,
    controller_owner=False,
    default_names=False,
    fault="refuse",
    checked=False,
    admin_images=False,
    by_content=False,
    quiet_when_done=False,
    own_marker=False,
    warn=False,
)


def of(settings: schema.Settings) -> CompatRules:
    """The rules in force. Strict with several dialects uses each upstream webhook's layout, with our lookups
    and responses."""
    found = BETTER
    if settings.mode != "better":
        strict = STRICT if settings.vocabularies == ("cwii",) else FOREIGN_STRICT.get(settings.vocabularies)
        found = strict or _STRICT_TOGETHER
    prefixes = settings.eks.annotation_prefix, settings.wif.annotation_prefix
    return found if prefixes == _PREFIXES else msgspec.structs.replace(found, own_prefixes=True)


_PREFIXES: Final = (schema.Settings().eks.annotation_prefix, schema.Settings().wif.annotation_prefix)
_STRICT_TOGETHER: Final = CompatRules(checked=False, by_content=False, warn=False)
FOREIGN_STRICT: Final[dict[tuple[str, ...], CompatRules]] = {
    # lookups that fail and accounts that are missing refuse the pod; only pod and ServiceAccount are read
    ("azwi",): CompatRules(
        create_only=False, exclusions=False, walks=False, namespaces=False, fault="refuse", fault_code=400,
        checked=False, write_namespace=True, by_content=False, warn=False, windows="never", denials=True,
    ),
    # whatever cannot be read passes
    ("eks",): CompatRules(
        create_only=False, exclusions=False, walks=False, namespaces=False, default_names=False,
        nameless="pass", fault="pass", checked=False, by_content=False, warn=False, windows="selector",
        denials=True,
    ),
    ("wif",): CompatRules(
        create_only=False, exclusions=False, walks=False, namespaces=False, default_names=False,
        nameless="pass", fault="refuse", fault_code=500, checked=False, by_content=False, warn=False,
        windows="never", denials=True,
    ),
}  # fmt: skip
"""Each upstream webhook on its own."""
