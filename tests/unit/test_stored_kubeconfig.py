"""Kubeconfigs out of a cluster: what is taken of them, and that everything else is refused by its name."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vestibule import errors
from vestibule.adapters.cluster import stored
from vestibule.adapters.cluster.guard import AddressRefused, Guard
from vestibule.core.kinds import dialled, storedkubeconfig

Json = dict[str, Any]
PEM = base64.b64encode(b"PEM").decode()
GOOD: Json = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "x",
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
    "clusters": [
        {
            "name": "c",
            "cluster": {
                "server": "https://api.example.com:6443/prefix/",
                "certificate-authority-data": PEM,
                "tls-server-name": "kubernetes",
                "insecure-skip-tls-verify": False,
            },
        }
    ],
    "users": [{"name": "u", "user": {"token": "abc", "exec": None, "as": ""}}],
}


def problems(values: Json) -> list[tuple[str, str]]:
    with pytest.raises(errors.InvalidInput) as caught:
        stored.parse(json.dumps(values), "Secret n/s, key value")
    assert {one.place for one in caught.value.problems} == {"Secret n/s, key value"}
    return [(one.field, one.text) for one in caught.value.problems]


@pytest.mark.parametrize("write", [yaml.safe_dump, json.dumps])
def test_what_is_data_is_taken(write: Any) -> None:
    found = stored.parse(write(GOOD), "s")

    assert found == storedkubeconfig.Stored(
        "https://api.example.com:6443/prefix", "kubernetes", "PEM", token="abc", namespace="n"
    )


CLUSTER: Json = {
    "certificate-authority": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
    "proxy-url": "http://169.254.169.254",
    "insecure-skip-tls-verify": True,
    "unknown": "x",
}
USER: Json = {
    "exec": {"command": "/bin/sh", "apiVersion": "client.authentication.k8s.io/v1"},
    "auth-provider": {"name": "gcp", "config": {"cmd-path": "/bin/sh"}},
    "tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
    "client-certificate": "/tls/tls.crt",
    "client-key": "/tls/tls.key",
    "as": "system:admin",
    "as-uid": "0",
    "as-groups": ["system:masters"],
    "as-user-extra": {"a": ["b"]},
    "Exec": {"command": "/bin/sh"},
    "<<": {"exec": {"command": "/bin/sh"}},
}


@pytest.mark.parametrize("used", [True, False], ids=["current", "of no context"])
def test_everything_else_is_refused_by_name_and_all_at_once(used: bool) -> None:
    values = copy.deepcopy(GOOD)
    name, user = ("c", "u") if used else ("other", "other")
    if not used:
        values["clusters"].append({"name": "other", "cluster": {"server": "https://other"}})
        values["users"].append({"name": "other", "user": {}})
    values["clusters"][-1]["cluster"] |= CLUSTER
    values["users"][-1]["user"] |= USER

    found = problems(values)

    assert {field for field, _ in found} == {
        *(f"clusters[{name}].cluster.{field}" for field in CLUSTER),
        *(f"users[{user}].user.{field}" for field in USER),
    }
    # who may read the condition may not read the Secret
    assert not any("/bin/sh" in text or "169.254" in text or "/var/run" in text for _, text in found)


@pytest.mark.parametrize("field", [*CLUSTER, *USER])
def test_each_is_enough(field: str) -> None:
    values = copy.deepcopy(GOOD)
    section, entry = ("clusters", "cluster") if field in CLUSTER else ("users", "user")
    values[section][0][entry][field] = {**CLUSTER, **USER}[field]

    assert [name.rpartition(".")[2] for name, _ in problems(values)] == [field]


@pytest.mark.parametrize(
    "server",
    [
        "http://api.example.com",
        "HTTP://api.example.com",
        "//api.example.com",
        "file:///etc/passwd",
        "unix:///run/x.sock",
        "https://user:pass@api.example.com",
        "https://api.example.com?a=b",
        "https://api.example.com#a",
        "https://api.example.com:0",
        "https://api.example.com:99999",
        "https://a b",
        "https://a\nb",
        "https://",
        "https://[::1",
        "https://2130706433",
        "https://0x7f000001",
        "https://127.1:6443",
        "https://0177.0.0.1",
        "",
    ],
)
def test_a_server_that_is_no_plain_https_address_is_refused(server: str) -> None:
    values = copy.deepcopy(GOOD)
    values["clusters"][0]["cluster"]["server"] = server

    assert [field for field, _ in problems(values)] == ["clusters[c].cluster.server"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"current-context": "y"}, "current-context"),
        ({"contexts": [{"name": "x", "context": {"cluster": "z"}}]}, "contexts[x].context.cluster"),
        ({"contexts": [{"name": "x", "context": {"cluster": "c", "user": "z"}}]}, "contexts[x].context.user"),
        ({"contexts": [*GOOD["contexts"], *GOOD["contexts"]]}, "contexts[x]"),
        ({"users": [{"name": "u", "user": {"token": "a\nb"}}]}, "users[u].user.token"),
        ({"users": [{"name": "u", "user": {"client-key-data": PEM}}]}, "users[u].user"),
        (
            {"users": [{"name": "u", "user": {"client-certificate-data": "!"}}]},
            "users[u].user.client-certificate-data",
        ),
        ({"users": "x"}, "users"),
        ({"<<": {"users": []}}, "<<"),
        ({"users": [{"name": "u", "user": {}, "<<": {"user": {"exec": {}}}}]}, "users[u].<<"),
        ({"clusters": [1]}, "clusters[0]"),
    ],
)
def test_what_contradicts_itself_is_refused(change: Json, field: str) -> None:
    assert field in [one for one, _ in problems({**GOOD, **change})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [x]\nb: *a", "alias"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "alias"),
        ("[" * 10_000, "nested"),
        ("- 1\n" * 30_000, "too many"),
        ("users: []\nusers: []", "twice"),
        ("a: [{b: 1, c: {d: 1}, b: 2}]", "twice"),
        ("? [a]\n: b", "no text"),
        ("x" * (storedkubeconfig.LARGEST + 1), "bytes"),
        ("a: [", "no YAML"),
        ("a: b\n---\nc: d", "no YAML"),
        ("just text", "no mapping"),
        ("!!python/object/apply:os.system ['true']", "no mapping"),
        ("\x00", "no YAML"),
        ("", "no mapping"),
    ],
)
def test_a_text_that_costs_or_misleads_is_refused(text: str, said: str) -> None:
    with pytest.raises(errors.InvalidInput, match=said):
        stored.parse(text, "s")


@given(st.binary(max_size=400))
def test_any_bytes_give_a_kubeconfig_or_problems(raw: bytes) -> None:
    with contextlib.suppress(errors.InvalidInput):
        assert stored.parse(raw, "s").server.startswith("https://")


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.9.10", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("::ffff:0.0.0.0", "unspecified"),
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b:1::a9fe:a9fe", "translated"),
        ("2002:a9fe:a9fe::1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("168.63.129.16", "metadata"),
        ("fd00:ec2::254", "metadata"),
    ],
)
def test_addresses_of_the_machine_and_its_link_are_not_dialled(address: str, kind: str) -> None:
    info = (2 if ":" not in address else 10, 1, 6, "", (address, 443))

    assert kind in dialled.refusal(address)
    with pytest.raises(AddressRefused, match=kind):
        Guard().socket(info)
    if kind == "loopback":
        assert dialled.refusal(address, loopback=True) == ""
    else:
        assert kind in dialled.refusal(address, loopback=True)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "192.168.1.1", "8.8.8.8", "fd00::1", "2001:4860:4860::8888", "64:ff9b::808:808"]
)
def test_others_are(address: str) -> None:
    assert dialled.refusal(address) == ""
