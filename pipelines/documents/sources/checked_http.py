"""HTTP to an address that was checked: the name is for the certificate and the Host header, the address for the socket.

Whatever the name means a moment later (DNS rebinding), the connection goes where the check looked.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx

from pipelines.documents.sources.source_port import SourceGround, SourceInvalid

USER_AGENT: Final = "AOS"
TIMEOUT: Final = httpx.Timeout(60, connect=15)
CONNECTION: Final[Mapping[str, Any]] = {"timeout": TIMEOUT, "trust_env": False, "follow_redirects": False}
"""Of every client here: no proxy of this process's environment connects in our place, and redirects are answers."""
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class CheckedHost:
    """A site's root whose address was checked.

    Attributes:
        origin: as people write it, `https://example.com:8443`.
        base: the same with the address in place of the name.
    """

    origin: str
    base: str
    headers: Mapping[str, str]
    extensions: Mapping[str, Any] = field(default_factory=dict)

    def holds(self, url: str) -> bool:
        """True where the URL lies on this host."""
        return origin_of(url) == self.origin

    def address_of(self, url: str) -> str:
        """A URL of this host, with the address that was checked. Raises SourceInvalid: it lies elsewhere."""
        if not self.holds(url):
            raise SourceInvalid(f"{url} lies elsewhere")
        parts = urlsplit(url)
        return self.base + urlunsplit(("", "", parts.path or "/", parts.query, ""))


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, without the port that its scheme has anyway; empty where it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in _PORTS or not host:
        return ""
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")


def tls_context() -> ssl.SSLContext:
    """With the authorities that SSL_CERT_FILE and SSL_CERT_DIR name, if any; each client loads them once."""
    return httpx.create_ssl_context()


async def check_host_of(url: str, ground: SourceGround) -> CheckedHost:
    """Have the host of a URL checked, once. Raises what the ground raises: it may not be reached."""
    used = await ground.check_endpoint(url)
    origin = origin_of(url)
    parts = urlsplit(origin)
    headers = {"Host": parts.netloc, "User-Agent": USER_AGENT}
    if parts.scheme == "http":
        return CheckedHost(origin, origin_of(used), headers)
    host = parts.hostname or ""
    address = (await ground.check_host(host, parts.port or _PORTS["https"])).partition("%")[0]
    shown = f"[{address}]" if ":" in address else address
    base = f"https://{shown}" + (f":{parts.port}" if parts.port else "")
    return CheckedHost(origin, base, headers, {"sni_hostname": host})
