"""``cloud.google.com/*`` of the federation webhook, in both of its modes, and GKE's key."""

from __future__ import annotations

from typing import Any

from tests.chain.case import EMAIL, POOL, Case, Meta, container
from tests.chain.logins import GcpLogin

P = "cloud.google.com/"
PROVIDER = POOL.removeprefix("//iam.googleapis.com/")
WITHOUT_EMAIL = {f"{P}workload-identity-provider": PROVIDER}
BOTH = {**WITHOUT_EMAIL, f"{P}service-account-email": EMAIL}
DIRECT, GCLOUD = {f"{P}injection-mode": "direct"}, {f"{P}injection-mode": "gcloud"}
AUDIENCE = "sts.googleapis.com"
AS_EMAIL = GcpLogin(POOL, AUDIENCE, 86400, EMAIL)
AS_ITSELF = GcpLogin(POOL, AUDIENCE, 86400)
TWO = {"containers": [container("app"), container("proxy")]}
MODES = ("better", "strict")


def settings(mode: str, **wif: Any) -> dict[str, Any]:
    return {"mode": mode, "vocabularies": ["wif"], "wif": wif}


ROWS = [
    *(
        Case(
            f"wif, {mode}, direct, for init containers and sidecars, too",
            (AS_EMAIL,),
            settings(mode),
            account=Meta({**BOTH, **DIRECT}),
            spec={"initContainers": [container("setup"), container("mesh", restartPolicy="Always")]},
            inside=("setup", "mesh", "app"),
        )
        for mode in MODES
    ),
    *(
        Case(
            f"wif, {mode}, by gcloud, for init containers, too",
            (AS_EMAIL,),
            settings(mode),
            account=Meta({**BOTH, **GCLOUD}),
            spec={"initContainers": [container("setup")]},
            inside=("setup", "app"),
            runs=("gcloud-setup",),
        )
        for mode in MODES
    ),
    *(
        Case(
            f"wif, {mode}, own audience, two hours",
            (GcpLogin(POOL, "gcp.acme.example", 7200, EMAIL),),
            settings(mode, injectionMode="direct"),
            account=Meta({**BOTH, f"{P}audience": "gcp.acme.example"}),
            pod=Meta({f"{P}token-expiration": "7200"}),
        )
        for mode in MODES
    ),
    Case("wif, better, direct by itself", (AS_EMAIL,), settings("better"), account=Meta(BOTH)),
    Case(
        "wif, strict, by gcloud by itself",
        (AS_EMAIL,),
        settings("strict"),
        account=Meta(BOTH),
        runs=("gcloud-setup",),
    ),
    Case("wif, better, without an e-mail", (AS_ITSELF,), settings("better"), account=Meta(WITHOUT_EMAIL)),
    Case(
        "wif, better, by gcloud, without an e-mail",
        (AS_ITSELF,),
        settings("better"),
        account=Meta({**WITHOUT_EMAIL, **GCLOUD}),
        runs=("gcloud-setup",),
    ),
    Case(
        "wif, better, the settings' provider, a user of the pod's own",
        (AS_EMAIL,),
        settings("better", provider=PROVIDER),
        account=Meta({f"{P}service-account-email": EMAIL}),
        spec={"securityContext": {"runAsUser": 1000, "runAsNonRoot": True}},
    ),
    *(
        Case(
            f"wif, {mode}, one container is skipped",
            (AS_EMAIL,),
            settings(mode, injectionMode="direct"),
            account=Meta(BOTH),
            pod=Meta({f"{P}skip-containers": "proxy"}),
            spec=TWO,
            outside=("proxy",),
        )
        for mode in MODES
    ),
    *(
        Case(
            f"wif, {mode}, another prefix",
            (AS_EMAIL,),
            settings(mode, annotationPrefix="wif.acme.example", injectionMode="direct"),
            account=Meta({key.replace(P, "wif.acme.example/"): value for key, value in BOTH.items()}),
        )
        for mode in MODES
    ),
    # GKE's key, where GKE is not
    *(
        Case(
            f"gke, {mode}, the account's key and the settings' provider",
            (AS_EMAIL,),
            {"mode": mode, "vocabularies": ["gke"], "wif": {"provider": PROVIDER}},
            account=Meta({"iam.gke.io/gcp-service-account": EMAIL}),
        )
        for mode in MODES
    ),
]
