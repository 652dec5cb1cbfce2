"""The steps from the observed to the desired state on Google Cloud. Pure: no call, no file.

A pool, provider, bucket, role or account that exists and is not ours is a problem of the plan, never taken
over. A rerun plans only what is missing; steps that publish and write compare before they write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.clouds.gcp.serviceaccounts import GcpServiceAccount
from vestibule.errors import InputProblem
from vestibule.oidc.keys import PublicKey
from vestibule.provision.gcp import actions, names, policies, providers
from vestibule.provision.gcp.observed import ObservedGcp
from vestibule.provision.gcp.request import GcpRequest, permissions_of
from vestibule.provision.steps import OwnedResource, PlannedStep, StepPlan, StepResult, Value


def pool(desired: GcpRequest, observed: ObservedGcp, known: bool = False) -> StepPlan:
    """The pool; ``known``: the inventory has it."""
    name, existing = desired.pool_name, observed.pool
    title = f"workload identity pool {name}"
    if existing is not None and not (known or names.our_pool(existing)):
        text = (
            f"is {desired.name!r}, and pool {name} exists and is not ours, want another name, "
            "or the single commands with --workload-identity-pool"
        )
        return StepPlan(problems=(InputProblem("--name", "", text),))
    if existing is None or existing.deleted:
        action = actions.MakePool(name, existing is not None)
        why = "was deleted" if existing is not None else ""
        return StepPlan((PlannedStep("pool", "create", title, action, (), OwnedResource("pool", name), why),))
    remarks = (f"{title} is disabled: no token is taken",) if existing.disabled else ()
    return StepPlan(remarks=remarks, existing={"pool": OwnedResource("pool", name)})


def foreign_pool(desired: GcpRequest, observed: ObservedGcp, *, provider: bool) -> StepPlan:
    """The named pool must exist; with ``provider``, the provider too."""
    problems = []
    if observed.pool is None or observed.pool.deleted:
        text = f"is {desired.pool_name!r}, which does not exist, want the id of a pool"
        problems.append(InputProblem("--workload-identity-pool", "", text))
    elif provider:
        existing = observed.providers.get(desired.provider_name)
        if existing is None or existing.deleted:
            text = f"is {desired.provider_name!r}, which pool {desired.pool_name} does not have"
            problems.append(
                InputProblem("--workload-identity-provider", "", f"{text}, want the id of a provider")
            )
    return StepPlan(problems=tuple(problems))


def issuer(desired: GcpRequest, observed: ObservedGcp, keys: Sequence[PublicKey]) -> StepPlan:
    """Bucket, access and documents unless keys are in the provider; the provider."""
    steps: list[PlannedStep] = []
    problems: list[InputProblem] = []
    if not desired.embedded:
        steps += _bucket(desired, observed, problems)
    existing = observed.providers.get(desired.name)
    title = f"workload identity provider {desired.name}"
    action = actions.MakeProvider(desired.pool_name, desired.name)
    after = ("pool", "documents")
    resource = OwnedResource("provider", f"{desired.pool_name}/{desired.name}")
    known = {"provider": resource} if existing else {}
    if observed.bucket is not None and not desired.embedded:
        known["bucket"] = OwnedResource("bucket", observed.bucket.name)
    if existing is None or existing.deleted:
        why = "was deleted" if existing else ""
        steps.append(PlannedStep("provider", "create", title, action, after, resource, why))
    elif lack := providers.lacking(existing, desired, keys):
        steps.append(PlannedStep("provider", "update", title, action, after, why=", ".join(lack)))
    if existing is not None and (text := providers.refusal(existing, desired)):
        problems.append(InputProblem("--name", "", text))
    remarks = tuple(_about_pool(desired, observed))
    return StepPlan(tuple(steps), {}, remarks, tuple(problems), known, desired.issuer)


def _bucket(
    desired: GcpRequest, observed: ObservedGcp, problems: list[InputProblem]
) -> Iterator[PlannedStep]:
    name = names.bucket(desired.name)
    if observed.bucket is None:
        create = actions.CreateGcsBucket(name, desired.region, names.labels(desired.name))
        yield PlannedStep("bucket", "create", f"bucket {name}", create, (), OwnedResource("bucket", name))
    elif not names.our_bucket(observed.bucket, desired.name, observed.number):
        yours = f"{names.LABEL}={desired.name}"
        whose = (
            f"want another name, or the label {yours} on it if it is yours"
            if observed.bucket.project == observed.number
            else "want another name: it is in another project"
            if observed.bucket.project
            else "want another name, or the right storage.buckets.get"
        )
        text = f"is {desired.name!r}, and bucket {name} exists and is not known to be ours, {whose}"
        problems.append(InputProblem("--name", "", text))
    if not observed.public:
        action = actions.MakeGcsBucketPublic(name)
        yield PlannedStep("access", "update", f"public access of bucket {name}", action, ("bucket",))
    title = f"discovery document and keys in bucket {name}"
    yield PlannedStep("documents", "publish", title, actions.PublishToGcs(name), ("bucket", "access"))


def _about_pool(desired: GcpRequest, observed: ObservedGcp) -> Iterator[str]:
    others = sorted(
        name for name, one in observed.providers.items() if name != desired.name and not one.deleted
    )
    if others:
        yield (
            f"pool {desired.pool_name} has other providers ({', '.join(others)}): a subject that they vouch "
            "for is the same to Google as that of this cluster, want a pool for each cluster"
        )


def accounts(desired: GcpRequest, observed: ObservedGcp, known: frozenset[str] = frozenset()) -> StepPlan:
    """Per request: custom role, account, roles in the project, trust, Secret. ``known`` are ids of accounts
    that the inventory has."""
    plan = StepPlan()
    for request in desired.requests:
        plan = plan.then(_request(desired, observed, request, known))
    return plan


def _request(
    desired: GcpRequest, observed: ObservedGcp, request: CredentialsRequest, known: frozenset[str]
) -> StepPlan:
    display = names.display(desired.name, request)
    step = f"account/{display}"
    existing, problems = _account(desired, observed, request, known)
    steps = [*_role(desired, observed, request, problems)]
    email: Value = existing.email if existing else StepResult(step, "email")
    if existing is None:
        identifier = names.account(desired.name, request)
        create = actions.CreateServiceAccount(identifier, display, names.description(display, desired.name))
        resource = OwnedResource("account", identifier)
        steps.append(PlannedStep(step, "create", f"service account {display}", create, (), resource))
    roles = desired.roles(request)
    member = f"serviceAccount:{existing.email}" if existing else ""
    if missing := tuple(
        one for one in roles if not existing or not policies.holds(observed.policy, one, member)
    ):
        title = f"roles of {display} in project {desired.project}"
        after = (step, f"role/{names.role_title(desired.project, request)}")
        bind = actions.Bind(email, missing)
        steps.append(PlannedStep(f"bind/{display}", "update", title, bind, after, why=", ".join(missing)))
    members = tuple(names.principal(observed.number, desired.pool_name, one) for one in request.subjects)
    trust = actions.Trust(email, members)
    if existing is None or _distrusts(observed, existing.email, members, desired):
        title = f"who may act as {display}"
        steps.append(PlannedStep(f"trust/{display}", "update", title, trust, (step, "pool")))
    secret = f"{request.namespace}/{request.secret}"
    write = actions.WriteGcpSecret(request, email)
    steps.append(PlannedStep(f"secret/{secret}", "write", f"Secret {secret}", write, (step,)))
    more = sorted(policies.roles_of(observed.policy, member) - set(roles)) if existing else []
    remarks = [f"service account {display} has more roles than its request: {', '.join(more)}; not removed"]
    exists = {step: OwnedResource("account", existing.id)} if existing else {}
    title = names.role_title(desired.project, request)
    custom = observed.roles.get(names.role(desired.project, request))
    if custom is not None and names.our_role(custom, title):
        exists[f"role/{title}"] = OwnedResource("role", custom.id)
    return StepPlan(tuple(steps), {}, tuple(remarks if more else ()), tuple(problems), exists)


def _account(
    desired: GcpRequest, observed: ObservedGcp, request: CredentialsRequest, known: frozenset[str]
) -> tuple[GcpServiceAccount | None, list[InputProblem]]:
    """The account of a request that exists, and what speaks against using it."""
    display, identifier = names.display(desired.name, request), names.account(desired.name, request)
    same_name = [one for one in observed.accounts if one.display == display or one.id == identifier]
    ours = [
        one
        for one in same_name
        if one.display == display and (one.id in known or names.our_account(one, desired.name))
    ]
    place, field = request.place, f"CredentialsRequest {request.name}"
    if same_name and not ours:
        text = f"service account {same_name[0].email} exists and is not ours, want another --name"
        return None, [InputProblem(place, field, text)]
    exact = [one for one in ours if one.id == identifier]
    if len(ours) > 1 and not exact:
        listed = ", ".join(one.email for one in ours)
        return None, [InputProblem(place, field, f"service accounts {listed} are all of that name, want one")]
    chosen = [*exact, *ours]
    return (chosen[0] if chosen else None), []


def _role(
    desired: GcpRequest, observed: ObservedGcp, request: CredentialsRequest, problems: list[InputProblem]
) -> Iterator[PlannedStep]:
    permissions = permissions_of(request)[0].permissions
    if not permissions:
        return
    identifier, title = names.role(desired.project, request), names.role_title(desired.project, request)
    existing = observed.roles.get(identifier)
    if existing is not None and existing.title != title:
        text = f"role {identifier} exists as {existing.title!r} and is not ours, want another name"
        problems.append(InputProblem(request.place, f"CredentialsRequest {request.name}", text))
        return
    missing = [one for one in permissions if existing is None or one not in existing.permissions]
    display = names.display(desired.name, request)
    action = actions.MakeRole(identifier, title, names.description(display), permissions)
    if existing is None or existing.deleted:
        why = "was deleted" if existing else ""
        resource = OwnedResource("role", identifier)
        yield PlannedStep(f"role/{title}", "create", f"custom role {identifier}", action, (), resource, why)
    elif missing:
        why = f"adds {', '.join(missing)}"
        yield PlannedStep(f"role/{title}", "update", f"custom role {identifier}", action, why=why)


def _distrusts(observed: ObservedGcp, email: str, members: tuple[str, ...], desired: GcpRequest) -> bool:
    """Whether the policy of an account is other than it should be."""
    policy = observed.trusts.get(email, {})
    trusted = policies.members_of(policy, names.IDENTITY_USER)
    stale = (one for one in trusted - set(members) if is_stale(one, observed.number, desired.pool_name))
    missing = (one for one in members if not policies.holds(policy, names.IDENTITY_USER, one))
    return any(missing) or any(stale)


def is_stale(member: str, number: str, pool: str) -> bool:
    """Whether a member is a ServiceAccount of this pool, bound by an earlier run."""
    return member.startswith(names.principal(number, pool, "system:serviceaccount:"))
