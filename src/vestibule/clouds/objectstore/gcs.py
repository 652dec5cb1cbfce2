"""Google Cloud Storage. What others call an ETag is here the object's generation: zero means "not there"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from vestibule import errors
from vestibule.clouds.objectstore import ports

_SECONDS: Final = 30.0


class Gcs:
    """The objects of one bucket, below a prefix. ``options`` go to ``google.cloud.storage.Client``
    (``project``, ``credentials``, ``client_options``). Tags become metadata of the object."""

    served = True

    def __init__(self, bucket: str, *, prefix: str = "", client: Any = None, **options: Any) -> None:
        self._name = bucket
        self._prefix = ports.below(prefix)
        self._client = client if client is not None else _opened(bucket, options)

    @property
    def where(self) -> str:
        """Bucket and prefix."""
        return f"gs://{self._name}/{self._prefix}".rstrip("/")

    def read(self, name: str) -> ports.StoredObject | None:
        """The object; None when there is none."""
        ports.checked(name)
        try:
            while True:
                blob = self._client.bucket(self._name).get_blob(self._prefix + name, timeout=_SECONDS)
                if blob is None:
                    self._exists()
                    return None
                if (blob.size or 0) > ports.LARGEST:
                    raise ports.too_large(self.where, name)
                # a download overwrites the object's own metadata
                about = (str(blob.generation), blob.content_type or "", blob.cache_control or "")
                body = self._body(blob)
                if body is not None:
                    return ports.StoredObject(body, *about)
        except _failures() as error:
            self._failed(error, name)

    def _exists(self) -> None:
        """Distinguish a missing object from a missing bucket, if the bucket may be read."""
        from google.api_core import exceptions

        try:
            self._client.get_bucket(self._name, timeout=_SECONDS)
        except exceptions.Forbidden:
            return

    def _body(self, blob: Any) -> bytes | None:
        """The content of this generation; None when it was replaced meanwhile."""
        from google.api_core import exceptions

        try:
            found: bytes = blob.download_as_bytes(if_generation_match=blob.generation, timeout=_SECONDS)
        except (exceptions.PreconditionFailed, exceptions.NotFound):
            return None
        return found

    def write(self, name: str, content: ports.Content, *, if_match: str | None = None) -> str:
        """Put the object, in one request."""
        ports.checked(name)
        blob = self._client.bucket(self._name).blob(self._prefix + name)
        blob.cache_control = content.cache_control or None
        if content.tags:
            blob.metadata = dict(content.tags)
        try:
            blob.upload_from_string(
                content.body, content.content_type, timeout=_SECONDS, **_condition(if_match)
            )
        except _failures() as error:
            self._failed(error, name)
        return str(blob.generation)

    def remove(self, name: str, *, if_match: str | None = None) -> bool:
        """Delete the object."""
        ports.checked(name)
        from google.api_core import exceptions

        blob = self._client.bucket(self._name).blob(self._prefix + name)
        try:
            blob.delete(timeout=_SECONDS, **_condition(if_match))
        except exceptions.NotFound:
            return False
        except _failures() as error:
            self._failed(error, name)
        return True

    def _failed(self, error: Exception, name: str) -> NoReturn:
        status = int(getattr(error, "code", None) or 0)
        if status == 412:
            raise ports.changed(self.where, name) from error
        if status == 404:
            raise errors.NotFound(f"{self.where}: the bucket does not exist") from error
        if status in (401, 403):
            text = f"no permission for {name}: the role Storage Object Admin on the bucket is needed"
            raise errors.Forbidden(f"{self.where}: {text} (status {status})") from error
        reason = f"status {status}" if status else str(error).splitlines()[0][:300]
        raise errors.Unavailable(f"{self.where}: {reason}") from error


def _opened(bucket: str, options: Mapping[str, Any]) -> Any:
    try:
        from google.auth.exceptions import GoogleAuthError
        from google.cloud import storage
    except ImportError:
        raise errors.MissingExtra("Google Cloud Storage", "gcp") from None
    try:
        # a bucket has its project already; without one the SDK insists on finding it out
        return storage.Client(**{"project": None, **options})
    except GoogleAuthError as error:
        raise errors.Forbidden(f"gs://{bucket}: no login to Google Cloud: {error}") from error


def _condition(if_match: str | None) -> dict[str, int]:
    if if_match is None:
        return {}
    if if_match != ports.ABSENT and not if_match.isdigit():
        raise errors.InvalidInput(
            errors.InputProblem("if_match", if_match, "is no generation, want a number")
        )
    return {"if_generation_match": int(if_match or 0)}


def _failures() -> tuple[type[Exception], ...]:
    import requests
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError

    return (exceptions.GoogleAPIError, GoogleAuthError, requests.RequestException)
