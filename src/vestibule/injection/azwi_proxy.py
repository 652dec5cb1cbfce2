"""The two containers that let programs which only know IMDS use a federated identity: one redirects IMDS to
the other, which answers with tokens of the identity."""

from __future__ import annotations

from typing import Any, Final

from vestibule.api.glob_patterns import matches
from vestibule.api.settings.azwi import AzwiSettings, version
from vestibule.injection.plan import CloudPlanForPod, PlannedContainer, PlannedEnv, PlannedMount

PROXY: Final = "azwi-proxy"
PROXY_INIT: Final = "azwi-proxy-init"
_NATIVE_SIDECARS_STRICT: Final = (1, 32)
_NATIVE_SIDECARS: Final = (1, 29)
_PROXY_USER: Final = 1501
"""The redirection spares this user, so that the proxy itself reaches IMDS."""


def added(plan: CloudPlanForPod, port: int, settings: AzwiSettings, *, checked: bool) -> CloudPlanForPod:
    """The plan with both containers; they get variables and mounts like any other."""
    known = version(settings.kubernetes_version)
    native = known is None or known >= (_NATIVE_SIDECARS if checked else _NATIVE_SIDECARS_STRICT)
    if known is None and not checked:
        native = False
    proxy = _proxy(port, settings, checked=checked)
    if native:
        proxy["restartPolicy"] = "Always"
    redirect = _redirect(port, settings, checked=checked)
    for body in (proxy, redirect):
        if not any(matches(name, body["name"]) for name in plan.skip):
            body["env"] = [*body.get("env", ()), *map(PlannedEnv.body, plan.env)]
            body["volumeMounts"] = [*map(PlannedMount.body, plan.mounts)]
    return plan._replace(
        helpers=(
            PlannedContainer(0, redirect, position="first" if checked else "last"),
            PlannedContainer(1, proxy, "initContainers" if native else "containers", "first"),
        )
    )


def _proxy(port: int, settings: AzwiSettings, *, checked: bool) -> dict[str, Any]:
    level = f"--log-level={settings.proxy_log_level}"
    security: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
    }
    body: dict[str, Any] = {
        "name": PROXY,
        "image": settings.proxy_image,
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--proxy-port={port}", level],
        "ports": [{"containerPort": port}],
        "lifecycle": {
            "postStart": {"exec": {"command": ["/proxy", f"--proxy-port={port}", "--probe", level]}}
        },
        "securityContext": security,
    }
    if checked:
        security |= {"runAsUser": _PROXY_USER, "seccompProfile": {"type": "RuntimeDefault"}}
        body["resources"] = _equal(settings)
        body["ports"][0]["protocol"] = "TCP"
    return body


def _redirect(port: int, settings: AzwiSettings, *, checked: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": PROXY_INIT,
        "image": settings.proxy_init_image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
            "privileged": True,
            "runAsNonRoot": False,
            "runAsUser": 0,
        },
        "env": [{"name": "PROXY_PORT", "value": str(port)}],
    }
    if checked:
        body["resources"] = _equal(settings)
    return body


def _equal(settings: AzwiSettings) -> dict[str, dict[str, str]]:
    amounts = {"cpu": settings.proxy_cpu, "memory": settings.proxy_memory}
    return {"requests": amounts, "limits": dict(amounts)}
