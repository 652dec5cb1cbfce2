"""What ``delete`` removes: what bears our tag, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vestibule.adapters.clouds.aws import distributions
from vestibule.adapters.clouds.aws.account import Account
from vestibule.adapters.clouds.objectstore.s3 import S3
from vestibule.apps.provision.aws import names
from vestibule.apps.provision.aws.actions import Remove
from vestibule.apps.provision.steps import Plan, Resource, Step
from vestibule.core.oidc import documents
from vestibule.errors import InvalidInput, Problem


def plan(account: Account, name: str) -> Plan:
    """The steps: roles, IAM providers, distributions, then the bucket. Only reads."""
    return Plan(tuple(_steps(account, name)), {})


def _steps(account: Account, name: str) -> Iterator[Step]:
    for role, tags in account.roles():
        if names.ours(tags, name):
            yield _remove("role", role, f"role {role}")
    for provider in account.providers():
        if names.ours(provider.tags, name):
            yield _remove("provider", provider.arn, f"IAM identity provider {provider.url}", name)
    for one in distributions.listed(account):
        if names.ours(one.tags, name):
            yield _remove("distribution", one.id, f"distribution {one.id}", names.bucket(name))
    bucket = account.bucket(names.bucket(name))
    if bucket is not None and names.ours(bucket.tags, name):
        yield _remove("bucket", bucket.name, f"bucket {bucket.name}")


def _remove(kind: str, identifier: str, title: str, recorded: str = "") -> Step:
    made = Resource(kind, recorded or identifier)
    return Step(f"{kind}/{identifier}", "delete", title, Remove(kind, identifier), (), made)


class Removing:
    """Does a step."""

    def __init__(self, account: Account, pause: Callable[[float], None]) -> None:
        self._account, self._pause = account, pause

    def __call__(self, step: Step) -> Mapping[str, str]:
        """Nothing is found out. Raises CloudFault, InvalidInput for a bucket with objects of others."""
        match step.action:
            case Remove("role", name):
                self._account.delete_role(name)
            case Remove("provider", arn):
                self._account.delete_provider(arn)
            case Remove("distribution", identifier):
                distributions.remove(self._account, identifier, self._pause)
            case Remove("bucket", name):
                self._bucket(name)
        return {}

    def _bucket(self, name: str) -> None:
        store = S3(name, client=self._account.s3)
        ours = {documents.DISCOVERY_NAME, documents.AWS.keys_name}
        foreign = [key for key in self._account.objects(name) if key not in ours]
        if foreign:
            text = f"holds {len(foreign)} objects that are not ours ({foreign[0]}, …), want it without them"
            raise InvalidInput(Problem(f"bucket {name}", "", text))
        for key in sorted(ours):
            store.remove(key)
        self._account.delete_bucket(name)
