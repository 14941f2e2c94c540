"""Allow-list of addresses: named hosts only, and no way round to the machines behind the wall (OWASP SSRF)."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from cluster.basics.addresses import Address, is_public
from cluster.basics.errors import Forbidden, Invalid

_PORTS = {"http": 80, "https": 443}


class AddressNotAllowed(Forbidden):
    """This address may not be read."""

    code = "address_not_allowed"
    fix = "An administrator may add the host to AOS_AGENTS_HTTP_ALLOW."


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """A URL that was taken apart."""

    scheme: str
    host: str  # lower case, without a dot at its end; IPv6 without brackets
    port: int
    path: str  # with the query
    named: bool  # whether the list has exactly this host and port, which opens private addresses

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_target(url: str, allowed: Sequence[str]) -> RequestTarget:
    """Take an absolute URL, http or https, apart and look it up in the list.

    `allowed`: `host` (its usual ports), `*.host` (what is below it, usual ports) or `host:port` (just that).

    Raises Invalid: it is no such URL; AddressNotAllowed: its host and port are not in the list.
    """
    parts, host, port = _take_apart(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    named = any(_is_named(entry, host, port) for entry in allowed)
    usual = port == _PORTS[parts.scheme] and any(_entry_covers(entry, host) for entry in allowed)
    if not (named or usual):
        raise AddressNotAllowed(f"{host}:{port} is not in the list of hosts that may be read")
    return RequestTarget(parts.scheme, host, port, path, named)


def url_host(url: str) -> str:
    """The host of an absolute URL, as `parse_target` compares it. Raises Invalid: it is no such URL."""
    return _take_apart(url)[1]


def check_addresses(found: Sequence[str], aim: RequestTarget) -> str:
    """The address to connect to, of those that the name resolves to: every one of them has to be public.

    Raises AddressNotAllowed: one is private, of this machine, of the link, of a cloud's metadata, or not an address.
    """
    addresses = [_parse_address(text) for text in found]
    if not addresses:
        raise AddressNotAllowed(f"{aim.host} has no address")
    if inner := [address for address in addresses if not aim.named and not is_public(address)]:
        raise AddressNotAllowed(f"{aim.host} leads to {inner[0]}, which is not a public address")
    return str(addresses[0])


def _take_apart(url: str) -> tuple[SplitResult, str, int]:
    if any(ord(one) <= 32 or one == "\\" or ord(one) == 127 for one in url):  # where parsers disagree
        raise Invalid("a URL has no blanks, backslashes or control characters")
    try:
        parts = urlsplit(url)
        host, port = _normal_host(parts), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise Invalid(f"this is no URL: {error}") from error
    if parts.scheme not in _PORTS or not host:
        raise Invalid("a URL begins with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise Invalid("a URL with a user name or a password is not read")
    return parts, host, port


def _normal_host(parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".").lower()
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    if "%" in host:  # a zone of IPv6, or an escape
        raise ValueError("the host has a %")
    return host


def _is_named(entry: str, host: str, port: int) -> bool:
    name, _, number = entry.strip().lower().rpartition(":")
    return bool(name) and number == str(port) and name.strip("[]") == host


def _entry_covers(entry: str, host: str) -> bool:
    name = entry.strip().lower().rstrip(".")
    if name.startswith("*."):
        return host.endswith(name[1:]) and len(host) > len(name) - 1
    return name.strip("[]") == host


def _parse_address(text: str) -> Address:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError as error:
        raise AddressNotAllowed(f"{text!r} is not an address") from error
