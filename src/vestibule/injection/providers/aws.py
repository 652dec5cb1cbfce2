"""AWS: AssumeRoleWithWebIdentity. Every SDK does the exchange itself once role and token file are named;
several roles are profiles of a configuration file."""

from __future__ import annotations

from typing import Final

from vestibule.api import annotation_keys
from vestibule.injection import encoders, init_containers, layouts
from vestibule.injection.claim import AwsClaim
from vestibule.injection.layouts import Layout
from vestibule.injection.plan import CloudPlanForPod, PlannedEnv
from vestibule.injection.providers import tokens

_STRONGER: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE")
_TWINS: Final = {"AWS_REGION": "AWS_DEFAULT_REGION", "AWS_DEFAULT_REGION": "AWS_REGION"}
_POD_NAME: Final = "$(POD_NAME)"


def plan(claim: AwsClaim, layout: Layout) -> CloudPlanForPod:
    """Role, token file, and region and session name where they are asked for."""
    env: list[PlannedEnv] = []
    if claim.role_arn:
        env += [
            PlannedEnv(annotation_keys.ENV_AWS_ROLE_ARN, claim.role_arn, "identity"),
            PlannedEnv(annotation_keys.ENV_AWS_TOKEN_FILE, layout.file("aws", layouts.TOKEN_FILE), "source"),
        ]
    if claim.region is not None:
        env += [
            PlannedEnv(name, claim.region, "extra", twin=_TWINS[name]) for name in layout.region_variables
        ]
        env += [PlannedEnv(name, value, "extra") for name, value in layout.region_extras]
    if claim.session_name is not None:
        # containers need not have a variable POD_NAME, and ours have none
        field = "metadata.name" if claim.session_name == _POD_NAME and layout.helpers == "restricted" else ""
        env.append(PlannedEnv(annotation_keys.ENV_AWS_SESSION_NAME, claim.session_name, "extra", field=field))
    base = tokens.plan("aws", claim, env, layout, _STRONGER)
    roles = [role for role in (claim.role_arn, *(role for _, role in claim.profiles)) if role]
    base = base._replace(grants=(*(("role_arn", role) for role in roles), ("audience", claim.audience)))
    if claim.profiles:
        base = _with_profiles(base, claim, layout)
    return init_containers.verified(base, claim.verify, layout) if claim.role_arn else base


def _with_profiles(base: CloudPlanForPod, claim: AwsClaim, layout: Layout) -> CloudPlanForPod:
    """A configuration file next to the token; programs choose by AWS_PROFILE or in their code."""
    token = layout.file("aws", layouts.TOKEN_FILE)
    text = encoders.aws_config(
        (name, {"role_arn": role, "web_identity_token_file": token}) for name, role in claim.profiles
    )
    file = PlannedEnv("AWS_CONFIG_FILE", layout.file("aws", layouts.AWS_CONFIG_FILE), "source")
    shown = tokens.annotation(layouts.AWS_CONFIG_FILE, annotation_keys.AWS_CONFIG)
    return base._replace(
        volumes=(tokens.volume("aws", claim.audience, claim.expiration, shown),),
        env=(*base.env, file),
        annotations=((annotation_keys.AWS_CONFIG, text),),
        stronger=tuple(name for name in base.stronger if name != "AWS_PROFILE"),
    )
