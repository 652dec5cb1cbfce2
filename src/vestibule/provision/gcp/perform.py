"""Does the steps of a plan that creates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from vestibule.api import credentials_secret
from vestibule.clouds import publisher
from vestibule.clouds.gcp import rest
from vestibule.clouds.gcp.pools import PoolProvider
from vestibule.clouds.gcp.project import Project
from vestibule.errors import Conflict, Forbidden, InputProblem, InvalidInput
from vestibule.oidc import documents
from vestibule.oidc.keys import PublicKey
from vestibule.provision import manifests as shared
from vestibule.provision.gcp import actions, manifests, names, plan, policies, providers
from vestibule.provision.gcp.request import GcpRequest
from vestibule.provision.outputs import Output
from vestibule.provision.steps import PlannedStep

Result = Mapping[str, str]
_WRITERS = 5
"""Others who may write the keys of a provider in between; it has no etag, so what was written is read."""


class GcpPerformer:
    """Does a step."""

    def __init__(
        self,
        project: Project,
        desired: GcpRequest,
        number: str,
        keys: Sequence[PublicKey],
        output: Output,
        *,
        verify: bool = True,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._project, self._desired, self._number = project, desired, number
        self._keys, self._output, self._verify, self._pause = keys, output, verify, pause

    def __call__(self, step: PlannedStep) -> Result:
        """What it found out. Raises GcpCallError, Unavailable, Conflict, InvalidInput."""
        project = self._project
        match step.action:
            case actions.MakePool(name, deleted):
                project.pools.undelete(name) if deleted else project.pools.create(name, names.CREATED)
            case actions.CreateGcsBucket(name, region, labels):
                project.buckets.create(name, region, labels)
            case actions.MakeGcsBucketPublic(name):
                self._open(name)
            case actions.PublishToGcs(bucket):
                self._publish(bucket)
            case actions.MakeProvider(pool, name):
                self._provider(pool, name)
            case actions.MakeRole() as role:
                self._role(role)
            case actions.CreateServiceAccount(identifier, display, description):
                return {"email": project.accounts.create(identifier, display, description)}
            case actions.Bind(email, roles):
                project.change_policy(
                    lambda policy: policies.add_all(policy, roles, f"serviceAccount:{email}")
                )
            case actions.Trust(email, members):
                self._trust(str(email), members)
            case actions.WriteGcpSecret(request, email):
                desired = self._desired
                audience = names.audience(self._number, desired.pool_name, desired.provider_name)
                account = credentials_secret.gcp_account(
                    audience, str(email), request.token_file, desired.universe
                )
                self._output.write(shared.secret_path(request), manifests.secret(request, account))
        return {}

    def _open(self, bucket: str) -> None:
        try:
            self._project.buckets.change_policy(
                bucket, lambda policy: policies.add(policy, names.VIEWER, names.ALL_USERS)
            )
        except rest.GcpCallError as fault:
            if not rest.forbidden(fault):
                raise
            want = "want --key-storage-method pool-jwk-file: then nothing is public"
            raise Forbidden(f"{fault}; {want}") from fault

    def _publish(self, bucket: str) -> None:
        publisher.publish(
            self._project.buckets.store(bucket),
            self._desired.issuer,
            self._keys,
            shape=documents.GCP,
            tags=names.labels(self._desired.name),
            fetch=publisher.fetching() if self._verify else None,
            pause=self._pause,
        )

    def _provider(self, pool: str, name: str) -> None:
        pools, desired = self._project.pools, self._desired
        found = pools.provider(pool, name)
        if found is None:
            keys = documents.key_set(self._keys).decode() if desired.embedded else ""
            pools.create_provider(pool, name, providers.body(desired, keys))
            return
        if text := providers.refusal(found, desired):
            raise InvalidInput(InputProblem("--name", "", text))
        if found.deleted:
            pools.undelete_provider(pool, name)
        change, mask = providers.patch(found)
        if mask:
            pools.patch_provider(pool, name, change, ",".join(mask))
        if desired.embedded:
            self._keep_keys(pool, found)

    def _keep_keys(self, pool: str, found: PoolProvider) -> None:
        pools, name = self._project.pools, found.name
        published = None if found.keys else self._published()
        for _ in range(_WRITERS):
            merged = providers.merged(found, published, self._keys)
            if not merged.changed:
                return
            change = {"oidc": {"jwksJson": merged.body.decode()}}
            pools.patch_provider(pool, name, change, providers.KEYS)
            found = pools.provider(pool, name) or found
        raise Conflict(f"provider {name}: others write its keys, too; the same command goes on from there")

    def _published(self) -> bytes | None:
        """Keys in our bucket, which the provider has read until now; None where there is no such bucket."""
        buckets, name = self._project.buckets, names.bucket(self._desired.name)
        bucket = buckets.bucket(name)
        if bucket is not None and not bucket.project:
            raise Forbidden(f"bucket {name}: we may not read it, and keys that are used now may be in it")
        if bucket is None or bucket.project != self._number:
            return None
        stored = buckets.store(name).read(documents.GCP.keys_name)
        return stored.body if stored else None

    def _role(self, desired: actions.MakeRole) -> None:
        accounts = self._project.accounts
        found = accounts.role(desired.id)
        if found is None:
            accounts.create_role(desired.id, desired.title, desired.description, desired.permissions)
            return
        if found.deleted:
            accounts.undelete_role(desired.id)
        accounts.permit(desired.id, desired.permissions)

    def _trust(self, email: str, members: tuple[str, ...]) -> None:
        pool = self._desired.pool_name
        self._project.accounts.change_policy(
            email,
            lambda policy: policies.trusting(
                policy,
                names.IDENTITY_USER,
                members,
                lambda member: plan.is_stale(member, self._number, pool),
            ),
        )
