"""What ``--dry-run`` writes: files for `aws … --cli-input-json`, numbered in the order of their use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from vestibule.oidc import documents
from vestibule.oidc.keys import PublicKey
from vestibule.provision import manifests as shared
from vestibule.provision.aws import manifests, names
from vestibule.provision.aws.request import AwsRequest
from vestibule.provision.outputs import READABLE, Output


def issuer(desired: AwsRequest, url: str, keys: Sequence[PublicKey], output: Output) -> None:
    """Bucket, documents, IAM provider; the manifest."""
    bucket, tags = names.bucket(desired.name), names.tags(desired.name)
    constraint = names.constraint(desired.region)
    create = {"Bucket": bucket}
    if constraint:
        create["CreateBucketConfiguration"] = {"LocationConstraint": constraint}  # type: ignore[assignment]
    output.folder("manifests")
    provider = {"Url": url, "ClientIDList": list(names.CLIENTS), "Tags": _listed(tags)}
    _json(output, "01-oidc-bucket.json", create)
    output.write(
        PurePosixPath("02-openid-configuration"), documents.configuration(url, documents.AWS), READABLE
    )
    output.write(PurePosixPath("03-keys.json"), documents.key_set(keys), READABLE)
    _json(output, "04-iam-identity-provider.json", provider)
    output.write(shared.AUTHENTICATION, shared.authentication(url))


def roles(desired: AwsRequest, output: Output) -> None:
    """Per request: role, permissions; a Secret that waits for its role."""
    host = names.provider_host(desired.provider) or names.UNKNOWN_ISSUER
    for number, request in enumerate(desired.requests):
        name = names.role(desired.name, request)
        trust = names.trust(desired.provider or "<enter_identity_provider_arn_here>", host, request)
        policy, _ = names.permissions(request)
        role = {
            "RoleName": name,
            "AssumeRolePolicyDocument": json.dumps(trust),
            "Tags": _listed(names.tags(desired.name)),
            **({"PermissionsBoundary": desired.boundary} if desired.boundary else {}),
        }
        _json(output, f"05-{number}-{name}-role.json", role)
        permit = {"RoleName": name, "PolicyName": name, "PolicyDocument": json.dumps(policy)}
        _json(output, f"06-{number}-{name}-policy.json", permit)
        output.write(shared.secret_path(request), manifests.secret(request, ""))


def _json(output: Output, name: str, value: object) -> None:
    output.write(PurePosixPath(name), json.dumps(value, indent=4), READABLE)


def _listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
