"""AWS: AssumeRoleWithWebIdentity. Every SDK does the exchange itself once role and token file are named."""

from __future__ import annotations

from typing import Final

from vestibule.core.kinds import vocabulary
from vestibule.core.mutation.identity import helpers, layouts
from vestibule.core.mutation.identity.claim import AwsClaim
from vestibule.core.mutation.identity.layouts import Layout
from vestibule.core.mutation.identity.plan import Env, Plan
from vestibule.core.mutation.identity.providers import tokens

_STRONGER: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE")


def plan(claim: AwsClaim, layout: Layout) -> Plan:
    """Role, token file, and region and session name where they are asked for."""
    env = [
        Env(vocabulary.ENV_AWS_ROLE_ARN, claim.role_arn, "identity"),
        Env(vocabulary.ENV_AWS_TOKEN_FILE, layout.file("aws", layouts.TOKEN_FILE), "source"),
    ]
    if claim.region is not None:
        env += [Env(name, claim.region, "extra") for name in layout.region_variables]
        env += [Env(name, value, "extra") for name, value in layout.region_extras]
    if claim.session_name is not None:
        env.append(Env(vocabulary.ENV_AWS_SESSION_NAME, claim.session_name, "extra"))
    base = tokens.plan("aws", claim, env, layout, _STRONGER)
    base = base._replace(grants=(("role_arn", claim.role_arn), ("audience", claim.audience)))
    return helpers.verified(base, claim.verify, layout)
