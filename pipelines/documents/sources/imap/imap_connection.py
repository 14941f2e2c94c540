"""A connection to an IMAP server: to the address that was checked, with TLS, and with bounds on what it may answer."""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from imaplib import IMAP4
from ipaddress import ip_address
from typing import Any, Final, TypeVar

from imapclient import IMAPClient, SocketTimeout
from imapclient.exceptions import CapabilityError, LoginError

from pipelines.documents.sources.source_port import SourceAway, SourceInvalid, SourceRefused

T = TypeVar("T")
CONNECT_SECONDS: Final = 10.0
SILENT_SECONDS: Final = 30.0  # between two pieces of an answer
SIGN_IN_SECONDS: Final = 45.0  # to connect, to agree on TLS and to sign in
CLOSE_SECONDS: Final = 3.0
SMALL_ANSWER: Final = 1 << 20
_TOLD: Final = 200  # characters of a server's words that are repeated
_CODE: Final = re.compile(r"\[([A-Z][A-Z-]*)")
_SENT: Final = ("username", "password", "access_token")
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")
_FOR_NOW: Final = ("UNAVAILABLE", "INUSE", "LIMIT", "SERVERBUG")  # RFC 5530: it may well work a little later
# Whatever else these libraries raise at an answer that is no IMAP.
_GARBLED: Final = (
    *(ValueError, LookupError, TypeError, AttributeError, AssertionError, ArithmeticError, RecursionError, MemoryError),
    StopIteration,
)
_ERRORS: Final = (OSError, IMAP4.error, *_GARBLED)


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where a mailbox is.

    Attributes:
        address: the one of `host` that was checked, and is connected to.
        context: verifies the certificate of `host`; None for no TLS at all, on the loopback alone.
        starttls: TLS begins within the connection.
        secret: opened fields of a credential: username with password or access_token.
    """

    host: str
    port: int
    address: str
    context: ssl.SSLContext | None
    starttls: bool
    secret: Mapping[str, str] = field(repr=False)

    def check(self) -> None:
        """Raises SourceInvalid: passwords may not go there, or there are none."""
        if self.context is None and not ip_address(self.address.partition("%")[0]).is_loopback:
            raise SourceInvalid(f"{self.host} is not this machine, and has to have TLS", fix="Set security=starttls.")
        if not self.secret.get("username") or not (self.secret.get("password") or self.secret.get("access_token")):
            raise SourceInvalid(
                "the credential has no username with a password or an access_token",
                fix="Store one of type custom with these fields: aos credentials add.",
            )
        if not all(value.isprintable() for name, value in self.secret.items() if name in _SENT):
            raise SourceInvalid("the credential holds a character that would end a command")


class _Wire(IMAP4):
    """imaplib, which would take as much as a server says that it sends."""

    left = SMALL_ANSWER  # bytes that may still come before the next command

    def __init__(self, server: MailServer, hold: Callable[[socket.socket], None]) -> None:
        self._server, self._hold = server, hold
        super().__init__(server.host, server.port, timeout=CONNECT_SECONDS)

    def _create_socket(self, timeout: float | None = None) -> socket.socket:
        server = self._server
        made = socket.create_connection((server.address, server.port), timeout)
        self._hold(made)
        if server.context is None or server.starttls:
            return made
        return server.context.wrap_socket(made, server_hostname=server.host)

    def read(self, size: int) -> bytes:
        """Of a literal."""
        self._spend(size)
        return super().read(size)

    def readline(self) -> bytes:
        """imaplib bounds its length; what comes after one that is too long would be taken for another."""
        try:
            line = super().readline()
        except self.error as error:
            raise self.abort(str(error)) from error
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise self.abort("an answer is larger than what was asked for")


class ImapClient(IMAPClient):
    """imapclient over such a wire; names of folders are bytes, as the server wrote them."""

    def __init__(self, server: MailServer, hold: Callable[[socket.socket], None]) -> None:
        """Connects, and signs in. Raises whatever these libraries raise."""
        self._server, self._hold = server, hold
        super().__init__(server.host, server.port, ssl=False, timeout=SocketTimeout(CONNECT_SECONDS, SILENT_SECONDS))
        self._imap.debug = 0  # or each answer is made a line of a log, to be thrown away
        self.folder_encode, self.normalise_times = False, False
        try:
            if server.starttls:
                self.starttls(server.context)
            self._sign_in(server.secret)
        except _ERRORS:
            self.hang_up()
            raise

    def hang_up(self) -> None:
        """Close the socket, whatever state it is in."""
        with suppress(OSError, ValueError):
            self._imap.shutdown()

    def say_good_bye(self) -> None:
        """LOGOUT, and hang up. Some servers hang up first."""
        try:
            self.logout()
        finally:
            self.hang_up()

    def allow(self, size: int) -> None:
        """Bytes that the server may send until the next call of this."""
        self._imap.left = size

    def every_folder(self) -> Sequence[tuple[Any, Any, Any]]:
        """Attributes, delimiter and name of each; with what it is for where the server tells that (RFC 6154)."""
        asked = ['""', '"*"']
        if self.has_capability("SPECIAL-USE") and self.has_capability("LIST-EXTENDED"):
            asked.append("RETURN (SPECIAL-USE)")
        kind, data = self._imap._simple_command("LIST", *asked)
        self._checkok("list", kind, data)
        _, data = self._imap._untagged_response(kind, data, "LIST")
        return self._proc_folder_list(data)

    def _create_IMAP4(self) -> _Wire:
        return _Wire(self._server, self._hold)

    def _normalise_folder(self, folder_name: bytes) -> bytes:
        return b'"' + folder_name.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'

    def _sign_in(self, secret: Mapping[str, str]) -> None:
        name = secret["username"]
        if token := secret.get("access_token"):
            way = self.oauthbearer_login if self.has_capability("AUTH=OAUTHBEARER") else self.oauth2_login
            way(name, token)
        elif self.has_capability("AUTH=PLAIN"):  # takes a password in any script
            self.plain_login(name, secret["password"])
        elif self.has_capability("LOGINDISABLED"):
            raise LoginError("[PRIVACYREQUIRED] LOGIN is off")
        else:
            quoted = name.replace("\\", "\\\\").replace('"', '\\"')
            self.login(f'"{quoted}"', secret["password"])  # imaplib quotes the password alone


class MailLine:
    """A connection with a thread of its own. One call at a time; one that takes too long is cut off.

    Attributes:
        folder: what is selected: its name and UIDVALIDITY.
        last: of what it read last: servers keep a message that they are in the middle of.
    """

    def __init__(self, server: MailServer) -> None:
        """Connects with its first call."""
        self._server = server
        self._thread = ThreadPoolExecutor(1, "imap")
        self._client: ImapClient | None = None
        self._socket: socket.socket | None = None
        self._cut = False
        self.folder: tuple[bytes, int] | None = None
        self.last: str | None = None

    @property
    def is_new(self) -> bool:
        """True until it has connected."""
        return self._client is None

    @property
    def is_cut(self) -> bool:
        """True once nothing can be asked of it any more."""
        return self._cut

    async def connect(self) -> None:
        """Raises SourceRefused, SourceAway."""
        if self._client is None:
            try:
                self._client = await self._wait(lambda: ImapClient(self._server, self._keep), SIGN_IN_SECONDS)
            except IMAP4.error as error:
                self.cut()
                raise SourceAway(f"{self._server.host}: {_words_of(error)}") from error

    async def call(self, work: Callable[[ImapClient], T], size: int = SMALL_ANSWER, seconds: float = 60.0) -> T:
        """The work's result; the server's answers may have `size` bytes.

        Raises:
            SourceRefused, SourceAway: the line is cut.
            IMAP4.error: the server said no; it can be asked something else.
        """
        await self.connect()
        client = self._client
        if client is None:
            raise SourceAway(f"{self._server.host}: the connection is closed")

        def bounded() -> T:
            client.allow(size)
            try:
                return work(client)
            except _ERRORS as error:
                if not _is_plain_no(error):
                    client.hang_up()
                raise

        return await self._wait(bounded, seconds)

    async def close(self) -> None:
        """Say good-bye if nothing is under way, and hang up."""
        client, self._client = self._client, None
        if client is not None and not self._cut:
            with suppress(SourceAway, SourceRefused, IMAP4.error):
                await self._wait(client.say_good_bye, CLOSE_SECONDS)
        self.cut()

    def cut(self) -> None:
        """Hang up, whoever is waiting on it: their thread comes back with an error."""
        self._cut = True
        held, self._socket = self._socket, None
        if held is not None:
            with suppress(OSError):  # the server did it first
                held.shutdown(socket.SHUT_RDWR)
            held.close()
        self._thread.shutdown(wait=False)

    async def _wait(self, work: Callable[[], T], seconds: float) -> T:
        if self._cut:
            raise SourceAway(f"{self._server.host}: the connection is closed")
        future = asyncio.get_running_loop().run_in_executor(self._thread, lambda: _without_stop(work))
        try:
            await asyncio.wait([future], timeout=seconds)
        finally:
            if not future.done():  # too slow, or nobody waits for it any more
                self.cut()
                future.add_done_callback(_drop_result)
        if not future.done():
            raise SourceAway(f"{self._server.host} did not answer within {seconds:g} s")
        error = future.exception()
        if error is None:
            return future.result()
        if not isinstance(error, _ERRORS) or _is_plain_no(error):
            raise error
        self.cut()
        raise classify_error(error, self._server.host) from error

    def _keep(self, made: socket.socket) -> None:
        """Another handle of the socket: TLS takes the first one over."""
        self._socket = made.dup()
        if self._cut:  # in vain, by now
            self.cut()


def _without_stop(work: Callable[[], T]) -> T:
    """A StopIteration that left a thread would keep whoever waits for it for ever."""
    try:
        return work()
    except StopIteration as error:
        raise ValueError("an answer ends too early") from error


def classify_error(error: BaseException, host: str) -> SourceRefused | SourceAway:
    """Errors of sockets, TLS and IMAP as ours. What a server says to a password is not repeated."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"the certificate of {host} is not trusted: {error.verify_message}"
        return SourceRefused(why, fix="Is it the right host? A CA of your own goes into the setting `ca`, as PEM.")
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        why = f"{host} does not begin with TLS on this port"
        return SourceRefused(why, fix="TLS is on port 993; port 143 takes security=starttls.")
    if isinstance(error, LoginError):
        code = found.group(1) if (found := _CODE.search(str(error))) else ""
        if isinstance(error.__context__, IMAP4.abort) or code in _FOR_NOW:
            return SourceAway(f"{host} cannot sign anybody in now{f' ({code})' if code else ''}")
        return SourceRefused(f"{host} refuses the user name or the password{f' ({code})' if code else ''}")
    if isinstance(error, CapabilityError):
        return SourceRefused(f"{host}: {_words_of(error)}")
    if isinstance(error, IMAP4.error):
        return SourceAway(f"{host}: {_words_of(error)}")
    if isinstance(error, OSError):
        return SourceAway(f"{host}: {error.strerror or type(error).__name__}")
    return SourceAway(f"{host} answers with something that is no IMAP ({type(error).__name__})")


def _is_plain_no(error: BaseException) -> bool:
    """True where the server has answered to the end, if only with a no or with words that mean nothing."""
    return isinstance(error, IMAP4.error) and not isinstance(error, (IMAP4.abort, LoginError, CapabilityError))


def _words_of(error: BaseException) -> str:
    said = "".join(one if one.isprintable() else " " for one in str(error)[:_TOLD])
    return said or type(error).__name__


def _drop_result(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
