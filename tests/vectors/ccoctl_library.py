"""Cases of the ccoctl family that are about one function of ours, without a run."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.vectors import ccoctl_facts as facts
from vestibule import errors
from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.oidc import documents, tokens
from vestibule.provision import credentials_requests
from vestibule.provision.aws import names as aws_names
from vestibule.provision.azure import names
from vestibule.provision.gcp import names as gcp_names
from vestibule.provision.gcp import observed as gcp_observed
from vestibule.provision.gcp import plan as gcp_plan
from vestibule.provision.gcp import providers as gcp_providers
from vestibule.provision.gcp import request as gcp_request
from vestibule.provision.outputs import Output

Json = dict[str, Any]


def jwks(inputs: Json, expected: Json, better: Json) -> list[str]:
    """The file of a public key as the commands read it."""
    want = {**expected, **better}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "public"
        path.write_text(inputs["public_key_pem"])
        try:
            found = Output(Path(name)).public_key(path)
        except errors.InvalidInput as error:
            if "error" not in want or better.get("accept"):
                return [f"refused: {error}"]
            wrong = [facts.said(want["error"], str(error))]
            wrong += [
                f"{part!r} is not in {error}"
                for part in want.get("error_contains", ())
                if part not in str(error)
            ]
            return [text for text in wrong if text]
    if "error" in want and not better.get("accept"):
        return ["accepted"]
    body = documents.key_set(found)
    problems = [f"jwks is {body!r}"] if json.loads(body) != want["jwks"] else []
    if "kid" in want and found[0].kid != want["kid"]:
        problems.append(f"kid is {found[0].kid}")
    if "json_member_order" in want and [*json.loads(body)["keys"][0]] != want["json_member_order"]:
        problems.append("members come in another order")
    if "indent" in want and body != json.dumps(want["jwks"], indent=want["indent"]).encode():
        problems.append(f"bytes are {body!r}")
    if "trailing_newline" in want and body.endswith(b"\n") is not want["trailing_newline"]:
        problems.append("ends otherwise")
    if "spki_der_sha256_hex" in want:
        digest = (tokens.decoded(found[0].kid) or b"").hex()
        problems += [f"digest is {digest}"] if digest != want["spki_der_sha256_hex"] else []
    return problems


def account_name(inputs: Json, expected: Json, better: Json) -> list[str]:
    found = names.account_flaw(inputs["name"]) == ""
    ruled = re.fullmatch(expected["rule"], inputs["name"]) is not None
    return [] if found == expected["valid"] == ruled else [f"valid: got {found}, by the rule {ruled}"]


def identity_name(inputs: Json, expected: Json, better: Json) -> list[str]:
    """As the original's, up to where a hash tells apart what a cut would make equal."""
    found = names.identity(inputs["name"], inputs["namespace"], inputs["secret"])
    full = f"{inputs['name']}-{inputs['namespace']}-{inputs['secret']}"
    want = expected["identity_name"]
    if len(full) != expected.get("untruncated_length", len(full)):
        return [f"untruncated_length: got {len(full)}"]
    other = names.identity(inputs["name"], inputs["namespace"], f"{inputs['secret']}x")
    if len(full) == len(want):
        return [] if found == want else [f"got {found}"]
    cut = "hash" in str(better.get("why", ""))
    if not cut:
        return [] if found == want else [f"got {found}"]
    good = len(found) <= len(want) and found[:-9] == want[: len(found) - 9] and found != other
    return [] if good else [f"got {found}, beside {other}"]


def user_tags(inputs: Json, expected: Json, better: Json) -> list[str]:
    problems = []
    for text, want in zip(inputs["cases"], expected["results"], strict=True):
        try:
            found: Json = names.user_tags((text,))
        except errors.InvalidInput as error:
            found = (
                {"error": want["error"]} if want.get("error", "-") in str(error) else {"error": str(error)}
            )
        if found != want:
            problems.append(f"{text!r}: got {found}")
    return problems


def scopes(inputs: Json, expected: Json, better: Json, given: Json) -> list[str]:
    found = {
        name: list(
            names.scoping_groups(
                name,
                given["--installation-resource-group-name"],
                given.get("--dnszone-resource-group-name", ""),
                given.get("--network-resource-group-name", ""),
            )
        )
        for name in inputs["names"]
    }
    return [] if found == expected["scopes"] else [f"got {found}"]


def credential_name(inputs: Json, expected: Json, better: Json) -> list[str]:
    legal = re.compile(better["legal"])
    problems = []
    found = [names.credential(name) for name in inputs["names"]]
    for name, created in zip(inputs["names"], found, strict=True):
        if not legal.fullmatch(created):
            problems.append(f"{name} becomes {created}, which is not legal")
        if legal.fullmatch(name) and created != name:
            problems.append(f"{name} is legal and becomes {created}")
    if len(set(found)) != len(found):
        problems.append(f"two become one: {found}")
    if "map" in better and not better["map"].startswith("slug plus hash"):
        problems.append(f"the runner knows no mapping {better['map']!r}")
    for name, created in zip(inputs["names"], found, strict=True):
        if created != name and not created.startswith(re.sub("[^a-zA-Z0-9]+", "-", name)[:8].strip("-")):
            problems.append(f"{created} does not begin as {name}")
    return problems


def load(inputs: Json, expected: Json, better: Json) -> list[str]:
    """Which files, and which requests in them."""
    want = {**expected, **better}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in inputs.get("dir") or ():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text("")
        for file, content in (inputs.get("files") or {}).items():
            (folder / file).write_text(content)
        read = [path.name for path in credentials_requests.files(folder)]
        plain, tech = (
            [one.name for one in credentials_requests.load(folder, "azure", tech_preview=flag).requests]
            for flag in (False, True)
        )
    found = {
        "read_in_order": read,
        "count": len(plain),
        "without_enable_tech_preview": plain,
        "with_enable_tech_preview": tech,
    }
    return [f"{key}: got {found[key]}" for key in found if key in want and found[key] != want[key]]


def aws_roles(vector: Json) -> list[str]:
    inputs, want = vector["inputs"], vector["expected"]
    arn, name = vector["flags"]["--identity-provider-arn"], vector["flags"]["--name"]
    accounts = tuple(inputs["service_accounts"])
    request = CredentialsRequest("cr", inputs["namespace"], inputs["secret"], accounts, "", {})
    found = {
        "role_name": aws_names.role(name, request),
        "trust": aws_names.trust(arn, inputs["issuer_host"], request),
        "max_role_name": len(aws_names.role(name * 30, request)),
        "dry_run_condition_key": f"{aws_names.UNKNOWN_ISSUER}:sub",
        "empty_service_accounts": _empty(),
    }
    return [f"{key}: got {value}" for key, value in found.items() if value != want.get(key, value)]


def _empty() -> str:
    """What becomes of a request without accounts."""
    text = "\n".join(
        [
            "apiVersion: cloudcredential.openshift.io/v1",
            "kind: CredentialsRequest",
            "metadata: {name: cr}",
            "spec: {secretRef: {name: s, namespace: n}, providerSpec: {kind: AWSProviderSpec}}",
        ]
    )
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "a.yaml").write_text(text)
        try:
            credentials_requests.load(Path(name), "aws")
        except errors.InvalidInput as error:
            return "error" if "serviceAccountNames" in str(error) else str(error)
    return "accepted"


def aws_issuer(vector: Json) -> list[str]:
    name, regions, want = vector["flags"]["--name"], vector["inputs"]["regions"], vector["expected"]
    found = {
        "issuer": [aws_names.issuer(name, region) for region in regions],
        "partition": [aws_names.partition(region).name for region in regions],
        "location_constraint": [aws_names.constraint(region) for region in regions],
        "jwks_key": documents.AWS.keys_name,
        "jwks_uri_suffix": f"/{documents.AWS.keys_name}",
    }
    return [f"{key}: got {value}" for key, value in found.items() if value != want.get(key, value)]


def gcp_accounts(vector: Json) -> list[str]:
    name, project, want = vector["flags"]["--name"], vector["flags"]["--project"], vector["expected"]
    request = CredentialsRequest(vector["inputs"]["credentials_request"], "ns1", "secret1", ("a",), "", {})
    longest = max(size for size in range(4, 64) if not _flawed("n" * size, project))
    found = {
        "display_name": gcp_names.display(name, request),
        "custom_role_id": gcp_names.role(project, request),
        "custom_role_title": gcp_names.role_title(project, request),
        "name_max": longest,
    }
    identifier = gcp_names.account(name, request)
    wrong = [] if re.fullmatch(want["account_id_regex"], identifier) else [f"account is {identifier}"]
    return wrong + [f"{key}: got {value}" for key, value in found.items() if value != want.get(key, value)]


def _flawed(name: str, project: str) -> bool:
    return any(
        gcp_names.problems(name, project, region="us", universe="googleapis.com", pool="", provider="")
    )


def gcp_issuer(vector: Json) -> list[str]:
    """Addresses; and with keys in the provider no bucket in the plan, and the fields that hold them."""
    name, want = vector["flags"]["--name"], vector["expected"]
    found = [gcp_names.issuer(name, universe) for universe in vector["inputs"]["universe_domains"]]
    wrong = [f"issuer: got {found}"] if found != want["issuer"] else []
    if "pool-jwk-file" in want:
        requested = gcp_request.GcpRequest(name, "my-project-1", embedded=True)
        body = gcp_providers.body(requested, "{}")["oidc"]
        if body.get("jwksJson") != "{}" or gcp_providers.KEYS not in want["pool-jwk-file"]:
            wrong.append(f"keys are kept otherwise: {body}, {gcp_providers.KEYS}")
        steps = gcp_plan.issuer(requested, gcp_observed.ObservedGcp(number="1"), ()).steps
        wrong += [f"a bucket: {step}" for step in steps if "ucket" in type(step.action).__name__]
    return wrong


LIBRARY: dict[str, Callable[[Json, Json, Json], list[str]]] = {
    "build_jwks": jwks,
    "validate_storage_account_name": account_name,
    "identity_name": identity_name,
    "parse_user_tags": user_tags,
    "fic_name": credential_name,
    "load_credentials_requests": load,
}
