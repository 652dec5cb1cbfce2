"""Who a connection comes from, for sharing: an IPv4 address, or the /64 network of an IPv6 address.

One host owns a whole /64, so its addresses count as one peer. Behind a NAT or a tunnel many callers are one
peer, too; that is why a peer's share only matters when there is too little for all.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Any, Final

__all__ = ["name"]

_NETWORK_BITS: Final = 64


def name(address: tuple[Any, ...] | str) -> str:
    """The peer of a socket address as ``accept`` gives it; empty where the family knows none."""
    return _of_host(address[0]) if isinstance(address, tuple) else ""


@lru_cache(maxsize=4096)
def _of_host(host: str) -> str:
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
