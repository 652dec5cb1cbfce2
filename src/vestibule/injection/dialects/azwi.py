"""``azure.workload.identity/*``.

==============================  =================================  ==========================================
case                            AZWI                               better
==============================  =================================  ==========================================
pod without the ``use`` label   mutated, if it arrives             unchanged, warning if there is an identity
keys on the wrong object        ignored                            pod, owner, ServiceAccount, namespace
empty tenant                    no tenant                          the configured one
no client id                    no variable                        the same, with a warning
expiration out of range         refused                            refused, with object, key, value and range
ServiceAccount missing          refused, 400                       refused, 422, with what to do
proxy annotation ``"false"``    injects                            does not
proxy port out of range         injected                           refused
proxy rules                     after the user's init containers   before them
names separated by commas       one name that no container has     several names
every container skipped         volume is added                    nothing added, with a warning
renamed pod (1.6 layouts)       a second volume and mount          the first ones are known by their prefix
==============================  =================================  ==========================================

Every row is a case, or several, of ``tests/vectors/azwi_better.json``, by these words.
"""

from __future__ import annotations

from typing import Final

from vestibule.api import annotation_keys
from vestibule.api.settings import azwi as azwi_settings
from vestibule.api.settings import schema
from vestibule.api.settings.azwi import PREFIX, AzwiSettings
from vestibule.gostrconv import integer, trim
from vestibule.injection import azwi_layout, azwi_proxy, containers, validators
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.dialect import DialectResult, DialectSubject
from vestibule.injection.dialects import similar_keys
from vestibule.injection.plan import CloudPlanForPod, PlannedEnv, PlannedVolume
from vestibule.injection.precedence import LevelNote, PrecedenceLevels

CLIENT_ID: Final = PREFIX + "client-id"
TENANT_ID: Final = PREFIX + "tenant-id"
EXPIRATION: Final = PREFIX + "service-account-token-expiration"
SKIP: Final = PREFIX + "skip-containers"
PROXY: Final = PREFIX + "inject-proxy-sidecar"
PROXY_PORT: Final = PREFIX + "proxy-sidecar-port"
USE: Final = PREFIX + "use"
_SHORTEST, _LONGEST, _USUAL = 3600, 86400, 3600
_STRONGER: Final = ("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH")
_NAMES: Final = frozenset(
    key.removeprefix(PREFIX) for key in (CLIENT_ID, TENANT_ID, EXPIRATION, SKIP, PROXY, PROXY_PORT, USE)
)
_BAD_REQUEST, _INVALID = 400, 422


class _AzwiRefused(Exception):
    """Why a pod is refused; the text is for its author."""

    def __init__(self, text: str, better: str) -> None:
        super().__init__(text)
        self.better = better


class AzwiDialect:
    """The dialect."""

    name = "azwi"

    def __init__(self, settings: schema.Settings, rules: CompatRules) -> None:
        self._settings = settings.azwi
        self._checked = rules.checked
        self._highest = settings.max_token_expiration_seconds
        # AZWI's webhook configuration selects pods with the label; ours with several dialects selects all
        # pods
        alone = len(settings.vocabularies) == 1
        self._by_label = settings.azwi.require_label and (rules.checked or not alone)

    def resolve(self, found: PrecedenceLevels, subject: DialectSubject) -> DialectResult:
        """One plan for Azure, or why there is none."""
        if not self._requested(found, subject):
            return DialectResult()
        if self._checked:
            endpoint = self._settings.endpoint.annotation_suffix
            similar_keys.report_unknown(
                found, PREFIX, _NAMES | ({f"use-{endpoint}"} if endpoint else set()), ("client-id",)
            )
        try:
            plan = self._plan(
                _AzwiReading(found, subject, self._settings, checked=self._checked, highest=self._highest)
            )
            return DialectResult(
                tuple(containers.split_plan(plan, CLIENT_ID, annotation_keys.ENV_AZURE_CLIENT_ID, found))
            )
        except _AzwiRefused as refused:
            if self._checked:
                return DialectResult(refusal=refused.better, code=_INVALID)
            return DialectResult(refusal=str(refused), code=_BAD_REQUEST)

    def _requested(self, found: PrecedenceLevels, subject: DialectSubject) -> bool:
        """Whether the pod has the label; warns where it is probably missing."""
        if not self._by_label or (USE, "true") in subject.labels:
            return True
        level = found.where(CLIENT_ID)
        if 0 <= level < found.last:
            found.notes.append(
                LevelNote(
                    f'not injected: the pod itself (its template) has no label {USE}: "true"',
                    level,
                    CLIENT_ID,
                    found.peek(CLIENT_ID, level),
                )
            )
        return False

    def _plan(self, reading: _AzwiReading) -> CloudPlanForPod:
        settings = self._settings
        reading.account()
        port = reading.proxy()
        expiration = reading.expiration()
        client, tenant = reading.client(), reading.tenant()
        endpoint = settings.endpoint if reading.endpoint() else None
        audience = settings.audience if endpoint is None else endpoint.audience
        subject = reading.subject
        where = azwi_layout.place(settings, subject.pod, subject.reserved, second=self._checked)
        env = [
            PlannedEnv(annotation_keys.ENV_AZURE_CLIENT_ID, client, "identity"),
            PlannedEnv(annotation_keys.ENV_AZURE_TENANT_ID, tenant, "identity"),
            PlannedEnv(annotation_keys.ENV_AZURE_TOKEN_FILE, where.file, "source"),
            PlannedEnv(annotation_keys.ENV_AZURE_AUTHORITY_HOST, reading.authority(), "extra"),
        ]
        if endpoint is not None:
            env += azwi_layout.endpoint_env(endpoint, where, checked=self._checked)
        source = {"projected": {"sources": azwi_layout.sources(where, audience, expiration, endpoint)}}
        plan = CloudPlanForPod(
            provider="az",
            volumes=(
                PlannedVolume(where.volume, source, "token" if settings.layout == "1.5" else "replace"),
            ),
            mounts=tuple(azwi_layout.mounts(where)),
            env=tuple(variable for variable in env if variable.value),
            stronger=_STRONGER,
            skip=reading.skip(),
            marker=False,
            grants=(("tenant_id", tenant), ("client_id", client), ("audience", audience)),
        )
        return azwi_proxy.added(plan, port, settings, checked=self._checked) if port else plan


class _AzwiReading:
    """The values of one pod."""

    def __init__(
        self,
        found: PrecedenceLevels,
        subject: DialectSubject,
        settings: AzwiSettings,
        *,
        checked: bool,
        highest: int,
    ) -> None:
        self._found = found
        self.subject = subject
        self._settings = settings
        self._checked = checked
        self._highest = highest

    def account(self) -> None:
        """The ServiceAccount must exist."""
        if self.subject.account_level < 0:
            name, namespace = self.subject.account, self.subject.namespace
            raise _AzwiRefused(
                f'serviceaccounts "{name}" not found',
                f"ServiceAccount {namespace}/{name} does not exist: create it before its pods, or name "
                "another in spec.serviceAccountName",
            )

    def client(self) -> str:
        """The client id; empty if none is given."""
        if not self._checked:
            return self._found.at(CLIENT_ID, self.subject.account_level, validators.GUID) or ""
        client = self._found.text(CLIENT_ID, validators.GUID, provider="az")
        if client is None:
            self._found.notes.append(
                LevelNote(f"{CLIENT_ID} is set nowhere: the program must name its client id itself")
            )
        return client or ""

    def tenant(self) -> str:
        """The tenant; in AZWI an empty annotation hides the configured one."""
        if not self._checked:
            own = self._found.at(TENANT_ID, self.subject.account_level, validators.TENANT)
            return self._settings.tenant_id if own is None else own
        tenant = self._found.text(TENANT_ID, validators.TENANT, provider="az")
        if tenant is not None:
            return tenant
        if self._settings.tenant_id:
            self._found.default(TENANT_ID, self._settings.tenant_id)
        else:
            self._found.notes.append(
                LevelNote(
                    f"{TENANT_ID} is set nowhere and the settings name no tenant (azwi.tenantId): "
                    "the program must name its tenant itself",
                    blocking=True,
                    provider="az",
                )
            )
        return self._settings.tenant_id

    def authority(self) -> str:
        """Where tokens are exchanged; empty for an unknown cloud."""
        host = azwi_settings.authority(self._settings, strict=not self._checked)
        if host is None:
            self._found.notes.append(
                LevelNote(
                    f"the webhook's cloud is {self._settings.cloud!r}, which is none that it knows: "
                    "AZURE_AUTHORITY_HOST is not set, azwi.authorityHost says where tokens are exchanged"
                )
            )
        return host or ""

    def expiration(self) -> int:
        """Life of the token: the pod's word, else the account's, else an hour."""
        level, text = self._first(EXPIRATION)
        if not text:
            return min(_USUAL, self._highest) if self._checked else _USUAL
        number = integer(text)
        want = f"want {_SHORTEST} to {_LONGEST} seconds"
        better = f"{self._where(level)}: {EXPIRATION} is {text!r}, {want}"
        if number is None:
            raise _AzwiRefused(_not_a_number(text, 63), better)
        if not _SHORTEST <= number <= _LONGEST:
            raise _AzwiRefused(
                f"token expiration {number} not valid. Expected value to be between {_SHORTEST} "
                f"and {_LONGEST}",
                better,
            )
        self._found.text(EXPIRATION)  # so that it is shown where it came from
        if self._checked and number > self._highest:
            number = self._highest
            note = LevelNote(f"{number} used", level, EXPIRATION, text, f"at most {number} seconds")
            self._found.notes.append(note)
        return number

    def proxy(self) -> int:
        """The proxy's port; 0 when none is asked for."""
        if not self._checked:
            if self._found.raw(PROXY, 0) is None:
                return 0
        else:
            flag = self._found.text(PROXY)
            if flag is None or flag.lower() == "false":
                return 0
            if flag.lower() != "true":
                level = self._found.where(PROXY)
                self._found.notes.append(LevelNote("taken for true", level, PROXY, flag, "'true' or 'false'"))
        if self.subject.host_network:
            raise _AzwiRefused(
                "hostNetwork is set to true, cannot inject proxy sidecar",
                f"Pod: {PROXY} asks for the proxy sidecar, which cannot work with spec.hostNetwork: true, "
                "since its redirection would be the node's; remove one of the two",
            )
        if self.subject.windows and self._checked:
            raise _AzwiRefused("", f"Pod: {PROXY} asks for the proxy sidecar, which there is for Linux only")
        return self._port()

    def _port(self) -> int:
        text = self._found.raw(PROXY_PORT, 0) if not self._checked else self._found.text(PROXY_PORT)
        if text is None:
            return 8000
        number = integer(text)
        better = f"Pod: {PROXY_PORT} is {text!r}, want a port from 1 to 65535"
        if number is None or not -(2**31) <= number < 2**31:
            raise _AzwiRefused(f"failed to parse proxy sidecar port: {_not_a_number(text, 31)}", better)
        if self._checked and not 1 <= number <= 65535:
            raise _AzwiRefused("", better)
        return number

    def skip(self) -> tuple[str, ...]:
        """Containers that are left alone."""
        if not self._checked:
            listed = self._found.raw(SKIP, 0) or ""
            return tuple(name for name in self._found.names(SKIP, listed, ";") if "*" not in name)
        return self._found.names(SKIP, self._found.text(SKIP) or "")

    def endpoint(self) -> bool:
        """Whether the pod asks for the custom token endpoint."""
        suffix = self._settings.endpoint.annotation_suffix
        if not suffix:
            return False
        key = f"{PREFIX}use-{suffix}"
        value = self._found.text(key) if self._checked else self._found.raw(key, 0)
        return (value or "").lower() == "true"

    def _first(self, key: str) -> tuple[int, str]:
        """The first value that is not empty: any level's in better, the pod's and the account's else."""
        levels = (0, self.subject.account_level) if not self._checked else range(self._found.last + 1)
        for level in levels:
            value = self._found.raw(key, level) if level >= 0 else None
            if value and self._checked:
                value = trim(value)
            if value:
                return level, value
        return -1, ""

    def _where(self, level: int) -> str:
        if level == 0:
            return "Pod"
        if level == self.subject.account_level:
            return f"ServiceAccount {self.subject.namespace}/{self.subject.account}"
        return f"Namespace {self.subject.namespace}" if level == self._found.last else "the pod's owner"


def _not_a_number(text: str, bits: int) -> str:
    """As Go says it."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    number = digits.isascii() and digits.isdigit()
    large = number and (len(digits) > 40 or int(digits) >= 2**bits)
    reason = "value out of range" if large else "invalid syntax"
    return f'strconv.ParseInt: parsing "{text[:80]}": {reason}'
