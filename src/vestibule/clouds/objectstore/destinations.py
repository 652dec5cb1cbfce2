"""``--to``: a place for documents in one word, as people and scripts write it.

====================================  ================================================================
``dir:PATH``                          a directory; made when it is missing
``azblob:ACCOUNT/CONTAINER[/PREFIX]`` Azure blobs; ``$web`` is the account's static website
``azblob:https://HOST/CONTAINER…``    the same in another cloud or behind another name
``s3://BUCKET[/PREFIX]``              S3
``gs://BUCKET[/PREFIX]``              Google Cloud Storage
====================================  ================================================================
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from vestibule import errors
from vestibule.clouds.objectstore.ports import ObjectStore

_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}", re.ASCII)
_CONTAINER: Final = re.compile(r"\$web|\$root|(?=.{3,63}$)[a-z0-9](-?[a-z0-9])*", re.ASCII)
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", re.ASCII)
_PREFIX: Final = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*", re.ASCII)
_WANT: Final = "want dir:PATH, azblob:ACCOUNT/CONTAINER, s3://BUCKET or gs://BUCKET"
KEY_VARIABLE: Final = "AZURE_STORAGE_KEY"
"""The shared key, for those who still use one; never a flag, since other users of the machine can see
flags."""


class Destination(NamedTuple):
    """A place, taken apart."""

    kind: Literal["dir", "azblob", "s3", "gs"]
    place: str
    """Path, address of the account, or bucket."""
    container: str = ""
    prefix: str = ""


def parse(text: str) -> Destination:
    """The place that is meant. Raises InvalidInput."""
    kind, colon, rest = text.partition(":")
    try:
        if not colon or not rest:
            raise ValueError(_WANT)
        if kind == "dir":
            return Destination("dir", rest)
        if kind == "azblob":
            return _azblob(rest)
        if kind in ("s3", "gs") and rest.startswith("//"):
            bucket, _, prefix = rest[2:].partition("/")
            if _BUCKET.fullmatch(bucket) is None:
                raise ValueError(
                    f"{bucket!r} is no name of a bucket, want lower-case letters, digits, dashes"
                )
            return Destination("s3" if kind == "s3" else "gs", bucket, "", _prefix(prefix))
        raise ValueError(_WANT)
    except ValueError as error:
        raise errors.InvalidInput(errors.InputProblem("--to", text, str(error))) from None


def _azblob(rest: str) -> Destination:
    if rest.startswith(("https://", "http://")):
        parts = urlsplit(rest)
        if parts.username or parts.query or parts.fragment:
            raise ValueError("has a user, a query or a fragment in it, want the plain address of a container")
        words = parts.path.strip("/").split("/")
        account = f"{parts.scheme}://{parts.netloc}"
        if _emulated(parts.hostname or "") and len(words) > 1:
            account += f"/{words.pop(0)}"  # a double has the account in its path
    else:
        name, _, path = rest.partition("/")
        if _ACCOUNT.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no storage account, want 3 to 24 lower-case letters and digits")
        account, words = f"https://{name}.blob.core.windows.net", path.strip("/").split("/")
    if _CONTAINER.fullmatch(words[0]) is None:
        raise ValueError(f"{words[0]!r} is no container, want 3 to 63 of a-z, 0-9 and single dashes, or $web")
    return Destination("azblob", account, words[0], _prefix("/".join(words[1:])))


def _emulated(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _prefix(text: str) -> str:
    stripped = text.strip("/")
    if stripped and (_PREFIX.fullmatch(stripped) is None or {".", ".."} & set(stripped.split("/"))):
        raise ValueError(f"{stripped!r} is no prefix, want a relative path of letters, digits, ._~-")
    return stripped


def opened(target: Destination, environ: Mapping[str, str], *, login: bool = True) -> ObjectStore:
    """The place itself, with the login that this machine has, or for Azure with the shared key alone. Raises
    MissingExtra, Forbidden."""
    if target.kind == "dir":
        from vestibule.clouds.objectstore.directory import Directory

        return Directory(Path(target.place))
    if target.kind == "azblob":
        from vestibule.clouds.objectstore.azure_blob import AzureBlobs

        key = environ.get(KEY_VARIABLE)
        shared: Callable[[], str] | None = (lambda: key) if key else None
        return AzureBlobs(
            target.place, target.container, prefix=target.prefix, shared_key=shared, login=login
        )
    if target.kind == "s3":
        from vestibule.clouds.objectstore.s3 import S3

        return S3(target.place, prefix=target.prefix)
    from vestibule.clouds.objectstore.gcs import Gcs

    return Gcs(target.place, prefix=target.prefix)
