"""The kinds we read or write, with what a client needs to address them."""

from __future__ import annotations

import msgspec


class Kind(msgspec.Struct, frozen=True, eq=False):
    """Group, version, kind, plural; ``str()`` is the form people write.

    Compared by identity: there is one object per kind, and it is a key of every cache.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    api_version: str = ""
    """``apps/v1``, or ``v1`` for the core group."""

    def __post_init__(self) -> None:
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        msgspec.structs.force_setattr(self, "api_version", api_version)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")
POD = Kind("", "v1", "Pod", "pods")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets")
JOB = Kind("batch", "v1", "Job", "jobs")
CRON_JOB = Kind("batch", "v1", "CronJob", "cronjobs")
IDENTITY_POLICY = Kind("vestibule.dev", "v1alpha1", "IdentityPolicy", "identitypolicies", namespaced=False)
VESTIBULE_WEBHOOK = Kind(
    "vestibule.dev", "v1alpha1", "VestibuleWebhook", "vestibulewebhooks", namespaced=False
)
PUBLISHED_ISSUER = Kind("vestibule.dev", "v1alpha1", "PublishedIssuer", "publishedissuers", namespaced=False)
KATA_CONFIG = Kind("kataconfiguration.openshift.io", "v1", "KataConfig", "kataconfigs", namespaced=False)
OSC_WEBHOOK_CONFIG = Kind(
    "kataconfiguration.openshift.io", "v1alpha1", "OSCWebhookConfig", "oscwebhookconfigs", namespaced=False
)
RUNTIME_CLASS = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)

KNOWN: tuple[Kind, ...] = (
    NAMESPACE,
    SERVICE_ACCOUNT,
    POD,
    CONFIG_MAP,
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    DAEMON_SET,
    JOB,
    CRON_JOB,
    IDENTITY_POLICY,
    KATA_CONFIG,
    OSC_WEBHOOK_CONFIG,
    RUNTIME_CLASS,
)
BY_KIND: dict[str, Kind] = {kind.kind: kind for kind in KNOWN}
"""By the kind's name alone; names are unique among the kinds we know."""
