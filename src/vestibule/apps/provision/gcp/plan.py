"""The steps between what is wanted and what exists. Pure: no call, no file.

A pool, provider, bucket, role or account that exists and is not ours is a problem of the plan, never taken
over. What a rerun finds done is no longer in its plan; publishing and writing files look for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vestibule.adapters.clouds.gcp.accounts import Account
from vestibule.apps.provision.gcp import actions, names, policies, providers
from vestibule.apps.provision.gcp.observed import Observed
from vestibule.apps.provision.gcp.request import Wanted, rights
from vestibule.apps.provision.steps import Ref, Resource, Step, Value
from vestibule.core.kinds.credentials import CredentialsRequest
from vestibule.core.oidc.keys import PublicKey
from vestibule.errors import InvalidInput, Problem


class Plan(NamedTuple):
    """What to do, and what is known already."""

    steps: tuple[Step, ...] = ()
    known: Mapping[str, Mapping[str, str]] = {}
    remarks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    found: Mapping[str, Resource] = {}
    """What is ours and exists already, by the step that would have made it: for the inventory."""

    def then(self, other: Plan) -> Plan:
        """Both."""
        return Plan(
            (*self.steps, *other.steps),
            {**self.known, **other.known},
            (*self.remarks, *other.remarks),
            (*self.problems, *other.problems),
            {**self.found, **other.found},
        )

    def accepted(self) -> Plan:
        """The plan itself. Raises InvalidInput with all of its problems."""
        if self.problems:
            raise InvalidInput(*self.problems)
        return self


def pool(wanted: Wanted, found: Observed, known: bool = False) -> Plan:
    """The pool; ``known``: the inventory has it."""
    name, there = wanted.pool_name, found.pool
    title = f"workload identity pool {name}"
    if there is not None and not (known or names.our_pool(there)):
        text = (
            f"is {wanted.name!r}, and pool {name} exists and is not ours, want another name, "
            "or the single commands with --workload-identity-pool"
        )
        return Plan(problems=(Problem("--name", "", text),))
    if there is None or there.deleted:
        action = actions.MakePool(name, there is not None)
        why = "was deleted" if there is not None else ""
        return Plan((Step("pool", "create", title, action, (), Resource("pool", name), why),))
    remarks = (f"{title} is disabled: no token is taken",) if there.disabled else ()
    return Plan(remarks=remarks, found={"pool": Resource("pool", name)})


def foreign_pool(wanted: Wanted, found: Observed, *, provider: bool) -> Plan:
    """A pool that was named must be there; with ``provider``, the provider too."""
    problems = []
    if found.pool is None or found.pool.deleted:
        text = f"is {wanted.pool_name!r}, which does not exist, want the id of a pool"
        problems.append(Problem("--workload-identity-pool", "", text))
    elif provider:
        there = found.providers.get(wanted.provider_name)
        if there is None or there.deleted:
            text = f"is {wanted.provider_name!r}, which pool {wanted.pool_name} does not have"
            problems.append(Problem("--workload-identity-provider", "", f"{text}, want the id of a provider"))
    return Plan(problems=tuple(problems))


def issuer(wanted: Wanted, found: Observed, keys: Sequence[PublicKey]) -> Plan:
    """Bucket, access and documents unless keys are kept in the provider; the provider."""
    steps: list[Step] = []
    problems: list[Problem] = []
    if not wanted.embedded:
        steps += _bucket(wanted, found, problems)
    there = found.providers.get(wanted.name)
    title = f"workload identity provider {wanted.name}"
    action = actions.MakeProvider(wanted.pool_name, wanted.name)
    after = ("pool", "documents")
    made = Resource("provider", f"{wanted.pool_name}/{wanted.name}")
    known = {"provider": made} if there else {}
    if found.bucket is not None and not wanted.embedded:
        known["bucket"] = Resource("bucket", found.bucket.name)
    if there is None or there.deleted:
        why = "was deleted" if there else ""
        steps.append(Step("provider", "create", title, action, after, made, why))
    elif lack := providers.lacking(there, wanted, keys):
        steps.append(Step("provider", "update", title, action, after, why=", ".join(lack)))
    if there is not None and (text := providers.refusal(there, wanted)):
        problems.append(Problem("--name", "", text))
    return Plan(tuple(steps), {}, tuple(_about_pool(wanted, found)), tuple(problems), known)


def _bucket(wanted: Wanted, found: Observed, problems: list[Problem]) -> Iterator[Step]:
    name = names.bucket(wanted.name)
    if found.bucket is None:
        create = actions.CreateBucket(name, wanted.region, names.labels(wanted.name))
        yield Step("bucket", "create", f"bucket {name}", create, (), Resource("bucket", name))
    elif not names.our_bucket(found.bucket, wanted.name, found.number):
        yours = f"{names.LABEL}={wanted.name}"
        whose = (
            f"want another name, or the label {yours} on it if it is yours"
            if found.bucket.project == found.number
            else "want another name: it is in another project"
            if found.bucket.project
            else "want another name, or the right storage.buckets.get"
        )
        text = f"is {wanted.name!r}, and bucket {name} exists and is not known to be ours, {whose}"
        problems.append(Problem("--name", "", text))
    if not found.public:
        action = actions.OpenBucket(name)
        yield Step("access", "update", f"public access of bucket {name}", action, ("bucket",))
    title = f"discovery document and keys in bucket {name}"
    yield Step("documents", "publish", title, actions.Publish(name), ("bucket", "access"))


def _about_pool(wanted: Wanted, found: Observed) -> Iterator[str]:
    others = sorted(name for name, one in found.providers.items() if name != wanted.name and not one.deleted)
    if others:
        yield (
            f"pool {wanted.pool_name} has other providers ({', '.join(others)}): a subject that they vouch "
            "for is the same to Google as that of this cluster, want a pool for each cluster"
        )


def accounts(wanted: Wanted, found: Observed, known: frozenset[str] = frozenset()) -> Plan:
    """Per request: custom role, account, roles in the project, trust, Secret. ``known`` are ids of accounts
    that the inventory has."""
    whole = Plan()
    for request in wanted.requests:
        whole = whole.then(_request(wanted, found, request, known))
    return whole


def _request(wanted: Wanted, found: Observed, request: CredentialsRequest, known: frozenset[str]) -> Plan:
    display = names.display(wanted.name, request)
    step = f"account/{display}"
    there, problems = _account(wanted, found, request, known)
    steps = [*_role(wanted, found, request, problems)]
    email: Value = there.email if there else Ref(step, "email")
    if there is None:
        identifier = names.account(wanted.name, request)
        create = actions.CreateAccount(identifier, display, names.description(display, wanted.name))
        made = Resource("account", identifier)
        steps.append(Step(step, "create", f"service account {display}", create, (), made))
    roles = wanted.roles(request)
    member = f"serviceAccount:{there.email}" if there else ""
    if missing := tuple(one for one in roles if not there or not policies.holds(found.policy, one, member)):
        title = f"roles of {display} in project {wanted.project}"
        after = (step, f"role/{names.role_title(wanted.project, request)}")
        bind = actions.Bind(email, missing)
        steps.append(Step(f"bind/{display}", "update", title, bind, after, why=", ".join(missing)))
    members = tuple(names.principal(found.number, wanted.pool_name, one) for one in request.subjects)
    trust = actions.Trust(email, members)
    if there is None or _distrusts(found, there.email, members, wanted):
        title = f"who may act as {display}"
        steps.append(Step(f"trust/{display}", "update", title, trust, (step, "pool")))
    secret = f"{request.namespace}/{request.secret}"
    write = actions.WriteSecret(request, email)
    steps.append(Step(f"secret/{secret}", "write", f"Secret {secret}", write, (step,)))
    more = sorted(policies.roles_of(found.policy, member) - set(roles)) if there else []
    remarks = [f"service account {display} has more than its request asks for: {', '.join(more)}; kept"]
    exists = {step: Resource("account", there.id)} if there else {}
    title = names.role_title(wanted.project, request)
    custom = found.roles.get(names.role(wanted.project, request))
    if custom is not None and names.our_role(custom, title):
        exists[f"role/{title}"] = Resource("role", custom.id)
    return Plan(tuple(steps), {}, tuple(remarks if more else ()), tuple(problems), exists)


def _account(
    wanted: Wanted, found: Observed, request: CredentialsRequest, known: frozenset[str]
) -> tuple[Account | None, list[Problem]]:
    """The account of a request that exists, and what speaks against using it."""
    display, identifier = names.display(wanted.name, request), names.account(wanted.name, request)
    alike = [one for one in found.accounts if one.display == display or one.id == identifier]
    ours = [
        one
        for one in alike
        if one.display == display and (one.id in known or names.our_account(one, wanted.name))
    ]
    place, field = request.place, f"CredentialsRequest {request.name}"
    if alike and not ours:
        text = f"service account {alike[0].email} exists and is not ours, want another --name"
        return None, [Problem(place, field, text)]
    exact = [one for one in ours if one.id == identifier]
    if len(ours) > 1 and not exact:
        listed = ", ".join(one.email for one in ours)
        return None, [Problem(place, field, f"service accounts {listed} are all of that name, want one")]
    chosen = [*exact, *ours]
    return (chosen[0] if chosen else None), []


def _role(
    wanted: Wanted, found: Observed, request: CredentialsRequest, problems: list[Problem]
) -> Iterator[Step]:
    permissions = rights(request)[0].permissions
    if not permissions:
        return
    identifier, title = names.role(wanted.project, request), names.role_title(wanted.project, request)
    there = found.roles.get(identifier)
    if there is not None and there.title != title:
        text = f"role {identifier} exists as {there.title!r} and is not ours, want another name"
        problems.append(Problem(request.place, f"CredentialsRequest {request.name}", text))
        return
    missing = [one for one in permissions if there is None or one not in there.permissions]
    display = names.display(wanted.name, request)
    action = actions.MakeRole(identifier, title, names.description(display), permissions)
    if there is None or there.deleted:
        why = "was deleted" if there else ""
        made = Resource("role", identifier)
        yield Step(f"role/{title}", "create", f"custom role {identifier}", action, (), made, why)
    elif missing:
        why = f"adds {', '.join(missing)}"
        yield Step(f"role/{title}", "update", f"custom role {identifier}", action, why=why)


def _distrusts(found: Observed, email: str, members: tuple[str, ...], wanted: Wanted) -> bool:
    """Whether the policy of an account is other than it should be."""
    policy = found.trusts.get(email, {})
    trusted = policies.members_of(policy, names.IDENTITY_USER)
    stale = (one for one in trusted - set(members) if is_stale(one, found.number, wanted.pool_name))
    missing = (one for one in members if not policies.holds(policy, names.IDENTITY_USER, one))
    return any(missing) or any(stale)


def is_stale(member: str, number: str, pool: str) -> bool:
    """Whether somebody was trusted by a run of ours: a ServiceAccount of this pool."""
    return member.startswith(names.principal(number, pool, "system:serviceaccount:"))
