"""Writes and looks, off the loop: libraries of the clouds block, and are loaded only where they are used."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from vestibule import errors
from vestibule.api.publishedissuer import KIND, PublishedIssuerSpec
from vestibule.clouds import publisher
from vestibule.clouds.objectstore import destinations
from vestibule.clouds.objectstore.ports import ObjectStore
from vestibule.clouds.publisher import PublicationPlan
from vestibule.oidc import documents
from vestibule.oidc.keys import PublicKey


class PublishResult(NamedTuple):
    """What was written, and whether everybody sees it."""

    plan: PublicationPlan
    unseen: str = ""
    """Why the public does not see it; empty when it does, or when nobody looks."""


_AZURE: Final = (
    ".blob.core.windows.net",
    ".blob.core.usgovcloudapi.net",
    ".blob.core.chinacloudapi.cn",
    ".blob.storage.azure.net",
)
"""Where storage accounts are; nobody but Azure hears what is sent there."""


def opened(name: str, spec: PublishedIssuerSpec, hosts: Collection[str] = ()) -> ObjectStore:
    """The place that an object names. The operator's login is sent to Azure, and to other hosts only if they
    are named here: whoever writes the object would get it otherwise. Raises InvalidInput, MissingExtra,
    Forbidden."""
    for library in ("azure", "google", "botocore"):  # what fails is told in the status, in one sentence
        logging.getLogger(library).addHandler(logging.NullHandler())
    try:
        target = destinations.parse(spec.to)
    except errors.InvalidInput as error:
        told = [
            errors.InputProblem(f"{KIND} {name}", "spec.to", f"is {spec.to!r}: {one.text}")
            for one in error.problems
        ]
        raise errors.InvalidInput(*told) from None
    host = urlsplit(target.place).hostname or ""
    if target.kind != "azblob" or host.endswith(_AZURE) or host in hosts:
        return destinations.opened(target, os.environ)
    if os.environ.get(destinations.KEY_VARIABLE):
        # a signature with the account's key tells nobody the key
        return destinations.opened(target, os.environ, login=False)
    wrong = f"is {spec.to!r}: {host!r} is no host of Azure's, and our login is not sent there: want "
    wrong += f"azblob:ACCOUNT/CONTAINER, or an operator that is started with --issuer-host {host}"
    raise errors.InvalidInput(errors.InputProblem(f"{KIND} {name}", "spec.to", wrong))


def publish(
    store: ObjectStore,
    issuer: str,
    keys: Sequence[PublicKey],
    retire: Collection[str],
    spec: PublishedIssuerSpec,
) -> PublishResult:
    """Bring both documents to what they should be; nothing is written where they are. Raises as
    ``clouds.publisher`` does."""
    shape = documents.SHAPES[spec.shape]
    plan = publisher.publish(store, issuer, keys, shape=shape, retire=retire).plan
    looks = store.served if spec.verify == "Auto" else spec.verify == "Always"
    if not looks:
        return PublishResult(plan)
    try:
        # one look: the next one comes soon, and waiting is not for a thread
        publisher.verify(plan, publisher.fetching(), shape=shape, patience=0.0)
    except errors.Unavailable as error:
        return PublishResult(plan, str(error))
    return PublishResult(plan)
