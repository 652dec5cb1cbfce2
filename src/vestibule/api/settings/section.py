"""The base of every part of the settings file."""

from __future__ import annotations

import msgspec


class SettingsSection(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of the file: unknown names are errors, since a misspelt setting that is ignored is worse
    than a refusal."""
