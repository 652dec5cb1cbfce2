"""The one settings file: its schema, its defaults and why they are so. The reference page is made from
these texts.

Every field can be left out. Names in the file are camelCase (``mountRoot``); flags and ``CWII_*`` variables
override the file. Reading the file is not done here: ``parse`` takes decoded data and gives Settings or
every problem at once.
"""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

import msgspec

from vestibule import errors
from vestibule.api.annotation_keys import DialectName
from vestibule.api.settings import checks
from vestibule.api.settings.azwi import AzwiSettings
from vestibule.api.settings.eks import EksSettings
from vestibule.api.settings.podlimits import PodLimits
from vestibule.api.settings.section import SettingsSection
from vestibule.api.settings.wif import WifSettings

Mode = Literal["better", "strict"]
Delivery = Literal["annotation", "config-map", "init-container"]


class ExcludeSettings(SettingsSection, frozen=True):
    """Pods that are never touched, whatever their annotations say (``better`` only; mirror pods are
    always out)."""

    namespaces: tuple[str, ...] = ("kube-system", "kube-node-lease")
    """Namespaces, exact or with ``*``; our own namespace is always added."""
    host_network: bool = False
    """Also leave pods on the host network alone. Projected tokens work there, so the default is to serve
    them."""


class GcpSettings(SettingsSection, frozen=True):
    """Google Cloud: workload identity federation through an external-account credentials file."""

    enabled: bool = True
    """Switched off here, no annotation switches it on."""
    default_audience: str = ""
    """Full name of the workload identity provider, used where no object names one; empty: an annotation
    must."""
    delivery: Delivery | None = None
    """How the credentials file reaches the pod. Default: ``annotation`` (``config-map`` in ``strict``)."""
    allow_config_map_writes: bool | None = None
    """Whether the webhook may write ConfigMaps. Default: no (yes in ``strict``); ``config-map`` then
    falls back to ``annotation``."""
    init_image: str = "busybox:1.38.0"
    """Image of the container that writes the file in ``init-container`` delivery."""
    verify_image: str = "google/cloud-sdk:572.0.0-slim"
    """Image of the verify container."""


class AwsSettings(SettingsSection, frozen=True):
    """AWS: AssumeRoleWithWebIdentity through environment variables."""

    enabled: bool = True
    """Switched off here, no annotation switches it on."""
    default_audience: str = "sts.amazonaws.com"
    """Audience of the token where no object names one."""
    verify_image: str = "amazon/aws-cli:2.35.4"
    """Image of the verify container."""


class AzureSettings(SettingsSection, frozen=True):
    """Azure: federated identity credentials through environment variables."""

    enabled: bool = True
    """Switched off here, no annotation switches it on."""
    default_audience: str = "api://AzureADTokenExchange"
    """Audience of the token where no object names one."""
    verify_image: str = "mcr.microsoft.com/azure-cli:2.84.0"
    """Image of the verify container."""
    authority_hosts: tuple[str, ...] = ()
    """Host names, besides Microsoft's own, that an authority-host annotation may name without a warning:
    a pod sends its token there."""


class SandboxSettings(SettingsSection, frozen=True):
    """Kata and confidential containers, driven by ``KataConfig`` and ``OSCWebhookConfig``."""

    enabled: bool = False
    """Read KataConfigs and OSCWebhookConfigs, and give pods their runtime class, annotations and sizes."""


class VerifySettings(SettingsSection, frozen=True):
    """The container that checks the identity before the pod starts (``better``; ``strict`` has the
    specification of the upstream webhook)."""

    cpu: str = "250m"
    """Request and limit, equal, so that a Guaranteed pod stays Guaranteed."""
    memory: str = "512Mi"
    """Request and limit; the cloud command lines need 150-300 MiB at start."""
    run_as_user: int = 65532
    """Numeric and not root, as the ``restricted`` Pod Security profile requires."""
    timeout_seconds: int = 60
    """For one attempt; there are three."""


class WebhookSettings(SettingsSection, frozen=True):
    """How the API server calls us: what ``vestibule render`` writes into the MutatingWebhookConfiguration."""

    failure_policy: Literal["Ignore", "Fail"] = "Ignore"
    """``Ignore``: pods start without identity while we are down. ``Fail``: they do not start."""
    timeout_seconds: int = 5
    """1 to 30. We answer, or shed, within half of it."""
    reinvocation_policy: Literal["Never", "IfNeeded"] = "IfNeeded"
    """``IfNeeded`` serves containers that later webhooks add; a second pass changes nothing else."""
    namespace_selector: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels a namespace must have; empty: all but the excluded ones."""
    object_selector: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels a pod must have; empty: all."""


class InstallSettings(SettingsSection, frozen=True):
    """The objects ``vestibule render`` prints."""

    name: str = "vestibule"
    """Name of the Deployment, Service, ServiceAccount and roles."""
    namespace: str = "vestibule-system"
    """Where they live; never served by the webhook itself."""
    image: str = "vestibule:latest"
    """Image of the webhook; pin a digest in production."""
    replicas: int = 2
    """Every replica serves; 3 for clusters that must not notice a node loss during a rollout."""
    cpu: str = "100m"
    """Request; there is no CPU limit, because throttling shows as latency of every pod creation."""
    memory: str = "128Mi"
    """Request and limit."""
    ca_bundle: str = ""
    """Base64 PEM the API server verifies us with, where the certificate is your own (``secret``)."""
    certificate: Literal["self", "cert-manager", "secret", "service-ca"] = "self"
    """Where the serving certificate comes from: a CA that is stored and rotated by a separate Deployment,
    ``<name>-certificates``; cert-manager; a Secret that you manage (``<name>-tls``); or OpenShift's service
    CA."""
    guard: bool = True
    """Add ValidatingAdmissionPolicies: one freezes the annotations we wrote on running pods, one limits who
    issues our own certificate to the caBundle of our webhook configurations."""
    final_check: Literal["off", "warn", "audit", "deny"] = "off"
    """Add a ValidatingAdmissionPolicy that checks the final pod: if it requested an identity and has
    none, it is reported as a warning, recorded in the audit log, or refused. It works while the webhook is
    down, too."""
    evictions: bool = False
    """Let the operator evict pods that missed the webhook, where an object asks for it; for ``render
    --operator`` alone."""
    hosted: bool = False
    """Let the operator reconcile HostedWebhooks: it may then read and write Secrets where control planes
    are; for ``render --operator`` alone."""
    hosted_namespaces: tuple[str, ...] = ()
    """The namespaces in which it does; it gets the permissions only there. Each must exist."""
    hosted_all_namespaces: bool = False
    """Instead of named ones: in every namespace of the cluster. The operator may then read and write every
    Secret there is."""
    aro: bool = False
    """Let the operator reconcile ARO HCP clusters: it may then write Secrets, and the kinds of Azure Service
    Operator that they are made of, everywhere; for ``render --operator`` alone."""
    aro_kinds: tuple[str, ...] = ()
    """Kinds of Azure Service Operator that they may embed besides those that clusters are made of, each as
    ``GROUP/KIND/PLURAL``; the operator may then write them, too."""
    settings: str = ""
    """Name of a ConfigMap with ``settings.json`` to mount; empty: one is created from the current
    settings."""
    api_servers: tuple[str, ...] = ()
    """Addresses or networks (CIDR) of the API servers, as our pods see them: the NetworkPolicy then lets
    reviews in from there alone. Empty: from anywhere, since many clusters cannot say."""
    client_ca: str = ""
    """Name of a ConfigMap with ``ca.crt``, the CA of the API servers' client certificates: it is mounted, and
    only callers with a certificate from it are served. ``render --api-server`` prints the other side."""


class ServingSettings(SettingsSection, frozen=True):
    """Sockets, limits and files of the webhook process."""

    addr: str = "0.0.0.0:8443"
    """Where reviews are answered; ``[::]:8443`` serves IPv6 and IPv4."""
    metrics_addr: str = "0.0.0.0:8080"
    """Where ``/metrics``, ``/healthz`` and ``/readyz`` are answered in plain HTTP; empty: nowhere."""
    health_addr: str = ""
    """Where ``/healthz`` and ``/readyz`` are answered in plain HTTP besides ``metricsAddr``; empty: nowhere
    else."""
    tls_cert: str = "/tls/tls.crt"
    """Certificate chain, PEM; reloaded on change."""
    tls_key: str = "/tls/tls.key"
    """Private key, PEM; reloaded on change."""
    tls_min_version: Literal["1.2", "1.3"] = "1.2"
    """Lowest supported version; 1.3 is preferred always."""
    tls_cipher_suites: tuple[str, ...] = ()
    """TLS 1.2 suites by their IANA names or OpenSSL's; empty: the forward-secret, authenticated ones. TLS
    1.3 has only such."""
    client_ca: str = ""
    """PEM bundle; when set, only callers with a certificate from it are served."""
    client_names: tuple[str, ...] = ()
    """Names (common name or DNS) such a certificate must carry; empty: any."""
    max_connections: int = 1000
    """Open connections; above it the ones that have been idle or slow for longest are closed, so that a new
    caller is always served."""
    max_inflight: int = 256
    """Requests that wait for a lookup at the same time; above it they are shed."""
    drain_seconds: float = 5.0
    """How long the webhook continues to serve after SIGTERM, until the endpoints no longer contain its
    address."""
    grace_seconds: float = 20.0
    """How long requests in flight may take after that."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""
    audit: bool = True
    """One JSON line for every verdict on standard output."""
    otel_enabled: bool = False
    """Push metrics and spans to an OpenTelemetry collector; needs the ``otel`` extra."""
    otel_endpoint: str = ""
    """Where to, OTLP over gRPC (``http://collector:4317``); empty: the ``OTEL_EXPORTER_OTLP_*``
    variables decide."""


class CertificateSettings(SettingsSection, frozen=True):
    """A CA and a leaf of our own, issued by ``vestibule certificates`` and mounted by the replicas;
    ``render`` sets everything except the lifetimes."""

    secret: str = ""
    """Name of the Secret that replicas mount."""
    webhook_configuration: str = ""
    """Name of the MutatingWebhookConfiguration whose caBundle we keep."""
    sandbox_configuration: str = ""
    """Name of the one for sandboxes, whose caBundle we keep, too; empty: there is none. It need not exist
    yet."""
    validating_configuration: str = ""
    """Name of the ValidatingWebhookConfiguration, whose caBundle we keep, too; empty: there is none. It need
    not exist yet."""
    lease: str = ""
    """Name of the Lease by which processes elect who issues."""
    names: tuple[str, ...] = ()
    """Names in the certificate: the Service as the API server calls it."""
    authority_life: str = "8760h"
    """Lifetime of a CA; its successor is created with a third of that left."""
    leaf_life: str = "720h"
    """Lifetime of a serving certificate; renewed with a third of that left."""
    overlap: str = "2m"
    """How long a new CA is trusted before it signs."""


class Settings(SettingsSection, frozen=True):
    """Everything an administrator can set."""

    mode: Mode = "better"
    """``better`` fixes the defects of the upstream webhook and warns the user; ``strict`` produces the same
    pod and the same response."""
    vocabularies: tuple[DialectName, ...] = ("cwii",)
    """Dialects in order of precedence: where two request the same cloud, the first one is used, and the user
    gets a warning. ``cwii`` is ``cwii.dev/*``, ``azwi`` is ``azure.workload.identity/*``, ``eks`` is
    ``eks.amazonaws.com/*``, ``wif`` is ``cloud.google.com/*``, ``gke`` is ``iam.gke.io/*``."""
    mount_root: str = "/var/run/secrets/cwii.dev"
    """Directory in the containers below which tokens appear."""
    token_expiration_seconds: int = 3600
    """Life of a token where no object says otherwise; raised to 600 when lower."""
    max_token_expiration_seconds: int = 86400
    """Longest token lifetime that an annotation may request (``better``); longer values are reduced and
    reported."""
    native_annotations: bool = False
    """Also understand the four GKE, EKS and Azure keys on their own."""
    required: bool = False
    """Refuse a pod that asks for an identity it cannot get, instead of a warning. Per object:
    ``cwii.dev/<cloud>-required``."""
    on_invalid: Literal["warn", "refuse"] = "warn"
    """What happens to a pod whose identity is malformed (an ARN that is none, a client id that is no
    GUID)."""
    on_forbidden: Literal["fault", "pass-over"] = "fault"
    """What happens when the cluster does not let us read namespaces or workloads. ``fault``: pods are not
    decided, and we are not ready. ``pass-over``: they count as having no annotations, and the log records
    that once."""
    identity_policies: bool = False
    """Read the IdentityPolicy objects of the cluster too, and install their kind."""
    policies: tuple[Any, ...] = ()
    """IdentityPolicies: identities and limits for many accounts at once, each with ``name``, ``match``,
    ``identities``, ``limits``, ``locked``, ``envFrom``, ``priority`` and ``variables``. Settings with one
    that cannot be understood are refused."""
    exclude: ExcludeSettings = ExcludeSettings()
    """Pods that are never touched."""
    gcp: GcpSettings = GcpSettings()
    """Google Cloud."""
    aws: AwsSettings = AwsSettings()
    """AWS."""
    az: AzureSettings = AzureSettings()
    """Azure."""
    azwi: AzwiSettings = AzwiSettings()
    """Azure Workload Identity, where ``vocabularies`` names it."""
    eks: EksSettings = EksSettings()
    """EKS, where ``vocabularies`` names it."""
    wif: WifSettings = WifSettings()
    """The GCP workload identity federation webhook and GKE, where ``vocabularies`` names them."""
    sandbox: SandboxSettings = SandboxSettings()
    """Kata and confidential containers."""
    pod_limits: PodLimits = PodLimits()
    """Caps that keep one pod from costing more than its share."""
    verify: VerifySettings = VerifySettings()
    """The verify container."""
    webhook: WebhookSettings = WebhookSettings()
    """How the API server calls us."""
    install: InstallSettings = InstallSettings()
    """What ``vestibule render`` prints."""
    serving: ServingSettings = ServingSettings()
    """The process."""
    self_certificate: CertificateSettings = CertificateSettings()
    """The certificate, where it is our own."""

    @property
    def gcp_delivery(self) -> Delivery:
        """The delivery in force."""
        return self.gcp.delivery or ("config-map" if self.mode == "strict" else "annotation")

    @property
    def config_map_writes(self) -> bool:
        """Whether ConfigMaps may be written."""
        chosen = self.gcp.allow_config_map_writes
        return self.mode == "strict" if chosen is None else chosen


def parse(data: Any, place: str) -> Settings:
    """Settings from decoded data; raises InvalidSettings with every problem, each with its path."""
    try:
        settings = msgspec.convert(data, Settings)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise errors.InvalidSettings(
            errors.InputProblem(place, path.rstrip("`").removeprefix("$").lstrip("."), text)
        ) from error
    found = checks.problems(settings, place)
    if found:
        raise errors.InvalidSettings(*found)
    return settings


DELIVERIES: Final[tuple[str, ...]] = get_args(Delivery)


def delivery(text: str) -> Delivery | None:
    """A delivery as people spell it (case, ``_`` for ``-``, or neither); None when it is none."""
    folded = "".join(c.lower() if c.isascii() else c for c in text).replace("_", "-")
    spelled: dict[str, Delivery] = {
        "annotation": "annotation",
        "config-map": "config-map",
        "configmap": "config-map",
        "init-container": "init-container",
        "initcontainer": "init-container",
    }
    return spelled.get(folded)
