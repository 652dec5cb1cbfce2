"""What exists: reads, and no decisions."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from vestibule.adapters.clouds.aws import distributions
from vestibule.adapters.clouds.aws.account import Account, Bucket, Provider, Role
from vestibule.adapters.clouds.aws.distributions import Distribution
from vestibule.apps.provision.aws import names
from vestibule.apps.provision.aws.request import Wanted


class Observed(NamedTuple):
    """The account as it was a moment ago."""

    bucket: Bucket | None = None
    policy: Mapping[str, Any] | None = None
    distribution: Distribution | None = None
    provider: Provider | None = None
    roles: Mapping[str, Role] = {}


def issuer(account: Account, wanted: Wanted) -> Observed:
    """Bucket, distribution, provider."""
    name = names.bucket(wanted.name)
    bucket = account.bucket(name)
    found = None
    if wanted.private:
        found = next(
            (one for one in distributions.listed(account) if names.ours(one.tags, wanted.name)), None
        )
    url = (
        f"https://{found.domain}"
        if found
        else ""
        if wanted.private
        else names.issuer(wanted.name, wanted.region)
    )
    provider = next((one for one in account.providers() if f"https://{one.url}" == url), None)
    return Observed(bucket, account.bucket_policy(name) if bucket else None, found, provider)


def roles(account: Account, wanted: Wanted, parallel: int) -> Observed:
    """The roles of the requests."""
    asked = [names.role(wanted.name, request) for request in wanted.requests]
    with ThreadPoolExecutor(parallel, thread_name_prefix="observe") as pool:
        found = pool.map(account.role, asked)
    return Observed(roles={role.name: role for role in found if role is not None})
