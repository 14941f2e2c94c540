"""Ports of this machine: whether one is free, and one that stays so for a while."""

import secrets
import socket
from collections.abc import Collection

LOOPBACK = "127.0.0.1"
QUIET_PORTS = range(20_000, 30_000)


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """True where nobody listens at the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A port of a range that nobody is given by chance: it is used seconds later, when Ray has opened many of those.

    The kernel gives away ports from 32768, Ray's workers take 10002 to 19999, Serve's replicas 30000 and more.
    """
    while not is_free(port := secrets.choice(QUIET_PORTS), ""):
        continue
    return port


def free_ports(count: int, taken: Collection[int] = ()) -> list[int]:
    """As many ports, no two alike and none of those `taken`: what is given away together is not open yet."""
    found: list[int] = []
    while len(found) < count:
        port = free_port()
        if port not in found and port not in taken:
            found.append(port)
    return found
