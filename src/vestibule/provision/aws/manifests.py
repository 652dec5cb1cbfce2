"""The manifests that an OpenShift install takes on AWS."""

from __future__ import annotations

from typing import Final

from vestibule.api import credentials_secret
from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.provision.yamlscalars import scalar

UNFINISHED: Final = "POPULATE ROLE ARN AND DELETE THIS LINE"
"""Last line of a Secret whose role does not exist yet, so that it cannot be applied by accident."""


def secret(request: CredentialsRequest, role: str) -> str:
    """What a component logs in with; without a role it is made so that it cannot be applied."""
    profile = credentials_secret.aws_profile(role, request.token_file).rstrip("\n").splitlines()
    return "\n".join(
        [
            "apiVersion: v1",
            "stringData:",
            "  credentials: |-",
            *(f"    {line}" for line in profile),
            "kind: Secret",
            "metadata:",
            f"  name: {scalar(request.secret)}",
            f"  namespace: {scalar(request.namespace)}",
            "type: Opaque",
            *([] if role else [UNFINISHED]),
        ]
    )
