"""Plans: what is wanted against what exists. Every case that the original gets wrong is here."""

from __future__ import annotations

import pytest

from tests.azure import values
from tests.azure.values import assignment, credential, identity, request, wanted, world
from vestibule.clouds.azure.resources import AzureRole, BlobContainer, FederatedCredential, ResourceGroup
from vestibule.errors import InvalidInput
from vestibule.provision import steps as plans
from vestibule.provision.azure import actions as do
from vestibule.provision.azure import observed, plan
from vestibule.provision.azure import request as requests


def told(planned: plans.StepPlan) -> list[str]:
    return [str(step) for step in planned.steps]


def test_nothing_exists_everything_is_made_in_order() -> None:
    found = observed.ObservedAzure(roles={"Contributor": (values.CONTRIBUTOR,)})

    issuer = plan.issuer(wanted(), found)
    identities = plan.identities(wanted(request()), found, oidc_planned=True)

    assert told(issuer) == [
        "create resource group demo1-oidc",
        "create storage account demo1",
        "create container demo1",
        "publish discovery document and keys in demo1",
    ]
    assert told(identities) == [
        "create resource group demo1",
        "create managed identity demo1-ns1-secret1",
        "create role Contributor in demo1 for demo1-ns1-secret1",
        "create federated credential sa-one of demo1-ns1-secret1",
        "write Secret ns1/secret1",
    ]
    assert plans.ordered(identities.steps) == list(identities.steps)


def test_everything_exists_nothing_is_written_to_the_cloud() -> None:
    assert told(plan.issuer(wanted(), world())) == ["publish discovery document and keys in demo1"]
    assert told(plan.identities(wanted(request()), world())) == ["write Secret ns1/secret1"]


@pytest.mark.parametrize("region", ["eastus", "East US", "EastUS"])
def test_regions_are_compared_as_azure_spells_them(region: str) -> None:
    planned = plan.issuer(wanted(region=region), world())

    assert [step.verb for step in planned.steps] == ["publish"]


def test_a_group_in_another_region_is_refused_by_name() -> None:
    found = world(oidc_group=ResourceGroup("demo1-oidc", "westus3", {}))

    with pytest.raises(InvalidInput, match="demo1-oidc is in 'westus3'"):
        plan.issuer(wanted(), found).accepted()


def test_tags_are_merged_and_a_group_that_was_there_is_not_called_ours() -> None:
    found = world(oidc_group=ResourceGroup("demo1-oidc", "eastus", {"keep": "k", "t1": "old"}))

    (step, *_) = plan.issuer(wanted(tags={"t0": "v0", "t1": "v1"}), found).steps

    assert step.action == do.PutGroup("demo1-oidc", "eastus", {"keep": "k", "t0": "v0", "t1": "v1"})


def test_the_owned_tag_cannot_be_overridden() -> None:
    mine = {values.NAMES.owned_tag: "mine"}

    (step, *_) = plan.issuer(wanted(tags=mine), observed.NOTHING).steps

    assert step.action.tags == values.OWNED


def test_a_container_that_nobody_may_read_is_opened_only_for_a_public_issuer() -> None:
    closed = world(container=BlobContainer("demo1", "None"))

    assert "update container demo1 (public reads are denied)" in told(plan.issuer(wanted(), closed))
    private = wanted(issuer_mode="private", issuer_url="https://front.example/x")
    assert told(plan.issuer(private, closed)) == ["publish discovery document and keys in demo1"]


def test_a_private_issuer_makes_an_account_without_public_access_or_shared_keys() -> None:
    private = wanted(issuer_mode="private", issuer_url="https://front.example/x")

    account, container = [
        step.action
        for step in plan.issuer(private, observed.NOTHING).steps
        if step.id in ("account/demo1", "container/demo1")
    ]

    assert account.properties == {"allowBlobPublicAccess": False, "allowSharedKeyAccess": False}
    assert container.public == "None"


def test_scopes_are_compared_without_regard_to_letter_case() -> None:
    shouting = assignment(scope=f"{values.SCOPE}/resourceGroups/DEMO1", description="")
    found = world(assignments={values.PRINCIPAL: (shouting,)})

    assert told(plan.identities(wanted(request()), found)) == ["write Secret ns1/secret1"]


def test_only_assignments_that_a_run_of_ours_made_are_removed() -> None:
    old = assignment(id="A2", name="A2", role="/x/roleDefinitions/old")
    manual = assignment(id="A3", name="A3", role="/x/roleDefinitions/manual", description="by hand")
    found = world(assignments={values.PRINCIPAL: (assignment(), old, manual)})

    planned = plan.identities(wanted(request()), found)

    assert [step.action for step in planned.steps if step.verb == "delete"] == [do.Unassign(old.scope, "A2")]
    assert [remark for remark in planned.remarks if "manual" in remark and "left alone" in remark]


def test_foreign_assignments_go_only_when_asked_and_inherited_ones_never() -> None:
    manual = assignment(id="A3", name="A3", role="/x/roleDefinitions/manual", description="by hand")
    inherited = assignment(
        id="A4", name="A4", scope="/providers/Microsoft.Management/managementGroups/m", role="x/y"
    )
    of_group = assignment(id="A5", name="A5", role="/x/roleDefinitions/z", principal="somebody-else")
    found = world(assignments={values.PRINCIPAL: (assignment(), manual, inherited, of_group)})

    deleted = [
        [step.action.name for step in plan.identities(one, found).steps if step.verb == "delete"]
        for one in (wanted(request(), prune=True), wanted(request(), prune=True, preserve=True))
    ]

    assert deleted == [["A3"], []]


def test_assignments_without_properties_are_passed_over() -> None:
    odd = (assignment(), assignment(id="", name="A9", scope="", role="", principal=""))
    found = world(assignments={values.PRINCIPAL: odd})

    assert told(plan.identities(wanted(request(), prune=True), found)) == ["write Secret ns1/secret1"]


@pytest.mark.parametrize(
    ("existing", "why"),
    [
        (credential(issuer="https://old.example/x"), "issuer"),
        (credential(subject="system:serviceaccount:other:sa-one"), "subject"),
        (credential(audiences=("api://AzureADTokenExchange",)), "audiences"),
    ],
)
def test_a_credential_that_differs_is_written_and_the_plan_says_in_what(
    existing: FederatedCredential, why: str
) -> None:
    found = world(credentials={"demo1-ns1-secret1": (existing,)})

    (step, _) = plan.identities(wanted(request()), found).steps

    assert str(step) == f"update federated credential sa-one of demo1-ns1-secret1 ({why})"
    assert step.action == do.PutCredential("demo1-oidc", "demo1-ns1-secret1", *credential())


def test_a_credential_whose_account_is_no_longer_listed_is_removed_and_a_strangers_is_not() -> None:
    gone = credential(name="sa-old", subject="system:serviceaccount:ns1:sa-old")
    stranger = credential(name="ci", subject="repo:acme/app:ref:refs/heads/main", issuer="https://ci.example")
    found = world(credentials={"demo1-ns1-secret1": (credential(), gone, stranger)})

    planned = plan.identities(wanted(request()), found)

    assert [step.action for step in planned.steps if step.verb == "delete"] == [
        do.DeleteCredential("demo1-oidc", "demo1-ns1-secret1", "sa-old")
    ]
    assert [remark for remark in planned.remarks if "repo:acme/app" in remark]


def test_two_writes_to_one_identity_never_run_side_by_side() -> None:
    found = world(identities={}, credentials={}, assignments={})

    planned = plan.identities(wanted(request(accounts=("a-one", "b-two", "c-three"))), found)
    credentials = [step for step in planned.steps if step.id.startswith("credential/")]

    assert [step.after[0] for step in credentials[1:]] == [step.id for step in credentials[:-1]]


def test_an_identity_that_exists_without_our_tag_is_used_and_not_called_ours() -> None:
    found = world(identities={"demo1-ns1-secret1": identity(tags={"theirs": "x"})})

    planned = plan.identities(wanted(request()), found)

    assert told(planned) == ["write Secret ns1/secret1"]
    assert [remark for remark in planned.remarks if "without a tag of vestibule" in remark]


def test_a_custom_role_of_the_same_name_that_is_not_ours_is_refused() -> None:
    theirs = AzureRole("/x", "guid", "demo1-ns1-secret1", "made by hand", (), (), custom=True)
    found = world(roles={"demo1-ns1-secret1": (theirs,)})

    with pytest.raises(InvalidInput, match="exists and is not ours"):
        plan.identities(wanted(request(permissions=["Microsoft.Compute/disks/read"])), found).accepted()


def test_roles_that_do_not_exist_or_exist_twice_are_all_reported_at_once() -> None:
    requested = request(roleBindings=[{"role": "Nobody's"}, {"role": "Contributor"}])
    found = world(roles={"Contributor": (values.CONTRIBUTOR, values.CONTRIBUTOR)})

    first, second = plan.identities(wanted(requested), found).problems

    assert "Nobody's" in first.text
    assert "0 exist" in first.text
    assert "2 exist, expected one" in second.text


def test_a_custom_role_is_written_only_when_its_permissions_differ() -> None:
    requested = request(permissions=["a/read"], dataPermissions=["b/read"])
    mark = "Custom role for OpenShift. Owned by: demo1"
    same = AzureRole("/r/g", "g", "demo1-ns1-secret1", mark, ("a/read",), ("b/read",), custom=True)
    other = same._replace(actions=("c/read",))
    verbs = []
    for role in (same, other):
        found = world(roles={"demo1-ns1-secret1": (role,)}, assignments={})
        planned = plan.identities(wanted(requested), found)
        verbs.append([step.verb for step in planned.steps if step.id.startswith("role/")])

    assert verbs == [[], ["update"]]


def test_everything_wrong_is_reported_before_the_first_call() -> None:
    many = request(accounts=tuple(f"sa-{number}" for number in range(21)))
    nothing = request("cr2", other="x")
    bad = wanted(
        many, nothing, subscription="x", tags={f"k{n}": "v" for n in range(50)}, issuer_url="http://x"
    )
    bad = bad._replace(names=bad.names._replace(account="My-Account", oidc_group="DEMO1"))

    with pytest.raises(InvalidInput) as caught:
        requests.check(bad, issuer=True, identities=True)

    places = {(problem.place, problem.field) for problem in caught.value.problems}
    assert {
        ("--storage-account-name", ""),
        ("--oidc-resource-group-name", ""),
        ("--subscription-id", ""),
        ("--user-tags", ""),
        ("--issuer-url", ""),
        ("a.yaml:1", "CredentialsRequest cr1: spec.serviceAccountNames"),
        ("a.yaml:1", "CredentialsRequest cr2: spec.providerSpec"),
    } <= places
