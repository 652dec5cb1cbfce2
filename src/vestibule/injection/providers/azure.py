"""Azure: a federated identity credential. The SDKs exchange the token file with Entra ID themselves."""

from __future__ import annotations

from typing import Final

from vestibule.api import annotation_keys
from vestibule.injection import init_containers, layouts
from vestibule.injection.claim import AzureClaim
from vestibule.injection.layouts import Layout
from vestibule.injection.plan import CloudPlanForPod, PlannedEnv
from vestibule.injection.providers import tokens

_STRONGER: Final = ("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH")


def plan(claim: AzureClaim, layout: Layout) -> CloudPlanForPod:
    """Client, tenant, token file, and the authority where it is asked for."""
    env = [
        PlannedEnv(annotation_keys.ENV_AZURE_CLIENT_ID, claim.client_id, "identity"),
        PlannedEnv(annotation_keys.ENV_AZURE_TENANT_ID, claim.tenant_id, "identity"),
        PlannedEnv(annotation_keys.ENV_AZURE_TOKEN_FILE, layout.file("az", layouts.TOKEN_FILE), "source"),
    ]
    if claim.authority_host is not None:
        env.append(PlannedEnv(annotation_keys.ENV_AZURE_AUTHORITY_HOST, claim.authority_host, "extra"))
    base = tokens.plan("az", claim, env, layout, _STRONGER)
    base = base._replace(
        grants=(
            ("tenant_id", claim.tenant_id),
            ("client_id", claim.client_id),
            ("audience", claim.audience),
        )
    )
    return init_containers.verified(base, claim.verify, layout, ca_file=claim.authority_host or "")
