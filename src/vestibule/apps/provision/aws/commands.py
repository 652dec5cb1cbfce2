"""The commands of ``vestibule aws``: check, observe, plan, perform, write. A rerun goes on from there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from vestibule.adapters.clouds import publication
from vestibule.adapters.clouds.aws import distributions
from vestibule.adapters.clouds.aws.account import Account
from vestibule.adapters.clouds.objectstore.s3 import S3
from vestibule.apps.provision import runner
from vestibule.apps.provision.aws import manifests, names
from vestibule.apps.provision.aws import plan as plans
from vestibule.apps.provision.aws.plan import Plan, Wanted
from vestibule.apps.provision.azure import manifests as common
from vestibule.apps.provision.inventory import Inventory
from vestibule.apps.provision.outputs import READABLE, Output
from vestibule.apps.provision.steps import Ref, Resource, Results, Step
from vestibule.core.oidc import documents
from vestibule.core.oidc.keys import PublicKey
from vestibule.errors import InvalidInput, Problem

Result = Mapping[str, str]


class How(NamedTuple):
    """How a command is to be done."""

    output: Path
    progress: runner.Progress
    dry: bool = False
    look: bool = False
    parallel: int = 4
    verify: bool = True
    pause: Callable[[float], None] = time.sleep


class Report(NamedTuple):
    """What was, or would be, done."""

    plan: Plan
    issuer: str = ""
    files: tuple[str, ...] = ()
    provider: str = ""


def issuer(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """Bucket, documents, IAM provider."""
    _check(wanted)
    output = Output(how.output)
    return _issuer(wanted, output.public_key(public_key), output, how)


def roles(wanted: Wanted, how: How) -> Report:
    """Roles for CredentialsRequests."""
    _check(wanted)
    return _roles(wanted, Output(how.output), how)


def everything(wanted: Wanted, public_key: Path | None, how: How) -> Report:
    """A key pair unless one is given, the issuer, the roles."""
    _check(wanted)
    output = Output(how.output)
    if public_key is None and not how.look:
        output.key_pair()
    keys = output.public_key(public_key) if public_key or not how.look else ()
    first = _issuer(wanted, keys, output, how)
    second = _roles(wanted._replace(provider=first.provider), output, how)
    both = Plan((*first.plan.steps, *second.plan.steps), {}, (*first.plan.remarks, *second.plan.remarks))
    return Report(both, first.issuer, tuple(output.written), first.provider)


def delete(name: str, region: str, how: How) -> Report:
    """Remove what bears our tag."""
    account = Account(region)
    inventory = Inventory(how.output, "aws", name)
    planned = Plan(tuple(_removal(account, name)), {})
    if not (how.dry or how.look):
        runner.run(
            planned.steps,
            lambda step: _removed(account, step, how.pause),
            known={},
            inventory=inventory,
            progress=how.progress,
            parallel=how.parallel,
        )
    return Report(planned)


class Remove(NamedTuple):
    """Delete one thing."""

    kind: str
    id: str


def _removal(account: Account, name: str) -> Iterator[Step]:
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
        step = _remove("bucket", bucket.name, f"bucket {bucket.name}")
        yield step


def _remove(kind: str, identifier: str, title: str, recorded: str = "") -> Step:
    made = Resource(kind, recorded or identifier)
    return Step(f"{kind}/{identifier}", "delete", title, Remove(kind, identifier), (), made)


def _removed(account: Account, step: Step, pause: Callable[[float], None]) -> Result:
    match step.action:
        case Remove("role", name):
            account.delete_role(name)
        case Remove("provider", arn):
            account.delete_provider(arn)
        case Remove("distribution", identifier):
            distributions.remove(account, identifier, pause)
        case Remove("bucket", name):
            store = S3(name, client=account.s3)
            ours = {documents.DISCOVERY_NAME, documents.AWS.keys_name}
            foreign = [key for key in account.objects(name) if key not in ours]
            if foreign:
                text = (
                    f"holds {len(foreign)} objects that are not ours ({foreign[0]}, …), want it without them"
                )
                raise InvalidInput(Problem(f"bucket {name}", "", text))
            for key in sorted(ours):
                store.remove(key)
            account.delete_bucket(name)
    return {}


def _issuer(wanted: Wanted, keys: Sequence[PublicKey], output: Output, how: How) -> Report:
    url = "" if wanted.private else names.issuer(wanted.name, wanted.region)
    if how.dry:
        _dry_issuer(wanted, url, keys, output)
        return Report(plans.issuer(wanted, plans.Observed()), url, tuple(output.written))
    account = Account(wanted.region)
    found = plans.observe_issuer(account, wanted)
    planned = plans.issuer(wanted, found)
    provider = found.provider.arn if found.provider else ""
    if how.look:
        return Report(planned, url, provider=provider)
    inventory = Inventory(how.output, "aws", wanted.name)
    results = _run(planned, _Issuing(account, wanted, keys, how), inventory, how)
    url = results["documents"]["issuer"]
    provider = results["provider"]["arn"]
    output.folder("manifests")
    output.write(common.AUTHENTICATION, common.authentication(url))
    return Report(planned, url, tuple(output.written), provider)


class _Issuing:
    def __init__(self, account: Account, wanted: Wanted, keys: Sequence[PublicKey], how: How) -> None:
        self._account, self._wanted, self._keys, self._how = account, wanted, keys, how

    def __call__(self, step: Step) -> Result:
        account, wanted = self._account, self._wanted
        match step.action:
            case plans.CreateBucket(name, constraint, tags):
                account.create_bucket(name, constraint, tags)
                if wanted.private:
                    account.block_public(name, acls=True, policies=True)
            case plans.OpenBucket(name, policy):
                account.block_public(name, acls=True, policies=False)
                account.put_bucket_policy(name, policy)
            case plans.CreateDistribution(bucket, origin, tags):
                made = distributions.create(account, bucket, origin, tags)
                partition = names.partition(wanted.region).name
                account.put_bucket_policy(bucket, distributions.policy(made.arn, bucket, partition))
                return {"issuer": f"https://{made.domain}"}
            case plans.Publish(bucket, issuer, tags):
                fetch = publication.fetching() if self._how.verify else None
                patience = (
                    1_200.0 if wanted.private else publication.PATIENCE
                )  # a new distribution takes minutes
                publication.publish(
                    S3(bucket, client=account.s3),
                    str(issuer),
                    self._keys,
                    shape=documents.AWS,
                    tags=tags,
                    fetch=fetch,
                    patience=patience,
                    pause=self._how.pause,
                )
                return {"issuer": str(issuer)}
            case plans.CreateProvider(issuer, tags):
                return {"arn": account.create_provider(str(issuer), names.CLIENTS, tags)}
            case plans.AddClients(arn, clients):
                for client in clients:
                    account.add_client(arn, client)
                return {"arn": arn}
        return {}


def _roles(wanted: Wanted, output: Output, how: How) -> Report:
    output_names = [manifests.secret(request, "") for request in wanted.requests] if how.dry else []
    if how.dry:
        _dry_roles(wanted, output_names, output)
        planned = plans.roles(wanted, plans.Observed(), wanted.provider or Ref("provider", "arn"))
        return Report(planned, files=tuple(output.written))
    account = Account(wanted.region or "us-east-1")
    found = plans.observe_roles(account, wanted, how.parallel)
    planned = plans.roles(wanted, found, wanted.provider or Ref("provider", "arn"))
    if how.look:
        return Report(planned)
    inventory = Inventory(how.output, "aws", wanted.name)

    def perform(step: Step) -> Result:
        match step.action:
            case plans.PutRole(name, exists, provider, request, boundary, tags):
                trust = names.trust(str(provider), names.provider_host(str(provider)), request)
                if exists:
                    account.trust(name, trust)
                    return dict(planned.known[step.id])
                description = f"OpenShift role for {request.namespace}/{request.secret}"
                arn = account.create_role(name, trust, tags, boundary=boundary, description=description)
                return {"arn": arn}
            case plans.Permit(name, policy):
                account.permit(name, policy)
            case plans.WriteSecret(request, role):
                output.write(common.secret_path(request), manifests.secret(request, str(role)))
        return {}

    _run(planned, perform, inventory, how)
    return Report(planned, files=tuple(output.written))


def _dry_issuer(wanted: Wanted, url: str, keys: Sequence[PublicKey], output: Output) -> None:
    """Files for `aws … --cli-input-json`, numbered in the order in which they are used."""
    bucket, tags = names.bucket(wanted.name), names.tags(wanted.name)
    constraint = names.constraint(wanted.region)
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
    output.write(common.AUTHENTICATION, common.authentication(url))


def _dry_roles(wanted: Wanted, secrets: Sequence[str], output: Output) -> None:
    host = names.provider_host(wanted.provider) or names.UNKNOWN_ISSUER
    for number, (request, secret) in enumerate(zip(wanted.requests, secrets, strict=True)):
        name = names.role(wanted.name, request)
        trust = names.trust(wanted.provider or "<enter_identity_provider_arn_here>", host, request)
        policy, _ = names.permissions(request)
        role = {
            "RoleName": name,
            "AssumeRolePolicyDocument": json.dumps(trust),
            "Tags": _listed(names.tags(wanted.name)),
            **({"PermissionsBoundary": wanted.boundary} if wanted.boundary else {}),
        }
        _json(output, f"05-{number}-{name}-role.json", role)
        permit = {"RoleName": name, "PolicyName": name, "PolicyDocument": json.dumps(policy)}
        _json(output, f"06-{number}-{name}-policy.json", permit)
        output.write(common.secret_path(request), secret)


def _json(output: Output, name: str, value: object) -> None:
    output.write(PurePosixPath(name), json.dumps(value, indent=4), READABLE)


def _listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _check(wanted: Wanted) -> None:
    problems = [*names.problems(wanted.name, wanted.region, wanted.boundary, wanted.provider or None)]
    for request in wanted.requests:
        for path, text in names.permissions(request)[1]:
            field = ".".join(map(str, path))
            problems.append(Problem(request.place, f"CredentialsRequest {request.name}: {field}", text))
    if problems:
        raise InvalidInput(*problems)


def _run(planned: Plan, perform: runner.Perform, inventory: Inventory, how: How) -> Results:
    return runner.run(
        planned.steps,
        perform,
        known=planned.known,
        inventory=inventory,
        progress=how.progress,
        parallel=how.parallel,
    )
