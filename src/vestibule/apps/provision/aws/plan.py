"""The steps between what is wanted on AWS and what exists. Pure: no call, no file.

A bucket or a role that exists and does not bear our tag is refused, never taken over. Trust and permissions
of a role are written when they differ, and not else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vestibule.adapters.clouds.aws.account import Role
from vestibule.apps.provision.aws import actions, names
from vestibule.apps.provision.aws.observed import Observed
from vestibule.apps.provision.aws.request import Wanted
from vestibule.apps.provision.steps import Plan, Ref, Resource, Step, Value, Verb
from vestibule.core.kinds.credentials import CredentialsRequest
from vestibule.errors import InvalidInput, Problem


def issuer(wanted: Wanted, found: Observed) -> Plan:
    """Bucket, access, documents, provider. Raises InvalidInput for a bucket that is not ours."""
    bucket, tags = names.bucket(wanted.name), names.tags(wanted.name)
    # a run that was killed right after it made the bucket leaves one that is empty and says nothing
    begun = found.bucket is not None and found.bucket.empty and not found.bucket.tags
    if found.bucket is not None and not begun and not names.ours(found.bucket.tags, wanted.name):
        text = f"is {wanted.name!r}, and bucket {bucket} exists and is not ours, want another name"
        raise InvalidInput(Problem("--name", "", text))
    steps: list[Step] = []
    known: dict[str, Mapping[str, str]] = {}
    if found.bucket is None or begun:
        create = actions.CreateBucket(bucket, names.constraint(wanted.region), tags)
        steps.append(Step("bucket", "create", f"bucket {bucket}", create, (), Resource("bucket", bucket)))
    address: Value = names.issuer(wanted.name, wanted.region)
    if wanted.private:
        address = Ref("distribution", "issuer")
        if found.distribution is None:
            suffix = names.partition(wanted.region).suffix
            origin = f"{bucket}.s3.{wanted.region}.{suffix}"
            action = actions.CreateDistribution(bucket, origin, tags)
            made = Resource("distribution", bucket)
            title = f"distribution for {bucket}"
            steps.append(Step("distribution", "create", title, action, ("bucket",), made))
        else:
            known["distribution"] = {"issuer": f"https://{found.distribution.domain}"}
    else:
        policy = names.public_policy(wanted.name, wanted.region)
        if found.policy != policy:
            action2 = actions.OpenBucket(bucket, policy)
            steps.append(Step("access", "update", f"public access of {bucket}", action2, ("bucket",)))
    publish = actions.Publish(bucket, address, tags)
    title = f"discovery document and keys in {bucket}"
    steps.append(Step("documents", "publish", title, publish, ("bucket", "access", "distribution")))
    if found.provider is None:
        create2 = actions.CreateProvider(address, tags)
        made = Resource("provider", wanted.name)
        steps.append(Step("provider", "create", "IAM identity provider", create2, ("documents",), made))
    else:
        known["provider"] = {"arn": found.provider.arn}
        if missing := tuple(one for one in names.CLIENTS if one not in found.provider.clients):
            add = actions.AddClients(found.provider.arn, missing)
            steps.append(
                Step("provider", "update", "IAM identity provider", add, ("documents",), why="audiences")
            )
            known.pop("provider")
    return Plan(tuple(steps), known)


def roles(wanted: Wanted, found: Observed, provider: Value) -> Plan:
    """Per request: role, permissions, Secret. Raises InvalidInput for roles that are not ours."""
    steps: list[Step] = []
    known: dict[str, Mapping[str, str]] = {}
    problems: list[Problem] = []
    for request in wanted.requests:
        name = names.role(wanted.name, request)
        there = found.roles.get(name)
        if there is not None and not names.ours(there.tags, wanted.name):
            text = f"role {name} exists and is not ours, want another --name"
            problems.append(Problem(request.place, f"CredentialsRequest {request.name}", text))
            continue
        if there is not None:
            known[f"role/{name}"] = {"arn": there.arn}
        steps += _role(wanted, request, name, there, provider)
    if problems:
        raise InvalidInput(*problems)
    return Plan(tuple(steps), known)


def _role(
    wanted: Wanted, request: CredentialsRequest, name: str, there: Role | None, provider: Value
) -> Iterator[Step]:
    step = f"role/{name}"
    action = actions.PutRole(
        name, there is not None, provider, request, wanted.boundary, names.tags(wanted.name)
    )
    if there is None:
        yield Step(step, "create", f"role {name}", action, ("provider",), Resource("role", name))
    elif not isinstance(provider, str) or there.trust != names.trust(
        provider, names.provider_host(provider), request
    ):
        yield Step(step, "update", f"role {name}", action, ("provider",), why="trust")
    policy, _ = names.permissions(request)
    if there is None or there.policy != policy:
        verb: Verb = "create" if there is None else "update"
        yield Step(f"policy/{name}", verb, f"permissions of {name}", actions.Permit(name, policy), (step,))
    secret = f"{request.namespace}/{request.secret}"
    yield Step(
        f"secret/{secret}",
        "write",
        f"Secret {secret}",
        actions.WriteSecret(request, Ref(step, "arn")),
        (step,),
    )
