"""Performs the steps of plans that create."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vestibule.clouds import publisher
from vestibule.clouds.aws import distributions
from vestibule.clouds.aws.account import AwsAccount
from vestibule.clouds.objectstore.s3 import S3
from vestibule.oidc import documents
from vestibule.oidc.keys import PublicKey
from vestibule.provision import manifests as shared
from vestibule.provision.aws import actions, manifests, names
from vestibule.provision.aws.request import AwsRequest
from vestibule.provision.outputs import Output
from vestibule.provision.steps import PlannedStep, Results

Result = Mapping[str, str]
_NEW_DISTRIBUTION: Final = 1_200.0
"""Seconds to wait until a new distribution answers: it takes minutes."""


class AwsPerformer:
    """Performs steps with one login."""

    def __init__(
        self,
        account: AwsAccount,
        desired: AwsRequest,
        output: Output,
        keys: Sequence[PublicKey] = (),
        *,
        known: Results,
        verify: bool = True,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._account, self._desired, self._output, self._keys = account, desired, output, keys
        self._known, self._verify, self._pause = known, verify, pause

    def __call__(self, step: PlannedStep) -> Result:
        """Perform a step; the results that other steps need. Raises VestibuleError, OSError."""
        account = self._account
        match step.action:
            case actions.CreateS3Bucket(name, constraint, tags):
                account.create_bucket(name, constraint, tags)
                if self._desired.private:
                    account.block_public(name, acls=True, policies=True)
            case actions.MakeS3BucketPublic(name, policy):
                account.block_public(name, acls=True, policies=False)
                account.put_bucket_policy(name, policy)
            case actions.CreateDistribution(bucket, origin, tags):
                distribution = distributions.create(account, bucket, origin, tags)
                partition = names.partition(self._desired.region).name
                account.put_bucket_policy(bucket, distributions.policy(distribution.arn, bucket, partition))
                return {"issuer": f"https://{distribution.domain}"}
            case actions.PublishToS3() as publish:
                return self._publish(publish)
            case actions.CreateProvider(issuer, tags):
                return {"arn": account.create_provider(str(issuer), names.CLIENTS, tags)}
            case actions.AddClients(arn, clients):
                for client in clients:
                    account.add_client(arn, client)
                return {"arn": arn}
            case actions.PutIamRole() as role:
                return self._role(role, step.id)
            case actions.Permit(name, policy):
                account.permit(name, policy)
            case actions.WriteAwsSecret(request, role):
                self._output.write(shared.secret_path(request), manifests.secret(request, str(role)))
        return {}

    def _publish(self, action: actions.PublishToS3) -> Result:
        issuer = str(action.issuer)
        publisher.publish(
            S3(action.bucket, client=self._account.s3),
            issuer,
            self._keys,
            shape=documents.AWS,
            tags=action.tags,
            fetch=publisher.fetching() if self._verify else None,
            patience=_NEW_DISTRIBUTION if self._desired.private else publisher.PATIENCE,
            pause=self._pause,
        )
        self._output.folder("manifests")
        self._output.write(shared.AUTHENTICATION, shared.authentication(issuer))
        return {"issuer": issuer}

    def _role(self, action: actions.PutIamRole, step: str) -> Result:
        provider, request = str(action.provider), action.request
        trust = names.trust(provider, names.provider_host(provider), request)
        if action.exists:
            self._account.trust(action.name, trust)
            return self._known[step]
        description = f"OpenShift role for {request.namespace}/{request.secret}"
        arn = self._account.create_role(
            action.name, trust, action.tags, boundary=action.boundary, description=description
        )
        return {"arn": arn}
