"""The values of the chart: names, types, defaults and what they mean.

``values.yaml``, ``values.schema.json`` and the reference page are made from these classes. What is said in
``settings`` has the types of the settings file itself, so a setting is known to the chart when it is known to
the webhook.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from scripts.charts import shapes

from vestibule.api import aso
from vestibule.api.settings import schema
from vestibule.api.settings.section import SettingsSection

Labels = dict[str, str]
_none: Any = msgspec.field(default_factory=dict)
Count = Annotated[int, Meta(ge=1)]
Some = Annotated[int, Meta(ge=0)]
Duration = Annotated[str, Meta(pattern=r"^([0-9]+(h|m|s))+$")]
Namespace = Annotated[str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Namespaces = Annotated[tuple[Namespace, ...], Meta(extra_json_schema={"uniqueItems": True})]
AroKinds = Annotated[
    tuple[Annotated[str, Meta(pattern=aso.PATTERN)], ...],
    Meta(max_length=aso.MOST, extra_json_schema={"uniqueItems": True}),
]
Budgeted = Annotated[int, Meta(ge=0)] | Annotated[str, Meta(pattern=r"^([0-9]+%)?$")]


class Image(SettingsSection, frozen=True):
    """The image of the webhook and of the operator."""

    repository: str = "vestibule"
    """Where it is, without tag."""
    tag: str = ""
    """Empty: the version of the chart."""
    digest: Annotated[str, Meta(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    """``sha256:…``; beats the tag. Pin it in production."""
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When nodes fetch it."""


class Issuer(SettingsSection, frozen=True):
    """An issuer of yours, for ``cert-manager``."""

    name: str = ""
    """Empty: a CA is created for the release."""
    kind: str = "Issuer"
    """``Issuer``, ``ClusterIssuer``, or a kind of your own."""
    group: str = "cert-manager.io"
    """API group of the issuer."""


class Certificate(SettingsSection, frozen=True):
    """Where the serving certificate comes from."""

    mode: Literal["self", "cert-manager", "service-ca", "secret"] = "self"
    """``self``: a CA of its own, issued by a Deployment of its own. ``cert-manager``; ``service-ca``
    of OpenShift; ``secret``: a Secret that you keep."""
    secret_name: str = ""
    """The Secret with ``tls.crt`` and ``tls.key``, for ``secret``; empty: ``<name>-tls``."""
    ca_bundle: str = ""
    """Base64 PEM that the API server verifies the webhook with, for ``secret``."""
    issuer: Issuer = Issuer()
    """An issuer of yours, for ``cert-manager``."""
    duration: Duration = "720h"
    """Life of a certificate from cert-manager."""
    renew_before: Duration = "240h"
    """How long before its end cert-manager renews it."""
    authority_life: Duration = "8760h"
    """Life of a CA of its own, for ``self``."""
    leaf_life: Duration = "720h"
    """Life of a serving certificate of its own, for ``self``."""
    overlap: Duration = "2m"
    """How long a new CA of its own is trusted before it signs, for ``self``."""


class Selector(SettingsSection, frozen=True):
    """A label selector."""

    match_labels: Labels = _none
    """Labels that must be there."""
    match_expressions: shapes.Requirements = ()
    """More conditions on labels, each with ``key``, ``operator`` and ``values``."""


class Webhook(SettingsSection, frozen=True):
    """The webhook and its registration with the API server."""

    enabled: bool = True
    """Install the webhook. Off where the operator is to install it, from a VestibuleWebhook."""
    failure_policy: Literal["Ignore", "Fail"] = "Ignore"
    """``Ignore``: pods start without identity while it is down. ``Fail``: they do not start."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=30)] = 5
    """How long the API server waits for an answer."""
    reinvocation_policy: Literal["Never", "IfNeeded"] = "IfNeeded"
    """``IfNeeded`` serves containers that later webhooks add."""
    namespace_selector: Selector = Selector()
    """Which namespaces the API server sends pods from; empty: all but the excluded ones."""
    object_selector: Selector = Selector()
    """Which pods it sends; empty: all."""
    match_conditions: shapes.Conditions = ()
    """More CEL conditions, each with ``name`` and ``expression``."""
    annotations: Labels = _none
    """Annotations of the webhook configurations."""


class Budget(SettingsSection, frozen=True):
    """How many replicas may be away at once."""

    enabled: bool = True
    """Create a PodDisruptionBudget."""
    max_unavailable: Budgeted = ""
    """Number or percentage; empty, and no ``minAvailable``: 1."""
    min_available: Budgeted = ""
    """Number or percentage, in place of ``maxUnavailable``; as many as there are replicas is refused: no node
    could be drained."""


class NetworkPolicy(SettingsSection, frozen=True):
    """Who may talk to the webhook, and to whom it may."""

    enabled: bool = True
    """Create a NetworkPolicy: reviews and scrapes come in, DNS and the API server go out."""
    reviews_from: shapes.Peers = ()
    """Peers that may send reviews; empty: all, since the API server often has no address of a pod."""
    metrics_from: shapes.Peers = ()
    """Peers that may scrape; empty: all."""
    egress: shapes.Egress = ()
    """More rules for what goes out: an API server on another port, a collector."""


class Rbac(SettingsSection, frozen=True):
    """Rights."""

    create: bool = True
    """Create roles and bindings."""


class ServiceAccount(SettingsSection, frozen=True):
    """The account of the webhook."""

    create: bool = True
    """Create it."""
    name: str = ""
    """Empty: the name of the release's objects."""
    annotations: Labels = _none
    """Annotations of the account."""


class Service(SettingsSection, frozen=True):
    """The Service of the webhook."""

    annotations: Labels = _none
    """Annotations of the Service."""


class ServiceMonitor(SettingsSection, frozen=True):
    """Scraping by the Prometheus operator; of the operator's pods, too, where it is installed."""

    enabled: bool = False
    """Make a ServiceMonitor, and a PodMonitor for the operator."""
    labels: Labels = _none
    """Labels by which your Prometheus finds it."""
    interval: Duration = "30s"
    """How often."""


class Rules(SettingsSection, frozen=True):
    """Alerts."""

    enabled: bool = False
    """Make a PrometheusRule."""
    labels: Labels = _none
    """Labels by which your Prometheus finds it."""
    severity: str = "warning"
    """Label ``severity`` of the alerts that do not wake anybody."""
    urgent: str = "critical"
    """Label ``severity`` of those that do."""


class Dashboard(SettingsSection, frozen=True):
    """A dashboard for Grafana."""

    enabled: bool = False
    """Make a ConfigMap with the dashboard."""
    labels: Labels = msgspec.field(default_factory=lambda: {"grafana_dashboard": "1"})
    """Labels by which the sidecar of Grafana finds it."""
    annotations: Labels = _none
    """Annotations, a folder for instance."""


class Crds(SettingsSection, frozen=True):
    """Definitions of our kinds."""

    install: bool = True
    """Install and upgrade those that are needed; one that another release installed is not changed. They
    stay when the release is removed."""


class Operator(SettingsSection, frozen=True):
    """The operator, which keeps the webhooks that VestibuleWebhook objects ask for."""

    enabled: bool = False
    """Install it."""
    replica_count: Count = 2
    """One leads, the others wait."""
    evictions: bool = False
    """Let it evict pods that missed the webhook, where an object asks for it."""
    hosted: bool = False
    """Let it reconcile HostedWebhooks: it may then read and write Secrets where control planes are."""
    hosted_namespaces: Namespaces = ()
    """The namespaces in which it does; it gets the permissions only there. Each must exist."""
    hosted_all_namespaces: bool = False
    """Instead of named ones: in every namespace. It may then read and write every Secret there is."""
    aro: bool = False
    """Let it reconcile ARO HCP clusters: it may then write Secrets, and the kinds of Azure Service Operator
    that they are made of, everywhere."""
    aro_kinds: AroKinds = ()
    """Kinds of Azure Service Operator that they may embed besides those that clusters are made of, each as
    ``GROUP/KIND/PLURAL``; it may then write them, too."""
    resources: shapes.Resources = _none
    """What differs from 10m CPU and 96Mi memory requested and at most 256Mi, or 512Mi with ``hosted`` or
    ``aro``."""
    priority_class_name: str = ""
    """Priority of its pods."""
    service_account: ServiceAccount = ServiceAccount()
    """Its account; ``name`` is empty: ``<name>-operator``."""
    pod_labels: Labels = _none
    """More labels of its pods."""
    pod_annotations: Labels = _none
    """Annotations of its pods."""
    node_selector: Labels = _none
    """Labels of the nodes it may run on."""
    tolerations: shapes.Tolerations = ()
    """Tolerations of its pods."""
    affinity: shapes.Affinity = _none
    """Where it likes to run."""
    topology_spread_constraints: shapes.Spread = ()
    """How its pods are spread."""


_SETTINGS = [
    (field.name, field.type, field.default)
    for field in msgspec.structs.fields(schema.Settings)
    if field.name not in ("install", "webhook", "self_certificate")
]
Settings = msgspec.defstruct(
    "Settings",
    _SETTINGS,
    bases=(SettingsSection,),
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
    module=__name__,
)
Settings.__doc__ = "The settings file of the webhook, without what the values above say."


class Values(SettingsSection, frozen=True):
    """The values of the chart."""

    name_override: str = ""
    """In place of the chart's name in the name of the objects."""
    fullname_override: str = ""
    """The name of the objects, at most 40 characters."""
    image: Image = Image()
    """The image of the webhook and of the operator."""
    image_pull_secrets: shapes.PullSecrets = ()
    """Secrets with which nodes fetch it, each with ``name``."""
    labels: Labels = _none
    """More labels of every object."""
    annotations: Labels = _none
    """Annotations of every object."""
    settings: Settings = Settings()  # type: ignore[valid-type]
    """The settings file of the webhook: dialects, clouds, exclusions. See the reference of settings."""
    webhook: Webhook = Webhook()
    """The webhook and its registration."""
    certificate: Certificate = Certificate()
    """Where the serving certificate comes from."""
    guard: bool = True
    """Freeze the annotations that were written at admission."""
    final_check: Literal["off", "warn", "audit", "deny"] | bool = "off"
    """What happens to a pod that requested an identity and has none: ``off``, ``warn``, ``audit`` or
    ``deny``."""
    replica_count: Count = 2
    """Replicas of the webhook; every one serves."""
    resources: shapes.Resources = msgspec.field(
        default_factory=lambda: {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "128Mi"},
        }
    )
    """Requests and limits; no CPU limit, because throttling shows as latency of every pod creation."""
    priority_class_name: str = "system-cluster-critical"
    """Priority of the pods."""
    topology_spread_constraints: shapes.Spread = ()
    """How pods are spread; empty: over nodes and zones."""
    affinity: shapes.Affinity = _none
    """Where pods like to run."""
    node_selector: Labels = _none
    """Labels of the nodes they may run on."""
    tolerations: shapes.Tolerations = ()
    """Taints they live with."""
    pod_labels: Labels = _none
    """More labels of the pods."""
    pod_annotations: Labels = _none
    """Annotations of the pods."""
    pod_security_context: shapes.PodSecurity = _none
    """What differs from the restricted one; ``null`` leaves a field out, as OpenShift requires for
    ``runAsUser``, ``runAsGroup`` and ``fsGroup``."""
    revision_history_limit: Some = 10
    """Old ReplicaSets that are retained."""
    extra_env: shapes.Environment = ()
    """More variables of the webhook."""
    extra_volumes: shapes.Volumes = ()
    """More volumes of the pods."""
    extra_volume_mounts: shapes.Mounts = ()
    """Where they are mounted."""
    service: Service = Service()
    """The Service."""
    service_account: ServiceAccount = ServiceAccount()
    """The account."""
    rbac: Rbac = Rbac()
    """Rights."""
    pod_disruption_budget: Budget = Budget()
    """How many replicas may be away at once."""
    network_policy: NetworkPolicy = NetworkPolicy()
    """Who may talk to the webhook, and to whom it may."""
    service_monitor: ServiceMonitor = ServiceMonitor()
    """Scraping."""
    prometheus_rule: Rules = Rules()
    """Alerts."""
    dashboard: Dashboard = Dashboard()
    """A dashboard."""
    crds: Crds = Crds()
    """Definitions of our kinds."""
    operator: Operator = Operator()
    """The operator."""
