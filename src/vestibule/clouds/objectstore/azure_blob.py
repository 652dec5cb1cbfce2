"""Azure blobs: an Entra login first, the account's shared key only where the caller gives one.

Many companies forbid shared keys, so they are never read unless the login has no permission for the data. The
address of the account is its own setting: behind a website, a CDN or a front door the issuer has another.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vestibule import errors
from vestibule.clouds.objectstore import ports

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential
    from azure.core.exceptions import HttpResponseError
    from azure.storage.blob import BlobClient, BlobServiceClient

_ROLE: Final = "the login has no permission for the data: give it the role Storage Blob Data Contributor"
_NETWORK: Final = "the network rules of the account do not let this machine in"
_WRONG_CREDENTIALS: Final = "the login or the key is not that of this account"
_ADVICE: Final = {
    "AuthorizationPermissionMismatch": f"{_ROLE}; a new role assignment takes some minutes to apply",
    "InsufficientAccountPermissions": _ROLE,
    "AuthorizationFailure": f"{_NETWORK}, or the login is of another tenant",
    "NetworkAclsValidationFailure": _NETWORK,
    "KeyBasedAuthenticationNotPermitted": "the account forbids shared keys: log in to Entra instead",
    "AuthenticationFailed": _WRONG_CREDENTIALS,
    "InvalidAuthenticationInfo": _WRONG_CREDENTIALS,
    "AccountIsDisabled": "the account is disabled",
    "PublicAccessNotPermitted": "the account forbids public access",
}
_MISSING: Final = {"ContainerNotFound": "the container does not exist", "ContainerDisabled": "it is disabled"}
_KEY_HELPS: Final = (
    "AuthorizationPermissionMismatch",
    "InsufficientAccountPermissions",
    "AuthenticationFailed",
)
_SCOPE: Final = "https://storage.azure.com/.default"
_PLAIN: Final = {"retry_total": 0, "max_single_get_size": ports.LARGEST}
"""The SDK's own repeats pass over Retry-After and throttled calls; ours do not."""
_ATTEMPTS: Final = 5
_PASSING: Final = (408, 429, 500, 502, 503, 504)
T = TypeVar("T")


class AzureBlobs:
    """The blobs of one container, below a prefix.

    ``credential`` is a login to Entra; None: that of this machine, when there is no ``shared_key`` or when
    ``login`` wants it first. ``shared_key`` is asked for the key when the login may not touch the data.
    ``options`` go to the SDK's client (``connection_verify``, ``api_version``).
    """

    served = True

    def __init__(
        self,
        account_url: str,
        container: str,
        *,
        credential: TokenCredential | None = None,
        shared_key: Callable[[], str] | None = None,
        login: bool = False,
        prefix: str = "",
        pause: Callable[[float], None] = time.sleep,
        **options: Any,
    ) -> None:
        self._pause = pause
        self._account_url, self._container = account_url.rstrip("/"), container
        self._prefix = ports.below(prefix)
        self._shared_key = shared_key
        self._options = {**_PLAIN, **options}
        if credential is None and (login or shared_key is None):
            credential = _login()
        self._credential = credential
        self._service = self._open(credential) if credential is not None else self._keyed()

    @property
    def where(self) -> str:
        """The container's address."""
        return f"{self._account_url}/{self._container}/{self._prefix}".rstrip("/")

    def read(self, name: str) -> ports.StoredObject | None:
        """The blob; None when there is none."""
        ports.checked(name)

        def get(blob: BlobClient) -> ports.StoredObject | None:
            stream = blob.download_blob()  # all that we take comes with the first request
            if stream.properties.size > ports.LARGEST:
                raise ports.too_large(self.where, name)
            settings = stream.properties.content_settings
            return ports.StoredObject(
                stream.readall(),
                str(stream.properties.etag),
                settings.content_type or "",
                settings.cache_control or "",
            )

        return self._do(name, get, absent=lambda: None)

    def write(self, name: str, content: ports.Content, *, if_match: str | None = None) -> str:
        """Put the blob, in one request; tags are index tags."""
        from azure.storage.blob import ContentSettings

        ports.checked(name)
        settings = ContentSettings(
            content_type=content.content_type, cache_control=content.cache_control or None
        )
        more: dict[str, Any] = {"tags": dict(content.tags)} if content.tags else {}

        def put(blob: BlobClient) -> str:
            answer = blob.upload_blob(
                content.body,
                overwrite=if_match != ports.ABSENT,
                content_settings=settings,
                **more,
                **_condition(if_match),
            )
            return str(answer["etag"])

        return self._do(name, put)

    def remove(self, name: str, *, if_match: str | None = None) -> bool:
        """Delete the blob."""
        ports.checked(name)

        def delete(blob: BlobClient) -> bool:
            blob.delete_blob(**_condition(if_match))
            return True

        return self._do(name, delete, absent=lambda: False)

    def _do(self, name: str, call: Callable[[BlobClient], T], *, absent: Callable[[], T] | None = None) -> T:
        """The call, as ourselves and, where that is not enough, with the key; errors become ours."""
        from azure.core.exceptions import AzureError, HttpResponseError

        attempt = 0
        while True:
            attempt += 1
            self._logged_in()
            blob = self._service.get_blob_client(self._container, self._prefix + name)
            try:
                return call(blob)
            except HttpResponseError as error:
                code = _code(error)
                if code in ("BlobNotFound", "ResourceNotFound") and absent is not None:
                    return absent()
                if error.status_code in (401, 403) and code in _KEY_HELPS and self._shared_key is not None:
                    self._service = self._keyed()
                    continue
                if error.status_code not in _PASSING or attempt == _ATTEMPTS:
                    raise self._meaning(error, code, name) from error
                self._pause(max(_after(error), 0.4 * 2**attempt))
            except AzureError as error:
                if attempt == _ATTEMPTS:
                    raise errors.Unavailable(f"{self.where}: {_first_line(error)}") from error
                self._pause(0.4 * 2**attempt)

    def _meaning(self, error: HttpResponseError, code: str, name: str) -> errors.VestibuleError:
        status = error.status_code
        if status is None:
            return errors.Forbidden(f"{self.where}: the shared key cannot be used: {_first_line(error)}")
        if code in _MISSING or (status == 404 and code != "BlobNotFound"):
            return errors.NotFound(f"{self.where}: {_MISSING.get(code, code or 'is not there')}")
        if status == 412 or code in ("BlobAlreadyExists", "BlobNotFound"):
            return ports.changed(self.where, name)
        if status in (401, 403) or code in _ADVICE:
            return errors.Forbidden(f"{self.where}: {_ADVICE.get(code, 'refused')} ({code or status})")
        reason = code or (error.reason or "").strip()
        return errors.Unavailable(f"{self.where}: status {status} {reason}".rstrip())

    def _logged_in(self) -> None:
        """Ask for the login by itself: inside a call the SDK would try it again and again."""
        from azure.core.exceptions import ClientAuthenticationError

        if self._credential is None:
            return
        try:
            self._credential.get_token(_SCOPE)  # cached by the credential: no request after the first
        except ClientAuthenticationError as error:
            if self._shared_key is None:
                raise errors.Forbidden(f"{self.where}: no login to Entra: {_first_line(error)}") from error
            self._service = self._keyed()

    def _keyed(self) -> BlobServiceClient:
        """From now on with the key."""
        key, self._shared_key, self._credential = self._shared_key, None, None
        return self._open(key() if key is not None else None)

    def _open(self, credential: Any) -> BlobServiceClient:
        try:
            from azure.storage.blob import BlobServiceClient as Service
        except ImportError:
            raise errors.MissingExtra("Azure blobs", "azure") from None
        try:
            return Service(self._account_url, credential=credential, **self._options)
        except ValueError as error:
            raise errors.InvalidInput(errors.InputProblem("azblob", self._account_url, str(error))) from error


def _after(error: HttpResponseError) -> float:
    """Seconds that the server wants us to wait."""
    headers = getattr(error.response, "headers", None) or {}
    header = str(headers.get("Retry-After", ""))
    return float(header) if header.isdigit() else 0.0


def _login() -> TokenCredential:
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError:
        raise errors.MissingExtra("Azure blobs", "azure") from None
    return DefaultAzureCredential()


def _first_line(error: Exception) -> str:
    """The first line: the rest is a list of every login that was tried."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _condition(if_match: str | None) -> dict[str, Any]:
    from azure.core import MatchConditions

    if if_match is None or if_match == ports.ABSENT:
        return {}
    return {"etag": if_match, "match_condition": MatchConditions.IfNotModified}


def _code(error: HttpResponseError) -> str:
    """The service's own word for what is wrong."""
    found = getattr(error, "error_code", None) or ""
    return str(getattr(found, "value", found))
