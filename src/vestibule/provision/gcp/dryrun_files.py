"""What ``--dry-run`` writes: shell scripts for gcloud and gsutil, numbered in the order in which they run.

Names are the original's. The number of the project and the e-mails of accounts, which only a call tells, are
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
from vestibule.provision.gcp.request import GcpRequest, rights
from vestibule.provision.outputs import READABLE, Output

MODE: Final = 0o744
_CONFIGURATION: Final = "03-openid-configuration"
_KEYS: Final = "04-keys.json"


def pool(wanted: GcpRequest, output: Output) -> None:
    """The pool."""
    name = wanted.pool_name
    command = _words(
        "gcloud iam workload-identity-pools create", name, location="global", project=wanted.project,
        display_name=name, description=names.CREATED,
    )  # fmt: skip
    _script(output, wanted, "01-create-workload-identity-pool.sh", [command])


def issuer(wanted: GcpRequest, keys: Sequence[PublicKey], output: Output) -> None:
    """Bucket and documents, or the keys alone; the provider; the manifest."""
    output.write(PurePosixPath(_KEYS), documents.key_set(keys), READABLE)
    if not wanted.embedded:
        configuration = documents.configuration(wanted.issuer, documents.GCP)
        output.write(PurePosixPath(_CONFIGURATION), configuration, READABLE)
        _script(output, wanted, "02-create-oidc-bucket.sh", _bucket(wanted))
    create = _words(
        "gcloud iam workload-identity-pools providers create-oidc", wanted.name, location="global",
        project=wanted.project, workload_identity_pool=wanted.pool_name, display_name=wanted.name,
        description=names.CREATED, issuer_uri=wanted.issuer, allowed_audiences=names.AUDIENCE,
        attribute_mapping="google.subject=assertion.sub",
        **({"jwk_json_path": _KEYS} if wanted.embedded else {}),
    )  # fmt: skip
    _script(output, wanted, "05-create-workload-identity-provider.sh", [create])
    output.folder("manifests")
    output.write(shared.AUTHENTICATION, shared.authentication(wanted.issuer))


def accounts(wanted: GcpRequest, output: Output) -> None:
    """Per request: account, custom role, bindings, configuration; a Secret that waits for the latter."""
    output.folder("manifests")
    for number, request in enumerate(wanted.requests):
        _account(wanted, request, number, output)


def _account(wanted: GcpRequest, request: CredentialsRequest, number: int, output: Output) -> None:
    display, project = names.display(wanted.name, request), wanted.project
    identifier = names.account(wanted.name, request)
    create = _words(
        "gcloud iam service-accounts create", identifier, project=project, display_name=display,
        description=names.description(display, wanted.name),
    )  # fmt: skip
    _script(output, wanted, f"06-{number}-create-{display}-sa.sh", [create])
    permissions = rights(request)[0].permissions
    if permissions:
        role = _words(
            "gcloud iam roles create", names.role(project, request), project=project,
            title=names.role_title(project, request), description=names.description(display),
            permissions=",".join(permissions), stage="GA",
        )  # fmt: skip
        _script(output, wanted, f"07-{number}-create-{display}-role.sh", [role])
    bind = f"gcloud projects add-iam-policy-binding {shlex.quote(project)} --condition=None"
    trust = f'gcloud iam service-accounts add-iam-policy-binding "$EMAIL" --project={shlex.quote(project)}'
    lines = [_email(project, identifier), _number(project)]
    lines += [
        f'{bind} --member="serviceAccount:$EMAIL" --role={shlex.quote(one)}' for one in wanted.roles(request)
    ]
    lines += [
        f'{trust} --role={names.IDENTITY_USER} --member="{names.principal("$NUMBER", wanted.pool_name, one)}"'
        for one in request.subjects
    ]
    _script(output, wanted, f"08-{number}-add-iam-policy-binding-for-{display}-sa.sh", lines)
    path = names.pool_path("$NUMBER", wanted.pool_name).partition("/")[2]
    file = f"credentials_configurations/{display}_credentials_config.json"
    source = f"--credential-source-file={shlex.quote(request.token_file)} --credential-source-type=text"
    lines = [
        _email(project, identifier),
        _number(project),
        "mkdir -p credentials_configurations",
        f'gcloud iam workload-identity-pools create-cred-config "{path}/providers/{wanted.provider_name}" '
        f'--service-account="$EMAIL" --output-file={shlex.quote(file)} {source}',
    ]
    script = f"09-{number}-generate-credentials-config-for-{display}-sa.sh"
    _script(output, wanted, script, lines)
    output.write(shared.secret_path(request), manifests.secret(request, "", script))


def _bucket(wanted: GcpRequest) -> list[str]:
    address = f"gs://{names.bucket(wanted.name)}"
    headers = f"-h 'Content-Type:{documents.CONTENT_TYPE}' -h 'Cache-Control:{documents.CACHE_CONTROL}'"
    region, project = shlex.quote(wanted.region), shlex.quote(wanted.project)
    return [
        f"gsutil mb -b on -l {region} -p {project} {address}",
        f"gsutil label ch -l {names.LABEL}:{wanted.name} {address}",
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


def _script(output: Output, wanted: GcpRequest, name: str, commands: Sequence[str]) -> None:
    lines = ["#!/bin/sh", "set -eu", 'cd "$(dirname "$0")"']
    if wanted.universe != UNIVERSE:
        lines.append(f"export CLOUDSDK_CORE_UNIVERSE_DOMAIN={wanted.universe}")
    output.write(PurePosixPath(name), "\n".join([*lines, *commands, ""]), MODE)
