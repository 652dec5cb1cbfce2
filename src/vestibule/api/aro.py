"""``AROCluster``, ``AROControlPlane`` and ``AROMachinePool``: the shapes of their specs and statuses.

Decisions read the objects as they are; the CRDs are generated from these types, so that they accept every
written field.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Resource = dict[str, Any]
_Text = Annotated[str, msgspec.Meta(max_length=4096)]


class _AroPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of an object."""


class ControlPlaneEndpoint(_AroPart, frozen=True):
    """Where the API server of the cluster is."""

    host: Annotated[str, msgspec.Meta(min_length=1, max_length=512)] | None = None
    """Name or address."""
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] | None = None
    """Port of the API server."""


class ObjectReference(_AroPart, frozen=True):
    """A reference to an object of Kubernetes."""

    apiVersion: str | None = None  # noqa: N815 - as it is written
    """API version of the object."""
    kind: str | None = None
    """Kind of the object."""
    namespace: str | None = None
    """Empty: that of the object."""
    name: str | None = None
    """Name of the object."""
    uid: str | None = None
    """Uid of the object."""
    resourceVersion: str | None = None  # noqa: N815 - as it is written
    """Resource version; not used."""
    fieldPath: str | None = None  # noqa: N815 - as it is written
    """Path inside the object; not used."""


class ClusterSpec(_AroPart, frozen=True):
    """The infrastructure."""

    resources: list[Resource] | None = None
    """Whole objects of Azure Service Operator: resource group, networks, vault, identities."""
    controlPlaneEndpoint: ControlPlaneEndpoint | None = None  # noqa: N815 - as it is written
    """Written from the control plane's status; not for users."""
    subscriptionID: str | None = None  # noqa: N815 - as it is written
    """Accepted for older manifests; not used."""
    identityRef: ObjectReference | None = None  # noqa: N815 - as it is written
    """Accepted for older manifests; not used."""


class ControlPlaneSpec(_AroPart, frozen=True):
    """The cluster."""

    resources: list[Resource] | None = None
    """One HcpOpenShiftCluster, and at most one HcpOpenShiftClustersExternalAuth, as whole objects."""
    identityRef: ObjectReference | None = None  # noqa: N815 - as it is written
    """The AzureClusterIdentity with which the key of etcd is found or made; without one, name the version of
    the key yourself."""
    subscriptionID: str | None = None  # noqa: N815 - as it is written
    """The subscription of the vault; empty: read from the vault itself."""
    azureEnvironment: str | None = None  # noqa: N815 - as it is written
    """AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud; empty: the first."""


class MachinePoolSpec(_AroPart, frozen=True):
    """A node pool."""

    resources: list[Resource]
    """One HcpOpenShiftClustersNodePool, as a whole object."""
    providerIDList: list[str] | None = None  # noqa: N815 - as it is written
    """The nodes there are; not for users."""


class ResourceId(_AroPart, frozen=True):
    """Which resource."""

    group: str = ""
    """API group."""
    version: str = ""
    """API version."""
    kind: str = ""
    """Kind."""
    name: str = ""
    """Name."""


class ResourceStatus(_AroPart, frozen=True):
    """How far one embedded resource is."""

    resource: ResourceId
    """The embedded resource."""
    ready: bool
    """Whether its Ready condition is True for its present generation."""
    reason: str | None = None
    """Reason of its Ready condition."""
    severity: str | None = None
    """Severity of its Ready condition: Error, Warning or Info."""
    message: _Text | None = None
    """Message of its Ready condition."""
    observedGeneration: int | None = None  # noqa: N815 - as it is written
    """Generation that its Ready condition describes."""


class ClusterInitialization(_AroPart, frozen=True):
    """What Cluster API latches."""

    provisioned: bool | None = None
    """Whether it was ever provisioned; never goes back to false."""


class ControlPlaneInitialization(_AroPart, frozen=True):
    """What Cluster API latches."""

    controlPlaneInitialized: bool | None = None  # noqa: N815 - as it is written
    """Whether the API server was ever reachable; never goes back to false."""


class FailureDomain(_AroPart, frozen=True):
    """Never filled."""

    name: str
    """Name of the failure domain."""
    controlPlane: bool | None = None  # noqa: N815 - as it is written
    """Whether control planes may run there."""


class ClusterStatus(_AroPart, frozen=True):
    """Of an AROCluster."""

    ready: bool | None = None
    """Whether all infrastructure is ready (contract v1beta1)."""
    initialization: ClusterInitialization | None = None
    """First provisioning, as Cluster API reads it."""
    failureDomains: list[FailureDomain] | None = None  # noqa: N815 - as it is written
    """Failure domains; always empty."""
    resources: list[ResourceStatus] | None = None
    """State of every embedded resource."""


class ControlPlaneStatus(_AroPart, frozen=True):
    """Of an AROControlPlane."""

    ready: bool
    """Whether the control plane is ready (contract v1beta1)."""
    initialization: ControlPlaneInitialization | None = None
    """First initialization, as Cluster API reads it."""
    id: str | None = None
    """Resource id of the cluster in Azure."""
    consoleURL: str | None = None  # noqa: N815 - as it is written
    """Address of the web console."""
    apiURL: str | None = None  # noqa: N815 - as it is written
    """Address of the API server."""
    version: str | None = None
    """Version of the control plane."""
    failureMessage: str | None = None  # noqa: N815 - as it is written
    """Terminal error, if any."""
    resources: list[ResourceStatus] | None = None
    """State of every embedded resource."""


class MachinePoolStatus(_AroPart, frozen=True):
    """Of an AROMachinePool."""

    ready: bool
    """Whether the node pool is ready (contract v1beta1)."""
    replicas: int | None = None
    """Number of nodes."""
    id: str | None = None
    """Resource id of the node pool in Azure."""
    version: str | None = None
    """Version of the nodes."""
    provisioningState: str | None = None  # noqa: N815 - as it is written
    """Provisioning state in Azure."""
    failureMessage: str | None = None  # noqa: N815 - as it is written
    """Terminal error, if any."""
    initialization: ClusterInitialization | None = None
    """First provisioning, as Cluster API reads it."""
    resources: list[ResourceStatus] | None = None
    """State of every embedded resource."""
