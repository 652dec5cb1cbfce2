"""The image of a webhook in a release: looked up first, attached only when it is there.

A name that the payload does not have would go to the kubelet as it is; it cannot be pulled, and the API
server beside it never becomes ready.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Object = dict[str, Any]


class ReleasePayload(NamedTuple):
    """What ``release-manifests/image-references`` says."""

    version: str
    images: Mapping[str, str]


class ImageLookup(NamedTuple):
    """An image, or why there is none."""

    image: str
    """Empty when there is none."""
    condition: Object
    """``ImageResolved``."""


def release_image(control_plane: Object) -> str:
    """The release whose images run on the management side."""
    spec = control_plane.get("spec") or {}
    return str(spec.get("controlPlaneReleaseImage") or spec.get("releaseImage") or "")


def release(references: Object, overrides: Mapping[str, str] | None = None) -> ReleasePayload:
    """The version and images of an ImageStream; ``overrides`` are prefixes of registries, old to new."""
    tags = (references.get("spec") or {}).get("tags") or []
    images = {
        str(tag["name"]): overridden(str(tag["from"]["name"]), overrides or {})
        for tag in tags
        if tag.get("name") and (tag.get("from") or {}).get("name")
    }
    return ReleasePayload(str((references.get("metadata") or {}).get("name") or ""), images)


def overridden(image: str, overrides: Mapping[str, str]) -> str:
    """With the longest known prefix of a registry replaced; prefixes end at a slash, ``@`` or ``:``."""
    for source in sorted(overrides, key=len, reverse=True):
        rest = image.removeprefix(source)
        if rest != image and (rest == "" or rest[0] in "/@:"):
            return overrides[source] + rest
    return image


def lookup(name: str, found: ReleasePayload) -> ImageLookup:
    """The image of a webhook."""
    image = found.images.get(name, "")
    if image:
        return ImageLookup(image, _condition("True", "InPayload", f"{name} is {image}"))
    text = f"release {found.version or 'of an unknown version'} has no image {name}: nothing is attached"
    return ImageLookup("", _condition("False", "NotInPayload", text))


def _condition(status: str, reason: str, message: str) -> Object:
    return {"type": "ImageResolved", "status": status, "reason": reason, "message": message}
