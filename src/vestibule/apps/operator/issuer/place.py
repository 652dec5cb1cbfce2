"""Writes and looks, off the loop: libraries of the clouds block, and are loaded only where they are used."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from vestibule import errors
from vestibule.adapters.clouds import publication
from vestibule.adapters.clouds.objectstore import targets
from vestibule.adapters.clouds.objectstore.ports import ObjectStore
from vestibule.adapters.clouds.publication import Plan
from vestibule.core.kinds.publishing import KIND, Publish
from vestibule.core.oidc import documents
from vestibule.core.oidc.keys import PublicKey


class Done(NamedTuple):
    """What was written, and whether everybody sees it."""

    plan: Plan
    unseen: str = ""
    """Why the public does not see it; empty when it does, or when nobody looks."""


_AZURE: Final = (
    ".blob.core.windows.net",
    ".blob.core.usgovcloudapi.net",
    ".blob.core.chinacloudapi.cn",
    ".blob.storage.azure.net",
)
"""Where storage accounts are; nobody but Azure hears what is sent there."""


def opened(name: str, spec: Publish, hosts: Collection[str] = ()) -> ObjectStore:
    """The place that an object names. The operator's login is sent to Azure, and to other hosts only if they
    are named here: whoever writes the object would get it otherwise. Raises InvalidInput, MissingExtra,
    Forbidden."""
    for library in ("azure", "google", "botocore"):  # what fails is told in the status, in one sentence
        logging.getLogger(library).addHandler(logging.NullHandler())
    try:
        target = targets.parse(spec.to)
    except errors.InvalidInput as error:
        told = [
            errors.Problem(f"{KIND} {name}", "spec.to", f"is {spec.to!r}: {one.text}")
            for one in error.problems
        ]
        raise errors.InvalidInput(*told) from None
    host = urlsplit(target.place).hostname or ""
    if target.kind != "azblob" or host.endswith(_AZURE) or host in hosts:
        return targets.opened(target, os.environ)
    if os.environ.get(targets.KEY_VARIABLE):
        # a signature with the account's key tells nobody the key
        return targets.opened(target, os.environ, login=False)
    wrong = f"is {spec.to!r}: {host!r} is no host of Azure's, and our login is not sent there: want "
    wrong += f"azblob:ACCOUNT/CONTAINER, or an operator that is started with --issuer-host {host}"
    raise errors.InvalidInput(errors.Problem(f"{KIND} {name}", "spec.to", wrong))


def publish(
    store: ObjectStore, issuer: str, keys: Sequence[PublicKey], retire: Collection[str], spec: Publish
) -> Done:
    """Bring both documents to what they should be; nothing is written where they are. Raises as
    ``publication`` does."""
    shape = documents.SHAPES[spec.shape]
    plan = publication.publish(store, issuer, keys, shape=shape, retire=retire).plan
    looks = store.served if spec.verify == "Auto" else spec.verify == "Always"
    if not looks:
        return Done(plan)
    try:
        # one look: the next one comes soon, and waiting is not for a thread
        publication.verify(plan, publication.fetching(), shape=shape, patience=0.0)
    except errors.Unavailable as error:
        return Done(plan, str(error))
    return Done(plan)
