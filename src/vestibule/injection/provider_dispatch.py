"""A claim to the provider that plans it: the one place that knows both the claims and the clouds."""

from __future__ import annotations

from vestibule.injection.claim import AwsClaim, AzureClaim, Claim
from vestibule.injection.layouts import Layout
from vestibule.injection.plan import CloudPlanForPod
from vestibule.injection.providers import aws, azure, gcp


def plan(claim: Claim, layout: Layout) -> CloudPlanForPod:
    """What the pod gets for this claim."""
    if isinstance(claim, AwsClaim):
        return aws.plan(claim, layout)
    if isinstance(claim, AzureClaim):
        return azure.plan(claim, layout)
    return gcp.plan(claim, layout)
