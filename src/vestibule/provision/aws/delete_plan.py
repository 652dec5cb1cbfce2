"""What ``delete`` removes: only resources with our tag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vestibule.clouds.aws import distributions
from vestibule.clouds.aws.account import AwsAccount
from vestibule.clouds.objectstore.s3 import S3
from vestibule.errors import InputProblem, InvalidInput
from vestibule.oidc import documents
from vestibule.provision.aws import names
from vestibule.provision.aws.actions import DeleteAwsResource
from vestibule.provision.steps import OwnedResource, PlannedStep, StepPlan


def plan(account: AwsAccount, name: str) -> StepPlan:
    """The steps: roles, IAM providers, distributions, then the bucket. Only reads."""
    return StepPlan(tuple(_steps(account, name)), {})


def _steps(account: AwsAccount, name: str) -> Iterator[PlannedStep]:
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


def _remove(kind: str, identifier: str, title: str, recorded: str = "") -> PlannedStep:
    resource = OwnedResource(kind, recorded or identifier)
    return PlannedStep(
        f"{kind}/{identifier}", "delete", title, DeleteAwsResource(kind, identifier), (), resource
    )


class AwsDeleter:
    """Does a step."""

    def __init__(self, account: AwsAccount, pause: Callable[[float], None]) -> None:
        self._account, self._pause = account, pause

    def __call__(self, step: PlannedStep) -> Mapping[str, str]:
        """Nothing is found out. Raises AwsCallError, InvalidInput for a bucket with objects of others."""
        match step.action:
            case DeleteAwsResource("role", name):
                self._account.delete_role(name)
            case DeleteAwsResource("provider", arn):
                self._account.delete_provider(arn)
            case DeleteAwsResource("distribution", identifier):
                distributions.remove(self._account, identifier, self._pause)
            case DeleteAwsResource("bucket", name):
                self._bucket(name)
        return {}

    def _bucket(self, name: str) -> None:
        store = S3(name, client=self._account.s3)
        ours = {documents.DISCOVERY_NAME, documents.AWS.keys_name}
        foreign = [key for key in self._account.objects(name) if key not in ours]
        if foreign:
            text = f"holds {len(foreign)} objects that are not ours ({foreign[0]}, …), want it without them"
            raise InvalidInput(InputProblem(f"bucket {name}", "", text))
        for key in sorted(ours):
            store.remove(key)
        self._account.delete_bucket(name)
