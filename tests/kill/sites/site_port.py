"""The port to a place that documents come from, as its owner has it; and a door in front of one."""

import socket
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Protocol


class Site(Protocol):
    """A source of documents, from its owner's side. Ids have the form `p3/0017.txt`; every body is a short text.

    Attributes:
        kind, settings, secret: what a source of it is added with; `secret` are the fields of its credential.
        keeps_moved: an item that was renamed is the same document.
        keeps_changed: an item whose bytes are others is the same document.
        has_rights: items say who may see them.
    """

    kind: str
    settings: Mapping[str, str]
    secret: Mapping[str, str]
    keeps_moved: bool
    keeps_changed: bool
    has_rights: bool

    def put(self, id_: str, body: bytes) -> None:
        """A new item, or a new version of one."""

    def delete(self, id_: str) -> None:
        """It leaves."""

    def rename(self, id_: str, to: str) -> None:
        """The same bytes elsewhere."""

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        """E-mail addresses of those who may see it; nothing where `has_rights` is False."""

    def touch(self, id_: str, year: int) -> None:
        """Its time is another one, and its bytes are the same: a clock that is wrong."""

    def stop(self) -> None:
        """From now on nobody answers, as after `kill -9`."""

    def start(self) -> None:
        """It is there again, with all that it had."""

    def errors(self, on: bool) -> None:
        """It answers, and with errors of its own."""

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        """Every item as it lies there: bytes, and who may see it."""

    def settle(self) -> None:
        """Called before each sync: what was written so far is there for readers now."""

    def own_lies(self) -> Mapping[str, AbstractContextManager[None]]:
        """Lies that only this kind can tell, by name, each told while its block runs."""


class PlainSite:
    """What most kinds have in common: writing is at once, a changed item is the same one, and no lie is their own."""

    keeps_changed = True

    def settle(self) -> None:
        """All is there already."""

    def own_lies(self) -> Mapping[str, AbstractContextManager[None]]:
        return {}


@dataclass
class Doorway:
    """A port in front of another one: closed it is a server that was killed, and loses nothing."""

    to: int
    port: int = 0
    listener: socket.socket | None = None
    lines: list[socket.socket] = field(default_factory=list)
    errors: bool = False

    def open(self) -> None:
        """Somebody answers."""
        listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self.listener, self.port = listener, listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def close(self) -> None:
        """Nobody does, and every connection breaks."""
        if self.listener is not None:
            with suppress(OSError):
                self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        for line in self.lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        self.lines.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # closed
                return
            try:
                if self.errors:
                    client.sendall(
                        b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    )
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:  # it is down, or whoever asked has gone
                client.close()
                continue
            self.lines += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
    for line in (one, other):
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
