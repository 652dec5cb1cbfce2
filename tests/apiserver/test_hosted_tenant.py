"""A tenant against the operator of hosted control planes: ``edit`` in one namespace and our kinds there.

They try to run programs, to read files, to have credentials sent elsewhere, to reach the operator's own
machine, and to use Secrets of other namespaces. The operator is a process with its rendered rights.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operator_installation import OperatorInstallation, operator_installed
from tests.apiserver.tenant import API, Listener, Tenant, tenant
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
REFUSED = "KubeconfigRefused"


@pytest.fixture
def attacker(control_plane: ControlPlane) -> Iterator[Tenant]:
    created = tenant(control_plane)
    yield created
    if control_plane.admin.get(at("hostedwebhooks", api=API)).status == 404:
        return
    for name in control_plane.admin.list(at("hostedwebhooks", created.namespace, api=API)):
        where = at("hostedwebhooks", created.namespace, name["metadata"]["name"], api=API)
        control_plane.admin.patch(where, {"metadata": {"finalizers": []}})
    control_plane.admin.delete(at("namespaces", name=created.namespace))


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    with Listener(tmp_path / "listener").listening() as created:
        yield created


@pytest.fixture
def operator(control_plane: ControlPlane, attacker: Tenant, tmp_path: Path) -> Iterator[OperatorInstallation]:
    install = {"hosted": True, "hostedNamespaces": [attacker.namespace]}
    with operator_installed(control_plane, tmp_path, install=install) as created:
        yield created


def start(operator: OperatorInstallation, attacker: Tenant, *flags: str) -> None:
    operator.start("--hosted", "--hosted-namespace", attacker.namespace, "--workers", "8", *flags)


def wait(attacker: Tenant, name: str, reason: str, kind: str = "GuestReachable") -> Json:
    def told() -> bool:
        return attacker.condition(name, kind).get("reason") == reason

    try:
        process.wait(f"{name} {kind} {reason}", told, 30)
    except TimeoutError as error:
        where = at("hostedwebhooks", attacker.namespace, name, api=API)
        raise AssertionError(f"{error}: {attacker.client.get(where).body.decode()}") from error
    return attacker.condition(name, kind)


def test_programs_files_and_unverified_servers_are_refused_by_field(
    operator: OperatorInstallation, attacker: Tenant, listener: Listener, tmp_path: Path
) -> None:
    """Loopback is allowed here, so that nothing but the fields stands in the way."""
    proof, secret = tmp_path / "ran", tmp_path / "secret"
    stolen = secrets.token_hex(8)
    secret.write_text(stolen)
    run = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/bin/sh",
        "args": ["-c", f"touch {proof}"],
        "interactiveMode": "Never",
    }
    provider: Any = {"name": "gcp", "config": {"cmd-path": "/bin/sh"}}
    attacks: dict[str, tuple[str, str]] = {
        "exec": (listener.kubeconfig(exec=run), "users[u].user.exec"),
        "auth-provider": (
            listener.kubeconfig("127.0.0.1", **{"auth-provider": provider}),
            "users[u].user.auth-provider",
        ),
        "token-file": (listener.kubeconfig(tokenFile=str(secret)), "users[u].user.tokenFile"),
        "key-file": (
            listener.kubeconfig(**{"client-certificate": str(secret), "client-key": str(secret)}),
            "users[u].user.client-key",
        ),
        "authority-file": (
            listener.kubeconfig(cluster={"certificate-authority": str(secret)}),
            "clusters[c].cluster.certificate-authority",
        ),
        "proxy": (
            listener.kubeconfig(cluster={"proxy-url": f"http://127.0.0.1:{listener.port}"}, token="t"),
            "clusters[c].cluster.proxy-url",
        ),
        "insecure": (
            listener.kubeconfig(
                cluster={"certificate-authority-data": None, "insecure-skip-tls-verify": True}, token="t"
            ),
            "clusters[c].cluster.insecure-skip-tls-verify",
        ),
        "plain": (
            listener.kubeconfig(cluster={"server": f"http://127.0.0.1:{listener.port}"}, token="t"),
            "clusters[c].cluster.server",
        ),
        "impersonation": (listener.kubeconfig(token="t", **{"as": "root"}), "users[u].user.as"),
    }
    for name, (text, _) in attacks.items():
        attacker.secret(name, kubeconfig=text)
        attacker.hosted(name, name)
    attacker.secret("honest", kubeconfig=listener.kubeconfig(token="honest"))
    attacker.hosted("honest", "honest")
    start(operator, attacker, "--allow-loopback")

    for name, (_, field) in attacks.items():
        reported = wait(attacker, name, REFUSED)
        assert f"Secret {attacker.namespace}/{name}, key kubeconfig: {field}: " in reported["message"]
        assert stolen not in reported["message"]
    # the same server with data alone is called: nothing else stood in the way
    wait(attacker, "honest", "NoAnswer")
    assert not proof.exists()
    assert {message for _, message in listener.seen} == {"Bearer honest"}
    # the deletion of one that was refused does not hang on it
    where = at("hostedwebhooks", attacker.namespace, "exec", api=API)
    attacker.client.patch(where, {"spec": {"abandonAfter": "1s"}}).object  # noqa: B018 - raises
    attacker.client.delete(where)
    attacker.client.wait_gone(where, 40)
    assert not proof.exists()


def test_the_machine_of_the_operator_and_its_link_are_not_dialled(
    operator: OperatorInstallation, attacker: Tenant, listener: Listener
) -> None:
    hosts = {"v4": "127.0.0.1", "name": "localhost", "zero": "0.0.0.0", "mapped": "[::ffff:127.0.0.1]"}
    hosts |= {"decimal": "2130706433", "short": "127.1", "metadata": "169.254.169.254", "link": "[fe80::1]"}
    for name, host in hosts.items():
        attacker.secret(name, kubeconfig=listener.kubeconfig(host, token="t"))
        attacker.hosted(name, name)
    # an address of the request's own is judged as well
    attacker.secret("far", kubeconfig=listener.kubeconfig("192.0.2.1", token="t"))
    attacker.hosted("override", "far", server=f"https://127.0.0.1:{listener.port}")
    start(operator, attacker)

    for name in (*hosts, "override"):
        reported = wait(attacker, name, REFUSED)
        assert "server" in reported["message"]
        message = "is no IPv4 address" if name in ("decimal", "short") else "is not called for an object"
        assert message in reported["message"]
    assert listener.seen == []


def test_a_redirect_is_not_followed_and_a_credential_is_not_sent_elsewhere(
    operator: OperatorInstallation, attacker: Tenant, listener: Listener, tmp_path: Path
) -> None:
    elsewhere = f"https://127.0.0.1:{listener.port}/api"
    with Listener(tmp_path / "redirecting", redirect=elsewhere).listening() as first:
        attacker.secret("sent-on", kubeconfig=first.kubeconfig(token="precious"))
        attacker.hosted("sent-on", "sent-on")
        # a Secret that somebody else keeps here, whose server the system's authorities vouch for: whoever may
        # write a request names another server
        stored = listener.kubeconfig(cluster={"certificate-authority-data": None}, token="precious")
        attacker.secret("kept", kubeconfig=stored)
        attacker.hosted("override", "kept", server=f"https://localhost:{listener.port}")
        start(operator, attacker, "--allow-loopback")

        wait(attacker, "sent-on", "NoAnswer")
        reported = wait(attacker, "override", REFUSED)
        assert "spec.server" in reported["message"]
        assert "certificate-authority-data" in reported["message"]
        assert first.seen
        assert listener.seen == []


def test_secrets_of_other_namespaces_are_out_of_reach(
    control_plane: ControlPlane, operator: OperatorInstallation, attacker: Tenant, listener: Listener
) -> None:
    victim = control_plane.namespace("victim")
    other = Tenant("victim", victim, control_plane.admin)
    other.secret("admin", kubeconfig=listener.kubeconfig(token="of the victim"))
    for number, name in enumerate(
        (f"{victim}/admin", f"../../{victim}/secrets/admin", f"..%2F..%2F{victim}%2Fsecrets%2Fadmin")
    ):
        obj = {
            "apiVersion": API,
            "kind": "HostedWebhook",
            "metadata": {"name": f"reach-{number}"},
            "spec": {"target": {"flavour": "kubeconfig", "name": name, "namespace": victim}},
        }
        attacker.client.create(at("hostedwebhooks", attacker.namespace, api=API), obj)
    start(operator, attacker, "--allow-loopback")
    attacker.secret("own", kubeconfig=listener.kubeconfig(token="own"))
    attacker.hosted("own", "own")
    wait(attacker, "own", "NoAnswer")

    mine = at("hostedwebhooks", attacker.namespace, api=API)
    for one in attacker.client.get(mine).object["items"]:
        if one["metadata"]["name"].startswith("reach"):
            wait(attacker, one["metadata"]["name"], "InvalidSpec", "Resolved")
    touched = list(control_plane.audit.events(user=operator.user, namespace=victim))
    assert [event for event in touched if event["objectRef"]["resource"] == "secrets"] == []
    assert {message for _, message in listener.seen} == {"Bearer own"}
    # where the operator has no rights its token reads nothing
    token = control_plane.token_client(_token(operator))
    try:
        for resource in ("secrets", "hostedwebhooks"):
            api = "v1" if resource == "secrets" else API
            assert token.get(at(resource, victim, api=api)).status == 403
            assert token.get(at(resource, api=api)).status == 403
    finally:
        token.close()
    # our kinds without a namespace are not theirs, whatever their role says in one
    for plural, kind in (("vestibulewebhooks", "VestibuleWebhook"), ("publishedissuers", "PublishedIssuer")):
        obj = {"apiVersion": API, "kind": kind, "metadata": {"name": "x"}, "spec": {}}
        assert attacker.client.create(at(plural, api=API), obj).status == 403
    control_plane.admin.delete(at("namespaces", name=victim))


def _token(operator: OperatorInstallation) -> str:
    where = at("serviceaccounts", operator.name, operator.account, sub="token")
    requested = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(operator.admin.create(where, requested).object["status"]["token"])
