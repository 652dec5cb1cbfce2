"""S3, and whatever speaks its language, with conditional writes: If-Match and If-None-Match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn
from urllib.parse import urlencode

from vestibule import errors
from vestibule.clouds.objectstore import ports

_CONFLICTS: Final = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")
_REFUSED: Final = (
    "AccessDenied",
    "Forbidden",
    "403",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
)
_NO_KEY: Final = ("NoSuchKey", "404")


class S3:
    """The objects of one bucket, below a prefix. ``options`` go to ``boto3.client`` (``endpoint_url``,
    ``region_name``, ``verify``)."""

    served = True

    def __init__(self, bucket: str, *, prefix: str = "", client: Any = None, **options: Any) -> None:
        self._bucket = bucket
        self._prefix = ports.below(prefix)
        self._client = client if client is not None else _opened(options)

    @property
    def where(self) -> str:
        """Bucket and prefix."""
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def read(self, name: str) -> ports.StoredObject | None:
        """The object; None when there is none."""
        ports.checked(name)
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)
            with answer["Body"] as stream:
                body: bytes = stream.read(ports.LARGEST + 1)
        except _failures() as error:
            if _code(error) in _NO_KEY:
                return None
            self._failed(error, name)
        if len(body) > ports.LARGEST:
            raise ports.too_large(self.where, name)
        headers = (str(answer.get(header, "")) for header in ("ETag", "ContentType", "CacheControl"))
        return ports.StoredObject(body, *headers)

    def write(self, name: str, content: ports.Content, *, if_match: str | None = None) -> str:
        """Put the object, in one request."""
        ports.checked(name)
        more: dict[str, Any] = {}
        if content.cache_control:
            more["CacheControl"] = content.cache_control
        if content.tags:
            more["Tagging"] = urlencode(content.tags)
        if if_match == ports.ABSENT:
            more["IfNoneMatch"] = "*"
        elif if_match is not None:
            more["IfMatch"] = if_match
        try:
            answer = self._client.put_object(
                Bucket=self._bucket,
                Key=self._prefix + name,
                Body=content.body,
                ContentType=content.content_type,
                **more,
            )
        except _failures() as error:
            if if_match and _code(error) in _NO_KEY:
                raise ports.changed(self.where, name) from error
            self._failed(error, name)
        return str(answer["ETag"])

    def remove(self, name: str, *, if_match: str | None = None) -> bool:
        """Delete the object; S3 does not report whether it existed, so it is read first."""
        if self.read(name) is None:
            return False
        more = {"IfMatch": if_match} if if_match else {}
        try:
            self._client.delete_object(Bucket=self._bucket, Key=self._prefix + name, **more)
        except _failures() as error:
            self._failed(error, name)
        return True

    def _failed(self, error: Exception, name: str) -> NoReturn:
        code = _code(error)
        if code == "NoSuchBucket":
            raise errors.NotFound(f"{self.where}: the bucket does not exist") from error
        if code in _CONFLICTS:
            raise ports.changed(self.where, name) from error
        if code in _REFUSED:
            text = (
                f"no permission for {name} ({code}); s3:GetObject, s3:PutObject and s3:ListBucket are needed"
            )
            raise errors.Forbidden(f"{self.where}: {text}") from error
        if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
            raise errors.Forbidden(f"{self.where}: no login to AWS: {error}") from error
        raise errors.Unavailable(f"{self.where}: {code or str(error).splitlines()[0][:300]}") from error


def _opened(options: Mapping[str, Any]) -> Any:
    try:
        import boto3
    except ImportError:
        raise errors.MissingExtra("S3", "aws") from None
    return boto3.client("s3", **options)


def _failures() -> tuple[type[Exception], ...]:
    from botocore import exceptions

    return (exceptions.ClientError, exceptions.BotoCoreError)


def _code(error: Exception) -> str:
    answer = getattr(error, "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if isinstance(answer, dict) else ""
