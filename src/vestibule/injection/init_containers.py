"""The init containers we add: one that writes a credentials file, and one per cloud that proves the identity.

The restricted shape passes the ``restricted`` Pod Security profile, keeps a Guaranteed pod Guaranteed
(requests equal limits), fits the memory the cloud command lines really need, has a writable home, tries
three times with a time limit, and prints no identity into the pod's log.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vestibule.api.annotation_keys import Provider
from vestibule.injection import layouts
from vestibule.injection.claim import VerifyAsk
from vestibule.injection.plan import (
    CloudPlanForPod,
    PlannedContainer,
    PlannedEnv,
    PlannedMount,
    PlannedVolume,
)

WRITER_ORDER: Final = 0
VERIFY_ORDER: Final = 10
_HOME: Final = "/cwii/home"
_ORIGINAL_RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "16Mi"},
    "limits": {"cpu": "100m", "memory": "32Mi"},
}

_CHECKS_ORIGINAL: Final[dict[str, str]] = {
    "gcp": "gcloud auth application-default print-access-token >/dev/null",
    "aws": "aws sts get-caller-identity",
    "az": (
        'az login --service-principal -u "$AZURE_CLIENT_ID" -t "$AZURE_TENANT_ID" '
        '--federated-token "$(cat "$AZURE_FEDERATED_TOKEN_FILE")" >/dev/null && az account show >/dev/null'
    ),
}
_CHECKS_BETTER: Final[dict[str, str]] = {
    "gcp": "gcloud auth application-default print-access-token >/dev/null",
    "aws": "aws sts get-caller-identity >/dev/null",
    # identities without a subscription are ordinary; the token is not printed
    "az": (
        'az login --service-principal -u "$AZURE_CLIENT_ID" -t "$AZURE_TENANT_ID" --allow-no-subscriptions '
        '--federated-token "$(cat "$AZURE_FEDERATED_TOKEN_FILE")" --output none'
    ),
}
_AZURE_CLOUDS: Final = (
    ("login.microsoftonline.us", "AzureUSGovernment"),
    ("login.chinacloudapi.cn", "AzureChinaCloud"),
    ("login.partner.microsoftonline.cn", "AzureChinaCloud"),
)


def writer(credentials: str, layout: layouts.Layout) -> PlannedContainer:
    """Writes the credentials file into the shared directory."""
    restricted = layout.helpers == "restricted"
    text = credentials.replace("$", "$$") if layout.escape_dollar else credentials
    return PlannedContainer(
        WRITER_ORDER,
        {
            "name": layouts.GCP_WRITER,
            "image": layout.init_image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c"],
            "args": ["printf '%s' \"$CWII_GCP_CREDS_JSON\" > /cwii/gcp/credentials.json"],
            "env": [{"name": "CWII_GCP_CREDS_JSON", "value": text}],
            "volumeMounts": [
                {"name": layouts.GCP_CREDENTIALS_VOLUME, "mountPath": "/cwii/gcp", "readOnly": False}
            ],
            "securityContext": _security(layout)
            if restricted
            else {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": False,
                "capabilities": {"drop": ["ALL"]},
            },
            "resources": _equal("100m", "32Mi") if restricted else _ORIGINAL_RESOURCES,
        },
        position="first" if restricted else "last",
    )


def verified(
    plan: CloudPlanForPod, ask: VerifyAsk | None, layout: layouts.Layout, *, ca_file: str = ""
) -> CloudPlanForPod:
    """The plan with a container that proves the identity, if one is asked for and can run there."""
    if ask is None:
        return plan
    if layout.windows:
        return plan._replace(
            notes=(*plan.notes, f"{plan.provider}: verify containers are Linux only; none was added")
        )
    helper, volumes = _verifier(plan.provider, ask, plan.env, plan.mounts, layout, ca_file)
    return plan._replace(helpers=(*plan.helpers, helper), volumes=(*plan.volumes, *volumes))


def _verifier(
    provider: Provider,
    ask: VerifyAsk,
    env: Iterable[PlannedEnv],
    mounts: Iterable[PlannedMount],
    layout: layouts.Layout,
    ca_file: str,
) -> tuple[PlannedContainer, tuple[PlannedVolume, ...]]:
    variables = [variable.body() for variable in env]
    mounted = [mount.body() for mount in mounts]
    body: dict[str, Any] = {
        "name": layouts.verify_name(provider),
        "image": ask.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c"],
    }
    if layout.helpers == "original":
        check = _CHECKS_ORIGINAL[provider]
        tail = "" if ask.enforce else " || echo 'cwii: verification check failed (non-enforcing)' >&2"
        body |= {
            "args": [check + tail],
            "env": variables,
            "volumeMounts": mounted,
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "resources": _ORIGINAL_RESOURCES,
        }
        return PlannedContainer(VERIFY_ORDER, body, position="last"), ()
    home = PlannedMount(layouts.VERIFY_HOME_VOLUME, _HOME, read_only=False)
    body |= {
        "args": [_script(provider, ask, layout, ca_file)],
        "env": [*variables, {"name": "HOME", "value": _HOME}],
        "volumeMounts": [*mounted, home.body()],
        "securityContext": _security(layout),
        "resources": _equal(layout.verify.cpu, layout.verify.memory),
    }
    return PlannedContainer(VERIFY_ORDER, body), (
        PlannedVolume(layouts.VERIFY_HOME_VOLUME, {"emptyDir": {"sizeLimit": "256Mi"}}),
    )


def _script(provider: Provider, ask: VerifyAsk, layout: layouts.Layout, ca_file: str) -> str:
    check = _CHECKS_BETTER[provider]
    for host, cloud in _AZURE_CLOUDS:
        if f"//{host}" in ca_file:
            check = f"az cloud set --name {cloud} >/dev/null && {check}"
    end = (
        "exit 1"
        if ask.enforce
        else "echo 'vestibule: the pod starts all the same (not enforced)' >&2; exit 0"
    )
    # no $$ and no $(NAME) of a variable in here: the kubelet would expand them
    return (
        f"n=1; until timeout {layout.verify.timeout_seconds} sh -c '{check}'; do "
        f'echo "vestibule: {provider} identity check failed, attempt $n of 3" >&2; '
        f"[ $n -ge 3 ] && {{ {end}; }}; n=$((n+1)); sleep 2; done"
    )


def _security(layout: layouts.Layout) -> dict[str, Any]:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": layout.verify.run_as_user,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _equal(cpu: str, memory: str) -> dict[str, dict[str, str]]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}
