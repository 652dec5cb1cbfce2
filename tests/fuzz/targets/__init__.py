"""What is fuzzed: one module per target, each with ``check``, which raises when something does not hold.

A module has ``LONGEST`` (bytes of an input), ``check`` and ``mutate``. Modules are imported by name when they
are run, so that the coverage of what they import can be followed.
"""

from __future__ import annotations

from typing import Final

COVERED: Final = {
    "http": ("vestibule.httpserver",),
    "review": ("vestibule.admission", "vestibule.injection", "vestibule.webhook.handler"),
    "kubeconfig": ("vestibule.kube.kubeconfig", "vestibule.kube.access"),
    "settings": (
        "vestibule.settingsfile",
        "vestibule.api",
        "vestibule.injection.policy",
    ),
    "yamledit": (
        "vestibule.yamledit.yaml_documents",
        "vestibule.yamledit.tree",
        "vestibule.yamledit.values",
        "vestibule.diagnose.offline",
    ),
    "initdata": ("vestibule.initdata",),
    "jwks": ("vestibule.oidc",),
}
"""The targets, and the modules whose coverage makes an input worth keeping."""
NAMES: Final = tuple(COVERED)
BROKEN: Final = "broken"
"""A target with a fault, to see that it is found."""
