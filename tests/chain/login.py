"""Runs inside the container's environment: one cloud SDK logs in, and one line of JSON says how that went.

``python -I login.py aws|gcp|azure|msal``. It takes nothing but what the SDK finds by itself, and it cannot
reach another machine: a connection that does not go to 127.0.0.1 fails as an unreachable network does, and is
told.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SCOPE = {
    "gcp": "https://www.googleapis.com/auth/cloud-platform",
    "azure": "https://management.azure.com/.default",
}
refused: list[str] = []


def stay_at_home(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: interpreter-wide, whatever library opens the socket."""
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else str(address)
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in ("127.0.0.1", None):
        refused.append(str(host))
        raise OSError(f"{host} is not on this machine")


def aws() -> Json:
    """Whatever the default chain finds, used for a signed call."""
    import boto3

    session = boto3.Session()
    credentials = session.get_credentials()
    if credentials is None:
        raise LookupError("no credentials")
    frozen = credentials.get_frozen_credentials()
    # STS has one address for all regions, and a program may know its region from elsewhere
    region = session.region_name or "us-east-1"
    caller = session.client("sts", region_name=region).get_caller_identity()
    return {
        "key": frozen.access_key,
        "arn": caller["Arn"],
        "method": credentials.method,
        "region": session.region_name,
    }


def gcp() -> Json:
    """Application default credentials, refreshed."""
    import google.auth
    from google.auth.transport.requests import Request

    credentials, project = google.auth.default(scopes=[SCOPE["gcp"]])
    credentials.refresh(Request())  # type: ignore[no-untyped-call]
    return {"token": credentials.token, "project": project, "type": type(credentials).__name__}


def azure() -> Json:
    """The default chain, as applications use it."""
    from azure.identity import DefaultAzureCredential

    with DefaultAzureCredential() as credential:
        token = credential.get_token(SCOPE["azure"])
        return {"token": token.token, "by": type(credential._successful_credential).__name__}


def msal() -> Json:
    """The same login by MSAL, with both discoveries; file and names as the variables say."""
    from msal import ConfidentialClientApplication  # type: ignore[import-untyped]

    assertion = Path(os.environ["AZURE_FEDERATED_TOKEN_FILE"]).read_text()
    host = os.environ.get("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/").rstrip("/")
    application = ConfidentialClientApplication(
        os.environ["AZURE_CLIENT_ID"],
        authority=f"{host}/{os.environ['AZURE_TENANT_ID']}",
        client_credential={"client_assertion": assertion},
    )
    answer = application.acquire_token_for_client([SCOPE["azure"]])
    if "access_token" not in answer:
        raise PermissionError(answer["error_description"])
    return {"token": answer["access_token"]}


def main(cloud: str) -> Json:
    """The outcome, as the parent reads it."""
    sys.addaudithook(stay_at_home)
    try:
        who = {"aws": aws, "gcp": gcp, "azure": azure, "msal": msal}[cloud]()
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is the outcome
        return {"ok": False, "who": {}, "error": f"{type(error).__name__}: {error}", "refused": refused}
    finally:
        # google-auth asks for more behind our back; an end in the middle of that breaks its conversation
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(30)
    return {"ok": True, "who": who, "error": "", "refused": refused}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
