"""Access to clusters whose kubeconfigs are stored in other clusters: read with limits, called with a guard.

``access`` is the one way from such a text to a client. The YAML is read as plain text without aliases, tags
or deep nesting; ``core/kinds/storedkubeconfig`` decides what is taken; and every connection is judged by the
address that is dialled, whatever name it was resolved from and whenever.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any, Final

from vestibule import errors
from vestibule.adapters.cluster import access as accesses
from vestibule.adapters.cluster.access import Access, Anonymous, Credential, Static
from vestibule.adapters.cluster.guard import Guard
from vestibule.core.kinds import storedkubeconfig
from vestibule.core.kinds.storedkubeconfig import Stored
from vestibule.errors import Problem

_DEEPEST: Final = 16
_MOST_EVENTS: Final = 20_000


def values(text: bytes | str) -> Any:
    """A kubeconfig as values, all scalars as text; raises ValueError that says what is wrong."""
    import yaml  # noqa: PLC0415 - only who has such clusters pays for it

    raw = text.encode() if isinstance(text, str) else text
    if len(raw) > storedkubeconfig.LARGEST:
        raise ValueError(f"has {len(raw)} bytes, want {storedkubeconfig.LARGEST} at most")
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        _check(yaml.parse(raw, Loader=loader))
        # scalars stay text: no type of YAML is made of what a stranger wrote
        return yaml.load(raw, Loader=loader)  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError("is no YAML") from error


class _Open:
    """A mapping or a list that has begun."""

    def __init__(self, *, mapping: bool) -> None:
        self.mapping = mapping
        self.key = mapping
        """Whether a key comes next."""
        self.seen: set[str] = set()


def _check(events: Iterable[Any]) -> None:
    """What readers of YAML disagree about, and what costs more than it looks; raises ValueError."""
    import yaml  # noqa: PLC0415 - as above

    stack: list[_Open] = []
    for number, event in enumerate(events):
        if number > _MOST_EVENTS or len(stack) > _DEEPEST:
            raise ValueError("is nested too deeply or has too many entries, want a kubeconfig")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("has an alias, want every value where it belongs")
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        if stack and stack[-1].mapping:
            above = stack[-1]
            if above.key:
                if not isinstance(event, yaml.ScalarEvent) or event.value in above.seen:
                    raise ValueError("has a key twice, or one that is no text, want each key once")
                above.seen.add(event.value)
            above.key = not above.key
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append(_Open(mapping=isinstance(event, yaml.MappingStartEvent)))


def parse(text: bytes | str, place: str) -> Stored:
    """What a kubeconfig says; raises InvalidInput with every problem."""
    try:
        found = values(text)
    except ValueError as error:
        raise errors.InvalidInput(Problem(place, "", str(error))) from error
    return storedkubeconfig.read(found, place)


def access(stored: Stored, place: str, guard: Guard) -> Access:
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
        raise errors.InvalidInput(Problem(place, "certificates", wrong)) from error
    return Access(
        stored.server,
        tls,
        _credential(stored),
        stored.server_name or None,
        stored.namespace,
        guard=guard,
    )


def _credential(stored: Stored) -> Credential:
    if stored.token:
        return Static(f"Bearer {stored.token}")
    if stored.username:
        return Static.basic(stored.username, stored.password)
    return Anonymous()
