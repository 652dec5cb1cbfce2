"""What every resource provider checks about a name and a body: fields, tags, places. Raises Refusal."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

import msgspec

from vestibule_simulators.azure.responses import ArmError, Json, bad

MOST_TAGS: Final = 50
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LOCATION: Final = re.compile(r"[a-z]{3,20}[0-9]?(euap|stage)?")


def parsed(body: bytes) -> Json:
    """The object that was sent."""
    if not body:
        raise bad("The request content was invalid: a body is required.")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise bad("The request content was invalid and could not be deserialized: want an object.") from None


def fields(body: Json, allowed: Collection[str], where: str = "") -> None:
    """No field that the provider does not know: a misspelt one would be lost."""
    for name in body:
        if name not in allowed:
            raise bad(
                f"Could not find member '{where}{name}' on object: want one of {', '.join(sorted(allowed))}."
            )


def inner(body: Json, name: str = "properties") -> Json:
    """A part that must be an object; empty when it is missing."""
    found = body.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise bad(f"The value of '{name}' is {type(found).__name__}, want an object.")
    return found


def text(body: Json, name: str, code: str = "InvalidRequestContent") -> str:
    """A text that must be there."""
    found = body.get(name)
    if not isinstance(found, str) or not found:
        raise bad(f"The property '{name}' is missing or no text.", code)
    return found


def location(body: Json) -> str:
    """Where a resource is to be, in the short form."""
    found = body.get("location")
    if not isinstance(found, str) or not found:
        raise bad("The location property is required for this definition.", "LocationRequired")
    short = found.replace(" ", "").lower()
    if not _LOCATION.fullmatch(short):
        raise bad(
            f"The provided location '{found}' is not available for resource group.",
            "LocationNotAvailableForResourceType",
        )
    return short


def tags(body: Json) -> dict[str, str]:
    """Tags within the limits."""
    found = inner(body, "tags")
    for key, value in found.items():
        if not isinstance(value, str):
            raise bad(f"The value of tag '{key}' is no text.")
        if not key or len(key) > 512 or any(sign in key for sign in "<>%&\\?/"):
            raise bad(
                f"The tag name '{key}' has reserved characters or a wrong length.", "InvalidTagNameCharacters"
            )
        if len(value) > 256:
            raise bad(f"The value of tag '{key}' is longer than 256.", "InvalidTagValueLength")
    if len(found) > MOST_TAGS:
        raise bad(f"The resource has {len(found)} tags, want {MOST_TAGS} or fewer.", "TagsLimitExceeded")
    lowered = {key.lower() for key in found}
    if len(lowered) != len(found):
        raise bad("The tags differ only in letter case.", "DuplicateTagName")
    return dict(found)


def guid(value: object) -> bool:
    """Whether this is a GUID."""
    return isinstance(value, str) and _GUID.fullmatch(value) is not None


def named(pattern: re.Pattern[str], name: str, code: str, want: str) -> None:
    """A resource name by its rule."""
    if not pattern.fullmatch(name):
        raise ArmError(400, code, f"'{name}' is not a valid name: want {want}.")
