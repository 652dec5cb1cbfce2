"""The webhook as a container of the API server's own pod.

``container`` and ``volumes`` are what HyperShift's control plane operator would make, to the flag, for those
who own the Deployment. ``ours`` is the same place taken by this program: no shell, no waiting loop, bound to
the pod's own loopback, and able to start before its API server; for attachments through an owner's own
fields. Nothing here patches a Deployment that somebody else owns.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vestibule.operator.controllers.hosted import hypershift_webhooks, tlsprofile
from vestibule.operator.controllers.hosted.hypershift_webhooks import (
    CERTIFICATES,
    HEALTH_PORT,
    KUBECONFIG,
    METRICS_PORT,
    HypershiftWebhook,
)
from vestibule.operator.controllers.hosted.tlsprofile import TlsFlags

Object = dict[str, Any]
DEPLOYMENT: Final = "kube-apiserver"
AUDIENCE: Final = "api://AzureADTokenExchange"
_API_PORT: Final = 6443
_MODE: Final = 0o640
_TMP: Final = "tmp-dir"
_REQUESTS: Final = {"cpu": "10m", "memory": "25Mi"}
_OVERRIDE: Final = "resource-request-override.hypershift.openshift.io/"


def api_port(control_plane: Object) -> int:
    """The port on which the API server listens in its pod: 443 is never bound there."""
    networking = (control_plane.get("spec") or {}).get("networking") or {}
    port = (networking.get("apiServer") or {}).get("port")
    return port if port and port != 443 else _API_PORT


def flags(webhook: HypershiftWebhook, control_plane: Object) -> list[str]:
    """The flags of HyperShift's container, in its order."""
    aws = ((control_plane.get("spec") or {}).get("platform") or {}).get("aws") or {}
    return _flags(webhook, tlsprofile.of(control_plane), str(aws.get("region", "")))


def _flags(webhook: HypershiftWebhook, tls: TlsFlags, region: str) -> list[str]:
    suites = [f"--tls-cipher-suites={','.join(tls.suites)}"] if tls.suites else []
    minimum = [f"--tls-min-version={tls.minimum}"] if tls.minimum else []
    if webhook.program == "eks":
        return [
            "--annotation-prefix=eks.amazonaws.com",
            "--in-cluster=false",
            f"--kubeconfig={KUBECONFIG}/kubeconfig",
            "--logtostderr",
            f"--port={webhook.port}",
            f"--aws-default-region={region}",
            f"--tls-cert={CERTIFICATES}/tls.crt",
            f"--tls-key={CERTIFICATES}/tls.key",
            "--token-audience=openshift",
            *minimum,
            *suites,
        ]
    return [
        f"--webhook-cert-dir={CERTIFICATES}",
        f"--health-addr=:{HEALTH_PORT}",
        f"--audience={AUDIENCE}",
        f"--kubeconfig={KUBECONFIG}/kubeconfig",
        f"--metrics-addr=:{METRICS_PORT}",
        "--log-level=info",
        *suites,
        *minimum,
        "--disable-cert-rotation",
    ]


def env(webhook: HypershiftWebhook, control_plane: Object) -> list[Object]:
    """The variables of HyperShift's container."""
    if webhook.program != "azwi":
        return []
    azure = control_plane["spec"]["platform"]["azure"]
    return [
        {"name": "AZURE_TENANT_ID", "value": azure.get("tenantID", "")},
        {"name": "AZURE_ENVIRONMENT", "value": azure.get("cloud", "")},
    ]


def probes() -> Object:
    """Of the Azure webhook, on its plain port."""

    def asked(path: str) -> Object:
        return {"path": path, "port": HEALTH_PORT, "scheme": "HTTP"}

    return {
        "startupProbe": {"httpGet": asked("/healthz"), "periodSeconds": 10, "failureThreshold": 30},
        "livenessProbe": {"httpGet": asked("/healthz"), "periodSeconds": 20},
        "readinessProbe": {"httpGet": asked("/readyz"), "initialDelaySeconds": 5, "periodSeconds": 10},
    }


def script(webhook: HypershiftWebhook, control_plane: Object) -> str:
    """What HyperShift's shell runs: wait for the API server, which the original cannot start without."""
    command = " \\\n  ".join([f"exec /usr/bin/{webhook.name}", *flags(webhook, control_plane)])
    url = f"https://localhost:{api_port(control_plane)}/version"
    return f"until curl --silent --fail --insecure --output /dev/null {url}; do sleep 2; done\n{command}\n"


def container(webhook: HypershiftWebhook, control_plane: Object, image: str) -> Object:
    """The container of HyperShift's Deployment, defaults of its framework included."""
    if webhook.program == "azwi":
        start: Object = {"command": ["/bin/sh", "-ec"], "args": [script(webhook, control_plane)]}
    else:
        start = {"command": [f"/usr/bin/{webhook.name}", *flags(webhook, control_plane)]}
    variables = env(webhook, control_plane)
    return {
        "name": webhook.name,
        "image": image,
        "imagePullPolicy": pull_policy(image),
        **start,
        **({"env": variables} if variables else {}),
        "resources": {"requests": requests(webhook.name, control_plane)},
        **(probes() if webhook.program == "azwi" else {}),
        "securityContext": {"readOnlyRootFilesystem": True},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": f"{webhook.volumes}-serving-certs", "mountPath": CERTIFICATES},
            {"name": f"{webhook.volumes}-kubeconfig", "mountPath": KUBECONFIG},
            {"name": _TMP, "mountPath": "/tmp"},  # noqa: S108 - an emptyDir
        ],
    }


def volumes(webhook: HypershiftWebhook) -> list[Object]:
    """The volumes that go with it."""
    return [
        _secret_volume(f"{webhook.volumes}-serving-certs", webhook.serving_secret),
        _secret_volume(f"{webhook.volumes}-kubeconfig", webhook.kubeconfig_secret),
        {"name": _TMP, "emptyDir": {}},
    ]


def requests(name: str, control_plane: Object) -> dict[str, str]:
    """What the container asks for; an annotation of the control plane can say otherwise."""
    annotations = control_plane["metadata"].get("annotations") or {}
    said = annotations.get(f"{_OVERRIDE}{DEPLOYMENT}.{name}", "")
    pairs = (part.partition("=") for part in said.split(",") if "=" in part)
    return {**_REQUESTS, **{key.strip(): value.strip() for key, _, value in pairs if value.strip()}}


def pull_policy(image: str) -> str:
    """What the API server would choose."""
    name = image.rpartition("/")[2]
    moving = "@" not in name and (":" not in name or name.endswith(":latest"))
    return "Always" if moving else "IfNotPresent"


def added(deployment: Object, control_plane: Object, images: Mapping[str, str]) -> Object:
    """The Deployment of the API server with the sidecar that its platform wants; the given one stays.

    Only for the owner of the Deployment. Without the image in the payload nothing is added: a container that
    cannot be pulled keeps the API server from ever being ready. Raises InvalidInput as
    ``hypershift_webhooks.of``."""
    webhook = hypershift_webhooks.of(control_plane)
    made = copy.deepcopy(deployment)
    pod = made["spec"]["template"]["spec"]
    fresh: list[Object] = []
    mounted: list[Object] = []
    if webhook is not None and webhook.name in images:
        fresh, mounted = [container(webhook, control_plane, images[webhook.name])], volumes(webhook)
        live: Object = next((one for one in pod["containers"] if one["name"] == webhook.name), {})
        if live.get("resources"):
            fresh[0]["resources"] = live["resources"]  # as HyperShift: what is live wins
    theirs = {volume["name"] for one in hypershift_webhooks.ALL for volume in volumes(one)} - {_TMP}
    pod["containers"] = _replaced(pod["containers"], fresh, {one.name for one in hypershift_webhooks.ALL})
    pod["volumes"] = _replaced(pod.get("volumes") or [], mounted, theirs)
    return made


def _replaced(there: list[Object], wanted: list[Object], known: set[str]) -> list[Object]:
    """Ours in their places, new ones at the end; what is known as ours and not wanted is gone."""
    by_name = {one["name"]: one for one in wanted}
    kept = [
        by_name.pop(one["name"], one) for one in there if one["name"] in by_name or one["name"] not in known
    ]
    return [*kept, *by_name.values()]


def _secret_volume(name: str, secret: str, mode: int = _MODE) -> Object:
    return {"name": name, "secret": {"secretName": secret, "defaultMode": mode}}


# ── the same place, taken by this program ───────────────────────────────────────────────────────────────────


class SidecarSpec(NamedTuple):
    """What a container of ours must know."""

    webhook: HypershiftWebhook = hypershift_webhooks.AZURE
    image: str = ""
    tenant_id: str = ""
    environment: str = ""
    region: str = ""
    tls: TlsFlags = TlsFlags("VersionTLS12", ())
    name: str = hypershift_webhooks.OURS
    local: bool = True
    """Reached through the pod's own loopback, and bound to nothing else."""


def ours(asked: SidecarSpec) -> Object:
    """A container that runs this program; it starts and stays up whatever its API server does."""
    host = "127.0.0.1" if asked.local else "0.0.0.0"  # noqa: S104 - behind a Service
    webhook = asked.webhook
    args = ["webhook", "--as", webhook.program, f"--addr={host}:{webhook.port}"]
    unsaid = ("--port=", "--logtostderr", *([] if asked.region else ["--aws-default-region="]))
    args += [flag for flag in _flags(webhook, asked.tls, asked.region) if not flag.startswith(unsaid)]
    if webhook.program == "eks":
        args.append(f"--metrics-port={METRICS_PORT}")
    plain = HEALTH_PORT if webhook.program == "azwi" else METRICS_PORT
    made: Object = {
        "name": asked.name,
        "image": asked.image,
        "imagePullPolicy": pull_policy(asked.image),
        "args": args,
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": f"{asked.name}-certs", "mountPath": CERTIFICATES, "readOnly": True},
            {"name": f"{asked.name}-kubeconfig", "mountPath": KUBECONFIG, "readOnly": True},
        ],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": plain, "scheme": "HTTP"},
            "periodSeconds": 20,
        },
    }
    if webhook.program == "azwi":
        made["env"] = [
            {"name": "AZURE_TENANT_ID", "value": asked.tenant_id},
            {"name": "AZURE_ENVIRONMENT", "value": asked.environment},
        ]
    if not asked.local:
        # a sidecar that is not ready would take the API server out of service; a pod of its own may say so
        made["readinessProbe"] = {
            "httpGet": {"path": "/readyz", "port": plain, "scheme": "HTTP"},
            "periodSeconds": 2,
        }
    return made


def our_volumes(secrets: str = hypershift_webhooks.OURS, mode: int = 0o444) -> list[Object]:
    """The volumes of ``ours``; ``secrets`` is what the names of their Secrets begin with. In a pod of
    somebody else there is no group of ours to own the files, and no other container mounts them, so
    everybody in this one may read."""
    name = hypershift_webhooks.OURS
    return [
        _secret_volume(f"{name}-certs", f"{secrets}-serving-cert", mode),
        _secret_volume(f"{name}-kubeconfig", f"{secrets}-kubeconfig", mode),
    ]
