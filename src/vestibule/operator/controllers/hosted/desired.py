"""Everything that one request wants beside one control plane and in its guest, from what is known of both.

Order up: rights in the guest, credentials, the workload, a proof, and only then the registration. What stands
there and is good is kept, so the same inputs a second time give the same objects.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from vestibule.api.settings import schema
from vestibule.manifests import certificates_workload, install
from vestibule.operator.controllers.hosted import (
    attach_modes,
    ca_rollover,
    certificates,
    hosted_objects,
    hypershift_webhooks,
    platform_table,
    publish_gates,
    serving_certificate,
    sidecar,
    tlsprofile,
    workload,
)
from vestibule.operator.controllers.hosted.attach_modes import Asked, AttachChoice, AttachObservation
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, ForeignEdit
from vestibule.pki.profile import YEAR

Object = dict[str, Any]
_SERVER_NAME: Final = "kubernetes.default.svc"
"""In the certificate of every API server that kubeadm's rules made."""
_NEVER: Final = ("kube-node-lease", "kube-system", serving_certificate.GUEST_NAMESPACE)


class HostedRequest(NamedTuple):
    """What somebody asks for."""

    program: Literal["azwi", "eks"] = "azwi"
    attach: Asked = "auto"
    tenant_id: str = ""
    environment: str = ""
    region: str = ""
    image: str = ""
    """Empty: the image of the settings' defaults."""
    failure_policy: Literal["Ignore", "Fail"] = "Ignore"
    replicas: int = 2
    url: str = ""
    """``https://HOST:PORT`` that leads to the replicas of a Deployment, instead of their Service."""
    server: str = ""
    """Address of the guest's API server, where the usual one is of no use."""
    credential: Literal["token", "certificate"] = "certificate"
    """Who the webhook is in the guest; a token is asked for there, and is for who can ask."""
    operator: str = ""
    """Namespace from where replicas are asked whether they answer."""


class HostedDesired(NamedTuple):
    """What to write where."""

    choice: AttachChoice
    management: list[Object]
    guest: list[Object]
    """In the order in which they are made; the registration is the last."""
    edit: ForeignEdit | None = None
    """A change to the control plane's own object."""
    gates: tuple[str, ...] = ()
    """What must hold before the registration is made."""
    notes: tuple[str, ...] = ()
    url: str = ""
    bundle: str = ""
    """What the guest must trust, PEM; empty where the webhook keeps that itself."""
    step: ca_rollover.Step = "none"
    """What is under way while one authority takes over from another."""
    server: serving_certificate.HostedServerAddress | None = None
    """How the webhook reaches the guest, where it still needs a token for it."""


def plan(
    request: HostedRequest,
    target: ControlPlane,
    seen: AttachObservation,
    beside: Sequence[Object],
    now: datetime.datetime,
) -> HostedDesired:
    """The plan; ``beside`` are objects of the control plane's namespace. Raises InvalidInput when an
    authority that should sign is no use."""
    choice = attach_modes.choose(request.attach, target, seen)
    if choice.way is None or choice.way == "builtin":
        return HostedDesired(choice, [], [], notes=choice.notes)
    request = _derived(request, target)
    notes = [*choice.notes, *_doubts(request, target)]
    if choice.way == "in-guest":
        return HostedDesired(choice, [], _inside(request), notes=tuple(notes))
    near = {
        (one["kind"], one["metadata"]["name"]): one
        for one in beside
        if one["metadata"].get("namespace", "default") == target.namespace
    }
    separate, files = choice.way == "deployment", choice.way == "static-pod"
    names = workload.names(target) if separate else ("127.0.0.1",)
    given = urlsplit(request.url).hostname if separate else None
    names = (*names, given) if given else names
    served = serving_certificate.served(
        target,
        names,
        near.get(("Secret", target.secret("ca"))),
        near.get(("Secret", target.secret("serving-cert"))),
        now,
        seen.trust,
        # files on machines are renewed with the machines
        YEAR if files else serving_certificate.LEAF_LIFE,
    )
    if request.server:
        target = target._replace(server=request.server)
    server = _server(target, separate=separate)
    management = [served.ca, served.serving]
    told: list[str] = []
    token = request.credential == "token" and not files
    if not token:
        credential, told = _credential(target, server, near, now)
        management += credential
    asked = _sidecar_spec(request, target)
    webhook = hypershift_webhooks.PROGRAMS[request.program]
    edit = None
    if separate:
        management += workload.objects(target, asked, request.replicas, request.operator)
        url = f"{request.url}{webhook.path}" if given else workload.url(target, webhook.path)
    else:
        edit, more = _edit(target, _container(asked, management[1:] if files else []), near)
        told = [*told, *more]
        url = webhook.local_url
    objects = _hosted_cluster_objects(request, webhook, served.bundle, url)
    gates = publish_gates.GATES if separate else publish_gates.GATES[1:]
    made = HostedDesired(
        choice, management, objects, edit, gates, (*notes, *told), url, served.bundle, served.step
    )
    return made._replace(server=server) if token else made


def _derived(request: HostedRequest, target: ControlPlane) -> HostedRequest:
    """What the control plane says itself where the request does not."""
    platform = (
        ((target.thing.get("spec") or {}).get("platform") or {}) if target.flavour == "hypershift" else {}
    )
    azure, aws = platform.get("azure") or {}, platform.get("aws") or {}
    return request._replace(
        tenant_id=request.tenant_id or str(azure.get("tenantID", "")),
        environment=request.environment or str(azure.get("cloud", "")),
        region=request.region or str(aws.get("region", "")),
        image=request.image or schema.Settings().install.image,
    )


def _doubts(request: HostedRequest, target: ControlPlane) -> list[str]:
    found = []
    if request.program == "azwi" and not request.tenant_id:
        found.append(f"{target}: no tenant is given: every ServiceAccount must name its own")
    if request.failure_policy == "Fail":
        found.append("failurePolicy is Fail: while the webhook is down no pod that it serves can be created")
    return found


def _sidecar_spec(request: HostedRequest, target: ControlPlane) -> sidecar.SidecarSpec:
    return sidecar.SidecarSpec(
        webhook=hypershift_webhooks.PROGRAMS[request.program],
        image=request.image,
        tenant_id=request.tenant_id,
        environment=request.environment,
        region=request.region,
        tls=tlsprofile.of(target.thing)
        if target.flavour == "hypershift"
        else tlsprofile.TlsFlags("VersionTLS12", ()),
    )


def _server(target: ControlPlane, *, separate: bool) -> serving_certificate.HostedServerAddress:
    """Where the webhook finds the guest's API server; whom to trust there is told by others."""
    if separate:
        return serving_certificate.HostedServerAddress(target.server)
    if target.flavour == "hypershift":
        return serving_certificate.HostedServerAddress(f"https://localhost:{target.port}")
    return serving_certificate.HostedServerAddress(f"https://127.0.0.1:{target.port}", name=_SERVER_NAME)


def _credential(
    target: ControlPlane,
    server: serving_certificate.HostedServerAddress,
    near: Mapping[tuple[str, str], Object],
    now: datetime.datetime,
) -> tuple[list[Object], list[str]]:
    """The Secret with the kubeconfig, where the guest's signer is at hand; else what to do."""
    name = target.secret("kubeconfig")
    kept = near.get(("Secret", name))
    source = target.signer
    signer = near.get(("Secret", source.secret)) if source else None
    root = near.get(("Secret", target.ca.secret))
    if signer is None or root is None:
        missing = ", ".join(sorted({target.ca.secret, *([source.secret] if source else [])}))
        if kept is not None:
            return [kept], []
        return [], [
            f"{target}: Secret {missing} was not given, so Secret {name} is not made: "
            f"put a kubeconfig of the guest there, key 'kubeconfig', for ServiceAccount "
            f"{serving_certificate.GUEST_NAMESPACE}/{hypershift_webhooks.OURS}"
        ]
    server = server._replace(trusted=certificates.text_of(root, target.ca.keys[0]))
    return [serving_certificate.kubeconfig(target, server, signer, kept, now)], []


def _container(asked: sidecar.SidecarSpec, copied: Sequence[Object]) -> Object:
    """Our container. Where Secrets are copied to machines it carries a digest of them: new ones are another
    manifest, and the machines are replaced."""
    made = sidecar.ours(asked)
    if copied:
        digest = hashlib.sha256("".join(certificates.text_of(one, "tls.crt") for one in copied).encode())
        variable = {"name": "CERTIFICATES", "value": digest.hexdigest()[:16]}
        made["env"] = [*made.get("env", []), variable]
    return made


def _edit(
    target: ControlPlane, container: Object, near: Mapping[tuple[str, str], Object]
) -> tuple[ForeignEdit | None, list[str]]:
    """Our entries in the object that owns the API server's pod."""
    owner, flavour = target.thing, platform_table.ALL[target.flavour]
    holder = flavour.holder(owner)
    if holder is not None:
        if holder not in near:
            return None, [f"{target}: {' '.join(holder)} owns it and was not given: our entries belong there"]
        owner = near[holder]
    edit = flavour.attached(owner, container, sidecar.our_volumes(target.own))
    return edit, [] if edit else [f"{owner['kind']} {owner['metadata']['name']} has no place for a container"]


def _hosted_cluster_objects(
    request: HostedRequest, webhook: hypershift_webhooks.HypershiftWebhook, bundle: str, url: str
) -> list[Object]:
    """Namespace, account, role, binding and registration, under names of our own."""
    labels = {"app.kubernetes.io/managed-by": install.OWNER}
    account = {
        "kind": "ServiceAccount",
        "name": hypershift_webhooks.OURS,
        "namespace": serving_certificate.GUEST_NAMESPACE,
    }
    wanted = hosted_objects.HostedObjectsSpec(
        webhook,
        bundle,
        hypershift_webhooks.OURS,
        hypershift_webhooks.OURS,
        f"{webhook.program}.hosted.vestibule.dev",
        url=url,
        subjects=(account,),
        labels=tuple(labels.items()),
        failure_policy=request.failure_policy,
    )
    namespace = {"name": serving_certificate.GUEST_NAMESPACE, "labels": labels}
    meta = {
        "name": hypershift_webhooks.OURS,
        "namespace": serving_certificate.GUEST_NAMESPACE,
        "labels": labels,
    }
    role, binding, registration = hosted_objects.objects(wanted)
    out = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(_NEVER)}
    registration["webhooks"][0]["namespaceSelector"] = {"matchExpressions": [out]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": namespace},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": meta,
            "automountServiceAccountToken": False,
        },
        role,
        binding,
        registration,
    ]


def _inside(request: HostedRequest) -> list[Object]:
    """The ordinary installation, in the guest; its certificate is issued there. What is missing is restored
    by us, and not by who issues it."""
    data: Object = {
        "vocabularies": [request.program],
        "webhook": {"failurePolicy": request.failure_policy},
        "install": {"namespace": serving_certificate.GUEST_NAMESPACE, "replicas": request.replicas},
    }
    if request.image:
        data["install"]["image"] = request.image
    if request.program == "azwi":
        data["azwi"] = {"tenantId": request.tenant_id, "cloud": request.environment}
    elif request.region:
        data["eks"] = {"awsDefaultRegion": request.region}
    made = install.objects(schema.parse(data, "hosted"))
    for one in made:
        if one["kind"] == "ConfigMap" and certificates_workload.CONFIGURATIONS_FILE in one["data"]:
            one["data"] = {certificates_workload.CONFIGURATIONS_FILE: certificates_workload.listed([])}
    return made
