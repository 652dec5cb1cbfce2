"""Pods that are made to cost as much as possible: one shape for each thing that a tenant can multiply.

A shape takes a number and gives a pod whose review grows in proportion to it. Tests count the work for them,
``make bench`` measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
ROLE: Final = "arn:aws:iam::123456789012:role/app"
GUID: Final = "11111111-1111-1111-1111-111111111111"
POOL: Final = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
MAIL: Final = "app@p.iam.gserviceaccount.com"
AWS: Final = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ROLE}
ALL: Final = {
    **AWS,
    "cwii.dev/az-inject": "true",
    "cwii.dev/az-client-id": GUID,
    "cwii.dev/az-tenant-id": GUID,
    "cwii.dev/gcp-inject": "true",
    "cwii.dev/gcp-audience": POOL,
}


def pod(containers: list[Json], annotations: dict[str, str], **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": annotations},
        "spec": {"serviceAccountName": "app", "containers": containers, **spec},
    }


def named(count: int, **more: Any) -> list[Json]:
    return [{"name": f"c{number}", **more} for number in range(count)]


def keys(count: int, key: str, value: str) -> dict[str, str]:
    return {f"{key}{number}": value for number in range(count)}


def meta(count: int, **more: Any) -> Json:
    found = pod(named(1), AWS)
    found["metadata"] |= more
    return found


OWN: Final[Json] = {
    "name": "own",
    "projected": {"sources": [{"serviceAccountToken": {"audience": "x", "path": "token"}}]},
}
CREDENTIALS: Final = '{"audience":"x","credential_source":{"file":"/own/a/b/c/d/e/f/g/h/token"}}'


def own_token(variables: list[Json]) -> Json:
    mounts = [{"name": "own", "mountPath": "/own"}]
    return pod([{"name": "app", "env": variables, "volumeMounts": mounts}], {}, volumes=[OWN])


SHAPES: Final[dict[str, Callable[[int], Json]]] = {
    "containers times keys of their own": lambda n: pod(
        named(n), {**AWS, **keys(n, "cwii.dev/aws-role-arn.c", ROLE)}
    ),
    "containers": lambda n: pod(named(n), ALL),
    "init containers": lambda n: pod(named(1), ALL, initContainers=named(n)),
    "containers that ask for nothing": lambda n: pod(named(n), {}),
    "keys of containers": lambda n: pod(
        named(60),
        {
            **ALL,
            **keys(n, "cwii.dev/aws-role-arn.c", ROLE),
            **keys(n, "cwii.dev/az-client-id.c", GUID),
            **keys(n, "cwii.dev/gcp-service-account.c", MAIL),
        },
    ),
    "profiles": lambda n: pod(named(60), {**AWS, **keys(n, "cwii.dev/aws-profile.p", ROLE)}),
    "names in a list": lambda n: pod(
        named(60), {**AWS, "cwii.dev/skip-containers": ",".join(f"c*{i}*x" for i in range(n))}
    ),
    "unknown keys": lambda n: pod(named(1), {**AWS, **keys(n, "cwii.dev/aws-rolearn", "x")}),
    "keys that are nearly ours": lambda n: pod(named(1), {**AWS, **keys(n, "cwi.dev/aws-role-arn", "x")}),
    "keys of other dialects": lambda n: pod(
        named(1), {**AWS, **keys(n, "cloud.google.com/service-account-emai", "x")}
    ),
    "foreign annotations": lambda n: pod(named(1), {**AWS, **keys(n, "example.org/", "x")}),
    "a long key": lambda n: pod(named(1), {**AWS, "cwii.dev/" + "aws-role-arn" * n: "x"}),
    "a long value": lambda n: pod(named(60), {**AWS, "cwii.dev/aws-audience": "a" * 30 * n}),
    "a long session name": lambda n: pod(named(60), {**AWS, "cwii.dev/aws-role-session-name": "$(A)" * n}),
    "a long region": lambda n: pod(named(60), {**AWS, "cwii.dev/aws-region": "eu" + "-a" * n}),
    "long names of containers": lambda n: pod(
        [{"name": "a" * 40 * n}, {"name": "b"}], {**AWS, "cwii.dev/skip-containers": "*a*a*a*b,*a*c*a*"}
    ),
    "variables": lambda n: pod([{"name": "a", "env": [{"name": f"E{i}"} for i in range(n)]}], AWS),
    "the same variable": lambda n: pod(
        [{"name": "a", "env": [{"name": "AWS_ROLE_ARN", "value": ROLE}] * n}], AWS
    ),
    "mounts of our volume": lambda n: pod(
        [
            {
                "name": "a",
                "volumeMounts": [{"name": "cwii-aws-token", "mountPath": f"/{i}"} for i in range(n)],
            }
        ],
        AWS,
    ),
    "volumes of our name": lambda n: pod(named(1), AWS, volumes=[{"name": "cwii-aws-token"}] * n),
    "volumes": lambda n: pod(named(1), AWS, volumes=[{"name": f"v{i}"} for i in range(n)]),
    "projected tokens": lambda n: pod(
        named(50, volumeMounts=[{"name": "t", "mountPath": "/t"}]),
        AWS,
        volumes=[
            {
                "name": "t",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"audience": f"a{i}", "path": f"t{i}"}} for i in range(n)
                    ]
                },
            }
        ],
    ),
    "owners": lambda n: meta(
        n,
        ownerReferences=[
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"r{i}", "uid": f"{i}"} for i in range(n)
        ],
    ),
    "labels": lambda n: meta(n, labels=keys(n, "cwii.dev/x", "y")),
    "labels of other dialects": lambda n: meta(n, labels=keys(n, "azure.workload.identity/x", "y")),
    "credentials annotations": lambda n: pod(
        named(20), {**ALL, **keys(n, "cwii.dev/gcp-credentials.c", '{"audience":"x"}')}
    ),
    "tenants in one variable": lambda n: own_token(
        [{"name": "AZURE_ADDITIONALLY_ALLOWED_TENANTS", "value": "a;" * 20 * n}]
    ),
    "accounts in one variable": lambda n: own_token(
        [{"name": "CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT", "value": ",".join(map(str, range(5 * n)))}]
    ),
    "roles in one container": lambda n: own_token(
        [{"name": "AWS_ROLE_ARN", "value": f"{ROLE}-{i}"} for i in range(n)]
    ),
    "token files in one container": lambda n: own_token(
        [{"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": f"/own{'/a' * 25}/{i}"} for i in range(n)]
    ),
    "credentials in variables": lambda n: own_token(
        [{"name": "CWII_GCP_CREDS_JSON", "value": CREDENTIALS.replace("x", str(i))} for i in range(n)]
    ),
    "items of a volume that many containers mount": lambda n: pod(
        [{"name": f"c{c}", "volumeMounts": [{"name": "own", "mountPath": "/o"}]} for c in range(190)],
        {},
        volumes=[
            {
                "name": "own",
                "projected": {
                    "sources": [
                        *OWN["projected"]["sources"],
                        {"configMap": {"items": [{"path": f"aws/{i}"} for i in range(n)]}},
                    ]
                },
            }
        ],
    ),
    "deep mounts in many containers": lambda n: pod(
        [
            {
                "name": f"c{c}",
                "env": [{"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "/own" + "/a" * 25}],
                "volumeMounts": [{"name": "own", "mountPath": f"/t{c}-{m}" + "/a" * 25} for m in range(60)],
            }
            for c in range(min(n // 20 + 1, 200))
        ],
        {},
        volumes=[OWN],
    ),
    "an AWS configuration": lambda n: pod(named(1), {**AWS, "cwii.dev/aws-config": "role_arn = x\n" * n}),
}

POLICIES: Final = [
    {
        "name": "limits",
        "limits": {
            "aws": {"roleArns": ["arn:aws:iam::123456789012:role/*"]},
            "gcp": {"serviceAccounts": ["*@p.iam.gserviceaccount.com"]},
        },
    },
    {"name": "locked", "locked": True, "identities": {"az": {"clientId": GUID, "tenantId": GUID}}},
]
SETTINGS: Final[dict[str, Json]] = {
    "cwii": {},
    "strict": {"mode": "strict"},
    "all dialects": {
        "vocabularies": ["cwii", "azwi", "eks", "wif", "gke"],
        "azwi": {"requireLabel": False},
    },
    "all dialects, strict": {"vocabularies": ["eks", "azwi", "wif", "gke", "cwii"], "mode": "strict"},
    "policies": {"policies": POLICIES},
}
OBJECTS: Final = [
    {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": "app",
            "namespace": "team-a",
            "annotations": {
                "eks.amazonaws.com/role-arn": ROLE,
                "azure.workload.identity/client-id": GUID,
                "azure.workload.identity/tenant-id": GUID,
            },
        },
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
]
