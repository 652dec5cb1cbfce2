"""Several vocabularies in one process."""

from __future__ import annotations

from typing import Any

from tests.chain.case import AS_AZURE, EVERYWHERE, ROLE, TENANT, Case, Meta, container
from tests.chain.logins import AwsLogin
from tests.chain.rows import azwi, cwii, eks, wif

ALL = Meta({**azwi.ACCOUNT.annotations, **eks.ACCOUNT.annotations, **wif.BOTH})
LOGINS = (eks.A_DAY, wif.AS_EMAIL, AS_AZURE)
OURS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": eks.OTHER_ROLE}
BOTH_ASK = "annotations ask for aws identity"


def settings(mode: str, *vocabularies: str) -> dict[str, Any]:
    return {"mode": mode, "vocabularies": vocabularies, "azwi": {"tenantId": TENANT}}


ROWS = [
    *(
        Case(
            f"together, {mode}, a cloud from each of three vocabularies",
            LOGINS,
            settings(mode, "azwi", "eks", "wif"),
            account=Meta({**ALL.annotations, **wif.DIRECT}),
            pod=azwi.POD,
        )
        for mode in ("better", "strict")
    ),
    *(
        Case(
            f"together, {mode}, with the containers that two of them bring",
            LOGINS,
            settings(mode, "azwi", "eks", "wif"),
            account=Meta({**ALL.annotations, **wif.GCLOUD}),
            pod=Meta({f"{azwi.P}inject-proxy-sidecar": "true"}, azwi.USE),
            spec={"initContainers": [container("setup")]},
            inside=("setup", "app"),
            partly={"azwi-proxy": "azure"},
            # in the originals' order the proxy's rules come last
            runs=("gcloud-setup",),
        )
        for mode in ("better", "strict")
    ),
    Case(
        "together, better, one cloud in our words and one in those of another",
        (AwsLogin(eks.OTHER_ROLE), AS_AZURE),
        settings("better", "cwii", "azwi"),
        account=Meta({**OURS, **azwi.ACCOUNT.annotations}),
        pod=azwi.POD,
    ),
    Case(
        "together, better, two ask for one cloud: ours stands first",
        (AwsLogin(eks.OTHER_ROLE),),
        settings("better", "cwii", "eks"),
        account=Meta({**OURS, **eks.ACCOUNT.annotations}),
        warned=(f"both cwii and eks {BOTH_ASK}: cwii is served",),
    ),
    Case(
        "together, better, two ask for one cloud: the other stands first",
        (AwsLogin(ROLE, seconds=86400),),
        settings("better", "eks", "cwii"),
        account=Meta({**OURS, **eks.ACCOUNT.annotations}),
        warned=(f"both eks and cwii {BOTH_ASK}: eks is served",),
    ),
    Case(
        "together, strict, two ask for one cloud: the first is served, and nobody is told",
        (AwsLogin(ROLE, seconds=86400),),
        settings("strict", "eks", "cwii"),
        account=Meta({**OURS, **eks.ACCOUNT.annotations}),
    ),
    Case(
        "together, better, beside all that cwii has",
        EVERYWHERE,
        settings("better", "cwii", "azwi", "eks", "wif", "gke"),
        account=Meta(cwii.ALL),
        pod=azwi.POD,
        warned=(
            "both cwii and azwi annotations ask for az identity: cwii is served",
            "client-id is set nowhere",
        ),
    ),
]
