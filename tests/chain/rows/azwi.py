"""``azure.workload.identity/*`` in its layouts."""

from __future__ import annotations

from typing import Any

from tests.chain.case import AS_AZURE, CLIENT, TENANT, Case, Meta, Place, container
from tests.chain.logins import AzureLogin

P = "azure.workload.identity/"
USE = {f"{P}use": "true"}
ACCOUNT = Meta({f"{P}client-id": CLIENT})
POD = Meta(labels=USE)
TWO = {"containers": [container("app"), container("proxy")]}
MODES = ("better", "strict")


def settings(mode: str, **azwi: Any) -> dict[str, Any]:
    return {"mode": mode, "vocabularies": ["azwi"], "azwi": {"tenantId": TENANT, **azwi}}


def authority(place: Place, namespace: str) -> None:
    """The CA of the token endpoint, where pods find it."""
    place.config_map(namespace, "ca", {"ca.crt": "PEM"})


ENDPOINT = {
    "annotationSuffix": "binding",
    "audience": "api://binding",
    "tokenProxy": "https://binding.example",
    "caConfigMapName": "ca",
}

ROWS = [
    *(
        Case(
            f"azwi, {mode}, layout {layout}",
            (AS_AZURE,),
            settings(mode, layout=layout),
            account=ACCOUNT,
            pod=POD,
            spec={"initContainers": [container("setup"), container("mesh", restartPolicy="Always")]},
            inside=("setup", "mesh", "app"),
        )
        for mode in MODES
        for layout in ("1.5", "1.6.0", "1.6.1")
    ),
    *(
        Case(
            f"azwi, better, layout {layout}, a program with the path until 1.5 built in",
            (AS_AZURE,),
            settings("better", layout=layout, legacyMount="/var/run/secrets/azure/tokens"),
            account=ACCOUNT,
            pod=POD,
            built_in={"AZURE_FEDERATED_TOKEN_FILE": "/var/run/secrets/azure/tokens/azure-identity-token"},
        )
        for layout in ("1.6.0", "1.6.1")
    ),
    Case(
        "azwi, better, layout 1.5, a program with the path from 1.6.0 on built in",
        (AS_AZURE,),
        settings("better", legacyMount="/var/run/secrets/azure/wi"),
        account=ACCOUNT,
        pod=POD,
        built_in={"AZURE_FEDERATED_TOKEN_FILE": "/var/run/secrets/azure/wi/token/azure-identity-token"},
    ),
    *(
        Case(
            f"azwi, {mode}, sovereign cloud, tenant of the account, two hours",
            (AzureLogin(CLIENT, "acme.example", seconds=7200, host="login.microsoftonline.us"),),
            settings(mode, cloud="AzureUSGovernmentCloud"),
            account=Meta({**ACCOUNT.annotations, f"{P}tenant-id": "acme.example"}),
            pod=Meta({f"{P}service-account-token-expiration": "7200"}, USE),
        )
        for mode in MODES
    ),
    *(
        Case(
            f"azwi, {mode}, one container is skipped",
            (AS_AZURE,),
            settings(mode),
            account=ACCOUNT,
            pod=Meta({f"{P}skip-containers": "proxy;"}, USE),
            spec=TWO,
            outside=("proxy",),
        )
        for mode in MODES
    ),
    *(
        Case(
            f"azwi, {mode}, the proxy sidecar has the identity, too",
            (AS_AZURE,),
            settings(mode),
            account=ACCOUNT,
            pod=Meta({f"{P}inject-proxy-sidecar": "true"}, USE),
            inside=("azwi-proxy-init", "azwi-proxy", "app"),
        )
        for mode in MODES
    ),
    # the SDK's default chain goes to the cloud's own endpoint: it shows audience and files, not the detour
    *(
        Case(
            f"azwi, {mode}, token for a custom endpoint, its CA beside it",
            (AzureLogin(CLIENT, TENANT, "api://binding"),),
            settings(mode, endpoint=ENDPOINT),
            before=authority,
            account=ACCOUNT,
            pod=Meta({f"{P}use-binding": "true"}, USE),
        )
        for mode in MODES
    ),
    Case(
        "azwi, better, everything on the namespace",
        (AS_AZURE,),
        {"vocabularies": ["azwi"]},
        namespace=Meta({f"{P}client-id": CLIENT, f"{P}tenant-id": TENANT}),
        pod=POD,
    ),
    Case(
        "azwi, better, the container names its client id itself",
        (AS_AZURE,),
        settings("better"),
        pod=POD,
        spec={"containers": [container("app", env=[{"name": "AZURE_CLIENT_ID", "value": CLIENT}])]},
        warned=("client-id is set nowhere",),
    ),
]
