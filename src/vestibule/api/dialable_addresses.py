"""Which network addresses are called for an object that a tenant wrote: none of this machine, none of its own
link.

Judged is the address that is dialled, after every name is resolved. An IPv6 address that carries an IPv4
address (mapped, translated, tunnelled) is judged by both.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_EMBEDDING: Final = (ipaddress.IPv6Network("::ffff:0:0:0/96"),)
"""Networks whose last 32 bits are an IPv4 address: IPv4-translated ones."""
_SITE_LOCAL: Final = ipaddress.IPv6Network("fec0::/10")
_AWS_LOCAL: Final = ipaddress.IPv6Network("fd00:ec2::/32")
"""Services of an instance in AWS: metadata, DNS, time, the Pod Identity agent."""
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_THIS_NETWORK: Final = ipaddress.IPv4Network("0.0.0.0/8")
_RESERVED: Final = ipaddress.IPv4Network("240.0.0.0/4")
_METADATA: Final = frozenset(
    ipaddress.ip_address(one)
    for one in ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
)
"""Metadata services of clouds outside of the link-local range."""


def refusal(address: str, *, loopback: bool = False) -> str:
    """Why an address is not called; empty when it may be. ``loopback`` permits loopback addresses."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "is no IP address"
    for one in _carried(parsed):
        kind = _kind(one)
        if kind and not (loopback and kind == "loopback"):
            return f"is {_ARTICLES.get(kind, 'a')} {kind} address"
    return ""


_ARTICLES: Final = {"unspecified": "an"}


def _kind(address: Address) -> str:
    """What is wrong with one address, in one word; empty: nothing."""
    if address.is_loopback:
        return "loopback"
    if address.is_unspecified or address in _THIS_NETWORK:
        return "unspecified"
    if address.is_link_local:
        return "link-local"
    if address.is_multicast:
        return "multicast"
    if address in _RESERVED:
        return "reserved"
    if isinstance(address, ipaddress.IPv6Address) and address in _SITE_LOCAL:
        return "site-local"
    if isinstance(address, ipaddress.IPv6Address) and address in _NAT64[1]:
        return "translated"
    local = isinstance(address, ipaddress.IPv6Address) and address in _AWS_LOCAL
    return "metadata" if address in _METADATA or local else ""


def _carried(address: Address) -> Iterator[Address]:
    """The address and every IPv4 address inside it."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    embedding = any(address in network for network in (*_NAT64, *_EMBEDDING))
    if isatap or embedding or (address in _COMPATIBLE and int(address) > 1):
        yield last
