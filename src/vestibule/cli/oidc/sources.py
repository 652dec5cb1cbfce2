"""Options of the ``oidc`` commands and their values: keys, a place, an issuer."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from vestibule import errors
from vestibule.cli import kubeclient
from vestibule.errors import InputProblem

if TYPE_CHECKING:
    from vestibule.clouds.objectstore.ports import ObjectStore
    from vestibule.oidc.documents import DocumentFormat
    from vestibule.oidc.keys import KeySelection, PublicKey

F = TypeVar("F", bound=Callable[..., Any])
_LARGEST: Final = 1024 * 1024


def public_keys(function: F) -> F:
    """``--public-key``."""
    return click.option(
        "--public-key",
        "--public-keys",
        "files",
        multiple=True,
        metavar="FILE",
        help="PEM file with public keys (RSA, EC) or certificates; may be repeated.",
    )(function)


def shape(function: F) -> F:
    """``--shape``."""
    return click.option(
        "--shape",
        "shape_name",
        type=click.Choice(["azure", "aws", "gcp"]),
        default="azure",
        show_default=True,
        help="Layout of the documents: azure has its keys at openid/v1/jwks, the others at keys.json.",
    )(function)


def target(*, required: bool) -> Callable[[F], F]:
    """``--to``."""
    return click.option(
        "--to",
        "to",
        required=required,
        metavar="PLACE",
        help="dir:PATH, azblob:ACCOUNT/CONTAINER[/PREFIX], s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX].",
    )


def ca_bundle(function: F) -> F:
    """``--ca-bundle``."""
    return click.option(
        "--ca-bundle",
        type=click.Path(path_type=Path),
        help="PEM file of CAs to trust for the issuer; default: the system's.",
    )(function)


def read(files: Sequence[str], intake: KeySelection | None = None) -> tuple[PublicKey, ...]:
    """The keys of the files, which commas may separate. Raises InvalidInput with every problem of all."""
    from vestibule.oidc import keys

    problems: list[InputProblem] = []
    texts: list[tuple[str, str]] = []
    for name in [part for file in files for part in file.split(",")]:
        try:
            with Path(name).open("rb") as opened:
                texts.append((name, opened.read(_LARGEST + 1).decode("utf-8", "replace")))
        except OSError as error:
            problems.append(InputProblem(name, "", f"cannot be read: {error.strerror}"))
        except ValueError:
            problems.append(InputProblem(repr(name), "", "is no name of a file"))
    try:
        found: tuple[PublicKey, ...] = keys.read_all(texts, keys.BETTER if intake is None else intake)
    except errors.InvalidInput as error:
        raise errors.InvalidInput(*problems, *error.problems) from None
    if problems:
        raise errors.InvalidInput(*problems)
    return found


def gathered(
    files: Sequence[str], kubeconfig: Path | None, context: str | None
) -> tuple[tuple[PublicKey, ...], str]:
    """The keys of files, or of a running cluster, and the cluster's issuer."""
    cluster = kubeconfig is not None or context is not None
    if bool(files) == cluster:
        raise click.UsageError("give either --public-key FILE, or a cluster with --kubeconfig or --context")
    if files:
        return read(files), ""
    access = kubeclient.access(kubeconfig, context)
    from vestibule.provision import cluster_keys as clusters

    found = clusters.documents(access)
    return found.keys, found.issuer


def opened(text: str) -> ObjectStore:
    """The place of ``--to``."""
    from vestibule.clouds.objectstore import destinations

    for name in ("azure", "google", "botocore"):  # vestibule reports failures itself, in one sentence
        logging.getLogger(name).addHandler(logging.NullHandler())
    return destinations.opened(destinations.parse(text), os.environ)


def shaped(name: str) -> DocumentFormat:
    """The shape of this name."""
    from vestibule.oidc import documents

    return documents.SHAPES[name]


def write(path: Path | None, body: bytes, mode: int) -> None:
    """To a file, or to standard output without a line feed of ours."""
    from vestibule import atomicfiles

    if path is None:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
    else:
        atomicfiles.put(path, body, mode)
