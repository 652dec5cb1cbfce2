"""CloudFront in front of a private bucket: the issuer where public buckets are forbidden.

A distribution is found by its tag. Reading the bucket is allowed to this one distribution only (origin access
control). Changes take minutes to reach every edge; who needs them waits.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.clouds.aws.account import AwsAccount, do, maybe, tags_of

_NO_CACHE: Final = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
"""AWS' own policy CachingDisabled: a rotated key must be seen at once."""
_POLLS: Final = 60
_EVERY: Final = 30.0


class Distribution(NamedTuple):
    """One distribution."""

    id: str
    arn: str
    domain: str
    enabled: bool
    deployed: bool
    tags: Mapping[str, str]


def listed(account: AwsAccount) -> Iterator[Distribution]:
    """Every distribution."""
    pages = account.cdn.get_paginator("list_distributions").paginate()
    items = do(
        "distributions",
        lambda: [item for page in pages for item in page["DistributionList"].get("Items", ())],
    )
    for item in items:
        tagged = functools.partial(account.cdn.list_tags_for_resource, Resource=item["ARN"])
        found = maybe(f"distribution {item['Id']}", tagged)
        tags = tags_of((found or {}).get("Tags", {}).get("Items"))
        yield Distribution(
            item["Id"], item["ARN"], item["DomainName"], item["Enabled"], item["Status"] == "Deployed", tags
        )


def create(account: AwsAccount, bucket: str, origin: str, tags: Mapping[str, str]) -> Distribution:
    """A distribution that serves a bucket."""
    control = do(
        f"origin access control {bucket}",
        lambda: account.cdn.create_origin_access_control(
            OriginAccessControlConfig={
                "Name": bucket,
                "Description": f"reads {bucket}",
                "SigningProtocol": "sigv4",
                "SigningBehavior": "always",
                "OriginAccessControlOriginType": "s3",
            }
        ),
    )
    created = do(
        f"distribution for {bucket}",
        lambda: account.cdn.create_distribution_with_tags(
            DistributionConfigWithTags={
                "DistributionConfig": _config(bucket, origin, control["OriginAccessControl"]["Id"]),
                "Tags": {"Items": [{"Key": key, "Value": value} for key, value in tags.items()]},
            }
        ),
    )["Distribution"]
    return Distribution(
        created["Id"], created["ARN"], created["DomainName"], True, created["Status"] == "Deployed", tags
    )


def _config(bucket: str, origin: str, control: str) -> dict[str, Any]:
    return {
        "CallerReference": bucket,
        "Comment": f"issuer {bucket}",
        "Enabled": True,
        "Origins": {
            "Quantity": 1,
            "Items": [
                {
                    "Id": bucket,
                    "DomainName": origin,
                    "OriginAccessControlId": control,
                    "S3OriginConfig": {"OriginAccessIdentity": ""},
                }
            ],
        },
        "DefaultCacheBehavior": {
            "TargetOriginId": bucket,
            "ViewerProtocolPolicy": "https-only",
            "CachePolicyId": _NO_CACHE,
        },
    }


def policy(arn: str, bucket: str, partition: str) -> dict[str, Any]:
    """Only this distribution may read the bucket."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "cloudfront.amazonaws.com"},
                "Action": "s3:GetObject",
                "Resource": f"arn:{partition}:s3:::{bucket}/*",
                "Condition": {"StringEquals": {"AWS:SourceArn": arn}},
            }
        ],
    }


def remove(account: AwsAccount, identifier: str, pause: Callable[[float], None] = time.sleep) -> None:
    """Disable, wait until every edge knows, delete."""
    what = f"distribution {identifier}"
    found = maybe(what, lambda: account.cdn.get_distribution_config(Id=identifier))
    if found is None:
        return
    config = found["DistributionConfig"]
    if config["Enabled"]:
        do(
            what,
            lambda: account.cdn.update_distribution(
                Id=identifier, IfMatch=found["ETag"], DistributionConfig={**config, "Enabled": False}
            ),
        )
    for _ in range(_POLLS):
        now = maybe(what, lambda: account.cdn.get_distribution(Id=identifier))
        if now is None:
            return
        if now["Distribution"]["Status"] == "Deployed":
            do(what, functools.partial(account.cdn.delete_distribution, Id=identifier, IfMatch=now["ETag"]))
            return
        pause(_EVERY)
    raise errors.Unavailable(f"{what}: still being disabled; the same command goes on from there")
