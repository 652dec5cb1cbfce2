"""Access to clusters whose kubeconfigs are stored in other clusters: read with limits, called with a guard.

``access`` is the one way from such a text to a client. The YAML is read without aliases, tags or deep
nesting, its scalars as text but for null, true and false; ``api/stored_kubeconfig`` decides what is
taken; and every connection is judged by the address that is dialled, whatever name it was resolved from and
whenever.
"""

from __future__ import annotations

import functools
import re
import ssl
from collections.abc import Iterable
from typing import Any, Final

from vestibule import errors
from vestibule.api import stored_kubeconfig
from vestibule.api.stored_kubeconfig import StoredKubeconfig
from vestibule.errors import InputProblem
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube import access as accesses
from vestibule.kube.access import AnonymousCredential, ClusterAccess, ClusterCredential, StaticCredential

_DEEPEST: Final = 16
_MOST_EVENTS: Final = 20_000
_NULL: Final = "tag:yaml.org,2002:null"
_BOOL: Final = "tag:yaml.org,2002:bool"


def values(text: bytes | str) -> Any:
    """A kubeconfig as values; scalars are text, None, True or False. Raises ValueError that says what is
    wrong."""
    import yaml  # noqa: PLC0415 - only who has such clusters pays for it

    raw = text.encode() if isinstance(text, str) else text
    if len(raw) > stored_kubeconfig.LARGEST:
        raise ValueError(f"has {len(raw)} bytes, want {stored_kubeconfig.LARGEST} at most")
    loader = _loader()
    try:
        _check(yaml.parse(raw, Loader=loader))
        return yaml.load(raw, Loader=loader)  # noqa: S506 - makes no types but those named above
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError("is no YAML") from error


@functools.cache
def _loader() -> Any:
    """Makes text of every scalar, but for plain ones that are null, true or false: a text in quotes that says
    so is a text."""

    import yaml  # noqa: PLC0415 - as above

    base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    made: Any = type("Loader", (base,), {})
    for tag, pattern, starts in (
        (_NULL, r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
        (_BOOL, r"(?:true|True|TRUE|false|False|FALSE)\Z", list("tTfF")),
    ):
        made.add_implicit_resolver(tag, re.compile(pattern), starts)
    made.add_constructor(_NULL, lambda loader, node: None)
    made.add_constructor(_BOOL, lambda loader, node: node.value.lower() == "true")
    return made


class _OpenNode:
    """A mapping or a list that has begun."""

    def __init__(self, *, mapping: bool) -> None:
        self.mapping = mapping
        self.key = mapping
        """Whether a key comes next."""
        self.seen: set[str] = set()


def _check(events: Iterable[Any]) -> None:
    """What readers of YAML disagree about, and what costs more than it looks; raises ValueError."""
    import yaml  # noqa: PLC0415 - as above

    stack: list[_OpenNode] = []
    for number, event in enumerate(events):
        if number > _MOST_EVENTS or len(stack) > _DEEPEST:
            raise ValueError("is nested too deeply or has too many entries, want a kubeconfig")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("has an alias, want every value where it belongs")
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        if getattr(event, "tag", None) is not None:
            raise ValueError("has a tag, want plain values")
        if stack and stack[-1].mapping:
            above = stack[-1]
            if above.key:
                if not isinstance(event, yaml.ScalarEvent) or event.value in above.seen:
                    raise ValueError("has a key twice, or one that is no text, want each key once")
                above.seen.add(event.value)
            above.key = not above.key
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append(_OpenNode(mapping=isinstance(event, yaml.MappingStartEvent)))


def parse(text: bytes | str, place: str) -> StoredKubeconfig:
    """What a kubeconfig says; raises InvalidInput with every problem."""
    try:
        found = values(text)
    except ValueError as error:
        raise errors.InvalidInput(InputProblem(place, "", str(error))) from error
    return stored_kubeconfig.read(found, place)


def access(stored: StoredKubeconfig, place: str, guard: AddressGuard) -> ClusterAccess:
    """The access that it stands for; raises InvalidInput when its certificates cannot be used."""
    try:
        tls = accesses.tls_context(
            stored.authority or None,
            insecure=False,
            certificate=stored.certificate or None,
            key=stored.key or None,
        )
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        wrong = f"cannot be used: {reason}"
        raise errors.InvalidInput(InputProblem(place, "certificates", wrong)) from error
    return ClusterAccess(
        stored.server,
        tls,
        _credential(stored),
        stored.server_name or None,
        stored.namespace,
        guard=guard,
    )


def _credential(stored: StoredKubeconfig) -> ClusterCredential:
    if stored.token:
        return StaticCredential(f"Bearer {stored.token}")
    if stored.username:
        return StaticCredential.basic(stored.username, stored.password)
    return AnonymousCredential()
