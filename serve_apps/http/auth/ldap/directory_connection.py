"""One connection to a server of a directory: no password without TLS, no referral followed, no wait without an end."""

import logging
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from socket import SHUT_RDWR
from typing import Any, Final
from urllib.parse import urlsplit

from ldap3 import BASE, DEREF_NEVER, NONE, SIMPLE, SUBTREE, Connection, Server, Tls
from ldap3.core.exceptions import LDAPException, LDAPOperationResult, LDAPSizeLimitExceededResult
from pyasn1.error import PyAsn1Error

from cluster.basics.errors import Permanent
from configs.sign_in_directories import Directory
from serve_apps.http.auth.ldap.directory_entry import DirectoryEntry
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable

log = logging.getLogger("aos.auth")

# Results of a bind that speak of who binds; any other speaks of the server (RFC 4511, appendix A).
REFUSING: Final = {19, 32, 34, 48, 49, 50, 53}
REASON = re.compile(r"\bdata ([0-9a-f]{3,4})\b")  # of Active Directory, in the text beside the result
REASONS: Final = {
    "525": "no such account",
    "52e": "wrong password",
    "530": "not at this hour",
    "531": "not from here",
    "532": "password expired",
    "533": "account disabled",
    "701": "account expired",
    "773": "password must be changed",
    "775": "account locked",
}
MOST_ENTRIES: Final = 20_000  # of one listing
# What ldap3 and pyasn1 raise for bytes that are no LDAP, beside their own.
BROKEN: Final = (LDAPException, PyAsn1Error, OSError, ValueError, IndexError, KeyError, TypeError, AttributeError)


class BindRefused(Permanent):
    """The directory does not take this name and password."""


class ServerAway(ProviderUnavailable):
    """A server of the directory could not be asked.

    `why` is for whoever runs it, and has no secret in it.
    """

    def __init__(self, title: str, why: str) -> None:
        super().__init__(title)
        self.why = why


class SeveralEntries(Permanent):
    """The login means several entries of the directory."""


class _VerifiedTls(Tls):
    """OpenSSL checks the host's name and sends it along; ldap3's own check believes a subject's common name, too."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._context = context

    def wrap_socket(self, connection: Connection, do_handshake: bool = False) -> None:
        """As ldap3 wants it: in place, the handshake done."""
        host = connection.server.host
        # Put there before the handshake, so that `abort` finds the socket.
        connection.socket = self._context.wrap_socket(
            connection.socket, server_hostname=host, do_handshake_on_connect=False
        )
        connection.socket.do_handshake()


class DirectoryConnection:
    """A connection to one server, for one thread at a time; every method but `abort` may block.

    All raise ServerAway where the server is away, is not the one that it should be, or does not speak LDAP.
    """

    def __init__(self, directory: Directory, url: str, context: ssl.SSLContext) -> None:
        """`url` is one of the directory's."""
        self._directory, self._url, address = directory, url, urlsplit(url)
        self._secure, self._aborted = address.scheme == "ldaps", False
        server = Server(
            f"{url.partition('//')[0]}//{address.netloc}",
            get_info=NONE,
            tls=_VerifiedTls(context),
            allowed_referral_hosts=[],
            connect_timeout=directory.connect_seconds,
        )
        self._connection = Connection(
            server,
            auto_referrals=False,
            check_names=False,
            auto_escape=False,
            raise_exceptions=True,
            receive_timeout=directory.answer_seconds,
        )

    def open(self) -> None:
        """Connect, by TLS from here on."""
        with self._classified("connect"):
            self._connection.open(read_server_info=False)
            if not self._secure:
                self._connection.start_tls(read_server_info=False)

    def certificate_end(self) -> datetime | None:
        """When the server's certificate runs out; None where that is not known."""
        socket = self._connection.socket
        shown = socket.getpeercert() if isinstance(socket, ssl.SSLSocket) else None
        until = (shown or {}).get("notAfter")
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(until), UTC) if isinstance(until, str) else None

    def bind(self, name: str, password: str) -> None:
        """Become somebody. Raises BindRefused: with the directory's reason."""
        if not name or not password:  # would succeed, for anybody, as nobody (RFC 4513, section 5.1.2)
            raise BindRefused("name or password is empty")
        connection = self._connection
        # ldap3 opens a connection that has ended once more to bind, and then without StartTLS.
        if self._aborted or connection.closed or not isinstance(connection.socket, ssl.SSLSocket):
            raise self._unavailable("bind", "the connection has ended, or is not encrypted")
        with self._classified("bind"):
            try:
                # As bytes: ldap3 would drop characters from a text (RFC 4013), and be left with an empty password.
                bound = connection.rebind(name, password.encode(), SIMPLE, read_server_info=False)
            except LDAPOperationResult as result:
                if result.result in REFUSING:
                    raise BindRefused(_reason(result)) from None
                raise
        if not bound:
            raise self._unavailable("bind", connection.result["description"])

    def who_am_i(self) -> str:
        """The directory's word for who is bound (RFC 4532): `dn:…` or `u:DOMAIN\\name`."""
        with self._classified("who am I"):
            return str(self._connection.extend.standard.who_am_i() or "")

    def read(self, dn: str, attributes: Sequence[str]) -> DirectoryEntry | None:
        """The entry of this name."""
        return next(self._search(dn, "(objectClass=*)", attributes, BASE), None)

    def find_one(self, base: str, filter_: str, attributes: Sequence[str]) -> DirectoryEntry | None:
        """The entry that a filter means. Raises SeveralEntries."""
        try:
            found = list(self._search(base, filter_, attributes, SUBTREE, limit=2))
        except LDAPSizeLimitExceededResult:
            raise SeveralEntries from None
        if len(found) > 1:
            raise SeveralEntries
        return found[0] if found else None

    def pages(self, base: str, filter_: str, attributes: Sequence[str]) -> Iterator[DirectoryEntry]:
        """All entries below `base` that fit, fetched by pages (RFC 2696), as servers give no more than some at once."""
        connection, count = self._connection, 0
        with self._classified("list"):
            found = connection.extend.standard.paged_search(
                base,
                filter_,
                SUBTREE,
                DEREF_NEVER,
                list(attributes),
                paged_size=self._directory.page_size,
                generator=True,
            )
            for one in found:
                if one["type"] == "searchResEntry":
                    yield _entry(one)
                    count += 1
                if count >= MOST_ENTRIES:
                    return

    def abort(self) -> None:
        """End it, whatever another thread waits for; nothing is sent on it from then on."""
        self._aborted = True
        with suppress(OSError, AttributeError, ValueError):
            self._connection.socket.shutdown(SHUT_RDWR)

    def close(self) -> None:
        """End it."""
        with suppress(*BROKEN):
            self._connection.unbind()
        with suppress(*BROKEN):
            self._connection.strategy.close()

    def _search(
        self, base: str, filter_: str, attributes: Sequence[str], scope: str, limit: int = 0
    ) -> Iterator[DirectoryEntry]:
        with self._classified("search", LDAPSizeLimitExceededResult):
            self._connection.search(base, filter_, scope, DEREF_NEVER, list(attributes), size_limit=limit)
            found = [_entry(one) for one in self._connection.response if one["type"] == "searchResEntry"]
        yield from found

    @contextmanager
    def _classified(self, doing: str, *passing: type[Exception]) -> Iterator[None]:
        """Whatever goes wrong is the server's being away, except these, and what has a name of ours."""
        if self._aborted:
            raise self._unavailable(doing, "it has taken too long")
        try:
            yield
        except passing:
            raise
        except LDAPOperationResult as result:
            raise self._unavailable(doing, f"{result.description}: {result.message}") from result
        except BROKEN as error:
            raise self._unavailable(doing, f"{type(error).__name__}: {error}") from error

    def _unavailable(self, doing: str, why: str) -> ServerAway:
        log.warning("directory %s: %s: %s: %s", self._directory.name, self._url, doing, why[:300])
        return ServerAway(self._directory.title, f"{doing}: {why[:300]}")


def _entry(one: dict[str, Any]) -> DirectoryEntry:
    attributes = {name.lower(): tuple(values) for name, values in one["raw_attributes"].items()}
    return DirectoryEntry(one["dn"], attributes)


def _reason(result: LDAPOperationResult) -> str:
    """Why a bind was refused, as far as the directory says so."""
    found = REASON.search(result.message or "")
    return REASONS.get(found[1], found[0]) if found else str(result.description)
