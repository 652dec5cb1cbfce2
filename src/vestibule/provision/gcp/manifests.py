"""The manifests that an OpenShift install takes on Google Cloud."""

from __future__ import annotations

import base64
from typing import Final

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.provision.yamlscalars import scalar

UNFINISHED: Final = (
    "POPULATE service_account.json FIELD WITH BASE 64 ENCODED CREDENTIALS CONFIG JSON GENERATED FROM SCRIPT"
)
"""Begins the last line of a Secret whose account does not exist yet, so that it cannot be applied by
accident."""


def secret(request: CredentialsRequest, configuration: str, script: str = "") -> str:
    """What a component logs in with; without a configuration it is made so that it cannot be applied."""
    encoded = base64.b64encode(configuration.encode()).decode()
    return "\n".join(
        [
            "apiVersion: v1",
            "data:",
            f"  service_account.json: {encoded}",
            "kind: Secret",
            "metadata:",
            f"  name: {scalar(request.secret)}",
            f"  namespace: {scalar(request.namespace)}",
            "type: Opaque",
            *([] if configuration else [f"{UNFINISHED} {script}"]),
        ]
    )
