"""An LDAP server that answers as a test wants it to, and writes down what reaches it, in plain text or not."""

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

BIND, SEARCH, EXTENDED, UNBIND = 0x60, 0x63, 0x77, 0x42
STARTTLS, WHO_AM_I = b"1.3.6.1.4.1.1466.20037", b"1.3.6.1.4.1.4203.1.11.3"
Attributes = Mapping[str, bytes]


@dataclass
class ScriptedDirectory:
    """What it says is what its fields say.

    Attributes:
        entries: a needle that a search request has to hold, and what is found then.
        refused: diagnostic message beside invalidCredentials.
        on: what happens instead of an answer to a kind of request: `die`, `hang`, `garbage`, `refer`.
        plain: bytes that came outside TLS.
    """

    context: ssl.SSLContext | None = None
    tls: str = "ldaps"  # or `starttls`; or `stripped`: StartTLS is refused; or `dropped`: taken, and then hung up
    passwords: dict[str, str] = field(default_factory=dict)
    entries: list[tuple[bytes, str, Attributes]] = field(default_factory=list)
    who: str = ""
    refused: str = ""
    referral: str = ""
    on: dict[int, str] = field(default_factory=dict)
    binds: list[tuple[str, str]] = field(default_factory=list)
    searches: list[bytes] = field(default_factory=list)
    plain: bytes = b""
    connections: int = 0
    port: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{'ldaps' if self.tls == 'ldaps' else 'ldap'}://localhost:{self.port}"

    def serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError, IndexError):
            if self.tls == "ldaps":
                assert self.context is not None
                connection = self.context.wrap_socket(connection, server_side=True)
            while (message := self._read(connection)) is not None:
                number, kind, body = message
                if kind == UNBIND:
                    break
                if self._misbehaves(connection, kind, number):
                    break
                connection = self._answer(connection, number, kind, body)
        connection.close()

    def _read(self, connection: socket.socket) -> tuple[int, int, bytes] | None:
        data = b""
        while (need := _length(data)) is None or len(data) < need:
            piece = connection.recv(65_536)
            if not isinstance(connection, ssl.SSLSocket):
                self.plain += piece
            if not piece:
                return None
            data += piece
        ((_, message),) = list(_parts(data))
        (_, number), (kind, body), *_ = _parts(message)
        return int.from_bytes(number, "big"), kind, body

    def _misbehaves(self, connection: socket.socket, kind: int, number: int) -> bool:
        what = self.on.get(kind)
        if what == "hang":
            self.ended.wait(30)
        elif what == "garbage":
            connection.sendall(b"\x30\x05HTTP/" + bytes(200))
        elif what == "refer":
            self._send(connection, number, kind + 1 if kind == BIND else 0x65, 10, more=_tlv(0xA3, self._referral()))
            return False
        return what is not None

    def _referral(self) -> bytes:
        return _tlv(4, self.referral.encode())

    def _answer(self, connection: socket.socket, number: int, kind: int, body: bytes) -> socket.socket:
        if self.on.get(kind) == "refer":
            return connection
        if kind == BIND:
            _, (_, name), (_, password) = _parts(body)
            self.binds.append((name.decode(), password.decode()))
            right = self.passwords.get(name.decode()) == password.decode()
            self._send(connection, number, 0x61, 0 if right else 49, "" if right else self.refused)
        elif kind == EXTENDED and STARTTLS in body:
            if self.tls == "stripped":
                self._send(connection, number, 0x78, 2, "unsupported extended operation")
                return connection
            self._send(connection, number, 0x78, 0)
            if self.tls == "dropped":
                raise OSError("hung up")
            assert self.context is not None
            return self.context.wrap_socket(connection, server_side=True)
        elif kind == EXTENDED:
            self._send(connection, number, 0x78, 0, more=_tlv(0x8B, self.who.encode()))
        elif kind == SEARCH:
            self.searches.append(body)
            for needle, dn, attributes in self.entries:
                if needle in body:
                    named = [_tlv(0x30, _tlv(4, n.encode()) + _tlv(0x31, _tlv(4, v))) for n, v in attributes.items()]
                    found = _tlv(0x64, _tlv(4, dn.encode()) + _tlv(0x30, b"".join(named)))
                    connection.sendall(_tlv(0x30, _number(number) + found))
            if self.referral:
                connection.sendall(_tlv(0x30, _number(number) + _tlv(0x73, self._referral())))
            self._send(connection, number, 0x65, 0)
        return connection

    def _send(
        self, connection: socket.socket, number: int, kind: int, code: int, text: str = "", more: bytes = b""
    ) -> None:
        result = _tlv(0x0A, bytes([code])) + _tlv(4, b"") + _tlv(4, text.encode()) + more
        connection.sendall(_tlv(0x30, _number(number) + _tlv(kind, result)))


@contextmanager
def running(directory: ScriptedDirectory) -> Iterator[ScriptedDirectory]:
    """On a free port of the loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    directory.port = int(listener.getsockname()[1])

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                directory.connections += 1
                threading.Thread(target=directory.serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield directory
    finally:
        directory.ended.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _number(value: int) -> bytes:
    return _tlv(2, value.to_bytes(4, "big"))


def _tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 128 else b"\x84" + size.to_bytes(4, "big")
    return bytes([tag]) + length + content


def _length(data: bytes) -> int | None:
    """Of the whole first value; None where that is not known yet."""
    if len(data) < 2:
        return None
    if data[1] < 128:
        return 2 + data[1]
    more = data[1] & 127
    return None if len(data) < 2 + more else 2 + more + int.from_bytes(data[2 : 2 + more], "big")


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        end = _length(data)
        assert end is not None
        start = 2 if data[1] < 128 else 2 + (data[1] & 127)
        yield data[0], data[start:end]
        data = data[end:]
