"""The steps from the observed to the desired state on AWS. Pure: no call, no file.

A bucket or a role that exists without our tag is a problem of the plan, never taken over. Trust and
permissions of a role are written only if they differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.clouds.aws.account import IamRole
from vestibule.errors import InputProblem
from vestibule.provision.aws import actions, names
from vestibule.provision.aws.observed import ObservedAws
from vestibule.provision.aws.request import AwsRequest
from vestibule.provision.steps import OwnedResource, PlannedStep, StepPlan, StepResult, Value, Verb


def issuer(desired: AwsRequest, observed: ObservedAws) -> StepPlan:
    """Bucket, access, documents, provider. Problem: a bucket that is not ours."""
    bucket, tags = names.bucket(desired.name), names.tags(desired.name)
    problems: list[InputProblem] = []
    # a run that was killed right after it created the bucket leaves one that is empty and has no tags
    begun = observed.bucket is not None and observed.bucket.empty and not observed.bucket.tags
    if observed.bucket is not None and not begun and not names.ours(observed.bucket.tags, desired.name):
        text = f"is {desired.name!r}, and bucket {bucket} exists and is not ours, want another name"
        problems.append(InputProblem("--name", "", text))
    steps: list[PlannedStep] = []
    known: dict[str, Mapping[str, str]] = {}
    if observed.bucket is None or begun:
        create = actions.CreateS3Bucket(bucket, names.constraint(desired.region), tags)
        steps.append(
            PlannedStep("bucket", "create", f"bucket {bucket}", create, (), OwnedResource("bucket", bucket))
        )
    address: Value = names.issuer(desired.name, desired.region)
    if desired.private:
        address = StepResult("distribution", "issuer")
        if observed.distribution is None:
            suffix = names.partition(desired.region).suffix
            origin = f"{bucket}.s3.{desired.region}.{suffix}"
            action = actions.CreateDistribution(bucket, origin, tags)
            resource = OwnedResource("distribution", bucket)
            title = f"distribution for {bucket}"
            steps.append(PlannedStep("distribution", "create", title, action, ("bucket",), resource))
        else:
            known["distribution"] = {"issuer": f"https://{observed.distribution.domain}"}
    else:
        policy = names.public_policy(desired.name, desired.region)
        if observed.policy != policy:
            action2 = actions.MakeS3BucketPublic(bucket, policy)
            steps.append(PlannedStep("access", "update", f"public access of {bucket}", action2, ("bucket",)))
    publish = actions.PublishToS3(bucket, address, tags)
    title = f"discovery document and keys in {bucket}"
    steps.append(PlannedStep("documents", "publish", title, publish, ("bucket", "access", "distribution")))
    if observed.provider is None:
        create2 = actions.CreateProvider(address, tags)
        resource = OwnedResource("provider", desired.name)
        steps.append(
            PlannedStep("provider", "create", "IAM identity provider", create2, ("documents",), resource)
        )
    else:
        known["provider"] = {"arn": observed.provider.arn}
        if missing := tuple(one for one in names.CLIENTS if one not in observed.provider.clients):
            add = actions.AddClients(observed.provider.arn, missing)
            steps.append(
                PlannedStep(
                    "provider", "update", "IAM identity provider", add, ("documents",), why="audiences"
                )
            )
            known.pop("provider")
    return StepPlan(tuple(steps), known, problems=tuple(problems), issuer=address)


def provider_arn(observed: ObservedAws) -> Value:
    """The ARN of the IAM identity provider that ``issuer`` leads to."""
    return observed.provider.arn if observed.provider else StepResult("provider", "arn")


def roles(desired: AwsRequest, observed: ObservedAws, provider: Value) -> StepPlan:
    """Per request: role, permissions, Secret. Problem: a role that is not ours."""
    steps: list[PlannedStep] = []
    known: dict[str, Mapping[str, str]] = {}
    problems: list[InputProblem] = []
    for request in desired.requests:
        name = names.role(desired.name, request)
        existing = observed.roles.get(name)
        if existing is not None and not names.ours(existing.tags, desired.name):
            text = f"role {name} exists and is not ours, want another --name"
            problems.append(InputProblem(request.place, f"CredentialsRequest {request.name}", text))
            continue
        if existing is not None:
            known[f"role/{name}"] = {"arn": existing.arn}
        steps += _role(desired, request, name, existing, provider)
    return StepPlan(tuple(steps), known, problems=tuple(problems))


def _role(
    desired: AwsRequest, request: CredentialsRequest, name: str, existing: IamRole | None, provider: Value
) -> Iterator[PlannedStep]:
    step = f"role/{name}"
    action = actions.PutIamRole(
        name, existing is not None, provider, request, desired.boundary, names.tags(desired.name)
    )
    if existing is None:
        yield PlannedStep(step, "create", f"role {name}", action, ("provider",), OwnedResource("role", name))
    elif not isinstance(provider, str) or existing.trust != names.trust(
        provider, names.provider_host(provider), request
    ):
        yield PlannedStep(step, "update", f"role {name}", action, ("provider",), why="trust")
    policy, _ = names.permissions(request)
    if existing is None or existing.policy != policy:
        verb: Verb = "create" if existing is None else "update"
        yield PlannedStep(
            f"policy/{name}", verb, f"permissions of {name}", actions.Permit(name, policy), (step,)
        )
    secret = f"{request.namespace}/{request.secret}"
    yield PlannedStep(
        f"secret/{secret}",
        "write",
        f"Secret {secret}",
        actions.WriteAwsSecret(request, StepResult(step, "arn")),
        (step,),
    )
