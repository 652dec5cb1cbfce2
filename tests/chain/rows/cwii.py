"""The ``cwii.dev/*`` annotations, in both modes and all deliveries, and the four native keys."""

from __future__ import annotations

from typing import Any

from tests.chain.case import (
    AS_AWS,
    AS_GCP,
    CLIENT,
    EMAIL,
    EVERYWHERE,
    POOL,
    ROLE,
    TENANT,
    Case,
    Meta,
    container,
)
from tests.chain.logins import AwsLogin, AzureLogin, GcpLogin

AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE}
GCP = {"cwii.dev/gcp-inject": "true", "cwii.dev/gcp-audience": POOL}
AS_ACCOUNT = {"cwii.dev/gcp-service-account": EMAIL}
AZURE = {"cwii.dev/az-inject": "true", "cwii.dev/az-client-id": CLIENT, "cwii.dev/az-tenant-id": TENANT}
ALL = {**AWS, **GCP, **AS_ACCOUNT, **AZURE}
NATIVE_AWS = {"eks.amazonaws.com/role-arn": ROLE}
NATIVE_GCP = {"iam.gke.io/gcp-service-account": EMAIL}
NATIVE_AZURE = {"azure.workload.identity/client-id": CLIENT, "azure.workload.identity/tenant-id": TENANT}

BETTER: dict[str, Any] = {}
STRICT = {"mode": "strict"}

SETUP = {"initContainers": [container("setup")]}
SIDECAR = {"initContainers": [container("setup"), container("mesh", restartPolicy="Always")]}
TWO = {"containers": [container("app"), container("proxy")]}
POD_NAME = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
CHINA_ROLE = "arn:aws-cn:iam::123456789012:role/orders"
OTHER_ROLE = "arn:aws:iam::123456789012:role/other"

ROWS = [
    Case("better, all clouds, from the ServiceAccount", EVERYWHERE, account=Meta(ALL)),
    Case("strict, all clouds, from the ServiceAccount", EVERYWHERE, STRICT, account=Meta(ALL)),
    Case(
        "better, one cloud from each level",
        EVERYWHERE,
        namespace=Meta(AZURE),
        account=Meta({**AWS, **AS_ACCOUNT}),
        pod=Meta(GCP),
    ),
    Case(
        "better, below another root, gcp by config-map",
        EVERYWHERE,
        {"mountRoot": "/opt/identity", "gcp": {"allowConfigMapWrites": True, "delivery": "config-map"}},
        pod=Meta(ALL),
    ),
    Case(
        "better, init container and native sidecar",
        (AS_AWS,),
        pod=Meta(ALL),
        spec=SIDECAR,
        inside=("setup", "mesh", "app"),
    ),
    Case("strict, no init container", (AS_AWS,), STRICT, pod=Meta(ALL), spec=SETUP, outside=("setup",)),
    Case(
        "better, one container is skipped",
        (AS_AWS,),
        pod=Meta({**ALL, "cwii.dev/skip-containers": "proxy"}),
        spec=TWO,
        outside=("proxy",),
    ),
    *(
        Case(
            f"{mode}, in the verify containers",
            EVERYWHERE,
            {"mode": mode} if mode == "strict" else BETTER,
            pod=Meta({**ALL, **{f"cwii.dev/{cloud}-verify": "true" for cloud in ("gcp", "aws", "az")}}),
            inside=(),
            partly={"cwii-gcp-verify": "gcp", "cwii-aws-verify": "aws", "cwii-az-verify": "azure"},
        )
        for mode in ("better", "strict")
    ),
    # AWS
    Case(
        "better, aws in a region, short-lived, own audience",
        (AwsLogin(ROLE, "aws.acme.example", 600, "sts.eu-central-1.amazonaws.com"),),
        pod=Meta(
            {
                **AWS,
                "cwii.dev/aws-region": "eu-central-1",
                "cwii.dev/aws-audience": "aws.acme.example",
                "cwii.dev/aws-token-expiration": "600",
            }
        ),
    ),
    Case(
        "better, aws in China",
        (AwsLogin(CHINA_ROLE, host="sts.cn-north-1.amazonaws.com.cn"),),
        pod=Meta({**AWS, "cwii.dev/aws-role-arn": CHINA_ROLE, "cwii.dev/aws-region": "cn-north-1"}),
    ),
    Case(
        "strict, aws in a region, which boto3 does not see",
        (AS_AWS,),
        STRICT,
        pod=Meta({**AWS, "cwii.dev/aws-region": "eu-central-1"}),
    ),
    Case(
        "better, the container's own role, a session named after the pod",
        (AwsLogin(OTHER_ROLE, session="subject"),),
        pod=Meta({**AWS, "cwii.dev/aws-role-session-name": "$(POD_NAME)"}),
        spec={
            "containers": [container("app", env=[POD_NAME, {"name": "AWS_ROLE_ARN", "value": OTHER_ROLE}])]
        },
        warned=("container app sets AWS_ROLE_ARN itself: kept, and used with the injected token",),
    ),
    # Google Cloud
    Case("better, gcp without a service account", (GcpLogin(POOL, POOL),), pod=Meta(GCP)),
    Case(
        "better, gcp with a token audience of its own",
        (GcpLogin(POOL, "gcp.acme.example", 7200, EMAIL),),
        pod=Meta(
            {
                **GCP,
                **AS_ACCOUNT,
                "cwii.dev/gcp-token-audience": "gcp.acme.example",
                "cwii.dev/gcp-token-expiration": "7200",
            }
        ),
    ),
    Case(
        "better, gcp by init-container, for init containers too",
        (AS_GCP,),
        pod=Meta({**GCP, **AS_ACCOUNT, "cwii.dev/gcp-delivery": "init-container"}),
        spec=SETUP,
        inside=("setup", "app"),
        runs=("cwii-gcp-creds-writer",),
    ),
    Case(
        "strict, gcp by init-container",
        (AS_GCP,),
        STRICT,
        pod=Meta({**GCP, **AS_ACCOUNT, "cwii.dev/gcp-delivery": "init-container"}),
        runs=("cwii-gcp-creds-writer",),
    ),
    # Azure
    Case(
        "better, azure in another cloud, own audience",
        (AzureLogin(CLIENT, "acme.example", "api://acme", host="login.microsoftonline.us"),),
        pod=Meta(
            {
                **AZURE,
                "cwii.dev/az-tenant-id": "acme.example",
                "cwii.dev/az-audience": "api://acme",
                "cwii.dev/az-authority-host": "https://login.microsoftonline.us/",
            }
        ),
    ),
    # the clouds' own keys, as cwii's native mode reads them
    *(
        Case(
            f"{mode}, native keys on the ServiceAccount",
            EVERYWHERE,
            {"mode": mode, "nativeAnnotations": True, "gcp": {"defaultAudience": POOL}},
            account=Meta({**NATIVE_AWS, **NATIVE_GCP, **NATIVE_AZURE}),
        )
        for mode in ("better", "strict")
    ),
]
