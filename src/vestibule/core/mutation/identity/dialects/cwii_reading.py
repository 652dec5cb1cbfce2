"""One reading of the ``cwii.dev`` keys over all levels: from annotations to claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypedDict
from urllib.parse import urlsplit

from vestibule.core.admission.verdict import Missing
from vestibule.core.kinds import config, vocabulary
from vestibule.core.kinds.vocabulary import Provider, cwii
from vestibule.core.mutation.identity import checks, containers, levels
from vestibule.core.mutation.identity.claim import AwsClaim, AzureClaim, Claim, GcpClaim, VerifyAsk
from vestibule.core.mutation.identity.dialects import cwii_keys
from vestibule.core.mutation.rules import Rules

_TRIGGERS: Final[dict[str, str]] = {
    "gcp": vocabulary.NATIVE_GKE_SERVICE_ACCOUNT,
    "aws": vocabulary.NATIVE_EKS_ROLE_ARN,
    "az": vocabulary.NATIVE_AZWI_CLIENT_ID,
}


class _Common(TypedDict):
    expiration: int
    verify: VerifyAsk | None
    required: bool
    include: tuple[str, ...]
    skip: tuple[str, ...]


class Unusable(NamedTuple):
    """Keys of which at least one value is wanted and none was found."""

    keys: tuple[str, ...]


class Reading:
    """One reading of all levels."""

    def __init__(self, found: levels.Levels, settings: config.Settings, rules: Rules) -> None:
        self.found = found
        self.settings = settings
        self.rules = rules
        self.required: set[str] = set()
        self.switched_off = False

    def provider(
        self, provider: Provider, read: Callable[[bool], Claim | Unusable | str]
    ) -> Claim | Missing | str | None:
        """One cloud: nothing, a claim, what is missing for one, or the refusal of the original."""
        inject = cwii(provider, vocabulary.INJECT)
        enabled = self.found.flag(inject)
        if enabled is None and self.settings.native_annotations:
            enabled = self.found.where(_TRIGGERS[provider]) >= 0 or None
        if not enabled:
            self.switched_off |= enabled is False
            return self._forgotten_switch(provider) if enabled is None and self.rules.checked else None
        required = self.settings.required
        if self.rules.checked:
            required = bool(self.found.flag(cwii(provider, vocabulary.REQUIRED))) or required
        if required:
            self.required.add(provider)
        outcome = read(required)
        if isinstance(outcome, Unusable):
            wanted = " and ".join(outcome.keys)
            advice = f"set {wanted} on the pod, its owner, its ServiceAccount or its namespace"
            if self.rules.checked:
                self.found.notes.append(
                    levels.Note(
                        f"{provider} identity is asked for, but {wanted} is set nowhere: not injected",
                        key=outcome.keys[0],
                        blocking=True,
                        provider=provider,
                    )
                )
            return Missing(provider, outcome.keys, advice)
        return outcome

    def _forgotten_switch(self, provider: Provider) -> Missing | None:
        """An identity stands there, but nothing says to inject it. Namespace defaults are meant for
        those who ask."""
        key = containers.IDENTITY[provider]
        level = self.found.where(key)
        if level < 0 or level == self.found.last:
            return None
        inject = cwii(provider, vocabulary.INJECT)
        value = self.found.peek(key, level)
        self.found.notes.append(
            levels.Note(
                f"{inject} is not set anywhere, so {provider} identity is not injected", level, key, value
            )
        )
        return Missing(
            provider, (inject,), f'set {inject}: "true" next to it, or "false" to say that none is wanted'
        )

    def gcp(self, required: bool) -> Claim | Unusable | str:
        """Google Cloud: needs the provider's name; the service account is optional."""
        settings = self.settings.gcp
        audience_key = cwii("gcp", vocabulary.AUDIENCE)
        pool_provider = self._text(audience_key, checks.POOL_PROVIDER, "gcp")
        if pool_provider is None:
            pool_provider = settings.default_audience
            if not pool_provider:
                return Unusable((audience_key,))
            self.found.default(audience_key, pool_provider)
        account = self._text(vocabulary.GCP_SERVICE_ACCOUNT, checks.SERVICE_ACCOUNT, "gcp")
        if account is None and self.settings.native_annotations:
            account = self._text(vocabulary.NATIVE_GKE_SERVICE_ACCOUNT, checks.SERVICE_ACCOUNT, "gcp")
        delivery = self._delivery()
        if delivery is None:
            return "mutation failed"
        token_audience = None
        if self.rules.checked:
            token_audience = self.found.text(vocabulary.GCP_TOKEN_AUDIENCE)
        return GcpClaim(
            audience=token_audience or pool_provider,
            **self._common("gcp", settings.verify_image, required),
            pool_provider=pool_provider,
            service_account=account,
            delivery=delivery,
        )

    def aws(self, required: bool) -> Claim | Unusable:
        """AWS: needs the role."""
        settings = self.settings.aws
        role = self._text(vocabulary.AWS_ROLE_ARN, checks.ROLE_ARN, "aws")
        if role is None and self.settings.native_annotations:
            role = self._text(vocabulary.NATIVE_EKS_ROLE_ARN, checks.ROLE_ARN, "aws")
        profiles = [
            (name, arn)
            for name in self.found.suffixes(vocabulary.AWS_PROFILE, checks.PROFILE_NAME)
            if (arn := self._text(f"{vocabulary.AWS_PROFILE}.{name}", checks.ROLE_ARN, "aws")) is not None
        ]
        if (
            role is None
            and not profiles
            and not self.found.suffixes(vocabulary.AWS_ROLE_ARN, checks.CONTAINER_NAME)
        ):
            return Unusable((vocabulary.AWS_ROLE_ARN,))
        region = self.found.text(vocabulary.AWS_REGION, checks.REGION)
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
                levels.Note(
                    f"without {vocabulary.AWS_REGION} SDKs ask the STS of another partition, which does not "
                    "know this role",
                    self.found.where(vocabulary.AWS_ROLE_ARN),
                    vocabulary.AWS_ROLE_ARN,
                    role,
                )
            )

    def _session_name(self) -> str | None:
        name = self.found.text(vocabulary.AWS_SESSION_NAME, checks.SESSION_NAME)
        if name and self.rules.checked and "$(" in name and name != "$(POD_NAME)":
            self.found.notes.append(
                levels.Note(
                    "every container must set the variable that is named there, or AWS refuses the name",
                    self.found.where(vocabulary.AWS_SESSION_NAME),
                    vocabulary.AWS_SESSION_NAME,
                    name,
                )
            )
        return name

    def azure(self, required: bool) -> Claim | Unusable:
        """Azure: needs client and tenant."""
        settings = self.settings.az
        client = self._text(vocabulary.AZ_CLIENT_ID, checks.GUID, "az")
        tenant = self._text(vocabulary.AZ_TENANT_ID, checks.TENANT, "az")
        if self.settings.native_annotations:
            client = client or self._text(vocabulary.NATIVE_AZWI_CLIENT_ID, checks.GUID, "az")
            tenant = tenant or self._text(vocabulary.NATIVE_AZWI_TENANT_ID, checks.TENANT, "az")
        if client is None and self.found.suffixes(vocabulary.AZ_CLIENT_ID, checks.CONTAINER_NAME):
            client = ""
        if client is None or tenant is None:
            wanted = ((vocabulary.AZ_CLIENT_ID, client), (vocabulary.AZ_TENANT_ID, tenant))
            return Unusable(tuple(key for key, value in wanted if value is None))
        return AzureClaim(
            audience=self._audience("az", settings.default_audience),
            **self._common("az", settings.verify_image, required),
            client_id=client,
            tenant_id=tenant,
            authority_host=self._authority(),
        )

    def _common(self, provider: Provider, image: str, required: bool) -> _Common:
        """What a claim holds whatever the cloud."""
        return {
            "expiration": self._expiration(provider),
            "verify": self._verify(provider, image),
            "required": required,
            "include": self._names(provider, vocabulary.INCLUDE_CONTAINERS, cwii_keys.INCLUDE_ALL),
            "skip": self._names(provider, vocabulary.SKIP_CONTAINERS, cwii_keys.SKIP_ALL),
        }

    def _text(self, key: str, check: levels.Check, provider: Provider) -> str | None:
        return self.found.text(key, check, provider=provider)

    def _audience(self, provider: Provider, default: str) -> str:
        key = cwii(provider, vocabulary.AUDIENCE)
        value = self.found.text(key)
        if value is None:
            self.found.default(key, default)
            return default
        return value

    def _expiration(self, provider: Provider) -> int:
        return self.found.number(
            cwii(provider, vocabulary.TOKEN_EXPIRATION),
            self.settings.token_expiration_seconds,
            vocabulary.MIN_TOKEN_SECONDS,
            self.settings.max_token_expiration_seconds,
        )

    def _delivery(self) -> config.Delivery | None:
        if not self.rules.checked:
            text = self.found.text(vocabulary.GCP_DELIVERY)
            asked = config.delivery(text) if text is not None else self.settings.gcp_delivery
            # the original knows two deliveries; the third is asked for by settings alone
            return asked if text is None or asked != "annotation" else None
        text = self.found.text(vocabulary.GCP_DELIVERY, _DELIVERY)
        asked = (config.delivery(text) if text else None) or self.settings.gcp_delivery
        if asked == "config-map" and not self.settings.config_map_writes:
            self.found.notes.append(
                levels.Note(
                    "delivered as annotation: ConfigMap writes are off (gcp.allowConfigMapWrites)",
                    self.found.where(vocabulary.GCP_DELIVERY),
                    vocabulary.GCP_DELIVERY,
                    text or "",
                )
            )
            return "annotation"
        return asked

    def _verify(self, provider: Provider, image: str) -> VerifyAsk | None:
        image_key = cwii(provider, vocabulary.VERIFY_IMAGE)
        if not self.found.flag(cwii(provider, vocabulary.VERIFY)):
            return None
        enforce = bool(self.found.flag(cwii(provider, vocabulary.VERIFY_ENFORCE)))
        if not self.rules.admin_images:
            return VerifyAsk(self.found.text(image_key, checks.IMAGE) or image, enforce)
        level = self.found.where(image_key)
        if level >= 0:
            self.found.notes.append(
                levels.Note(
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
        url = self.found.text(vocabulary.AZ_AUTHORITY_HOST, checks.HTTPS_URL)
        if url and self.rules.checked and urlsplit(url).path not in ("", "/"):
            self.found.notes.append(
                levels.Note(
                    "has a path, which SDKs put the tenant behind; want the host alone",
                    self.found.where(vocabulary.AZ_AUTHORITY_HOST),
                    vocabulary.AZ_AUTHORITY_HOST,
                    url,
                )
            )
        if (
            url
            and self.rules.checked
            and not checks.authority_is_known(url, self.settings.az.authority_hosts)
        ):
            level = self.found.where(vocabulary.AZ_AUTHORITY_HOST)
            self.found.notes.append(
                levels.Note(
                    "not one of Microsoft's; the pod's token is sent there (az.authorityHosts allows it)",
                    level,
                    vocabulary.AZ_AUTHORITY_HOST,
                    url,
                )
            )
        return url


_DELIVERY: Final = levels.Check(
    lambda v: config.delivery(v) is not None, " or ".join(config.DELIVERIES), passed_over=True
)
