"""Names, labels and descriptions as in ccoctl; its random parts are computed here.

| case | ccoctl | here | vector |
|---|---|---|---|
| id of an account | ends by lot: a lost answer leaves two accounts | ends in a hash | gcp-01 |
| display name | ``a-b`` and ``c`` meet ``a`` and ``b-c`` | the description names the owner | gcp-01 |
| issuer | of the universe | the same | gcp-02 |
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.clouds.gcp.buckets import GcsBucket
from vestibule.clouds.gcp.endpoints import UNIVERSE
from vestibule.clouds.gcp.pools import WorkloadIdentityPool
from vestibule.clouds.gcp.serviceaccounts import GcpCustomRole, GcpServiceAccount
from vestibule.errors import InputProblem

CREATED: Final = "Created By OpenShift ccoctl"
"""ccoctl's description of every resource; its scripts write it with another letter case."""
LABEL: Final = "openshift-cloud-credential-operator"
AUDIENCE: Final = "openshift"
MAPPING: Final = {"google.subject": "assertion.sub"}
IDENTITY_USER: Final = "roles/iam.workloadIdentityUser"
VIEWER: Final = "roles/storage.objectViewer"
ALL_USERS: Final = "allUsers"
LONGEST_SUBJECT: Final = 127
"""Bytes that Google takes for ``google.subject``."""
_NAME: Final = re.compile(r"(?!gcp-|goog)(?!.*google)[a-z][a-z0-9-]{2,30}[a-z0-9]")
_PROJECT: Final = re.compile(r"([a-z0-9][a-z0-9.-]*\.[a-z]{2,}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_POOL: Final = re.compile(r"(?!gcp-)[a-z0-9-]{4,32}")
_REGION: Final = re.compile(r"[A-Za-z]+[A-Za-z0-9-]*")
_UNIVERSE: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


def bucket(name: str) -> str:
    """The bucket of the issuer."""
    return f"{name}-oidc"


def issuer(name: str, universe: str = UNIVERSE) -> str:
    """The address of the issuer; with keys in the provider, it is never read."""
    return f"https://storage.{universe or UNIVERSE}/{bucket(name)}"


def labels(name: str) -> dict[str, str]:
    """The labels of the bucket."""
    return {LABEL: name}


def display(name: str, request: CredentialsRequest) -> str:
    """The display name of an account, by which it is found again."""
    return f"{name[:50]}-{request.name[:49]}"


def account(name: str, request: CredentialsRequest) -> str:
    """The id of an account: the same in every run, so that a lost answer loses nothing."""
    digest = hashlib.sha256(f"{name}\0{request.name}".encode()).digest()
    beginning = request.name[:11].replace(".", "-")
    return f"{name[:12]}-{beginning}-{base64.b32encode(digest)[:5].decode().lower()}"


def description(display_name: str, name: str = "") -> str:
    """The description of an account or a role: ccoctl's, followed by our name if there is one."""
    text = f"{CREATED} for service account {display_name}"
    return f"{text}, owned by {name}" if name else text


def role(project: str, request: CredentialsRequest) -> str:
    """The id of a custom role: one for the project, whatever clusters are in it."""
    return f"{_plain(project)[:32]}_{_plain(request.name)[:31]}"


def role_title(project: str, request: CredentialsRequest) -> str:
    """What people see of a custom role."""
    return f"{project[:50]}-{request.name[:49]}"


def role_path(project: str, identifier: str) -> str:
    """A custom role as policies name it."""
    return f"projects/{project}/roles/{identifier}"


def pool_path(number: str, pool: str) -> str:
    """A pool as principals and audiences name it."""
    return f"iam.googleapis.com/projects/{number}/locations/global/workloadIdentityPools/{pool}"


def principal(number: str, pool: str, subject: str) -> str:
    """The principal of a token with this subject."""
    return f"principal://{pool_path(number, pool)}/subject/{subject}"


def audience(number: str, pool: str, provider: str) -> str:
    """Whom a token is changed at."""
    return f"//{pool_path(number, pool)}/providers/{provider}"


def our_pool(found: WorkloadIdentityPool) -> bool:
    """Whether ccoctl or vestibule created it, by its description."""
    return found.description.lower().startswith(CREATED.lower())


def our_account(found: GcpServiceAccount, name: str) -> bool:
    """Whether an account of the right display name was created by ccoctl, or by vestibule for this name."""
    return found.description in (description(found.display), description(found.display, name))


def our_role(found: GcpCustomRole, title: str) -> bool:
    """Whether ccoctl or vestibule created a role, by title and description."""
    return found.title == title and found.description.lower().startswith(CREATED.lower())


def our_bucket(found: GcsBucket, name: str, number: str) -> bool:
    """Whether a bucket has our label, in our project: anybody can have a bucket of this name, and write
    what they like on it."""
    return found.project == number and found.labels.get(LABEL) == name


def problems(
    name: str, project: str, *, region: str, universe: str, pool: str, provider: str
) -> Iterator[InputProblem]:
    """What is wrong with the names of a run."""
    if not _NAME.fullmatch(name):
        want = "want 4 to 32 letters, digits and dashes in lower case, a letter first, not gcp- and no google"
        yield InputProblem("--name", "", f"is {name!r}, {want}")
    if not _PROJECT.fullmatch(project):
        want = "want the id of a project: 6 to 30 letters, digits and dashes in lower case"
        yield InputProblem("--project", "", f"is {project!r}, {want}")
    if not _REGION.fullmatch(region):
        yield InputProblem("--region", "", f"is {region!r}, want a place of buckets, as us or europe-west1")
    if not _UNIVERSE.fullmatch(universe):
        yield InputProblem("--universe-domain", "", f"is {universe!r}, want a domain, as {UNIVERSE}")
    for flag, value in (("--workload-identity-pool", pool), ("--workload-identity-provider", provider)):
        if value and value != name and not _POOL.fullmatch(value):
            want = "want 4 to 32 letters, digits and dashes in lower case, not gcp- first"
            yield InputProblem(flag, "", f"is {value!r}, {want}")


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", text)
