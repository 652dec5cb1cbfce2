"""A claim to the provider that plans it: the one place that knows both the claims and the clouds."""

from __future__ import annotations

from vestibule.core.mutation.identity.claim import AwsClaim, AzureClaim, Claim
from vestibule.core.mutation.identity.layouts import Layout
from vestibule.core.mutation.identity.plan import Plan
from vestibule.core.mutation.identity.providers import aws, azure, gcp


def plan(claim: Claim, layout: Layout) -> Plan:
    """What the pod gets for this claim."""
    if isinstance(claim, AwsClaim):
        return aws.plan(claim, layout)
    if isinstance(claim, AzureClaim):
        return azure.plan(claim, layout)
    return gcp.plan(claim, layout)
