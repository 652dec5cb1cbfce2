"""Which addresses are dialled for a cluster that an object of a tenant names: judged when the socket is made.

Names are resolved again for every connection, and an earlier check says nothing about what is dialled
now; so the judge is the one who makes the socket.
"""

from __future__ import annotations

import errno
import socket
from typing import Any, Final, NamedTuple

from vestibule.api import dialable_addresses

REFUSED: Final = "and is not called for an object of a cluster"
"""What the message of every refused connection says."""


class AddressRefused(OSError):
    """The address that would be dialled is none that is called."""


class AddressGuard(NamedTuple):
    """Judges what is dialled."""

    loopback: bool = False
    """Whether loopback addresses may be called: for tests."""

    def socket(self, info: tuple[Any, ...]) -> socket.socket:
        """A socket for an address as ``getaddrinfo`` gives it; raises AddressRefused."""
        family, kind, protocol, _, address = info
        if wrong := dialable_addresses.refusal(str(address[0]), loopback=self.loopback):
            raise AddressRefused(errno.EACCES, f"{address[0]} {wrong} {REFUSED}")
        return socket.socket(family, kind, protocol)
