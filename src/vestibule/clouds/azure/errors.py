"""Azure's errors as vestibule's exceptions; with codes, without tokens and addresses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

from vestibule import errors

T = TypeVar("T")

_ADVICE: Final = {
    "RequestDisallowedByPolicy": (
        "a policy of the subscription forbids it; use an existing account (--storage-account-name), a "
        "private one behind a CDN or Front Door (--issuer-mode private --issuer-url), or publish elsewhere "
        "(--issuer-mode none writes the documents for another host)"
    ),
    "AuthorizationFailed": (
        "the login has no permission for it; `vestibule azure role` prints the role that it needs"
    ),
    "StorageAccountAlreadyTaken": (
        "the name is taken by another Azure customer; choose --storage-account-name"
    ),
    "LinkedAuthorizationFailed": "the login has no permission for a resource that this one refers to",
    "SubscriptionNotFound": "the subscription does not exist, or the login's tenant does not have it",
}


class AzureCallError(errors.VestibuleError):
    """Azure refuses; ``code`` says why, ``status`` is that of HTTP."""

    def __init__(self, what: str, code: str, status: int, text: str) -> None:
        self.code, self.status = code, status
        advice = _ADVICE.get(code)
        message = text.splitlines()[0].strip()[:300] if text.strip() else f"status {status}"
        super().__init__(f"{what}: {code or status}: {message}" + (f"; {advice}" if advice else ""))


def translated(call: Callable[..., T]) -> Callable[..., T]:
    """The call with Azure's exceptions made ours: CloudFault, Forbidden (the login failed), Unavailable."""

    @functools.wraps(call)
    def wrapped(*args: Any, **kwargs: Any) -> T:
        from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

        what = (call.__doc__ or call.__name__).split(";")[0].rstrip(".").lower()
        names = [str(one) for one in args[1:] if isinstance(one, str)]
        what = f"{what} ({', '.join(names)})" if names else what
        try:
            return call(*args, **kwargs)
        except ClientAuthenticationError as error:
            if error.status_code in (401, 403) and code_of(error):
                raise AzureCallError(what, code_of(error), error.status_code, error.message) from error
            raise errors.Forbidden(f"{what}: the login failed: {_first(error.message)}") from error
        except HttpResponseError as error:
            raise AzureCallError(what, code_of(error), error.status_code or 0, _message(error)) from error
        except AzureError as error:
            raise errors.Unavailable(f"{what}: {_first(error.message)}") from error

    return wrapped


def code_of(error: Any) -> str:
    """The code of an error answer."""
    inner = getattr(error, "error", None)
    code = getattr(inner, "code", None) or getattr(error, "error_code", None)
    return str(getattr(code, "value", code) or "")


def _message(error: Any) -> str:
    inner = getattr(error, "error", None)
    return str(getattr(inner, "message", None) or error.message)


def _first(text: str) -> str:
    return next((line.strip() for line in str(text).splitlines() if line.strip()), "")[:300]
