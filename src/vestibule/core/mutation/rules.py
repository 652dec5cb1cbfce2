"""The differences between ``strict`` and ``better``, as data. Code asks a rule, never the mode."""

from __future__ import annotations

from typing import Final

import msgspec

from vestibule.core.kinds.config import Mode


class Rules(msgspec.Struct, frozen=True, kw_only=True):
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
    faults_refuse: bool = False
    """A failed lookup or write refuses the pod; else it is a fault and the cluster's failure policy
    decides."""
    checked: bool = True
    """Values are checked against their grammar; what does not fit is passed over or told."""
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
    """The marker holds what we injected; else what the user wrote in it is kept."""
    tell: bool = True
    """Warnings and audit annotations in the answer."""


BETTER: Final = Rules()
STRICT: Final = Rules(
    create_only=False,
    exclusions=False,
    controller_owner=False,
    default_names=False,
    faults_refuse=True,
    checked=False,
    admin_images=False,
    by_content=False,
    quiet_when_done=False,
    own_marker=False,
    tell=False,
)
BY_MODE: Final[dict[Mode, Rules]] = {"better": BETTER, "strict": STRICT}
