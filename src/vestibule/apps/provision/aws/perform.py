"""Does the steps of a plan that creates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vestibule.adapters.clouds import publication
from vestibule.adapters.clouds.aws import distributions
from vestibule.adapters.clouds.aws.account import Account
from vestibule.adapters.clouds.objectstore.s3 import S3
from vestibule.apps.provision import manifests as shared
from vestibule.apps.provision.aws import actions, manifests, names
from vestibule.apps.provision.aws.request import Wanted
from vestibule.apps.provision.outputs import Output
from vestibule.apps.provision.steps import Results, Step
from vestibule.core.oidc import documents
from vestibule.core.oidc.keys import PublicKey

Result = Mapping[str, str]
_NEW_DISTRIBUTION: Final = 1_200.0
"""Seconds until a new distribution answers: minutes."""


class Performing:
    """Does a step."""

    def __init__(
        self,
        account: Account,
        wanted: Wanted,
        output: Output,
        keys: Sequence[PublicKey] = (),
        *,
        known: Results,
        verify: bool = True,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._account, self._wanted, self._output, self._keys = account, wanted, output, keys
        self._known, self._verify, self._pause = known, verify, pause

    def __call__(self, step: Step) -> Result:
        """What it found out. Raises CloudFault, Unavailable, Conflict, InvalidInput."""
        account = self._account
        match step.action:
            case actions.CreateBucket(name, constraint, tags):
                account.create_bucket(name, constraint, tags)
                if self._wanted.private:
                    account.block_public(name, acls=True, policies=True)
            case actions.OpenBucket(name, policy):
                account.block_public(name, acls=True, policies=False)
                account.put_bucket_policy(name, policy)
            case actions.CreateDistribution(bucket, origin, tags):
                made = distributions.create(account, bucket, origin, tags)
                partition = names.partition(self._wanted.region).name
                account.put_bucket_policy(bucket, distributions.policy(made.arn, bucket, partition))
                return {"issuer": f"https://{made.domain}"}
            case actions.Publish() as publish:
                return self._publish(publish)
            case actions.CreateProvider(issuer, tags):
                return {"arn": account.create_provider(str(issuer), names.CLIENTS, tags)}
            case actions.AddClients(arn, clients):
                for client in clients:
                    account.add_client(arn, client)
                return {"arn": arn}
            case actions.PutRole() as role:
                return self._role(role, step.id)
            case actions.Permit(name, policy):
                account.permit(name, policy)
            case actions.WriteSecret(request, role):
                self._output.write(shared.secret_path(request), manifests.secret(request, str(role)))
        return {}

    def _publish(self, wanted: actions.Publish) -> Result:
        issuer = str(wanted.issuer)
        publication.publish(
            S3(wanted.bucket, client=self._account.s3),
            issuer,
            self._keys,
            shape=documents.AWS,
            tags=wanted.tags,
            fetch=publication.fetching() if self._verify else None,
            patience=_NEW_DISTRIBUTION if self._wanted.private else publication.PATIENCE,
            pause=self._pause,
        )
        return {"issuer": issuer}

    def _role(self, wanted: actions.PutRole, step: str) -> Result:
        provider, request = str(wanted.provider), wanted.request
        trust = names.trust(provider, names.provider_host(provider), request)
        if wanted.exists:
            self._account.trust(wanted.name, trust)
            return self._known[step]
        description = f"OpenShift role for {request.namespace}/{request.secret}"
        arn = self._account.create_role(
            wanted.name, trust, wanted.tags, boundary=wanted.boundary, description=description
        )
        return {"arn": arn}
