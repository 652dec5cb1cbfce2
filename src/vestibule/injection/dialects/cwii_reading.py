"""One reading of the ``cwii.dev`` keys over all levels: from annotations to claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypedDict
from urllib.parse import urlsplit

from vestibule.admission.verdict import MissingIdentity
from vestibule.api import annotation_keys
from vestibule.api.annotation_keys import Provider, cwii
from vestibule.api.settings import schema
from vestibule.injection import containers, precedence, validators
from vestibule.injection.claim import AwsClaim, AzureClaim, Claim, GcpClaim, VerifyAsk
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.dialects import cwii_keys

_TRIGGERS: Final[dict[str, str]] = {
    "gcp": annotation_keys.NATIVE_GKE_SERVICE_ACCOUNT,
    "aws": annotation_keys.NATIVE_EKS_ROLE_ARN,
    "az": annotation_keys.NATIVE_AZWI_CLIENT_ID,
}


class _CommonKeys(TypedDict):
    expiration: int
    verify: VerifyAsk | None
    required: bool
    include: tuple[str, ...]
    skip: tuple[str, ...]


class UnusableKeys(NamedTuple):
    """Keys of which at least one value is wanted and none was found."""

    keys: tuple[str, ...]


class CwiiReading:
    """One reading of all levels."""

    def __init__(
        self, found: precedence.PrecedenceLevels, settings: schema.Settings, rules: CompatRules
    ) -> None:
        self.found = found
        self.settings = settings
        self.rules = rules
        self.required: set[str] = set()
        self.switched_off = False

    def provider(
        self, provider: Provider, read: Callable[[bool], Claim | UnusableKeys | str]
    ) -> Claim | MissingIdentity | str | None:
        """One cloud: nothing, a claim, what is missing for one, or the refusal of cwii."""
        inject = cwii(provider, annotation_keys.INJECT)
        enabled = self.found.flag(inject)
        if enabled is None and self.settings.native_annotations:
            enabled = self.found.where(_TRIGGERS[provider]) >= 0 or None
        if not enabled:
            self.switched_off |= enabled is False
            return self._forgotten_switch(provider) if enabled is None and self.rules.checked else None
        required = self.settings.required
        if self.rules.checked:
            required = bool(self.found.flag(cwii(provider, annotation_keys.REQUIRED))) or required
        if required:
            self.required.add(provider)
        outcome = read(required)
        if isinstance(outcome, UnusableKeys):
            keys_text = " and ".join(outcome.keys)
            advice = f"set {keys_text} on the pod, its owner, its ServiceAccount or its namespace"
            if self.rules.checked:
                self.found.notes.append(
                    precedence.LevelNote(
                        f"{provider} identity is asked for, but {keys_text} is set nowhere: not injected",
                        key=outcome.keys[0],
                        blocking=True,
                        provider=provider,
                    )
                )
            return MissingIdentity(provider, outcome.keys, advice)
        return outcome

    def _forgotten_switch(self, provider: Provider) -> MissingIdentity | None:
        """An identity is configured, but nothing requests its injection. Namespace defaults are meant for
        pods that request one."""
        key = containers.IDENTITY[provider]
        level = self.found.where(key)
        if level < 0 or level == self.found.last:
            return None
        inject = cwii(provider, annotation_keys.INJECT)
        value = self.found.peek(key, level)
        self.found.notes.append(
            precedence.LevelNote(
                f"{inject} is not set anywhere, so {provider} identity is not injected", level, key, value
            )
        )
        return MissingIdentity(
            provider, (inject,), f'set {inject}: "true" next to it, or "false" to say that none is wanted'
        )

    def gcp(self, required: bool) -> Claim | UnusableKeys | str:
        """Google Cloud: needs the provider's name; the service account is optional."""
        settings = self.settings.gcp
        audience_key = cwii("gcp", annotation_keys.AUDIENCE)
        pool_provider = self._text(audience_key, validators.POOL_PROVIDER, "gcp")
        if pool_provider is None:
            pool_provider = settings.default_audience
            if not pool_provider:
                return UnusableKeys((audience_key,))
            self.found.default(audience_key, pool_provider)
        account = self._text(annotation_keys.GCP_SERVICE_ACCOUNT, validators.SERVICE_ACCOUNT, "gcp")
        if account is None and self.settings.native_annotations:
            account = self._text(
                annotation_keys.NATIVE_GKE_SERVICE_ACCOUNT, validators.SERVICE_ACCOUNT, "gcp"
            )
        delivery = self._delivery()
        if delivery is None:
            return "mutation failed"
        token_audience = None
        if self.rules.checked:
            token_audience = self.found.text(annotation_keys.GCP_TOKEN_AUDIENCE)
        return GcpClaim(
            audience=token_audience or pool_provider,
            **self._common("gcp", settings.verify_image, required),
            pool_provider=pool_provider,
            service_account=account,
            delivery=delivery,
        )

    def aws(self, required: bool) -> Claim | UnusableKeys:
        """AWS: needs the role."""
        settings = self.settings.aws
        role = self._text(annotation_keys.AWS_ROLE_ARN, validators.ROLE_ARN, "aws")
        if role is None and self.settings.native_annotations:
            role = self._text(annotation_keys.NATIVE_EKS_ROLE_ARN, validators.ROLE_ARN, "aws")
        profiles = [
            (name, arn)
            for name in self.found.suffixes(annotation_keys.AWS_PROFILE, validators.PROFILE_NAME)
            if (arn := self._text(f"{annotation_keys.AWS_PROFILE}.{name}", validators.ROLE_ARN, "aws"))
            is not None
        ]
        if (
            role is None
            and not profiles
            and not self.found.suffixes(annotation_keys.AWS_ROLE_ARN, validators.CONTAINER_NAME)
        ):
            return UnusableKeys((annotation_keys.AWS_ROLE_ARN,))
        region = self.found.text(annotation_keys.AWS_REGION, validators.REGION)
        self._check_partition(role, region)
        return AwsClaim(
            audience=self._audience("aws", settings.default_audience),
            **self._common("aws", settings.verify_image, required),
            role_arn=role or "",
            region=region,
            session_name=self._session_name(),
            profiles=tuple(profiles),
        )

    def _check_partition(self, role: str | None, region: str | None) -> None:
        """A role of another partition is not known to the STS that SDKs ask without a region."""
        if (
            self.rules.checked
            and role
            and region is None
            and role.startswith(("arn:aws-cn:", "arn:aws-us-gov:"))
        ):
            self.found.notes.append(
                precedence.LevelNote(
                    f"without {annotation_keys.AWS_REGION} SDKs ask the STS of another partition, which does "
                    "not know this role",
                    self.found.where(annotation_keys.AWS_ROLE_ARN),
                    annotation_keys.AWS_ROLE_ARN,
                    role,
                )
            )

    def _session_name(self) -> str | None:
        name = self.found.text(annotation_keys.AWS_SESSION_NAME, validators.SESSION_NAME)
        if name and self.rules.checked and "$(" in name and name != "$(POD_NAME)":
            self.found.notes.append(
                precedence.LevelNote(
                    "every container must set the variable that is named there, or AWS refuses the name",
                    self.found.where(annotation_keys.AWS_SESSION_NAME),
                    annotation_keys.AWS_SESSION_NAME,
                    name,
                )
            )
        return name

    def azure(self, required: bool) -> Claim | UnusableKeys:
        """Azure: needs client and tenant."""
        settings = self.settings.az
        client = self._text(annotation_keys.AZ_CLIENT_ID, validators.GUID, "az")
        tenant = self._text(annotation_keys.AZ_TENANT_ID, validators.TENANT, "az")
        if self.settings.native_annotations:
            client = client or self._text(annotation_keys.NATIVE_AZWI_CLIENT_ID, validators.GUID, "az")
            tenant = tenant or self._text(annotation_keys.NATIVE_AZWI_TENANT_ID, validators.TENANT, "az")
        if client is None and self.found.suffixes(annotation_keys.AZ_CLIENT_ID, validators.CONTAINER_NAME):
            client = ""
        if client is None or tenant is None:
            required_keys = ((annotation_keys.AZ_CLIENT_ID, client), (annotation_keys.AZ_TENANT_ID, tenant))
            return UnusableKeys(tuple(key for key, value in required_keys if value is None))
        return AzureClaim(
            audience=self._audience("az", settings.default_audience),
            **self._common("az", settings.verify_image, required),
            client_id=client,
            tenant_id=tenant,
            authority_host=self._authority(),
        )

    def _common(self, provider: Provider, image: str, required: bool) -> _CommonKeys:
        """What a claim holds whatever the cloud."""
        return {
            "expiration": self._expiration(provider),
            "verify": self._verify(provider, image),
            "required": required,
            "include": self._names(provider, annotation_keys.INCLUDE_CONTAINERS, cwii_keys.INCLUDE_ALL),
            "skip": self._names(provider, annotation_keys.SKIP_CONTAINERS, cwii_keys.SKIP_ALL),
        }

    def _text(self, key: str, check: precedence.ValueType, provider: Provider) -> str | None:
        return self.found.text(key, check, provider=provider)

    def _audience(self, provider: Provider, default: str) -> str:
        key = cwii(provider, annotation_keys.AUDIENCE)
        value = self.found.text(key)
        if value is None:
            self.found.default(key, default)
            return default
        return value

    def _expiration(self, provider: Provider) -> int:
        return self.found.number(
            cwii(provider, annotation_keys.TOKEN_EXPIRATION),
            self.settings.token_expiration_seconds,
            annotation_keys.MIN_TOKEN_SECONDS,
            self.settings.max_token_expiration_seconds,
        )

    def _delivery(self) -> schema.Delivery | None:
        if not self.rules.checked:
            text = self.found.text(annotation_keys.GCP_DELIVERY)
            delivery = schema.delivery(text) if text is not None else self.settings.gcp_delivery
            # cwii knows two deliveries; the third is available in the settings only
            return delivery if text is None or delivery != "annotation" else None
        text = self.found.text(annotation_keys.GCP_DELIVERY, _DELIVERY)
        delivery = (schema.delivery(text) if text else None) or self.settings.gcp_delivery
        if delivery == "config-map" and not self.settings.config_map_writes:
            self.found.notes.append(
                precedence.LevelNote(
                    "delivered as annotation: ConfigMap writes are off (gcp.allowConfigMapWrites)",
                    self.found.where(annotation_keys.GCP_DELIVERY),
                    annotation_keys.GCP_DELIVERY,
                    text or "",
                )
            )
            return "annotation"
        return delivery

    def _verify(self, provider: Provider, image: str) -> VerifyAsk | None:
        image_key = cwii(provider, annotation_keys.VERIFY_IMAGE)
        if not self.found.flag(cwii(provider, annotation_keys.VERIFY)):
            return None
        enforce = bool(self.found.flag(cwii(provider, annotation_keys.VERIFY_ENFORCE)))
        if not self.rules.admin_images:
            return VerifyAsk(self.found.text(image_key, validators.IMAGE) or image, enforce)
        level = self.found.where(image_key)
        if level >= 0:
            self.found.notes.append(
                precedence.LevelNote(
                    f"ignored, images come from the administrator's settings ({provider}.verifyImage)",
                    level,
                    image_key,
                    self.found.peek(image_key, level),
                )
            )
        return VerifyAsk(image, enforce)

    def _names(self, provider: Provider, name: str, for_all: str) -> tuple[str, ...]:
        if not self.rules.checked:
            return ()
        for key in (cwii(provider, name), for_all):
            text = self.found.text(key)
            if text:
                return self.found.names(key, text)
        return ()

    def _authority(self) -> str | None:
        url = self.found.text(annotation_keys.AZ_AUTHORITY_HOST, validators.HTTPS_URL)
        if url and self.rules.checked and urlsplit(url).path not in ("", "/"):
            self.found.notes.append(
                precedence.LevelNote(
                    "has a path, which SDKs put the tenant behind; want the host alone",
                    self.found.where(annotation_keys.AZ_AUTHORITY_HOST),
                    annotation_keys.AZ_AUTHORITY_HOST,
                    url,
                )
            )
        if (
            url
            and self.rules.checked
            and not validators.authority_is_known(url, self.settings.az.authority_hosts)
        ):
            level = self.found.where(annotation_keys.AZ_AUTHORITY_HOST)
            self.found.notes.append(
                precedence.LevelNote(
                    "not one of Microsoft's; the pod's token is sent there (az.authorityHosts allows it)",
                    level,
                    annotation_keys.AZ_AUTHORITY_HOST,
                    url,
                )
            )
        return url


_DELIVERY: Final = precedence.ValueType(
    lambda v: schema.delivery(v) is not None, " or ".join(schema.DELIVERIES), passed_over=True
)
