"""``eks.amazonaws.com/*``: web identity, mappings, and the Pod Identity agent."""

from __future__ import annotations

import json
from typing import Any

from tests.chain.case import ROLE, Case, Meta, Place, container
from tests.chain.logins import AgentLogin, AwsLogin

P = "eks.amazonaws.com/"
ACCOUNT = Meta({f"{P}role-arn": ROLE})
A_DAY = AwsLogin(ROLE, seconds=86400)
TWO = {"containers": [container("app"), container("proxy")]}
MODES = ("better", "strict")
MAPPED = {"RoleARN": ROLE, "Audience": "sts.amazonaws.com", "TokenExpiration": 7200}
OTHER_ROLE = "arn:aws:iam::123456789012:role/other"


def settings(mode: str, **eks: Any) -> dict[str, Any]:
    return {"mode": mode, "vocabularies": ["eks"], "eks": eks}


def associate(place: Place, namespace: str) -> None:
    """As the EKS control plane does it: a file that the process follows."""
    identities = [{"namespace": namespace, "serviceAccount": "app"}]
    place.write("associations.json", json.dumps({"identities": identities}))
    place.wait_served(namespace, "AWS_CONTAINER_CREDENTIALS_FULL_URI")


def map_account(place: Place, namespace: str) -> None:
    """One entry that can be used beside one that cannot."""
    entries = {f"{namespace}/app": MAPPED, "broken": None}
    place.config_map("default", "pod-identity-webhook", {"config": json.dumps(entries)})
    place.wait_served(namespace, "AWS_ROLE_ARN")


ROWS = [
    *(
        Case(
            f"eks, {mode}, web identity, for init containers and sidecars, too",
            (A_DAY,),
            settings(mode),
            account=ACCOUNT,
            spec={"initContainers": [container("setup"), container("mesh", restartPolicy="Always")]},
            inside=("setup", "mesh", "app"),
        )
        for mode in MODES
    ),
    *(
        Case(
            f"eks, {mode}, in a region, own audience, ten minutes",
            (AwsLogin(ROLE, "aws.acme.example", 600, "sts.eu-central-1.amazonaws.com"),),
            settings(mode, awsDefaultRegion="eu-central-1", stsRegionalEndpoint=True),
            account=Meta({**ACCOUNT.annotations, f"{P}audience": "aws.acme.example"}),
            pod=Meta({f"{P}token-expiration": "600"}),
        )
        for mode in MODES
    ),
    Case(
        "eks, better, the container's region for every SDK",
        (AwsLogin(ROLE, seconds=86400, host="sts.eu-north-1.amazonaws.com"),),
        settings("better", awsDefaultRegion="eu-central-1"),
        account=ACCOUNT,
        spec={"containers": [container("app", env=[{"name": "AWS_REGION", "value": "eu-north-1"}])]},
    ),
    *(
        Case(
            f"eks, {mode}, a mapping in the settings",
            (AwsLogin(ROLE, seconds=7200),),
            settings(mode, mapping={"*/app": MAPPED}),
        )
        for mode in MODES
    ),
    Case(
        "eks, better, a mapping with globs and without an audience",
        (A_DAY,),
        settings("better", mapping={"chain-*/a*": {"RoleARN": ROLE}}),
    ),
    *(
        Case(
            f"eks, {mode}, a mapping in a ConfigMap",
            (AwsLogin(ROLE, seconds=7200),),
            settings(mode, mappingConfigMap="default/pod-identity-webhook"),
            before=map_account,
        )
        for mode in MODES
    ),
    *(
        Case(
            f"eks, {mode}, the agent knows the role, although an annotation names another",
            (AgentLogin(ROLE),),
            settings(mode, containerCredentials={"file": "{folder}/associations.json"}),
            before=associate,
            account=Meta({f"{P}role-arn": OTHER_ROLE}),
        )
        for mode in MODES
    ),
    Case(
        "eks, better, a session named after the pod",
        (AwsLogin(ROLE, seconds=86400, session="subject"),),
        settings("better", sessionNameFromPod=True),
        account=ACCOUNT,
    ),
    *(
        Case(
            f"eks, {mode}, another prefix and another path",
            (A_DAY,),
            settings(mode, annotationPrefix="iam.acme.example", tokenMountPath="/opt/aws"),
            account=Meta({"iam.acme.example/role-arn": ROLE}),
        )
        for mode in MODES
    ),
    *(
        Case(
            f"eks, {mode}, one container is skipped",
            (A_DAY,),
            settings(mode),
            account=ACCOUNT,
            pod=Meta({f"{P}skip-containers": "proxy"}),
            spec=TWO,
            outside=("proxy",),
        )
        for mode in MODES
    ),
    Case(
        "eks, better, the container's own role with the pod's token",
        (AwsLogin(OTHER_ROLE, seconds=86400),),
        settings("better"),
        account=ACCOUNT,
        spec={"containers": [container("app", env=[{"name": "AWS_ROLE_ARN", "value": OTHER_ROLE}])]},
        warned=("container app sets AWS_ROLE_ARN itself: kept, and used with the injected token",),
    ),
]
