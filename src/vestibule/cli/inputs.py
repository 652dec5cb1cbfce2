"""Options that several commands have: tokens, CAs, ServiceAccounts."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import click

from vestibule import errors


def token(name: str) -> tuple[str, str]:
    """Place and text of a token in a file; ``-`` is standard input. Raises InvalidInput."""
    from vestibule.oidc.tokens import LONGEST

    try:
        if name == "-":
            data, place = sys.stdin.buffer.read(2 * LONGEST), "token on standard input"
        else:
            with Path(name).open("rb") as file:
                data, place = file.read(2 * LONGEST), f"token {name}"
    except OSError as error:
        raise errors.InvalidInput(
            errors.InputProblem("--token", name, f"cannot be read: {error.strerror}")
        ) from error
    return place, data.decode("utf-8", "replace")


def trusting(file: Path | None) -> ssl.SSLContext | None:
    """The CAs of ``--ca-bundle``; None: the system CAs. Raises InvalidInput."""
    if file is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(file))
    except (OSError, ssl.SSLError) as error:
        text = f"cannot be used: {error.strerror or error}, want a PEM file"
        raise errors.InvalidInput(errors.InputProblem("--ca-bundle", str(file), text)) from error


def account(text: str, flag: str = "--service-account") -> tuple[str, str]:
    """Namespace and name of ``NAMESPACE/NAME``."""
    namespace, slash, name = text.partition("/")
    if not namespace or not slash or not name or "/" in name:
        raise click.BadParameter(f"is {text!r}, want NAMESPACE/NAME", param_hint=flag)
    return namespace, name
