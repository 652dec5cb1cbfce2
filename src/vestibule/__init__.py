"""Vestibule: cloud identity and sandbox for Kubernetes pods.

Packages are nouns of the product. Pure packages (``api``, ``admission``, ``injection``, ``manifests``,
``aro``, ``oidc``, ``pki``, ``checks``, ``compat``, ``initdata``) do no I/O; ``kube``, ``httpserver``,
``clouds`` and ``telemetry`` do; ``webhook`` and ``operator`` are the processes; ``cli`` holds the commands.
"""

__version__ = "0.1.0"
