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
from vestibule.api import dialable_addresses, stored_kubeconfig
from vestibule.httpclient.address_guard import AddressGuard, AddressRefused
from vestibule.kube import stored_access

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
        stored_access.parse(json.dumps(values), "Secret n/s, key value")
    assert {one.place for one in caught.value.problems} == {"Secret n/s, key value"}
    return [(one.field, one.text) for one in caught.value.problems]


@pytest.mark.parametrize("write", [yaml.safe_dump, json.dumps])
def test_what_is_data_is_taken(write: Any) -> None:
    found = stored_access.parse(write(GOOD), "s")

    assert found == stored_kubeconfig.StoredKubeconfig(
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
        "https://api.example.com?",
        "https://api.example.com#",
        "https://api.example.com/?",
        "https://api.example.com/#",
        "https://api.example.com/prefix?/",
        "https://api.example.com:6443?#",
        "https://api.example.com:",
        "https://api.example.com:/",
        "https://api.example.com:/prefix",
        "https://[2001:db8::1]:",
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


TEXTS = {
    "cluster": ("server", "certificate-authority-data", "tls-server-name"),
    "user": ("token", "client-certificate-data", "client-key-data", "username", "password"),
    "context": ("cluster", "user", "namespace"),
}
REFUSED_TEXTS = {
    "cluster": ("certificate-authority", "proxy-url"),
    "user": ("tokenFile", "client-certificate", "client-key", "as", "as-uid"),
}
NO_TEXT: list[Any] = [["a"], [], {"a": "b"}, {}, False, True]


WRONG: list[tuple[str, tuple[str, ...], list[Any]]] = [
    *((entry, named, NO_TEXT) for table in (TEXTS, REFUSED_TEXTS) for entry, named in table.items()),
    ("cluster", ("certificate-authority", "proxy-url"), ["false", "null", "~", "no"]),
    ("cluster", ("insecure-skip-tls-verify",), ["", "false", "null", "~", "no", [], {}, True]),
    ("cluster", ("disable-compression",), ["", "true", [], {}]),
    ("user", ("exec", "auth-provider"), ["", "false", "null", "~", False, [], {}, ["a"]]),
    ("user", ("tokenFile", "client-certificate", "client-key", "as", "as-uid"), ["false", "null", "~"]),
    ("user", ("as-groups",), ["", "false", False, {}, ["a"]]),
    ("user", ("as-user-extra",), ["", "false", False, [], {"a": []}]),
    *((entry, ("extensions",), ["", "a", {}, False]) for entry in ("cluster", "user", "context")),
    *((entry, ("unknown",), ["", "a", {}, [], False]) for entry in ("cluster", "user", "context")),
]
"""Entries, fields of them, and values that are not of their type."""


@pytest.mark.parametrize(
    ("entry", "field", "value"),
    [(entry, field, value) for entry, named, values in WRONG for field in named for value in values],
)
def test_a_field_that_is_not_of_its_type_is_refused_whatever_its_value(
    entry: str, field: str, value: Any
) -> None:
    values = copy.deepcopy(GOOD)
    section = values[f"{entry}s"][0]
    section[entry][field] = value
    place = f"{entry}s[{section['name']}].{entry}.{field}"

    assert place in [one for one, _ in problems(values)]


@pytest.mark.parametrize("value", ["", "false", False, {}, {"a": "b"}])
@pytest.mark.parametrize("field", ["clusters", "users", "contexts", "extensions"])
def test_a_list_that_is_none_is_refused(field: str, value: Any) -> None:
    assert field in [one for one, _ in problems({**GOOD, field: value})]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("current-context", value) for value in NO_TEXT],
        *[("apiVersion", value) for value in NO_TEXT],
        *[("kind", value) for value in NO_TEXT],
        *[("preferences", value) for value in ("", "a", False, [], ["a"])],
    ],
)
def test_a_field_of_the_whole_that_is_not_of_its_type_is_refused(field: str, value: Any) -> None:
    assert field in [one for one, _ in problems({**GOOD, field: value})]


@pytest.mark.parametrize("value", ["", "false", False, [], ["a"]])
@pytest.mark.parametrize("entry", ["cluster", "user", "context"])
def test_an_entry_that_is_no_mapping_is_refused(entry: str, value: Any) -> None:
    values = copy.deepcopy(GOOD)
    values[f"{entry}s"][0][entry] = value
    name = values[f"{entry}s"][0]["name"]

    assert f"{entry}s[{name}].{entry}" in [one for one, _ in problems(values)]


def test_what_is_null_or_empty_of_its_type_is_absent() -> None:
    values = copy.deepcopy(GOOD)
    values["clusters"][0]["cluster"] |= {
        "certificate-authority": "",
        "proxy-url": None,
        "insecure-skip-tls-verify": False,
        "disable-compression": True,
        "extensions": [{"name": "e", "extension": {"a": 1}}],
    }
    values["users"][0]["user"] |= {
        "exec": None,
        "auth-provider": None,
        "as": "",
        "as-groups": [],
        "as-user-extra": {},
        "client-certificate-data": "",
        "username": None,
    }
    values |= {"preferences": {}, "extensions": None}

    assert stored_access.parse(json.dumps(values), "s").token == "abc"
    assert stored_access.parse(yaml.safe_dump(values), "s").token == "abc"


def test_a_number_in_plain_yaml_is_the_text_that_stands_there() -> None:
    """As kubectl reads it."""
    text = yaml.safe_dump({**GOOD, "users": [{"name": "u", "user": {"token": "TOKEN"}}]})

    assert stored_access.parse(text.replace("TOKEN", "0123456"), "s").token == "0123456"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [x]\nb: *a", "alias"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "alias"),
        ("[" * 10_000, "nested"),
        ("- 1\n" * 30_000, "too many"),
        ("users: []\nusers: []", "twice"),
        ("a: [{b: 1, c: {d: 1}, b: 2}]", "twice"),
        ("? [a]\n: b", "no text"),
        ("x" * (stored_kubeconfig.LARGEST + 1), "bytes"),
        ("a: [", "no YAML"),
        ("a: b\n---\nc: d", "no YAML"),
        ("just text", "no mapping"),
        ("!!python/object/apply:os.system ['true']", "tag"),
        ("users: [{name: u, user: {exec: !!null {command: sh}}}]", "tag"),
        ("users: [{name: u, user: {exec: !!null sh}}]", "tag"),
        ("users: !!str", "tag"),
        ("users: ! x", "tag"),
        ("\x00", "no YAML"),
        ("", "no mapping"),
    ],
)
def test_a_text_that_costs_or_misleads_is_refused(text: str, message: str) -> None:
    with pytest.raises(errors.InvalidInput, match=message):
        stored_access.parse(text, "s")


@given(st.binary(max_size=400))
def test_any_bytes_give_a_kubeconfig_or_problems(raw: bytes) -> None:
    with contextlib.suppress(errors.InvalidInput):
        assert stored_access.parse(raw, "s").server.startswith("https://")


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

    assert kind in dialable_addresses.refusal(address)
    with pytest.raises(AddressRefused, match=kind):
        AddressGuard().socket(info)
    if kind == "loopback":
        assert dialable_addresses.refusal(address, loopback=True) == ""
    else:
        assert kind in dialable_addresses.refusal(address, loopback=True)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "192.168.1.1", "8.8.8.8", "fd00::1", "2001:4860:4860::8888", "64:ff9b::808:808"]
)
def test_others_are(address: str) -> None:
    assert dialable_addresses.refusal(address) == ""
