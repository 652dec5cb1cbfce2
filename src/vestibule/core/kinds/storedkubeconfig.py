"""A kubeconfig that is stored in a cluster: the data in it and nothing else.

Whoever may write the Secret writes the kubeconfig, so it is input of a stranger. Fields that are taken are
listed here; every other one is refused by its name, in every entry, also in those that the current context
does not use. Nothing in it can start a program, name a file of the process that reads it, choose a proxy or
switch verification off. Values are not repeated in messages: who reads a condition may not read the Secret.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from vestibule import errors
from vestibule.errors import Problem

LARGEST: Final = 256 * 1024
"""Bytes of a kubeconfig; one of a hundred clusters has less."""
_MOST_PROBLEMS: Final = 16
_WHOLE: Final = frozenset(
    {
        "apiVersion",
        "kind",
        "preferences",
        "clusters",
        "users",
        "contexts",
        "current-context",
        "extensions",
    }
)
_CLUSTER: Final = frozenset(
    {"server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"}
)
_USER: Final = frozenset(
    {"token", "client-certificate-data", "client-key-data", "username", "password", "extensions"}
)
_CONTEXT: Final = frozenset({"cluster", "user", "namespace", "extensions"})
_UNKNOWN: Final = "is no field that is taken from a cluster"
_WANTED: Final = {
    "exec": "starts a program, want a token or a client certificate as data",
    "auth-provider": "starts a plug-in, want a token or a client certificate as data",
    "tokenFile": "names a file, want token",
    "client-certificate": "names a file, want client-certificate-data",
    "client-key": "names a file, want client-key-data",
    "certificate-authority": "names a file, want certificate-authority-data",
    "proxy-url": "is not taken: the cluster is called directly",
    "insecure-skip-tls-verify": "is not taken, want certificate-authority-data",
    "as": "is not taken: nobody is impersonated",
    "as-uid": "is not taken: nobody is impersonated",
    "as-groups": "is not taken: nobody is impersonated",
    "as-user-extra": "is not taken: nobody is impersonated",
}
_ABSENT: Final = frozenset({"", "null", "~", "false"})
"""Words that say nothing; a YAML reader may leave them as text."""
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""What some resolvers take for an address, or a part of one: 2130706433, 0x7f.1."""
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*")


class Stored(NamedTuple):
    """What is taken of it, of the current context."""

    server: str
    """Scheme, host, port and path prefix, without a final slash."""
    server_name: str = ""
    authority: str = ""
    """PEM; empty: the authorities of the system are trusted."""
    certificate: str = ""
    key: str = ""
    token: str = ""
    username: str = ""
    password: str = ""
    namespace: str = "default"


def read(values: Any, place: str) -> Stored:
    """What a kubeconfig says, given as values; raises InvalidInput with every problem."""
    reader = _Reader(place)
    found = reader.read(values)
    if reader.problems:
        raise errors.InvalidInput(*reader.problems[:_MOST_PROBLEMS])
    return found


def server_problem(server: str) -> str:
    """Why an address cannot be that of a stored cluster; empty when it can. Where it leads is judged when it
    is dialled."""
    if not _PRINTABLE.fullmatch(server):
        return "has characters that no address has, want https://HOST:PORT"
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        return "is no address, want https://HOST:PORT"
    if parts.scheme != "https":
        return f"has the scheme {parts.scheme[:20]!r}, want https"
    return _host_problem(parts, port)


def _host_problem(parts: SplitResult, port: int | None) -> str:
    if "@" in parts.netloc:
        return "has a user in it, want https://HOST:PORT"
    if parts.query or parts.fragment:
        return "has a query or a fragment, want https://HOST:PORT"
    if not _PATH.fullmatch(parts.path) or "/.." in parts.path or "/./" in f"{parts.path}/":
        return "has a path that is none, want https://HOST:PORT"
    host = parts.hostname or ""
    if ".." in host or host.startswith("v"):
        try:
            ipaddress.ip_address(host)
        except ValueError:
            if ".." in host or "[" in parts.netloc:
                return "has no host that can be called, want https://HOST:PORT"
    if not host or port == 0 or not (":" in host or _NAME.fullmatch(host.rstrip("."))):
        return "has no host that can be called, want https://HOST:PORT"
    last = host.rstrip(".").rpartition(".")[2]
    if ":" not in host and _NUMBER.fullmatch(last) and not _address(host):
        return "has a number that is no IPv4 address for a host, want https://HOST:PORT"
    return ""


def _address(host: str) -> bool:
    try:
        return bool(ipaddress.IPv4Address(host))
    except ValueError:
        return False


class _Reader:
    """Reads one, and collects what is wrong with it."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.problems: list[Problem] = []

    def read(self, values: Any) -> Stored:
        if not isinstance(values, Mapping):
            self._wrong("", "is no mapping, want a kubeconfig")
            return Stored("")
        for key in values:
            if key not in _WHOLE:
                self._wrong(_shown(key), _UNKNOWN)
        clusters = self._entries(values, "clusters", "cluster", _CLUSTER)
        users = self._entries(values, "users", "user", _USER)
        contexts = self._entries(values, "contexts", "context", _CONTEXT)
        read_clusters = {name: self._cluster(name, one) for name, one in clusters.items()}
        read_users = {name: self._user(name, one) for name, one in users.items()}
        name = self._current(values, contexts)
        context = contexts.get(name, {})
        said = _text(context, "cluster")
        if name in contexts and said not in clusters:
            self._wrong(f"contexts[{_shown(name)}].context.cluster", "names no entry of clusters")
        user = _text(context, "user")
        if user and user not in users:
            self._wrong(f"contexts[{_shown(name)}].context.user", "names no entry of users")
        cluster = read_clusters.get(said, Stored(""))
        person = read_users.get(user, Stored(""))
        return person._replace(
            server=cluster.server,
            server_name=cluster.server_name,
            authority=cluster.authority,
            namespace=self._namespace(name, context),
        )

    def _namespace(self, name: str, context: Mapping[str, Any]) -> str:
        found = _text(context, "namespace") or "default"
        if not _LABEL.fullmatch(found):
            self._wrong(f"contexts[{_shown(name)}].context.namespace", "is no name of a namespace")
        return found

    def _current(self, values: Mapping[str, Any], contexts: Mapping[str, Any]) -> str:
        name = _text(values, "current-context")
        if not name and len(contexts) == 1:
            return next(iter(contexts))
        if not name:
            self._wrong("current-context", "is not set, want the name of a context")
        elif name not in contexts:
            self._wrong("current-context", "names no entry of contexts")
        return name

    def _entries(
        self, values: Mapping[str, Any], section: str, field: str, known: frozenset[str]
    ) -> dict[str, Mapping[str, Any]]:
        """The bodies of a section by name; no field in any of them that is not known."""
        listed = values.get(section)
        if _absent(listed):
            return {}
        if not isinstance(listed, list):
            self._wrong(section, "is no list")
            return {}
        found: dict[str, Mapping[str, Any]] = {}
        for index, entry in enumerate(listed):
            name = entry.get("name") if isinstance(entry, Mapping) else None
            if not isinstance(entry, Mapping) or not isinstance(name, str) or not name:
                self._wrong(f"{section}[{index}]", "has no name")
                continue
            where = f"{section}[{_shown(name)}]"
            for key in entry.keys() - {"name", field}:
                self._wrong(f"{where}.{_shown(key)}", _UNKNOWN)
            if name in found:
                self._wrong(where, "stands there twice, want each name once")
            body = entry.get(field)
            body = {} if _absent(body) else body
            if not isinstance(body, Mapping):
                self._wrong(f"{where}.{field}", "is no mapping")
                body = {}
            for key, value in body.items():
                if key not in known and not _absent(value):
                    wrong = _WANTED.get(str(key), _UNKNOWN)
                    self._wrong(f"{where}.{field}.{_shown(key)}", wrong)
            found[name] = body
        return found

    def _cluster(self, name: str, body: Mapping[str, Any]) -> Stored:
        where = f"clusters[{_shown(name)}].cluster"
        server = _text(body, "server").rstrip("/")
        wrong = server_problem(server) if server else "is not set, want https://HOST:PORT"
        if wrong:
            self._wrong(f"{where}.server", wrong)
        server_name = _text(body, "tls-server-name")
        if server_name and not _NAME.fullmatch(server_name):
            self._wrong(f"{where}.tls-server-name", "is no host name")
        authority = self._data(where, body, "certificate-authority-data")
        return Stored(server, server_name, authority)

    def _user(self, name: str, body: Mapping[str, Any]) -> Stored:
        where = f"users[{_shown(name)}].user"
        certificate = self._data(where, body, "client-certificate-data")
        key = self._data(where, body, "client-key-data")
        if bool(certificate) != bool(key):
            self._wrong(where, "has one of client-certificate-data and client-key-data, want both or none")
        token = _text(body, "token")
        if token and not _PRINTABLE.fullmatch(token):
            self._wrong(f"{where}.token", "has characters that no token has")
        username, password = _text(body, "username"), _text(body, "password")
        if not (username + password).isprintable():
            self._wrong(f"{where}.username", "has control characters, or password has")
        return Stored("", certificate=certificate, key=key, token=token, username=username, password=password)

    def _data(self, where: str, body: Mapping[str, Any], field: str) -> str:
        text = _text(body, field)
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode()
        except (binascii.Error, ValueError):
            self._wrong(f"{where}.{field}", "is no base64 of a PEM text")
            return ""

    def _wrong(self, field: str, text: str) -> None:
        self.problems.append(Problem(self._place, field, text))


def _text(body: Mapping[str, Any], field: str) -> str:
    value = body.get(field)
    return "" if _absent(value) or isinstance(value, list | dict) else str(value)


def _absent(value: Any) -> bool:
    return value.lower() in _ABSENT if isinstance(value, str) else not value


def _shown(name: object) -> str:
    """A name of the stranger's, short and without control characters."""
    text = str(name)
    return "".join(one if one.isprintable() else "?" for one in text[:60])
