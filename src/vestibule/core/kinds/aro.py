"""``AROCluster``, ``AROControlPlane`` and ``AROMachinePool``: the shapes of their specs and statuses.

Decisions read the objects as they are; from these types their definitions are made, so that what is written
has a place to stand.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Resource = dict[str, Any]
_Text = Annotated[str, msgspec.Meta(max_length=4096)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of an object."""


class Endpoint(_Part, frozen=True):
    """Where the API server of the cluster is."""

    host: Annotated[str, msgspec.Meta(min_length=1, max_length=512)] | None = None
    """Name or address."""
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] | None = None


class Reference(_Part, frozen=True):
    """A reference to an object of Kubernetes."""

    apiVersion: str | None = None  # noqa: N815 - as it is written
    kind: str | None = None
    namespace: str | None = None
    """Empty: that of the object."""
    name: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 - as it is written
    fieldPath: str | None = None  # noqa: N815 - as it is written


class ClusterSpec(_Part, frozen=True):
    """The infrastructure."""

    resources: list[Resource] | None = None
    """Whole objects of Azure Service Operator: resource group, networks, vault, identities."""
    controlPlaneEndpoint: Endpoint | None = None  # noqa: N815 - as it is written
    """Written from the control plane's status; not for users."""
    subscriptionID: str | None = None  # noqa: N815 - as it is written
    """Accepted for older manifests; not used."""
    identityRef: Reference | None = None  # noqa: N815 - as it is written
    """Accepted for older manifests; not used."""


class ControlPlaneSpec(_Part, frozen=True):
    """The cluster."""

    resources: list[Resource] | None = None
    """One HcpOpenShiftCluster, and at most one HcpOpenShiftClustersExternalAuth, as whole objects."""
    identityRef: Reference | None = None  # noqa: N815 - as it is written
    """The AzureClusterIdentity with which the key of etcd is found or made; without one, name the version of
    the key yourself."""
    subscriptionID: str | None = None  # noqa: N815 - as it is written
    """The subscription of the vault; empty: read from the vault itself."""
    azureEnvironment: str | None = None  # noqa: N815 - as it is written
    """AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud; empty: the first."""


class MachinePoolSpec(_Part, frozen=True):
    """A node pool."""

    resources: list[Resource]
    """One HcpOpenShiftClustersNodePool, as a whole object."""
    providerIDList: list[str] | None = None  # noqa: N815 - as it is written
    """The nodes there are; not for users."""


class ResourceId(_Part, frozen=True):
    """Which resource."""

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""


class ResourceStatus(_Part, frozen=True):
    """How far one embedded resource is."""

    resource: ResourceId
    ready: bool
    reason: str | None = None
    severity: str | None = None
    message: _Text | None = None
    observedGeneration: int | None = None  # noqa: N815 - as it is written


class ClusterInitialization(_Part, frozen=True):
    """What Cluster API latches."""

    provisioned: bool | None = None


class ControlPlaneInitialization(_Part, frozen=True):
    """What Cluster API latches."""

    controlPlaneInitialized: bool | None = None  # noqa: N815 - as it is written


class FailureDomain(_Part, frozen=True):
    """Never filled."""

    name: str
    controlPlane: bool | None = None  # noqa: N815 - as it is written


class ClusterStatus(_Part, frozen=True):
    """Of an AROCluster."""

    ready: bool | None = None
    initialization: ClusterInitialization | None = None
    failureDomains: list[FailureDomain] | None = None  # noqa: N815 - as it is written
    resources: list[ResourceStatus] | None = None


class ControlPlaneStatus(_Part, frozen=True):
    """Of an AROControlPlane."""

    ready: bool
    initialization: ControlPlaneInitialization | None = None
    id: str | None = None
    consoleURL: str | None = None  # noqa: N815 - as it is written
    apiURL: str | None = None  # noqa: N815 - as it is written
    version: str | None = None
    failureMessage: str | None = None  # noqa: N815 - as it is written
    resources: list[ResourceStatus] | None = None


class MachinePoolStatus(_Part, frozen=True):
    """Of an AROMachinePool."""

    ready: bool
    replicas: int | None = None
    id: str | None = None
    version: str | None = None
    provisioningState: str | None = None  # noqa: N815 - as it is written
    failureMessage: str | None = None  # noqa: N815 - as it is written
    initialization: ClusterInitialization | None = None
    resources: list[ResourceStatus] | None = None
