"""The manifests for an OpenShift installation on every cloud, byte for byte as ccoctl writes them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.provision.yamlscalars import scalar

AUTHENTICATION: Final = PurePosixPath("manifests/cluster-authentication-02-config.yaml")


def authentication(issuer: str) -> str:
    """The Authentication object with the cluster's issuer."""
    return (
        "apiVersion: config.openshift.io/v1\n"
        "kind: Authentication\n"
        "metadata:\n"
        "  name: cluster\n"
        "spec:\n"
        f"  serviceAccountIssuer: {scalar(issuer)}"
    )


def secret_path(request: CredentialsRequest) -> PurePosixPath:
    """Where the Secret of a request is written; both names were checked, so it stays in its directory."""
    return PurePosixPath("manifests") / f"{request.namespace}-{request.secret}-credentials.yaml"
