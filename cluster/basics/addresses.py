"""Address classes for guarding against server-side request forgery (OWASP): public, loopback, or internal."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from cluster.basics.errors import Unavailable

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]  # every address of a host
Address = IPv4Address | IPv6Address

# Public by their numbers, and yet where clouds keep their metadata: Azure's wire server, Oracle's, Alibaba's.
_METADATA = {ip_address("168.63.129.16"), ip_address("192.0.0.192"), ip_address("100.100.100.200")}
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
# IPv4 behind a translator of the site (RFC 2765), addresses for books (RFC 9637), segments of a network (RFC 9602).
_INNER = tuple(map(ip_network, ("::ffff:0:0:0/96", "3fff::/20", "5f00::/16")))


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Every address that the system knows for a name. Raises Unavailable: it knows none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unavailable(f"{host} cannot be resolved") from error
    return [str(entry[4][0]) for entry in found]


def is_loopback(address: Address) -> bool:
    """True for this machine itself, also where an IPv4 address is written as an IPv6 one."""
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (inner or address).is_loopback


def is_public(address: Address) -> bool:
    """True where anybody on the internet may reach it; an IPv4 address inside an IPv6 one counts as itself."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and any(address in network for network in _NAT64):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None and int(address) < 2**32:  # ::a.b.c.d, long deprecated
            inner = IPv4Address(int(address))
        if inner is not None:
            return is_public(inner)
        if address.is_site_local or any(address in network for network in _INNER):  # fec0::/10: still routed
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved and address not in _METADATA
