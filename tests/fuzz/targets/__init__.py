"""What is fuzzed: one module per target, each with ``check``, which raises when something does not hold.

A module has ``LONGEST`` (bytes of an input), ``check`` and ``mutate``. Modules are imported by name when they
are run, so that the coverage of what they import can be followed.
"""

from __future__ import annotations

from typing import Final

COVERED: Final = {
    "http": ("vestibule.adapters.serving",),
    "review": ("vestibule.core", "vestibule.apps.webhook.handler"),
    "kubeconfig": ("vestibule.adapters.cluster.kubeconfig", "vestibule.adapters.cluster.access"),
    "settings": (
        "vestibule.adapters.settingsfile",
        "vestibule.core.kinds",
        "vestibule.core.mutation.policy",
    ),
    "yamledit": (
        "vestibule.adapters.cluster.yamltext",
        "vestibule.adapters.cluster.yamltree",
        "vestibule.adapters.cluster.yamlvalues",
        "vestibule.apps.offline",
    ),
    "initdata": ("vestibule.core.initdata",),
    "jwks": ("vestibule.core.oidc",),
}
"""The targets, and the modules whose coverage makes an input worth keeping."""
NAMES: Final = tuple(COVERED)
BROKEN: Final = "broken"
"""A target with a fault, to see that it is found."""
