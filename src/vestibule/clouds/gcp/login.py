"""The credentials: first from ccoctl's variables, then as google-auth finds them.

ccoctl's variables hold the key file of a service account: three variables, each with its path or its
text, and a file in the home directory.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from vestibule import errors
from vestibule.errors import InputProblem, InvalidInput

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
VARIABLES: Final = ("GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON")
FILE: Final = Path(".gcp") / "osServiceAccount.json"
_WANT: Final = "want the key file of a service account, or its text"


def credentials() -> Any:
    """Credentials of google-auth; nothing is called yet. Raises MissingExtra, InvalidInput, Forbidden."""
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
    except ModuleNotFoundError as error:
        raise errors.MissingExtra("gcp", "gcp") from error
    key = _ccoctl_credentials()
    if key is not None:
        return _of_key(*key)
    try:
        found, _ = google.auth.default(scopes=[SCOPE])
    except GoogleAuthError as error:
        raise errors.Forbidden(f"no login to Google Cloud: {error}") from error
    return found


def _ccoctl_credentials() -> tuple[str, str] | None:
    """The text of a key file, and where it is from; an explicit choice of google-auth's goes first."""
    for name in VARIABLES:
        given = os.environ.get(name, "")
        if given:
            return (given, name) if given.lstrip().startswith("{") else (_read(Path(given), name), name)
    if os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return None
    path = Path.home() / FILE
    return (_read(path, str(path)), str(path)) if path.is_file() else None


def _read(path: Path, place: str) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(InputProblem(place, "", f"{path} cannot be read, {_WANT}")) from error


def _of_key(text: str, place: str) -> Any:
    from google.oauth2 import service_account

    try:
        return service_account.Credentials.from_service_account_info(json.loads(text), scopes=[SCOPE])  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, AttributeError):
        # the parser's error may quote it
        raise InvalidInput(InputProblem(place, "", f"is no key of a service account, {_WANT}")) from None
