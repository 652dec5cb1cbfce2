"""What a ccoctl case says about files, calls and words, compared with a run."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.vectors.ccoctl_run import Run
from vestibule_simulators.azure import builtin_roles, state

Json = dict[str, Any]
_GUID = re.compile(r"(?<=/)([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|<uuid4>)$")
_ADDED = ("principalType", "description")
"""What our assignments say beside the original's: it avoids a lookup, and tells whose they are."""
WORDS = {
    "invalid_storage_account_name": "--storage-account-name: .* want 3 to 24",
    "resource_groups_must_differ": "want two groups",
    "unexpected_region": "want the same region",
    "cannot_read_public_key": "cannot be read",
    "policy_denied": "RequestDisallowedByPolicy: .*policy",
    "no_service_accounts": "serviceAccountNames",
    "duplicate_secret_ref": "want one request for each Secret",
    "too_many_service_accounts": "want 20 or fewer",
    "private key is not a PEM RSA key": "PEM RSA",
    "not_pem": "no PEM",
    "parse": "pars|RSA",
    "unsupported_key_type": "want RSA",
}
"""How we say what a case calls by a word; an unknown word wants any error."""


def said(word: str, text: str) -> str | None:
    """What is wrong with an error text; None when it says this."""
    if re.search(WORDS.get(word, "error"), text, re.DOTALL):
        return None
    return f"error {word}: got {text[-300:]!r}"


def files(wanted: Json, run: Run) -> Iterator[str]:
    for name, facts in wanted.items():
        path = run.folder / name
        if not path.is_file():
            yield f"{name}: is missing"
            continue
        yield from (f"{name}: {text}" for text in _file(path, facts, run.folder))


def _file(path: Path, facts: Json, folder: Path) -> Iterator[str]:
    content = path.read_bytes()
    text = content.decode("utf-8", "replace")
    checks: dict[str, Any] = {
        "mode": lambda want: f"{stat.S_IMODE(path.stat().st_mode):04o}" == want,
        "content": lambda want: text == want,
        "json": lambda want: json.loads(text) == want,
        "yaml": lambda want: yaml.safe_load(text) == want,
        "same_bytes_as": lambda want: content == (folder / want).read_bytes(),
        "pem_type": lambda want: text.startswith(f"-----BEGIN {want}-----"),
        "encoding": lambda want: ("BEGIN RSA" in text) == (want == "PKCS#1"),
        "bits": lambda want: _private(content).key_size == want,
        "public_exponent": lambda want: _private(content).public_key().public_numbers().e == want,
        "matches": lambda want: _public(_private((folder / want).read_bytes())) == content,
        "empty_keys": lambda want: all(re.search(rf"^  {key}: $", text, re.MULTILINE) for key in want),
        "not_valid_yaml_until_edited": lambda want: _no_yaml(text) == want,
    }
    for fact, want in facts.items():
        if fact not in checks:
            yield f"the case wants {fact}, which the runner does not know"
        elif not checks[fact](want):
            yield f"{fact} is not {want!r}; it begins {text[:120]!r}"


def _no_yaml(text: str) -> bool:
    try:
        return not isinstance(yaml.safe_load(text), dict)
    except yaml.YAMLError:
        return True


def _private(content: bytes) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(content, None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _public(key: rsa.RSAPrivateKey) -> bytes:
    shape = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, shape)


# ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────


def writes(wanted: list[Json], run: Run) -> list[str]:
    """All writes, whatever their order: what must come before what, the simulator enforces."""
    expected = sorted(_shape(call, run) for call in wanted if call["method"] in ("PUT", "PATCH", "DELETE"))
    found = sorted(_shape(call, run) for call in run.writes)
    missing, extra = _less(expected, found), _less(found, expected)
    return [f"missing write {one}" for one in missing] + [f"write nobody wants {one}" for one in extra]


def shapes(wanted: list[Json], run: Run) -> list[str]:
    """The writes of a case in its own order."""
    return [_shape(call, run) for call in wanted if call["method"] in ("PUT", "PATCH", "DELETE")]


def _less(one: list[str], other: list[str]) -> list[str]:
    left = list(other)
    return [item for item in one if item not in left or left.remove(item)]  # type: ignore[func-returns-value]


def _shape(call: Json, run: Run) -> str:
    path = _GUID.sub("<guid>", str(call["path"]).lower())
    body = json.loads(json.dumps(call.get("body")))
    if "/roleassignments/" in path and isinstance(body, dict):
        inner = body["properties"]
        if inner.get("principalType", "ServicePrincipal") == "ServicePrincipal":
            body["properties"] = {key: value for key, value in inner.items() if key not in _ADDED}
        if "roleDefinitionId" in body["properties"]:
            body["properties"]["roleDefinitionId"] = title(str(inner["roleDefinitionId"]), run)
    return f"{call['method']} {path} {json.dumps(body, sort_keys=True)}"


def title(identifier: str, run: Run) -> str:
    """The title of a role, by whichever name."""
    name = identifier.rpartition("/")[2].lower()
    for one in [*run.resources, *builtin_roles.resources().values()]:
        if one.get("type") == state.ROLE and str(one["name"]).lower() == name:
            return str(one["properties"]["roleName"])
    return run.before.titles.get(name, name)


def blobs(wanted: list[Json], better: Json, run: Run) -> Iterator[str]:
    puts = {call["path"]: call for call in run.blobs if call["method"] == "PUT"}
    for want in wanted:
        if want["method"] != "PUT":
            yield f"the runner knows no {want['method']} of a blob"
        parts = urlsplit(want["url"])
        path = f"/{parts.netloc.partition('.')[0]}{parts.path}"
        call = puts.pop(path, None)
        if call is None:
            yield f"blob {path}: is not written"
            continue
        headers = call.get("headers") or {}
        if "auth" in want and not (want["auth"] == f"SharedKey {run.account}" and call["authorized"]):
            # we write as the caller's Entra identity, which the simulator verifies, and read no account key
            yield f"blob {path}: is written by anybody, want {want['auth']}"
        if "json" in want and call["body"] != want["json"]:
            yield f"blob {path}: got {call['body']!r}"
        for name, value in (want.get("headers") or {}).items():
            if name == "x-ms-tags_parsed":
                if dict(parse_qsl(headers.get("x-ms-tags", ""))) != value:
                    yield f"blob {path}: tags are {headers.get('x-ms-tags')!r}"
            elif name == "content-type":
                wanted_type = better.get("blob_content_type", value)
                if headers.get("x-ms-blob-content-type") != wanted_type:
                    yield f"blob {path}: type is {headers.get('x-ms-blob-content-type')!r}"
            elif headers.get(name) != value:
                yield f"blob {path}: {name} is {headers.get(name)!r}, want {value!r}"
        for name in want.get("headers_absent") or ():
            conditional = name in ("if-match", "if-none-match") and "If-Match" in str(better.get("why", ""))
            if name in headers and not conditional:
                yield f"blob {path}: has the header {name}"
            if conditional and not {"if-match", "if-none-match"} & headers.keys():
                yield f"blob {path}: is written without a condition"
    if puts:
        yield f"blobs nobody wants: {sorted(puts)}"
    if wanted and "verify" in better:
        public = [call for call in run.blobs if call["method"] == "GET" and not call["authorized"]]
        if {call["path"] for call in public} != {
            f"/{run.account}/{run.account}/{name}" for name in _DOCUMENTS
        }:
            yield f"not both documents are fetched as anybody: {[call['path'] for call in public]}"


_DOCUMENTS = (".well-known/openid-configuration", "openid/v1/jwks")
