"""Writers of the formats that identities travel in. A value never becomes part of a file or an address by
joining texts: it is encoded here, or refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote


def impersonation_url(base: str, account: str) -> str:
    """Where Google's libraries ask for a token of the service account; the account stays one path segment,
    whatever is in it."""
    return f"{base}/v1/projects/-/serviceAccounts/{quote(account, safe='@')}:generateAccessToken"


def aws_config(profiles: Iterable[tuple[str, Mapping[str, str]]]) -> str:
    """An AWS configuration file: one section for each profile, one line for each value.

    The format has no escapes. Raises ValueError for what cannot be written as one name or one value.
    """
    sections: list[str] = []
    for name, values in profiles:
        if not name.isprintable() or not name or any(c in "[]" or c.isspace() for c in name):
            raise ValueError(f"{name!r} is no name of a profile")
        lines = [f"[profile {name}]"]
        for key, value in values.items():
            if not value.isprintable() or value != value.strip():
                raise ValueError(f"{key} of profile {name} is {value!r}, want one line")
            lines.append(f"{key} = {value}")
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)
