"""Cases of the ccoctl family about the operator: whether to deploy, conditions, Secrets it brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vestibule import errors
from vestibule.api import credentials_secret
from vestibule.api.conditions import Condition
from vestibule.api.credentialsrequest import TOKEN_FILE, CredentialsRequest
from vestibule.operator.controllers.webhook import desired, status

Json = dict[str, Any]
KEY = "azure_tenant_id"


def check(name: str, inputs: Json, expected: Json) -> list[str]:
    """Everything in which we differ from the case."""
    if name == "should_deploy":
        found: list[Any] = [_deploys(case) for case in inputs["cases"]]
        return _same("deploy", found, expected["deploy"])
    if name == "desired_state":
        found = [_replicas(topology) for topology in inputs["topologies"]]
        budgets = [one if one == "error" else desired.budgeted(one) for one in found]
        return [
            *_same("replicas", found, expected["replicas"]),
            *_same("pdb", budgets, expected["pdb"]),
        ]
    if name == "conditions":
        found = [_conditions(case) for case in inputs["cases"]]
        return _same("conditions", found, expected["conditions"])
    if name == "broker_secret":
        pairs = zip(inputs["cases"], expected["result"], strict=True)
        return [problem for case, message in pairs for problem in _brokered(case, message)]
    return [f"the operator has no function for {name}"]


def _same(what: str, found: list[Any], wanted: list[Any]) -> list[str]:
    return [] if found == wanted else [f"{what}: got {found}, want {wanted}"]


def _replicas(topology: str | None) -> Any:
    try:
        return desired.replicas_for(topology)
    except errors.VestibuleError:
        return "error"


def _deploys(case: Json) -> object:
    secret = case.get("secret", {"data": {KEY: "eA=="}})
    try:
        return status.deploys(
            secret,
            KEY,
            topology=case.get("controlPlaneTopology", ""),
            image=case.get("image_env", "given"),
            error=case.get("secret_error", ""),
        )
    except errors.Forbidden:
        return "error"


def _conditions(case: Json) -> list[str]:
    """What an administrator should look at, besides what a healthy deployment says."""
    deployment: Json | None = {
        "metadata": {"generation": 1},
        "spec": {"replicas": 2},
        "status": {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "availableReplicas": case.get("availableReplicas", 2),
        },
    }
    if "deployment" in case:
        deployment = case["deployment"]
    elif case.get("progressing"):
        deployment["status"]["updatedReplicas"] = 1  # type: ignore[index]
    seconds = float(case.get("reconcile_error_for_seconds", 0))
    problems = (status.InstallProblem("Unavailable", "x"),) if seconds else ()
    unproven = "" if case.get("availableReplicas", 2) else "nobody answers"
    seen = status.InstallObservation(deployment, problems, seconds, unproven=unproven)
    reported = unusual(status.conditions(seen))
    listed = [f"{one.type}={one.status}/{one.reason}" for one in reported]
    if seconds:
        return [text for text in listed if text.startswith("Degraded")]
    return [text for text in listed if text.startswith(("Available", "Progressing"))][:1]


def unusual(conditions: Sequence[Condition]) -> list[Condition]:
    """Those that an administrator should look at."""
    usual = {"Available": "True", "Progressing": "False", "Degraded": "False"}
    return [one for one in conditions if usual.get(one.type, one.status) != one.status]


def _brokered(case: Json, message: str) -> list[str]:
    request = CredentialsRequest("cr", "ns", "secret", ("sa",), TOKEN_FILE, case["spec"])
    created = credentials_secret.broker(
        request, "azure", mode=case["mode"], issuer=case["issuer"], exists="already" in message
    )
    if message.startswith("no secret"):
        return [] if created == credentials_secret.BrokeredSecret() else [f"{case}: got {created}"]
    if message.startswith("secret with"):
        keys = [part.strip() for part in message.removeprefix("secret with").split(",")]
        found = [*(created.secret or {}).get("stringData", {})]
        return [] if found == keys else [f"{case}: keys are {found}"]
    missing = ("azureTenantID", "azureRegion", "azureSubscriptionID")
    expected = (
        (credentials_secret.FAILURE, *missing)
        if message.startswith(credentials_secret.FAILURE)
        else ("invalid",)
    )
    return [
        f"{case}: {word!r} is not in {created.failure!r}" for word in expected if word not in created.failure
    ]
