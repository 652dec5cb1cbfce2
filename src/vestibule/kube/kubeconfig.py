"""Kubeconfig files: found as kubectl finds them, merged as kubectl merges them, turned into an Access.

YAML is imported here and nowhere else on the live path; a pod in a cluster has no kubeconfig and never
comes here.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vestibule import errors
from vestibule.kube import access
from vestibule.kube.access import (
    AnonymousCredential,
    ClusterAccess,
    ClusterCredential,
    ExecCredentialPlugin,
    ExecSpec,
    StaticCredential,
    TokenFileCredential,
)

Json = dict[str, Any]

_SECTIONS = ("contexts", "clusters", "users")


def paths(given: Path | None, environ: Mapping[str, str], home: Path) -> list[Path]:
    """The files to read: the one given, those of ``KUBECONFIG``, or the one in the home directory."""
    if given is not None:
        return [given]
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(":") if part]
    return listed or [home / ".kube" / "config"]


def load(files: list[Path], context: str | None = None) -> ClusterAccess:
    """The access that the current context, or the one named, stands for; raises InvalidSettings with
    every problem."""
    found = [(path, _read(path)) for path in files if path.exists()]
    if not found:
        raise errors.InvalidSettings(
            errors.InputProblem(str(files[0]), "", "does not exist, want a kubeconfig")
        )
    place = ":".join(str(path) for path, _ in found)
    problems: list[errors.InputProblem] = []
    name = context or next((str(c["current-context"]) for _, c in found if c.get("current-context")), "")
    if not name:
        raise errors.InvalidSettings(
            errors.InputProblem(place, "current-context", "is not set, want --context NAME")
        )
    chosen, _ = _entry(found, "contexts", "context", name, place, problems)
    cluster, cluster_file = _entry(
        found, "clusters", "cluster", str(chosen.get("cluster", "")), place, problems
    )
    user: Json = {}
    user_file = cluster_file
    if chosen.get("user"):
        user, user_file = _entry(found, "users", "user", str(chosen["user"]), place, problems)
    server = str(cluster.get("server", "")).rstrip("/")
    if not problems and not server.startswith(("https://", "http://")):
        problems.append(
            errors.InputProblem(
                place, f"clusters[{chosen.get('cluster')}].server", f"is {server!r}, want a URL"
            )
        )
    if problems:
        raise errors.InvalidSettings(*problems)
    reader = _KubeconfigReader(place)
    authority = reader.pem(cluster, "certificate-authority", cluster_file)
    certificate = reader.pem(user, "client-certificate", user_file)
    key = reader.pem(user, "client-key", user_file)
    credential = reader.credential(user, user_file)
    if reader.problems:
        raise errors.InvalidSettings(*reader.problems)
    tls = None
    if server.startswith("https://"):
        insecure = cluster.get("insecure-skip-tls-verify") is True
        try:
            tls = access.tls_context(authority, insecure=insecure, certificate=certificate, key=key)
        except (ssl.SSLError, ValueError, TypeError) as error:  # TypeError: not ASCII
            raise errors.InvalidSettings(
                errors.InputProblem(place, "certificates", f"cannot be used: {error}")
            ) from error
    return ClusterAccess(
        server,
        tls,
        credential,
        cluster.get("tls-server-name"),
        str(chosen.get("namespace") or "default"),
        cluster.get("proxy-url"),
    )


def _read(path: Path) -> Json:
    try:
        import yaml  # noqa: PLC0415 - only who has a kubeconfig pays for it
    except ImportError:
        raise errors.MissingExtra("a kubeconfig", "offline") from None
    try:
        data = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise errors.InvalidSettings(
            errors.InputProblem(str(path), "", f"is no kubeconfig: {error}")
        ) from error
    if not isinstance(data, dict):
        raise errors.InvalidSettings(errors.InputProblem(str(path), "", "is no mapping, want a kubeconfig"))
    wrong = [name for name in _SECTIONS if not isinstance(data.get(name) or [], list)]
    if wrong:
        raise errors.InvalidSettings(*(errors.InputProblem(str(path), name, "is no list") for name in wrong))
    return data


def _entry(
    found: list[tuple[Path, Json]],
    section: str,
    field: str,
    name: str,
    place: str,
    problems: list[errors.InputProblem],
) -> tuple[Json, Path]:
    """The first entry of that name over all files, and the file it stands in."""
    for path, data in found:
        for entry in data.get(section) or []:
            if isinstance(entry, dict) and entry.get("name") == name:
                body = entry.get(field)
                return (body if isinstance(body, dict) else {}), path
    known = sorted(str(e.get("name")) for _, d in found for e in d.get(section) or [] if isinstance(e, dict))
    problems.append(
        errors.InputProblem(place, section, f"has no {name!r}, want one of {', '.join(known) or 'none'}")
    )
    return {}, found[0][0]


class _KubeconfigReader:
    """Reads what a kubeconfig points at, and collects what is wrong with it."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.problems: list[errors.InputProblem] = []

    def pem(self, section: Json, field: str, file: Path) -> str | None:
        """PEM text from ``field-data``, or from the file that ``field`` names, beside the kubeconfig."""
        data = section.get(f"{field}-data")
        if data:
            try:
                return base64.b64decode(data, validate=True).decode()
            except (ValueError, TypeError):  # no base64, or not of a text
                self.problems.append(
                    errors.InputProblem(self._place, f"{field}-data", "is no base64 of a PEM text")
                )
                return None
        name = section.get(field)
        return self._text(file.parent / str(name), field) if name else None

    def credential(self, user: Json, file: Path) -> ClusterCredential:
        """How the user proves who they are, besides a certificate."""
        if user.get("exec"):
            return self._exec(user["exec"], file)
        if user.get("tokenFile"):
            return TokenFileCredential(file.parent / str(user["tokenFile"]))
        if user.get("token"):
            return StaticCredential(f"Bearer {user['token']}")
        if user.get("username"):
            return StaticCredential.basic(str(user["username"]), str(user.get("password", "")))
        if user.get("auth-provider"):
            self.problems.append(
                errors.InputProblem(
                    self._place, "users.auth-provider", "is gone from Kubernetes, want an exec plug-in"
                )
            )
        return AnonymousCredential()

    def _exec(self, spec: Any, file: Path) -> ClusterCredential:
        if not isinstance(spec, dict) or not spec.get("command"):
            self.problems.append(
                errors.InputProblem(self._place, "users.exec.command", "is missing, want a program")
            )
            return AnonymousCredential()
        command = str(spec["command"])
        if "/" in command:
            command = str(file.parent / command)
        lists = {name: spec.get(name) or [] for name in ("args", "env")}
        for name, value in lists.items():
            if not isinstance(value, list) or (name == "env" and not all(_named(one) for one in value)):
                self.problems.append(
                    errors.InputProblem(
                        self._place, f"users.exec.{name}", f"is {value!r}, want a list of {name}"
                    )
                )
                return AnonymousCredential()
        env = {str(one["name"]): str(one.get("value", "")) for one in lists["env"]}
        version = str(spec.get("apiVersion") or "client.authentication.k8s.io/v1")
        return ExecCredentialPlugin(
            ExecSpec(command, [*map(str, lists["args"])], env, version, str(spec.get("installHint") or ""))
        )

    def _text(self, path: Path, field: str) -> str | None:
        try:
            return path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(errors.InputProblem(self._place, field, f"{path} cannot be read: {error}"))
            return None


def _named(entry: Any) -> bool:
    return isinstance(entry, dict) and bool(entry.get("name"))
