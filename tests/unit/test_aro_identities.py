"""What an AzureClusterIdentity may reach: everybody can write one in a namespace of theirs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit import aro
from vestibule.aro import embedded, identities, keys, names
from vestibule.aro.ports import ObjectRef

THEIRS = ObjectRef(names.INFRASTRUCTURE, "AzureClusterIdentity", "team", "id")
SECRET = {"type": "ServicePrincipal", "clientSecret": {"name": "s"}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (
            {**SECRET, "clientSecret": {"name": "s", "namespace": "kube-system"}},
            "spec.clientSecret.namespace",
        ),
        ({"type": "ServicePrincipalCertificate", "certPath": "/etc/keys/tls.pem"}, "spec.certPath"),
        ({**SECRET, "certPath": "/etc/keys/tls.pem"}, "spec.certPath"),
        (
            {"type": "UserAssignedIdentityCredential", "userAssignedIdentityCredentialsPath": "/x"},
            "spec.userAssignedIdentityCredentialsPath",
        ),
        ({"type": "WorkloadIdentity", "clientID": "c"}, "spec.type"),
        ({"type": "UserAssignedMSI", "clientID": "c"}, "spec.type"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_of_its_namespace_is_not_reached(spec: dict[str, Any], field: str) -> None:
    assert field in identities.misplaced(spec, THEIRS, "vestibule-system")


@pytest.mark.parametrize("where", ["", "team"])
def test_a_secret_of_its_own_namespace_is(where: str) -> None:
    spec = {**SECRET, "clientSecret": {"name": "s", "namespace": where}}

    assert identities.misplaced(spec, THEIRS, "vestibule-system") == ""


@pytest.mark.parametrize("kind", ["WorkloadIdentity", "UserAssignedMSI", "UserAssignedIdentityCredential"])
def test_what_is_the_operators_own_is_lent_in_its_namespace(kind: str) -> None:
    spec = {"type": kind, "certPath": "/etc/keys/tls.pem"}

    assert identities.misplaced(spec, THEIRS._replace(namespace="vestibule-system"), "vestibule-system") == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{keys.KMS}.vaultName", "attacker.example/x"),
        (f"{keys.KMS}.vaultName", "a\n"),
        (f"{keys.ACTIVE_KEY}.name", "../../secrets/x"),
    ],
)
def test_a_name_that_would_lead_elsewhere_is_not_asked_for(path: str, value: str) -> None:
    """A login would be sent to the address that is made of it."""
    objects = aro.objects()
    plane = aro.changed(objects["AROControlPlane"], "HcpOpenShiftCluster", path, value)
    (hcp,) = embedded.every(embedded.resources(plane), names.HCP)
    output = keys.wish(hcp)
    assert output is not None
    found = keys.find_version(plane, output, objects["AROCluster"], THEIRS, aro.reader(*objects.values()))

    assert found.error
    assert path in found.condition.message


@pytest.mark.parametrize("value", ["/var/run/secrets/kubernetes.io/serviceaccount/token", "azure.json", 7])
def test_no_file_of_the_operator_stands_for_an_azure(value: Any) -> None:
    """A file that describes a cloud says to whom a login is sent; only the command line names one."""
    objects = aro.objects()
    plane = objects["AROControlPlane"]
    plane["spec"]["azureEnvironment"] = value
    (hcp,) = embedded.every(embedded.resources(plane), names.HCP)
    output = keys.wish(hcp)
    assert output is not None
    found = keys.find_version(plane, output, objects["AROCluster"], THEIRS, aro.reader(*objects.values()))

    assert found.error
    assert "spec.azureEnvironment" in found.condition.message
