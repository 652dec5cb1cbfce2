"""Everything that one request wants beside one control plane and in its guest, from what is known of both.

Order up: rights in the guest, credentials, the workload, a proof, and only then the registration. What stands
there and is good is kept, so the same inputs a second time give the same objects.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from vestibule.apps.operator.hosted import (
    attachments,
    certificates,
    flavours,
    guest,
    identity,
    publication,
    sidecar,
    tlsprofile,
    webhooks,
    workload,
)
from vestibule.apps.operator.hosted.attachments import Asked, Choice, Seen
from vestibule.apps.operator.hosted.target import Edit, Target
from vestibule.apps.operator.hosted.targets import kamaji
from vestibule.core.kinds import config
from vestibule.core.native import install

Object = dict[str, Any]
_SERVER_NAME: Final = "kubernetes.default.svc"
"""In the certificate of every API server that kubeadm's rules made."""
_NEVER: Final = ("kube-node-lease", "kube-system", identity.GUEST_NAMESPACE)


class Request(NamedTuple):
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


class Plan(NamedTuple):
    """What to write where."""

    choice: Choice
    management: list[Object]
    guest: list[Object]
    """In the order in which they are made; the registration is the last."""
    edit: Edit | None = None
    """A change to the control plane's own object."""
    gates: tuple[str, ...] = ()
    """What must hold before the registration is made."""
    notes: tuple[str, ...] = ()
    url: str = ""


def plan(
    request: Request, target: Target, seen: Seen, beside: Sequence[Object], now: datetime.datetime
) -> Plan:
    """The plan; ``beside`` are objects of the control plane's namespace. Raises InvalidInput when an
    authority that should sign is no use."""
    choice = attachments.choose(request.attach, target, seen)
    if choice.way is None or choice.way == "builtin":
        return Plan(choice, [], [], notes=choice.notes)
    request = _derived(request, target)
    notes = [*choice.notes, *_doubts(request, target)]
    if choice.way == "in-guest":
        return Plan(choice, [], _inside(request), notes=tuple(notes))
    near = {
        (one["kind"], one["metadata"]["name"]): one
        for one in beside
        if one["metadata"].get("namespace", "default") == target.namespace
    }
    separate = choice.way == "deployment"
    names = workload.names(target.namespace) if separate else ("127.0.0.1",)
    given = urlsplit(request.url).hostname if separate else None
    names = (*names, given) if given else names
    served = identity.served(
        target,
        names,
        near.get(("Secret", identity.CA_SECRET)),
        near.get(("Secret", identity.SERVING_SECRET)),
        now,
    )
    if request.server:
        target = target._replace(server=request.server)
    credential, told = _credential(target, near, now, separate=separate)
    management = [served.ca, served.serving, *credential]
    asked = _asked(request, target)
    webhook = webhooks.PROGRAMS[request.program]
    edit = None
    if separate:
        management += workload.objects(target, asked, request.replicas)
        url = f"{request.url}{webhook.path}" if given else workload.url(target, webhook.path)
    else:
        edit, more = _edit(target, asked, near)
        told = [*told, *more]
        url = webhook.local_url
    objects = _guest(request, webhook, served.bundle, url)
    gates = publication.GATES if separate else publication.GATES[1:]
    return Plan(choice, management, objects, edit, gates, (*notes, *told), url)


def _derived(request: Request, target: Target) -> Request:
    """What the control plane says itself where the request does not."""
    platform = (
        ((target.thing.get("spec") or {}).get("platform") or {}) if target.flavour == "hypershift" else {}
    )
    azure, aws = platform.get("azure") or {}, platform.get("aws") or {}
    return request._replace(
        tenant_id=request.tenant_id or str(azure.get("tenantID", "")),
        environment=request.environment or str(azure.get("cloud", "")),
        region=request.region or str(aws.get("region", "")),
        image=request.image or config.Settings().install.image,
    )


def _doubts(request: Request, target: Target) -> list[str]:
    found = []
    if request.program == "azwi" and not request.tenant_id:
        found.append(f"{target}: no tenant is given: every ServiceAccount must name its own")
    if request.failure_policy == "Fail":
        found.append("failurePolicy is Fail: while the webhook is down no pod that it serves can be created")
    return found


def _asked(request: Request, target: Target) -> sidecar.Asked:
    return sidecar.Asked(
        webhook=webhooks.PROGRAMS[request.program],
        image=request.image,
        tenant_id=request.tenant_id,
        environment=request.environment,
        region=request.region,
        tls=tlsprofile.of(target.thing)
        if target.flavour == "hypershift"
        else tlsprofile.Tls("VersionTLS12", ()),
    )


def _credential(
    target: Target, near: Mapping[tuple[str, str], Object], now: datetime.datetime, *, separate: bool
) -> tuple[list[Object], list[str]]:
    """The Secret with the kubeconfig, where the guest's signer is at hand; else what to do."""
    kept = near.get(("Secret", identity.KUBECONFIG_SECRET))
    source = target.signer
    signer = near.get(("Secret", source.secret)) if source else None
    root = near.get(("Secret", target.ca.secret))
    if signer is None or root is None:
        missing = ", ".join(sorted({target.ca.secret, *([source.secret] if source else [])}))
        if kept is not None:
            return [kept], []
        return [], [
            f"{target}: Secret {missing} was not given, so Secret {identity.KUBECONFIG_SECRET} is not made: "
            f"put a kubeconfig of the guest there, key 'kubeconfig', for ServiceAccount "
            f"{identity.GUEST_NAMESPACE}/{webhooks.OURS}"
        ]
    trusted = certificates.text_of(root, target.ca.keys[0])
    if separate:
        server = identity.Server(target.server, trusted)
    elif target.flavour == "hypershift":
        server = identity.Server(f"https://localhost:{target.port}", trusted)
    else:
        server = identity.Server(f"https://127.0.0.1:{target.port}", trusted, _SERVER_NAME)
    return [identity.kubeconfig(target, server, signer, kept, now)], []


def _edit(
    target: Target, asked: sidecar.Asked, near: Mapping[tuple[str, str], Object]
) -> tuple[Edit | None, list[str]]:
    """Our entries in the object that owns the API server's pod."""
    owner = target.thing
    if target.flavour == kamaji.NAME and owner["kind"] == kamaji.TENANT:
        name = kamaji.owner_of(owner)
        if name and (kamaji.OWNER, name) not in near:
            return None, [
                f"{target}: {kamaji.OWNER} {name} owns it and was not given: the sidecar belongs there"
            ]
        owner = near.get((kamaji.OWNER, name), owner)
    edit = flavours.ALL[target.flavour].attached(owner, sidecar.ours(asked), sidecar.our_volumes())
    return edit, [] if edit else [f"{owner['kind']} {owner['metadata']['name']} has no place for a container"]


def _guest(request: Request, webhook: webhooks.Webhook, bundle: str, url: str) -> list[Object]:
    """Namespace, account, role, binding and registration, under names of our own."""
    labels = {"app.kubernetes.io/managed-by": install.OWNER}
    account = {"kind": "ServiceAccount", "name": webhooks.OURS, "namespace": identity.GUEST_NAMESPACE}
    wanted = guest.Wanted(
        webhook,
        bundle,
        webhooks.OURS,
        webhooks.OURS,
        f"{webhook.program}.hosted.vestibule.dev",
        url=url,
        subjects=(account,),
        labels=tuple(labels.items()),
        failure_policy=request.failure_policy,
    )
    namespace = {"name": identity.GUEST_NAMESPACE, "labels": labels}
    meta = {"name": webhooks.OURS, "namespace": identity.GUEST_NAMESPACE, "labels": labels}
    role, binding, registration = guest.objects(wanted)
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


def _inside(request: Request) -> list[Object]:
    """The ordinary installation, in the guest; it keeps its certificate itself."""
    data: Object = {
        "vocabularies": [request.program],
        "webhook": {"failurePolicy": request.failure_policy},
        "install": {"namespace": identity.GUEST_NAMESPACE, "replicas": request.replicas},
    }
    if request.image:
        data["install"]["image"] = request.image
    if request.program == "azwi":
        data["azwi"] = {"tenantId": request.tenant_id, "cloud": request.environment}
    elif request.region:
        data["eks"] = {"awsDefaultRegion": request.region}
    return install.objects(config.parse(data, "hosted"))
