"""CredentialsRequests from files: which count, what is wrong with file and line, names that stay inside."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.azure import values
from vestibule.errors import InvalidInput
from vestibule.provision import credentials_requests
from vestibule.provision.azure import manifests, names
from vestibule.provision.yamlscalars import scalar

GOOD = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata:
  name: {name}
spec:
  serviceAccountNames: {accounts}
  secretRef:
    name: {secret}
    namespace: {namespace}
  providerSpec:
    kind: AzureProviderSpec
    roleBindings:
    - role: Reader
"""


def text(name: str = "cr1", to: str = "secret1", namespace: str = "ns1", accounts: str = "[sa-one]") -> str:
    return GOOD.format(name=name, secret=to, namespace=namespace, accounts=accounts)


def load(folder: Path, **files: str) -> credentials_requests.CredentialsRequests:
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    return credentials_requests.load(folder, "azure")


@pytest.mark.parametrize("namespace", ["../../x", "..", "a/b", "/etc", "ns1/../..", ""])
def test_a_secret_cannot_name_a_place_outside(tmp_path: Path, namespace: str) -> None:
    with pytest.raises(InvalidInput, match=r"a\.yaml:9: CredentialsRequest cr1: spec.secretRef.namespace"):
        load(tmp_path, a_yaml=text(namespace=f'"{namespace}"'))


def test_empty_and_missing_and_doubled_accounts_are_refused_with_file_and_line(tmp_path: Path) -> None:
    files = {
        "a.yaml": text("cr1", "s1", accounts="[]"),
        "b.yaml": text("cr2", "s2", accounts="[sa, sa]"),
        "c.yaml": text("cr3", "s3").replace("  serviceAccountNames: [sa-one]\n", ""),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)

    with pytest.raises(InvalidInput) as caught:
        credentials_requests.load(tmp_path, "azure")

    assert [problem.place.rpartition("/")[2] for problem in caught.value.problems] == [
        "a.yaml:6",
        "b.yaml:6",
        "c.yaml:5",
    ]


def test_two_requests_for_one_secret_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"ns1/secret1, which cr1 .* asks for too"):
        load(tmp_path, a_yaml=text("cr1") + "---\n" + text("cr2"))


def test_what_is_no_request_and_what_is_another_clouds_is_passed_over_visibly(tmp_path: Path) -> None:
    other = text("aws", "s2").replace("AzureProviderSpec", "AWSProviderSpec")
    found = load(
        tmp_path, a_yaml=f"# nothing\n---\nkind: ConfigMap\n---\n{other}---\n{text()}---\n", b_txt=text("x")
    )

    assert [request.name for request in found.requests] == ["cr1"]
    assert [(one.name, one.why) for one in found.skipped] == [
        ("ConfigMap", "is no CredentialsRequest"),
        ("aws", "is a request of another cloud (AWSProviderSpec)"),
    ]


def test_a_directory_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="absent: cannot be listed"):
        credentials_requests.load(tmp_path / "absent", "azure")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\x85\u2028\u2029\ufeff"), max_size=40))
def test_every_scalar_is_read_back_as_the_text_it_was(value: str) -> None:
    assert yaml.safe_load(f"key: {scalar(value)}") == {"key": value}


@pytest.mark.parametrize("odd", ["y", "No", "0x1F", "1e3", "12:30", "2020-01-01", "~", "007", "1_000", ".5"])
def test_what_some_reader_takes_for_something_else_is_quoted(odd: str) -> None:
    assert scalar(odd) == f'"{odd}"'


def test_a_secret_is_what_an_installer_reads() -> None:
    request = values.request()

    created = manifests.secret(
        request, client=values.CLIENT, tenant=values.TENANT, region="eastus", subscription=values.SUBSCRIPTION
    )

    assert created == (
        "apiVersion: v1\nstringData:\n"
        f"  azure_client_id: {values.CLIENT}\n  azure_tenant_id: {values.TENANT}\n  azure_region: eastus\n"
        f"  azure_subscription_id: {values.SUBSCRIPTION}\n"
        "  azure_federated_token_file: /var/run/secrets/openshift/serviceaccount/token\n"
        "kind: Secret\nmetadata:\n  name: secret1\n  namespace: ns1\ntype: Opaque"
    )


def test_a_secret_without_an_identity_cannot_be_applied() -> None:
    created = manifests.secret(values.request(), client="", tenant="", region="r", subscription="s")

    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(created)


@given(st.text("abc-.xyz019", min_size=1, max_size=200), st.text("abc-.xyz019", min_size=1, max_size=200))
def test_names_that_differ_stay_different_and_legal(one: str, other: str) -> None:
    created = [names.identity("demo1", "ns1", secret) for secret in (one, other)]

    assert all(len(name) <= 128 for name in created)
    assert (created[0] == created[1]) == (one == other)


@pytest.mark.parametrize("account", ["ab", "a.b.c", "x" * 121, "machine-api-controllers"])
def test_every_account_gets_a_credential_name_that_azure_takes(account: str) -> None:
    import re

    assert re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9-_]{2,119}", names.credential(account))
    assert (names.credential(account) == account) == (account == "machine-api-controllers")
