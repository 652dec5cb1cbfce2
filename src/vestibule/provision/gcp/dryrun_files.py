"""What ``--dry-run`` writes: shell scripts for gcloud and gsutil, numbered in the order in which they run.

Names are those of ccoctl. The project number and the e-mails of accounts, which only an API call returns, are
asked for by the scripts themselves; documents and label of the bucket are put there too, and permissions
have a flag that exists.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.clouds.gcp.endpoints import UNIVERSE
from vestibule.oidc import documents
from vestibule.oidc.keys import PublicKey
from vestibule.provision import manifests as shared
from vestibule.provision.gcp import manifests, names
from vestibule.provision.gcp.request import GcpRequest, permissions_of
from vestibule.provision.outputs import READABLE, Output

MODE: Final = 0o744
_CONFIGURATION: Final = "03-openid-configuration"
_KEYS: Final = "04-keys.json"


def pool(desired: GcpRequest, output: Output) -> None:
    """The pool."""
    name = desired.pool_name
    command = _words(
        "gcloud iam workload-identity-pools create", name, location="global", project=desired.project,
        display_name=name, description=names.CREATED,
    )  # fmt: skip
    _script(output, desired, "01-create-workload-identity-pool.sh", [command])


def issuer(desired: GcpRequest, keys: Sequence[PublicKey], output: Output) -> None:
    """Bucket and documents, or the keys alone; the provider; the manifest."""
    output.write(PurePosixPath(_KEYS), documents.key_set(keys), READABLE)
    if not desired.embedded:
        configuration = documents.configuration(desired.issuer, documents.GCP)
        output.write(PurePosixPath(_CONFIGURATION), configuration, READABLE)
        _script(output, desired, "02-create-oidc-bucket.sh", _bucket(desired))
    create = _words(
        "gcloud iam workload-identity-pools providers create-oidc", desired.name, location="global",
        project=desired.project, workload_identity_pool=desired.pool_name, display_name=desired.name,
        description=names.CREATED, issuer_uri=desired.issuer, allowed_audiences=names.AUDIENCE,
        attribute_mapping="google.subject=assertion.sub",
        **({"jwk_json_path": _KEYS} if desired.embedded else {}),
    )  # fmt: skip
    _script(output, desired, "05-create-workload-identity-provider.sh", [create])
    output.folder("manifests")
    output.write(shared.AUTHENTICATION, shared.authentication(desired.issuer))


def accounts(desired: GcpRequest, output: Output) -> None:
    """Per request: account, custom role, bindings, configuration; a Secret that waits for the latter."""
    output.folder("manifests")
    for number, request in enumerate(desired.requests):
        _account(desired, request, number, output)


def _account(desired: GcpRequest, request: CredentialsRequest, number: int, output: Output) -> None:
    display, project = names.display(desired.name, request), desired.project
    identifier = names.account(desired.name, request)
    create = _words(
        "gcloud iam service-accounts create", identifier, project=project, display_name=display,
        description=names.description(display, desired.name),
    )  # fmt: skip
    _script(output, desired, f"06-{number}-create-{display}-sa.sh", [create])
    permissions = permissions_of(request)[0].permissions
    if permissions:
        role = _words(
            "gcloud iam roles create", names.role(project, request), project=project,
            title=names.role_title(project, request), description=names.description(display),
            permissions=",".join(permissions), stage="GA",
        )  # fmt: skip
        _script(output, desired, f"07-{number}-create-{display}-role.sh", [role])
    bind = f"gcloud projects add-iam-policy-binding {shlex.quote(project)} --condition=None"
    trust = f'gcloud iam service-accounts add-iam-policy-binding "$EMAIL" --project={shlex.quote(project)}'
    lines = [_email(project, identifier), _number(project)]
    lines += [
        f'{bind} --member="serviceAccount:$EMAIL" --role={shlex.quote(one)}' for one in desired.roles(request)
    ]
    pool_name = desired.pool_name
    lines += [
        f'{trust} --role={names.IDENTITY_USER} --member="{names.principal("$NUMBER", pool_name, one)}"'
        for one in request.subjects
    ]
    _script(output, desired, f"08-{number}-add-iam-policy-binding-for-{display}-sa.sh", lines)
    path = names.pool_path("$NUMBER", desired.pool_name).partition("/")[2]
    file = f"credentials_configurations/{display}_credentials_config.json"
    source = f"--credential-source-file={shlex.quote(request.token_file)} --credential-source-type=text"
    lines = [
        _email(project, identifier),
        _number(project),
        "mkdir -p credentials_configurations",
        f'gcloud iam workload-identity-pools create-cred-config "{path}/providers/{desired.provider_name}" '
        f'--service-account="$EMAIL" --output-file={shlex.quote(file)} {source}',
    ]
    script = f"09-{number}-generate-credentials-config-for-{display}-sa.sh"
    _script(output, desired, script, lines)
    output.write(shared.secret_path(request), manifests.secret(request, "", script))


def _bucket(desired: GcpRequest) -> list[str]:
    address = f"gs://{names.bucket(desired.name)}"
    headers = f"-h 'Content-Type:{documents.CONTENT_TYPE}' -h 'Cache-Control:{documents.CACHE_CONTROL}'"
    region, project = shlex.quote(desired.region), shlex.quote(desired.project)
    return [
        f"gsutil mb -b on -l {region} -p {project} {address}",
        f"gsutil label ch -l {names.LABEL}:{desired.name} {address}",
        f"gsutil iam ch allUsers:objectViewer {address}",
        f"gsutil {headers} cp {_KEYS} {address}/{documents.GCP.keys_name}",
        f"gsutil {headers} cp {_CONFIGURATION} {address}/{documents.DISCOVERY_NAME}",
    ]


def _email(project: str, identifier: str) -> str:
    listed = f"gcloud iam service-accounts list --project={shlex.quote(project)}"
    return f"EMAIL=$({listed} --filter='email~^{identifier}@' --format='value(email)')"


def _number(project: str) -> str:
    return f"NUMBER=$(gcloud projects describe {shlex.quote(project)} --format='value(projectNumber)')"


def _words(command: str, name: str, **flags: str) -> str:
    given = [f"--{flag.replace('_', '-')}={shlex.quote(value)}" for flag, value in flags.items()]
    return " ".join([command, shlex.quote(name), *given])


def _script(output: Output, desired: GcpRequest, name: str, commands: Sequence[str]) -> None:
    lines = ["#!/bin/sh", "set -eu", 'cd "$(dirname "$0")"']
    if desired.universe != UNIVERSE:
        lines.append(f"export CLOUDSDK_CORE_UNIVERSE_DOMAIN={desired.universe}")
    output.write(PurePosixPath(name), "\n".join([*lines, *commands, ""]), MODE)
