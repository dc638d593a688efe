"""Where a host's name leads: to public addresses only, unless others are allowed."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from concurrent.futures import Executor
from functools import partial

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")  # all of IPv6 that is given out: what is global beyond it leads elsewhere


async def resolve(host: str, port: int, *, private: bool, threads: Executor | None = None) -> list[str]:
    """The addresses of `host`, to connect to in its place: so what was checked is what is called.

    It is looked up in one of `threads`: those of the event loop, which are the default, hold up its end.
    Raises OSError when the name has none, PermissionError when one is not public and `private` is not set.
    """
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(threads, look_up)
    addresses = [str(address[0]) for *_, address in found]
    inner = next((address for address in addresses if not private and not is_public(address)), None)
    if inner:
        raise PermissionError(f"{host} is at {inner}, which is no public address")
    return addresses


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet at large, and so is an IPv4 address inside it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else ip.ipv4_mapped or ip.sixtofour
        if inner is not None:
            return is_public(str(inner))
        if ip not in _UNICAST:
            return False
    return ip.is_global and not ip.is_multicast
