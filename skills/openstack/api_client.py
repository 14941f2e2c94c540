"""The way of every request to a cloud: its address is checked, it goes to what was checked, and it ends in time."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from socket import SHUT_RDWR, socket
from time import monotonic
from typing import Any
from urllib.parse import urljoin

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as Lost
from requests.exceptions import ReadTimeout
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from cluster.basics.errors import Invalid, TooLarge
from skills.http_client.fetch import READING, ServiceRedirected, tls_context
from skills.http_client.guard import RequestTarget, check_addresses, parse_target
from skills.openstack.cloud_errors import PendingChange

_PIECE = 65_536
_TOKENS = "/auth/tokens"
_PASSWORD = re.compile(rb'"adminPass"\s*:\s*("(?:[^"\\]|\\.)*")')


class GuardedAdapter(HTTPAdapter):
    """Carries requests to addresses that are allowed. Used by one thread; `stop` may be called by any."""

    def __init__(
        self,
        allowed: Sequence[str],
        find: Callable[[str, int], Sequence[str]],  # resolves a name
        seconds: float,
        most: int,  # bytes of an answer that are read
        authority: str | None,
        secret: Callable[[str], None],  # is told what a cloud gives
    ) -> None:
        super().__init__(max_retries=0)
        self.changed = PendingChange()
        self._allowed, self._find, self._most, self._secret = allowed, find, most, secret
        self._end, self._stopped = monotonic() + seconds, False
        self._trust = tls_context(authority)
        self._aim: RequestTarget | None = None
        self._address = ""
        self._open: list[HTTPConnection] = []
        self.poolmanager.pool_classes_by_scheme = _pool_classes(self._open)

    def stop(self) -> None:
        """No further request, and the one under way ends now."""
        self._stopped = True
        for connection in list(self._open):
            if isinstance(connection.sock, socket):
                with suppress(OSError):
                    # Of the class: an SSLSocket's own would take its TLS away under the thread that reads from it.
                    socket.shutdown(connection.sock, SHUT_RDWR)

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        """The answer, read to its end. Timeouts, proxies and certificates are those of this wire, not the caller's.

        Raises:
            AddressNotAllowed: the address is not allowed.
            ServiceRedirected: the answer sends to another host.
            TooLarge: a larger answer than is read.
            RequestException: no answer, or not in time.
        """
        aim = parse_target(request.url or "", self._allowed)
        self._aim, self._address = aim, check_addresses(self._find(aim.host, aim.port), aim)
        # `identity`: a small answer that unpacks into a large one is not asked for, and refused if it comes.
        request.headers.update({"Host": aim.authority, "Accept-Encoding": "identity", "User-Agent": "aos"})
        writes = request.method not in READING and not aim.path.endswith(_TOKENS)
        left = self._seconds_left()
        self.changed.open = self.changed.open or writes
        response = super().send(request, stream=True, timeout=left, verify=True, cert=None, proxies=None)
        if response.is_redirect:
            onward = parse_target(urljoin(request.url or "", response.headers["location"]), self._allowed)
            if onward.origin != aim.origin:
                fix = "A cloud's services do not redirect away."
                raise ServiceRedirected(f"{aim.host} sends to {onward.host}", fix=fix)
        if writes and response.status_code < 500:
            self.changed.open = False
        for given in _given_secrets(response):
            self._secret(given)
        return response

    def build_connection_pool_key_attributes(
        self, request: PreparedRequest, verify: Any, cert: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Pool key with the address that was checked; the certificate has to be the name's."""
        aim = self._aim
        if aim is None:
            raise Invalid("no address was checked")
        where = {"scheme": aim.scheme, "host": self._address, "port": aim.port}
        names = {"ssl_context": self._trust, "server_hostname": aim.host, "assert_hostname": aim.host}
        return where, names if aim.scheme == "https" else {}

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Nothing: the context of this wire says whom it believes."""

    def build_response(self, req: PreparedRequest, resp: Any) -> Response:
        """The answer, with a body that was read."""
        if resp.headers.get("content-encoding", "identity").lower() != "identity":
            raise Invalid("the cloud gives a packed answer though none was asked for")
        data, whole = bytearray(), False
        try:
            while piece := resp.read1(_PIECE):
                data += piece
                if len(data) > self._most:
                    raise TooLarge(f"the cloud gives more than {self._most:,} bytes at once")
                self._seconds_left()
            whole = True
        except HTTPError as error:
            raise Lost(f"broken off: {type(error).__name__}") from None
        finally:
            resp.release_conn() if whole else resp.close()
        of = {"reason": resp.reason, "request_method": req.method}
        read = HTTPResponse(BytesIO(bytes(data)), resp.headers, resp.status, preload_content=False, **of)
        return super().build_response(req, read)

    def _seconds_left(self) -> float:
        left = self._end - monotonic()
        if self._stopped or left <= 0:
            raise ReadTimeout("no time is left")
        return left


def _given_secrets(response: Response) -> Iterator[str]:
    """Secrets that a cloud gives and nobody asked for: a token, and the first password of a new server."""
    if token := response.headers.get("X-Subject-Token"):
        yield token
    for found in _PASSWORD.finditer(response.content):
        with suppress(ValueError):
            yield str(json.loads(found[1]))


def _pool_classes(kept: list[HTTPConnection]) -> dict[str, Any]:
    """Pools that remember their connections: one in use is otherwise known to nobody who could close it."""

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            kept.append(self)

    class Sealed(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            kept.append(self)

    class Plains(HTTPConnectionPool):
        ConnectionCls = Plain

    class Sealeds(HTTPSConnectionPool):
        ConnectionCls = Sealed

    return {"http": Plains, "https": Sealeds}
