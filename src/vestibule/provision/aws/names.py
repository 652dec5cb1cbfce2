"""Names, tags and policies as in ccoctl, in every partition."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from vestibule.api import credentialsrequest
from vestibule.api.credentialsrequest import CredentialsRequest, RequestProblem
from vestibule.errors import InputProblem

CLIENTS: Final = ("openshift", "sts.amazonaws.com")
OWNED: Final = "owned"
UNKNOWN_ISSUER: Final = "<enter_issuer_url_here>"
_ROLE_LENGTH: Final = 64
_BUCKET: Final = re.compile(r"(?=.{3,63}\Z)[a-z0-9][a-z0-9-]*[a-z0-9]")
_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_PROVIDER: Final = re.compile(r"arn:[a-z-]+:iam::\d{1,12}:oidc-provider/(?P<host>[^\s]+)")
_BOUNDARY: Final = re.compile(r"arn:[a-z-]+:iam::\d{0,12}(aws)?:policy/.+")


class Partition(NamedTuple):
    """One of the clouds that are called AWS."""

    name: str
    suffix: str


_PARTITIONS: Final = (
    ("cn-", Partition("aws-cn", "amazonaws.com.cn")),
    ("us-gov-", Partition("aws-us-gov", "amazonaws.com")),
    ("us-isob-", Partition("aws-iso-b", "sc2s.sgov.gov")),
    ("us-iso-", Partition("aws-iso", "c2s.ic.gov")),
)
_AWS: Final = Partition("aws", "amazonaws.com")


def partition(region: str) -> Partition:
    """The partition that a region is in."""
    return next((found for beginning, found in _PARTITIONS if region.startswith(beginning)), _AWS)


def constraint(region: str) -> str | None:
    """What a bucket is created with; the oldest region takes none."""
    return None if region == "us-east-1" else region


def bucket(name: str) -> str:
    """The bucket of the issuer."""
    return f"{name}-oidc"


def issuer(name: str, region: str) -> str:
    """The address of a public bucket."""
    return f"https://{bucket(name)}.s3.{region}.{partition(region).suffix}"


def tags(name: str) -> dict[str, str]:
    """The tags of created resources."""
    return {f"openshift.io/cloud-credential-operator/{name}": OWNED, "Name": name}


def ours(found: Mapping[str, str], name: str) -> bool:
    """Whether tags say that something is ours."""
    return found.get(f"openshift.io/cloud-credential-operator/{name}") == OWNED


def role(name: str, request: CredentialsRequest) -> str:
    """Cut at 64 characters, with a hash where something is cut off."""
    full_name = f"{name}-{request.namespace}-{request.secret}"
    if len(full_name) <= _ROLE_LENGTH:
        return full_name
    return f"{full_name[: _ROLE_LENGTH - 9]}-{hashlib.sha256(full_name.encode()).hexdigest()[:8]}"


def provider_host(arn: str) -> str:
    """The issuer of an IAM provider, without ``https://``."""
    found = _PROVIDER.fullmatch(arn)
    return found["host"] if found else ""


def trust(arn: str, host: str, request: CredentialsRequest) -> dict[str, Any]:
    """The trust policy of a role: only the request's ServiceAccounts."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Federated": arn},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {"StringEquals": {f"{host}:sub": list(request.subjects)}},
            }
        ],
    }


def permissions(request: CredentialsRequest) -> tuple[dict[str, Any], list[RequestProblem]]:
    """What a role may do, and what is wrong with the request."""
    wrong: list[RequestProblem] = []
    path: tuple[str | int, ...] = ("spec", "providerSpec", "statementEntries")
    listed = credentialsrequest.get(request.spec, "statementEntries")
    if not isinstance(listed, list) or not listed:
        wrong.append(RequestProblem(path, "is missing or empty, want what the role may do"))
        listed = []
    statements = []
    for number, entry in enumerate(listed):
        at = (*path, number)
        effect = credentialsrequest.get(entry, "effect")
        resource = credentialsrequest.get(entry, "resource")
        actions = credentialsrequest.texts(entry, "action", at, wrong) if isinstance(entry, Mapping) else []
        condition = credentialsrequest.get(entry, "policyCondition")
        if effect not in ("Allow", "Deny"):
            wrong.append(RequestProblem((*at, "effect"), f"is {effect!r}, want Allow or Deny"))
        if not isinstance(resource, str) or not resource:
            wrong.append(RequestProblem((*at, "resource"), f"is {resource!r}, want an ARN or *"))
        if not actions:
            wrong.append(RequestProblem((*at, "action"), "is empty, want at least one action"))
        statement = {"Effect": effect, "Action": actions, "Resource": resource}
        if isinstance(condition, Mapping) and condition:
            statement["Condition"] = dict(condition)
        statements.append(statement)
    return {"Version": "2012-10-17", "Statement": statements}, wrong


def public_policy(name: str, region: str) -> dict[str, Any]:
    """The bucket policy for public reads of the documents."""
    arn = f"arn:{partition(region).name}:s3:::{bucket(name)}/*"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "AllowReadPublicAccess",
                "Effect": "Allow",
                "Principal": "*",
                "Action": ["s3:GetObject"],
                "Resource": [arn],
            }
        ],
    }


def problems(name: str, region: str, boundary: str, provider: str | None) -> Iterator[InputProblem]:
    """What is wrong with the names of a run; ``provider`` is None where none is given."""
    if not _BUCKET.fullmatch(bucket(name)):
        want = "want letters, digits and dashes in lower case, 58 at most: the bucket is <name>-oidc"
        yield InputProblem("--name", "", f"is {name!r}, {want}")
    if region and not _REGION.fullmatch(region):
        yield InputProblem("--region", "", f"is {region!r}, want an AWS region, as us-east-1")
    if boundary and not _BOUNDARY.fullmatch(boundary):
        yield InputProblem("--permissions-boundary-arn", "", f"is {boundary!r}, want the ARN of a policy")
    if provider is not None and not provider_host(provider):
        want = "want arn:<partition>:iam::<account>:oidc-provider/<issuer>"
        yield InputProblem("--identity-provider-arn", "", f"is {provider!r}, {want}")
