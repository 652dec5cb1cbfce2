"""The state of an account: calls that only read. No decision is made here."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from vestibule.clouds.aws import distributions
from vestibule.clouds.aws.account import AwsAccount, IamOidcProvider, IamRole, S3Bucket
from vestibule.clouds.aws.distributions import Distribution
from vestibule.provision.aws import names
from vestibule.provision.aws.request import AwsRequest


class ObservedAws(NamedTuple):
    """The resources of a name, as they were when they were read."""

    bucket: S3Bucket | None = None
    policy: Mapping[str, Any] | None = None
    distribution: Distribution | None = None
    provider: IamOidcProvider | None = None
    roles: Mapping[str, IamRole] = {}


def issuer(account: AwsAccount, desired: AwsRequest) -> ObservedAws:
    """Bucket, distribution, provider."""
    name = names.bucket(desired.name)
    bucket = account.bucket(name)
    distribution, url = None, names.issuer(desired.name, desired.region)
    if desired.private:
        ours = (one for one in distributions.listed(account) if names.ours(one.tags, desired.name))
        distribution = next(ours, None)
        url = f"https://{distribution.domain}" if distribution else ""
    provider = next((one for one in account.providers() if f"https://{one.url}" == url), None)
    return ObservedAws(bucket, account.bucket_policy(name) if bucket else None, distribution, provider)


def roles(account: AwsAccount, desired: AwsRequest, parallel: int) -> dict[str, IamRole]:
    """The roles of the requests that exist, by name."""
    requested = [names.role(desired.name, request) for request in desired.requests]
    with ThreadPoolExecutor(parallel, thread_name_prefix="observe") as pool:
        found = pool.map(account.role, requested)
    return {role.name: role for role in found if role is not None}
