"""One account in one region: about twenty calls. Reads give None for what does not exist.

boto3 repeats throttled and failed calls by itself (its ``standard`` mode); what it gives up on is a
``AwsCallError`` with AWS' own code.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from vestibule import errors

T = TypeVar("T")
_ABSENT: Final = frozenset(
    {"NoSuchEntity", "NoSuchBucket", "NoSuchBucketPolicy", "NoSuchTagSet", "404", "NoSuchDistribution"}
)
_TRIES: Final = {"mode": "standard", "max_attempts": 8}


class AwsCallError(errors.VestibuleError):
    """AWS refuses; ``code`` says why."""

    def __init__(self, what: str, code: str, text: str) -> None:
        self.code = code
        super().__init__(f"{what}: {code}: {text.splitlines()[0][:300] if text else ''}".rstrip(": "))


class S3Bucket(NamedTuple):
    """A bucket."""

    name: str
    tags: Mapping[str, str]
    empty: bool = False


class IamOidcProvider(NamedTuple):
    """An IAM OpenID Connect provider."""

    arn: str
    url: str
    """Without ``https://``, as in IAM."""
    clients: tuple[str, ...]
    tags: Mapping[str, str]


class IamRole(NamedTuple):
    """An IAM role."""

    name: str
    arn: str
    trust: Mapping[str, Any]
    tags: Mapping[str, str]
    policy: Mapping[str, Any] | None = None
    """The inline policy of the same name."""


class AwsAccount:
    """AWS API calls; boto3 finds region, credentials and endpoints as usual."""

    def __init__(self, region: str) -> None:
        try:
            import boto3
            from botocore.config import Config
        except ModuleNotFoundError as error:
            raise errors.MissingExtra("aws", "aws") from error
        session = boto3.Session(region_name=region)
        config = Config(retries=dict(_TRIES))
        self.region = region
        self.s3: Any = session.client("s3", config=config)
        self._iam: Any = session.client("iam", config=config)
        self.cdn: Any = session.client("cloudfront", config=config)

    # ── buckets ─────────────────────────────────────────────────────────────────────────────────────────────

    def bucket(self, name: str) -> S3Bucket | None:
        """A bucket of ours by name. Raises AwsCallError if another account owns it."""
        if maybe(f"bucket {name}", lambda: self.s3.head_bucket(Bucket=name)) is None:
            return None
        found = maybe(f"bucket {name}", lambda: self.s3.get_bucket_tagging(Bucket=name))
        return S3Bucket(name, tags_of((found or {}).get("TagSet")), not self.objects(name))

    def create_bucket(self, name: str, constraint: str | None, tags: Mapping[str, str]) -> None:
        """Create it; tags are a call of their own."""
        more = {"CreateBucketConfiguration": {"LocationConstraint": constraint}} if constraint else {}
        self._do(
            f"bucket {name}", lambda: self.s3.create_bucket(Bucket=name, **more), "BucketAlreadyOwnedByYou"
        )
        self._do(
            f"bucket {name}",
            lambda: self.s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": _listed(tags)}),
        )

    def block_public(self, name: str, *, acls: bool, policies: bool) -> None:
        """Which kinds of public access are impossible."""
        settings = {
            "BlockPublicAcls": acls,
            "IgnorePublicAcls": acls,
            "BlockPublicPolicy": policies,
            "RestrictPublicBuckets": policies,
        }
        self._do(
            f"bucket {name}",
            lambda: self.s3.put_public_access_block(Bucket=name, PublicAccessBlockConfiguration=settings),
        )

    def bucket_policy(self, name: str) -> Mapping[str, Any] | None:
        """Who may do what."""
        found = maybe(f"bucket {name}", lambda: self.s3.get_bucket_policy(Bucket=name))
        return json.loads(found["Policy"]) if found else None

    def put_bucket_policy(self, name: str, policy: Mapping[str, Any]) -> None:
        """Say who may do what."""
        self._do(f"bucket {name}", lambda: self.s3.put_bucket_policy(Bucket=name, Policy=json.dumps(policy)))

    def objects(self, name: str) -> list[str]:
        """Every object."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=name)
        return do(
            f"bucket {name}", lambda: [item["Key"] for page in pages for item in page.get("Contents", ())]
        )

    def delete_bucket(self, name: str) -> None:
        """Delete an empty bucket."""
        maybe(f"bucket {name}", lambda: self.s3.delete_bucket(Bucket=name))

    # ── IAM ─────────────────────────────────────────────────────────────────────────────────────────────────

    def providers(self) -> Iterator[IamOidcProvider]:
        """Every OpenID Connect provider."""
        listed = do("OIDC providers", self._iam.list_open_id_connect_providers)
        for one in listed["OpenIDConnectProviderList"]:
            arn = one["Arn"]
            get = functools.partial(self._iam.get_open_id_connect_provider, OpenIDConnectProviderArn=arn)
            found = maybe(f"OIDC provider {arn}", get)
            if found:
                yield IamOidcProvider(
                    arn, found["Url"], tuple(found.get("ClientIDList", ())), tags_of(found.get("Tags"))
                )

    def create_provider(self, url: str, clients: tuple[str, ...], tags: Mapping[str, str]) -> str:
        """Trust an issuer; its ARN. IAM looks up the certificate of the issuer by itself."""
        created = do(
            f"OIDC provider {url}",
            lambda: self._iam.create_open_id_connect_provider(
                Url=url, ClientIDList=list(clients), Tags=_listed(tags)
            ),
        )
        return str(created["OpenIDConnectProviderArn"])

    def add_client(self, arn: str, client: str) -> None:
        """Take tokens for this audience, too."""
        self._do(
            f"OIDC provider {arn}",
            lambda: self._iam.add_client_id_to_open_id_connect_provider(
                OpenIDConnectProviderArn=arn, ClientID=client
            ),
        )

    def delete_provider(self, arn: str) -> None:
        """Trust it no longer."""
        maybe(
            f"OIDC provider {arn}",
            lambda: self._iam.delete_open_id_connect_provider(OpenIDConnectProviderArn=arn),
        )

    def role(self, name: str) -> IamRole | None:
        """A role with its inline policy."""
        found = maybe(f"role {name}", lambda: self._iam.get_role(RoleName=name))
        if found is None:
            return None
        policy = maybe(f"role {name}", lambda: self._iam.get_role_policy(RoleName=name, PolicyName=name))
        role = found["Role"]
        document = policy["PolicyDocument"] if policy else None
        return IamRole(
            name,
            role["Arn"],
            _document(role["AssumeRolePolicyDocument"]),
            tags_of(role.get("Tags")),
            document,
        )

    def roles(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Name and tags of every role."""
        pages = self._iam.get_paginator("list_roles").paginate()
        for name in do("roles", lambda: [role["RoleName"] for page in pages for role in page["Roles"]]):
            found = maybe(f"role {name}", functools.partial(self._iam.list_role_tags, RoleName=name))
            yield name, tags_of((found or {}).get("Tags"))

    def create_role(
        self, name: str, trust: Mapping[str, Any], tags: Mapping[str, str], *, boundary: str, description: str
    ) -> str:
        """Create it; its ARN."""
        more = {"PermissionsBoundary": boundary} if boundary else {}
        created = do(
            f"role {name}",
            lambda: self._iam.create_role(
                RoleName=name,
                AssumeRolePolicyDocument=json.dumps(trust),
                Description=description,
                Tags=_listed(tags),
                **more,
            ),
        )
        return str(created["Role"]["Arn"])

    def trust(self, name: str, trust: Mapping[str, Any]) -> None:
        """Who may take the role."""
        self._do(
            f"role {name}",
            lambda: self._iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(trust)),
        )

    def permit(self, name: str, policy: Mapping[str, Any]) -> None:
        """What the role may do."""
        self._do(
            f"role {name}",
            lambda: self._iam.put_role_policy(
                RoleName=name, PolicyName=name, PolicyDocument=json.dumps(policy)
            ),
        )

    def delete_role(self, name: str) -> None:
        """Delete a role and its inline policies; attached ones are taken off."""
        inline = maybe(f"role {name}", lambda: self._iam.list_role_policies(RoleName=name))
        for policy in (inline or {}).get("PolicyNames", ()):
            drop = functools.partial(self._iam.delete_role_policy, RoleName=name, PolicyName=policy)
            maybe(f"role {name}", drop)
        attached = maybe(f"role {name}", lambda: self._iam.list_attached_role_policies(RoleName=name))
        for policy in (attached or {}).get("AttachedPolicies", ()):
            arn = policy["PolicyArn"]
            maybe(
                f"role {name}", functools.partial(self._iam.detach_role_policy, RoleName=name, PolicyArn=arn)
            )
        maybe(f"role {name}", lambda: self._iam.delete_role(RoleName=name))

    @staticmethod
    def _do(what: str, call: Callable[[], Any], *fine: str) -> None:
        try:
            do(what, call)
        except AwsCallError as fault:
            if fault.code not in fine:
                raise


def do(what: str, call: Callable[[], T]) -> T:
    """The call, its failures made ours."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    try:
        return call()
    except ClientError as error:
        failure = error.response.get("Error", {})
        raise AwsCallError(what, str(failure.get("Code", "")), str(failure.get("Message", ""))) from error
    except NoCredentialsError as error:
        raise errors.Forbidden(f"{what}: no login to AWS: {error}") from error
    except BotoCoreError as error:
        raise errors.Unavailable(f"{what}: {error}") from error


def maybe(what: str, call: Callable[[], T]) -> T | None:
    try:
        return do(what, call)
    except AwsCallError as fault:
        if fault.code in _ABSENT:
            return None
        raise


def tags_of(listed: Any) -> dict[str, str]:
    return {str(tag["Key"]): str(tag["Value"]) for tag in listed or ()}


def _listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _document(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else json.loads(str(found))
