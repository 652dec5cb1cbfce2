"""Kubeconfigs, the pod's own account, token files and plug-ins: who we are, and what is said when nobody."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.serving.authority import Authority

from vestibule import errors
from vestibule.kube import access, kubeconfig
from vestibule.kube.access import ExecCredentialPlugin, ExecSpec, StaticCredential, TokenFileCredential

Json = dict[str, Any]


def config(**user: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/"}}],
        "users": [{"name": "u", "user": user}],
    }


def written(directory: Path, data: Json, name: str = "config") -> Path:
    path = directory / name
    path.write_text(yaml.safe_dump(data))
    return path


def header(found: access.ClusterAccess) -> str | None:
    return asyncio.run(_header(found.credential))


async def _header(credential: access.ClusterCredential) -> str | None:
    return await credential.authorization()


def test_server_namespace_and_token_are_taken(tmp_path: Path) -> None:
    found = kubeconfig.load([written(tmp_path, config(token="abc"))])

    assert found.server == "https://127.0.0.1:6443"
    assert found.namespace == "team-a"
    assert header(found) == "Bearer abc"


def test_basic_authentication(tmp_path: Path) -> None:
    found = kubeconfig.load([written(tmp_path, config(username="a", password="b"))])

    assert header(found) == "Basic " + base64.b64encode(b"a:b").decode()


@pytest.mark.parametrize("embedded", [True, False], ids=["as data", "as files beside the kubeconfig"])
def test_certificates_are_loaded(tmp_path: Path, embedded: bool) -> None:
    authority = Authority("cluster")
    pair = authority.leaf("me", client=True)
    data = config()
    parts = {"certificate-authority": authority.pem, "client-certificate": pair.cert, "client-key": pair.key}
    for name, content in parts.items():
        section = (
            data["clusters"][0]["cluster"] if name == "certificate-authority" else data["users"][0]["user"]
        )
        if embedded:
            section[f"{name}-data"] = base64.b64encode(content).decode()
        else:
            (tmp_path / f"{name}.pem").write_bytes(content)
            section[name] = f"{name}.pem"

    found = kubeconfig.load([written(tmp_path, data)])

    assert found.tls is not None
    assert len(found.tls.get_ca_certs()) == 1
    assert found.tls.verify_mode == ssl.CERT_REQUIRED


def test_verification_is_off_only_when_asked(tmp_path: Path) -> None:
    data = config()
    data["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True

    found = kubeconfig.load([written(tmp_path, data)])

    assert found.tls is not None
    assert found.tls.verify_mode == ssl.CERT_NONE


def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    one = config(token="first")
    del one["clusters"]
    two = config(token="second")

    found = kubeconfig.load(
        [written(tmp_path, one, "one"), tmp_path / "missing", written(tmp_path, two, "two")]
    )

    assert header(found) == "Bearer first"
    assert found.server == "https://127.0.0.1:6443"


def test_files_are_found_as_kubectl_finds_them(tmp_path: Path) -> None:
    assert kubeconfig.paths(Path("x"), {"KUBECONFIG": "a:b"}, tmp_path) == [Path("x")]
    assert kubeconfig.paths(None, {"KUBECONFIG": "a:b"}, tmp_path) == [Path("a"), Path("b")]
    assert kubeconfig.paths(None, {}, tmp_path) == [tmp_path / ".kube" / "config"]


def broken(change: str) -> Json:
    data = config(token="x")
    if change == "no current context":
        del data["current-context"]
    elif change == "a context that is none":
        data["current-context"] = "there"
    elif change == "a cluster that is none":
        data["clusters"] = []
    elif change == "a server that is none":
        data["clusters"][0]["cluster"]["server"] = "here"
    elif change == "a certificate that is none":
        data["clusters"][0]["cluster"]["certificate-authority-data"] = "!!"
    elif change == "a file that is none":
        data["users"][0]["user"] = {"client-certificate": "no.pem"}
    elif change == "an old provider":
        data["users"][0]["user"] = {"auth-provider": {"name": "gcp"}}
    elif change == "a plug-in without a name":
        data["users"][0]["user"] = {"exec": {"args": []}}
    return data


BROKEN = {
    "no current context": "current-context: is not set",
    "a context that is none": "contexts: has no 'there', want one of here",
    "a cluster that is none": "clusters: has no 'c'",
    "a server that is none": "is 'here', want a URL",
    "a certificate that is none": "certificate-authority-data: is no base64",
    "a file that is none": "no.pem cannot be read",
    "an old provider": "want an exec plug-in",
    "a plug-in without a name": "users.exec.command: is missing",
}


@pytest.mark.parametrize("change", BROKEN)
def test_a_broken_kubeconfig_is_refused_with_the_place(tmp_path: Path, change: str) -> None:
    path = written(tmp_path, broken(change))

    with pytest.raises(errors.InvalidSettings) as caught:
        kubeconfig.load([path])

    assert str(path) in str(caught.value)
    assert BROKEN[change] in str(caught.value)


def test_no_kubeconfig_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidSettings, match="want a kubeconfig"):
        kubeconfig.load([tmp_path / "none"])


def test_a_token_file_is_read_again_and_kept_when_it_vanishes(tmp_path: Path) -> None:
    now = [0.0]
    path = tmp_path / "token"
    path.write_text("one\n")
    credential = TokenFileCredential(path, lambda: now[0])

    assert asyncio.run(_header(credential)) == "Bearer one"
    path.write_text("two\n")
    assert asyncio.run(_header(credential)) == "Bearer one"
    now[0] = 11.0
    assert asyncio.run(_header(credential)) == "Bearer two"
    path.unlink()
    now[0] = 22.0
    assert asyncio.run(_header(credential)) == "Bearer two"


def test_a_rejected_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    credential = TokenFileCredential(path, lambda: 0.0)
    asyncio.run(_header(credential))
    path.write_text("two")

    credential.rejected()

    assert asyncio.run(_header(credential)) == "Bearer two"


def test_a_missing_token_file_is_a_passing_fault(tmp_path: Path) -> None:
    with pytest.raises(errors.Unavailable, match="cannot be read"):
        asyncio.run(_header(TokenFileCredential(tmp_path / "none")))


PLUGIN = """\
import json, os, sys, pathlib
count = pathlib.Path(sys.argv[1])
count.write_text(count.read_text() + "x" if count.exists() else "x")
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert asked["kind"] == "ExecCredential"
print(json.dumps({"apiVersion": asked["apiVersion"], "kind": "ExecCredential",
                  "status": {"token": os.environ["WORD"] + str(len(count.read_text())),
                             "expirationTimestamp": "2026-01-01T00:00:00Z"}}))
"""


def plugin(directory: Path, now: list[float]) -> ExecCredentialPlugin:
    (directory / "plugin.py").write_text(PLUGIN)
    arguments = [str(directory / "plugin.py"), str(directory / "count")]
    spec = ExecSpec(sys.executable, arguments, {"WORD": "token-"}, "client.authentication.k8s.io/v1")
    return ExecCredentialPlugin(spec, lambda: now[0])


def test_a_plugin_is_run_once_until_its_token_expires_or_is_rejected(tmp_path: Path) -> None:
    now = [0.0]
    credential = plugin(tmp_path, now)

    async def story() -> list[str | None]:
        message = list(await asyncio.gather(*(credential.authorization() for _ in range(5))))
        now[0] = 4e9
        message.append(await credential.authorization())
        now[0] = 0.0
        credential.rejected()
        message.append(await credential.authorization())
        return message

    assert asyncio.run(story()) == ["Bearer token-1"] * 5 + ["Bearer token-2", "Bearer token-3"]


PLUGINS = {
    "one that does not exist": (["/no/such/plugin"], "No such file"),
    "one that fails": ([sys.executable, "-c", "raise SystemExit(3)"], "ended with 3"),
    "one that prints nonsense": ([sys.executable, "-c", "print('hello')"], "printed no ExecCredential"),
    "one without a token": (
        [
            sys.executable,
            "-c",
            f"print({json.dumps(json.dumps({'apiVersion': 'v', 'kind': 'k', 'status': {}}))})",
        ],
        "gave no token",
    ),
}


@pytest.mark.parametrize("sentence", PLUGINS)
def test_a_plugin_that_gives_nothing_is_a_fault_that_names_it(sentence: str) -> None:
    command, words = PLUGINS[sentence]
    credential = ExecCredentialPlugin(
        ExecSpec(command[0], command[1:], {}, "client.authentication.k8s.io/v1")
    )

    with pytest.raises(errors.Unavailable, match=words):
        asyncio.run(_header(credential))


def test_in_a_pod_we_are_its_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("mounted")
    (tmp_path / "ca.crt").write_bytes(Authority("cluster").pem)
    (tmp_path / "namespace").write_text("installation")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    found = access.in_cluster(environ, tmp_path)

    assert found.server == "https://[fd00::1]:443"
    assert found.namespace == "installation"
    assert header(found) == "Bearer mounted"


def test_outside_of_a_pod_everything_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidSettings) as caught:
        access.in_cluster({}, tmp_path)

    assert len(caught.value.problems) == 3


def test_a_static_header_never_changes() -> None:
    credential = StaticCredential("Bearer x")
    credential.rejected()

    assert asyncio.run(_header(credential)) == "Bearer x"
