"""A kubeconfig that is stored in a cluster: the data in it and nothing else.

Tenants may be able to write the Secret, so the kubeconfig is untrusted input. Fields that are taken are
listed here; every other one is refused by its name, in every entry, also in those that the current context
does not use. Nothing in it can start a program, name a file of the process that reads it, choose a proxy or
switch verification off. A field that is there must be of its type, whatever its value: other readers of the
same text may take for something what this one takes for nothing. Values are not repeated in messages: who
reads a condition may not read the Secret.
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
from vestibule.errors import InputProblem

LARGEST: Final = 256 * 1024
"""Bytes of a kubeconfig; one of a hundred clusters has less."""
_MOST_PROBLEMS: Final = 16
_TYPES: Final[Mapping[type, str]] = {str: "text", bool: "boolean", list: "list", dict: "mapping"}
_KUBECONFIG_FIELDS: Final[Mapping[str, type]] = {
    "apiVersion": str,
    "kind": str,
    "preferences": dict,
    "clusters": list,
    "users": list,
    "contexts": list,
    "current-context": str,
    "extensions": list,
}
_CLUSTER: Final[Mapping[str, type]] = {
    "server": str,
    "certificate-authority-data": str,
    "tls-server-name": str,
    "disable-compression": bool,
    "extensions": list,
}
_USER: Final[Mapping[str, type]] = {
    "token": str,
    "client-certificate-data": str,
    "client-key-data": str,
    "username": str,
    "password": str,
    "extensions": list,
}
_CONTEXT: Final[Mapping[str, type]] = {"cluster": str, "user": str, "namespace": str, "extensions": list}
_UNKNOWN: Final = "is no field that is taken from a cluster"
_REFUSED_FIELDS: Final = {
    "exec": "starts a program, want a token or a client certificate as data",
    "auth-provider": "starts a plug-in, want a token or a client certificate as data",
    "tokenFile": "names a file, want token",
    "client-certificate": "names a file, want client-certificate-data",
    "client-key": "names a file, want client-key-data",
    "certificate-authority": "names a file, want certificate-authority-data",
    "proxy-url": "is not taken: the cluster is called directly",
    "insecure-skip-tls-verify": "is not taken, want certificate-authority-data",
    "as": "is not supported: impersonation is not allowed",
    "as-uid": "is not supported: impersonation is not allowed",
    "as-groups": "is not supported: impersonation is not allowed",
    "as-user-extra": "is not supported: impersonation is not allowed",
}
_NOTHING: Final[Mapping[str, Any]] = {
    "tokenFile": "",
    "client-certificate": "",
    "client-key": "",
    "certificate-authority": "",
    "proxy-url": "",
    "insecure-skip-tls-verify": False,
    "as": "",
    "as-uid": "",
    "as-groups": [],
    "as-user-extra": {},
}
"""Fields that are not taken, and the value of their type that says nothing: writers may add it. An ``exec``
or ``auth-provider`` that is there always says something."""
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""What some resolvers take for an address, or a part of one: 2130706433, 0x7f.1."""
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*")


class StoredKubeconfig(NamedTuple):
    """What is taken of it, of the current context."""

    server: str
    """Scheme, host, port and path prefix, without a final slash."""
    server_name: str = ""
    authority: str = ""
    """PEM; empty: the system CAs are trusted."""
    certificate: str = ""
    key: str = ""
    token: str = ""
    username: str = ""
    password: str = ""
    namespace: str = "default"


def read(values: Any, place: str) -> StoredKubeconfig:
    """What a kubeconfig says, given as values; raises InvalidInput with every problem."""
    reader = _StoredReader(place)
    found = reader.read(values)
    if reader.problems:
        raise errors.InvalidInput(*reader.problems[:_MOST_PROBLEMS])
    return found


def server_problem(server: str) -> str:
    """Why an address cannot be that of a stored cluster; empty when it can. Where it leads is judged when it
    is dialled."""
    if not _PRINTABLE.fullmatch(server):
        return "has characters that no address has, want https://HOST:PORT"
    if "?" in server or "#" in server:
        return "has a query or a fragment, want https://HOST:PORT"
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
    if parts.netloc.endswith(":"):
        return "has an empty port, want https://HOST:PORT"
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


class _StoredReader:
    """Reads one, and collects what is wrong with it."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.problems: list[InputProblem] = []

    def read(self, values: Any) -> StoredKubeconfig:
        if not isinstance(values, Mapping):
            self._wrong("", "is no mapping, want a kubeconfig")
            return StoredKubeconfig("")
        values = self._typed("", values, _KUBECONFIG_FIELDS)
        clusters = self._entries(values, "clusters", "cluster", _CLUSTER)
        users = self._entries(values, "users", "user", _USER)
        contexts = self._entries(values, "contexts", "context", _CONTEXT)
        read_clusters = {name: self._cluster(name, one) for name, one in clusters.items()}
        read_users = {name: self._user(name, one) for name, one in users.items()}
        name = self._current(values, contexts)
        context = contexts.get(name, {})
        cluster_name = _text(context, "cluster")
        if name in contexts and cluster_name not in clusters:
            self._wrong(f"contexts[{_shown(name)}].context.cluster", "names no entry of clusters")
        user = _text(context, "user")
        if user and user not in users:
            self._wrong(f"contexts[{_shown(name)}].context.user", "names no entry of users")
        cluster = read_clusters.get(cluster_name, StoredKubeconfig(""))
        person = read_users.get(user, StoredKubeconfig(""))
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

    def _typed(self, where: str, body: Mapping[Any, Any], known: Mapping[str, type]) -> dict[str, Any]:
        """The fields of a mapping that are taken and are there, each of its type."""
        found: dict[str, Any] = {}
        for key, value in body.items():
            place = f"{where}.{_shown(key)}" if where else _shown(key)
            kind = known.get(key)
            if kind is None:
                if not where or not _is_empty(key, value):
                    self._wrong(place, _REFUSED_FIELDS.get(str(key), _UNKNOWN))
            elif type(value) is kind:
                found[key] = value
            elif value is not None:
                self._wrong(place, f"is no {_TYPES[kind]}, want a {_TYPES[kind]}")
        return found

    def _entries(
        self, values: Mapping[str, Any], section: str, field: str, known: Mapping[str, type]
    ) -> dict[str, Mapping[str, Any]]:
        """The bodies of a section by name; no field in any of them that is not known."""
        found: dict[str, Mapping[str, Any]] = {}
        for index, entry in enumerate(values.get(section, ())):
            name = entry.get("name") if isinstance(entry, Mapping) else None
            if not isinstance(entry, Mapping) or not isinstance(name, str) or not name:
                self._wrong(f"{section}[{index}]", "has no name")
                continue
            where = f"{section}[{_shown(name)}]"
            for key in entry.keys() - {"name", field}:
                self._wrong(f"{where}.{_shown(key)}", _UNKNOWN)
            if name in found:
                self._wrong(where, "is listed twice, want each name once")
            body = entry.get(field)
            if body is not None and not isinstance(body, Mapping):
                self._wrong(f"{where}.{field}", "is no mapping, want a mapping")
                body = None
            found[name] = self._typed(f"{where}.{field}", body or {}, known)
        return found

    def _cluster(self, name: str, body: Mapping[str, Any]) -> StoredKubeconfig:
        where = f"clusters[{_shown(name)}].cluster"
        server = _text(body, "server").rstrip("/")
        wrong = server_problem(server) if server else "is not set, want https://HOST:PORT"
        if wrong:
            self._wrong(f"{where}.server", wrong)
        server_name = _text(body, "tls-server-name")
        if server_name and not _NAME.fullmatch(server_name):
            self._wrong(f"{where}.tls-server-name", "is no host name")
        ca = self._data(where, body, "certificate-authority-data")
        return StoredKubeconfig(server, server_name, ca)

    def _user(self, name: str, body: Mapping[str, Any]) -> StoredKubeconfig:
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
        return StoredKubeconfig(
            "", certificate=certificate, key=key, token=token, username=username, password=password
        )

    def _data(self, where: str, body: Mapping[str, Any], field: str) -> str:
        text = _text(body, field)
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode()
        except (binascii.Error, ValueError):
            self._wrong(f"{where}.{field}", "is no base64 of a PEM text")
            return ""

    def _wrong(self, field: str, text: str) -> None:
        self.problems.append(InputProblem(self._place, field, text))


def _text(body: Mapping[str, Any], field: str) -> str:
    return str(body.get(field, ""))


def _is_empty(key: object, value: object) -> bool:
    """Whether a field that is not taken is there without a meaning."""
    if value is None:
        return True
    empty = _NOTHING.get(str(key))
    return type(value) is type(empty) and value == empty


def _shown(name: object) -> str:
    """A name from the input, shortened and without control characters."""
    text = str(name)
    return "".join(one if one.isprintable() else "?" for one in text[:60])
