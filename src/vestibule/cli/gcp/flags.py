"""Flags of ``vestibule gcp``, named and meant as the original's; ours beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

EMBEDDED: Final = "pool-jwk-file"

PROJECT: Final = click.option("--project", default="", help="Id of the Google Cloud project. Required.")
REGION: Final = click.option(
    "--region", default="us", show_default=True, help="Where the bucket is, as `us` or `europe-west1`."
)
POOL: Final = click.option(
    "--workload-identity-pool", "pool", default="", metavar="ID", help="A pool that exists. Required."
)
PROVIDER: Final = click.option(
    "--workload-identity-provider", "provider", default="", metavar="ID", help="Its provider. Required."
)
STORAGE: Final = click.option(
    "--key-storage-method",
    "storage",
    type=click.Choice(["public-bucket", EMBEDDED]),
    default="public-bucket",
    show_default=True,
    help="Keys in a bucket that everybody reads, or in the provider itself: then nothing is public.",
)
FORCE: Final = click.option(
    "--force-delete-custom-roles",
    "force",
    is_flag=True,
    help="Delete custom roles, too; they are the project's, and those that others use are kept.",
)
UNIVERSE: Final = click.option(
    "--universe-domain",
    "universe",
    default="googleapis.com",
    show_default=True,
    metavar="DOMAIN",
    help="Domain of a sovereign Google Cloud.",
)
ENDPOINTS: Final = click.option(
    "--endpoints",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='JSON as {"iam": URL, "projects": URL, "storage": URL}, where services are elsewhere.',
)
DRY_RUN: Final = click.option(
    "--dry-run",
    "dry",
    is_flag=True,
    help="Make no call: write scripts for gcloud and gsutil, and local files. With delete: only read.",
)
