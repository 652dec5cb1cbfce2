"""Stands in for ``gcloud`` in the container that the GCP webhook adds: the two commands of its script, with
the arguments that they take.

``create-cred-config`` makes no call; what it writes follows from its arguments, and is written here as gcloud
writes it. ``auth login --cred-file`` reads the file and notes the account in ``CLOUDSDK_CONFIG``; gcloud
would also try it out, which is what the SDK does next in these tests. Anything else is an error, so that a
change of the script does not pass unnoticed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path


def create(provider: str, account: str, token: str, output: str) -> None:
    """The credentials file; paths are those of the container."""
    for place, inside in json.loads(os.environ["CHAIN_MOUNTS"]).items():
        token = token.replace(f"{place}/", f"{inside}/")
    document = {
        "universe_domain": "googleapis.com",
        "type": "external_account",
        "audience": f"//iam.googleapis.com/{provider}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"file": token, "format": {"type": "text"}},
    }
    if account:
        root = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts"
        document["service_account_impersonation_url"] = f"{root}/{account}:generateAccessToken"
    else:
        document["token_info_url"] = "https://sts.googleapis.com/v1/introspect"
    Path(output).write_text(json.dumps(document, indent=2))


def log_in(file: str) -> None:
    """Take the account that a credentials file stands for."""
    document = json.loads(Path(file).read_text())
    if document["type"] != "external_account":
        raise ValueError(f"{file} is no external account")
    account = document.get("service_account_impersonation_url", document["audience"])
    (Path(os.environ["CLOUDSDK_CONFIG"]) / "access").write_text(account)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=True)
    commands = parser.add_subparsers(required=True)
    iam = commands.add_parser("iam", allow_abbrev=False).add_subparsers(required=True)
    pools = iam.add_parser("workload-identity-pools", allow_abbrev=False).add_subparsers(required=True)
    created = pools.add_parser("create-cred-config", allow_abbrev=False)
    created.add_argument("provider")
    created.add_argument("--service-account", default="")
    created.add_argument("--credential-source-file", required=True)
    created.add_argument("--output-file", required=True)
    login = commands.add_parser("auth", allow_abbrev=False).add_subparsers(required=True)
    login.add_parser("login", allow_abbrev=False).add_argument("--cred-file", required=True)
    given = parser.parse_args(arguments)
    if "cred_file" in given:
        log_in(given.cred_file)
    else:
        create(given.provider, given.service_account, given.credential_source_file, given.output_file)


if __name__ == "__main__":
    main(sys.argv[1:])
