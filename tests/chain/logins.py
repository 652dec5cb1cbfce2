"""Logins that a pod should be able to make: each is the trust to set up in a cloud, and the judge of what its
SDK came home with. The values stand in the rows as literals and are never read from what was injected.
``lives`` are the lifetimes a token may have, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tests.chain.clouds.aws import Aws
from tests.chain.clouds.entra import PUBLIC, Entra
from tests.chain.clouds.google import PROJECT, Google, Provider
from tests.chain.clouds.trust import Clock, Trust
from tests.chain.container import Container, Outcome, login
from tests.chain.gateway import Certificates, Gateway
from tests.chain.issuers import Issuers
from tests.chain.sdks import Sdks

AWS_AUDIENCE, AGENT_AUDIENCE = "sts.amazonaws.com", "pods.eks.amazonaws.com"
AZURE_AUDIENCE = "api://AzureADTokenExchange"


class Clouds:
    """All doubles behind one gateway, trusting nobody yet."""

    def __init__(self, issuers: Issuers, certificates: Certificates, sdks: Sdks) -> None:
        self.clock, self.issuers, self.sdks = Clock(), issuers, sdks
        self.aws = Aws(issuers, self.clock)
        self.google = Google(issuers, self.clock)
        self.entra = Entra(issuers, self.clock)
        self.gateway = Gateway(certificates, [self.aws, self.google, self.entra])

    def login(self, jobs: Sequence[tuple[Container, str]]) -> list[Outcome]:
        """Containers and the SDKs to log in with, all at the same time; how they fared, in order."""
        return login(jobs, self.gateway, self.sdks)


class AwsLogin(NamedTuple):
    """AssumeRoleWithWebIdentity."""

    role: str
    audience: str = AWS_AUDIENCE
    seconds: int = 3600
    host: str = "sts.amazonaws.com"
    session: str = ""
    """Name of the session; empty: the SDK's own."""
    sdk: str = "aws"

    @property
    def lives(self) -> range:
        return range(self.seconds, self.seconds + 1)

    def trust(self, clouds: Clouds, issuer: str, subject: str) -> None:
        clouds.aws.roles[self.role] = Trust(issuer, self.audience, subject)

    def judge(self, clouds: Clouds, outcome: Outcome) -> None:
        held = clouds.aws.sessions[outcome.who["key"]]
        role, _, session = outcome.who["arn"].rpartition("/")
        assert outcome.who["arn"] == held.arn
        assert role.rpartition("/")[2] == self.role.rpartition("/")[2]
        assert outcome.who["method"] == "assume-role-with-web-identity"
        assert session == self.session or not self.session
        assert "AssumeRoleWithWebIdentity" in {
            call.form["Action"] for call in clouds.gateway.asked(self.host)
        }


class AgentLogin(NamedTuple):
    """EKS Pod Identity: the node's agent knows the role."""

    role: str
    audience: str = AGENT_AUDIENCE
    seconds: int = 86400
    jitter: int = 7200
    """The EKS webhook takes up to two hours off a day, at random."""
    sdk: str = "aws"

    @property
    def lives(self) -> range:
        return range(self.seconds - self.jitter, self.seconds + 1)

    def trust(self, clouds: Clouds, issuer: str, subject: str) -> None:
        clouds.aws.associations[Trust(issuer, self.audience, subject)] = self.role

    def judge(self, clouds: Clouds, outcome: Outcome) -> None:
        assert outcome.who["arn"] == clouds.aws.sessions[outcome.who["key"]].arn
        assert f":assumed-role/{self.role.rpartition('/')[2]}/eks-" in outcome.who["arn"]
        assert outcome.who["method"] == "container-role"


class GcpLogin(NamedTuple):
    """Workload identity federation, direct or with a service account."""

    provider: str
    """Full name, from ``//iam.googleapis.com`` on."""
    audience: str
    """Audience of the token."""
    seconds: int = 3600
    account: str = ""
    """Service account to become; empty: none, and only this subject passes the provider's condition."""
    sdk: str = "gcp"

    @property
    def lives(self) -> range:
        return range(self.seconds, self.seconds + 1)

    def trust(self, clouds: Clouds, issuer: str, subject: str) -> None:
        trust = Trust(issuer, self.audience, subject)
        condition = "" if self.account else subject
        clouds.google.providers[self.provider] = Provider(trust, condition)
        if self.account:
            clouds.google.accounts[self.account] = subject

    def judge(self, clouds: Clouds, outcome: Outcome) -> None:
        access = clouds.google.issued[outcome.who["token"]]
        assert access.account == self.account
        assert access.principal == clouds.google.providers[self.provider].trust.subject
        assert outcome.who["project"] == PROJECT


class AzureLogin(NamedTuple):
    """A federated credential of an application or a managed identity."""

    client: str
    tenant: str
    audience: str = AZURE_AUDIENCE
    seconds: int = 3600
    host: str = PUBLIC
    sdk: str = "azure"

    @property
    def lives(self) -> range:
        return range(self.seconds, self.seconds + 1)

    def trust(self, clouds: Clouds, issuer: str, subject: str) -> None:
        clouds.entra.clients[self.tenant, self.client] = Trust(issuer, self.audience, subject)

    def judge(self, clouds: Clouds, outcome: Outcome) -> None:
        access = clouds.entra.issued[outcome.who["token"]]
        assert (access.host, access.tenant, access.client) == (self.host, self.tenant, self.client)
        assert outcome.who.get("by", "WorkloadIdentityCredential") == "WorkloadIdentityCredential"


Login: TypeAlias = AwsLogin | AgentLogin | GcpLogin | AzureLogin
