"""Places that documents come from, filled, changed, stopped and started by `make test-sources`: one class each.

A site of a further kind is a class with the methods of `Site` and a line in `SITES`.
"""

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import obstore
from obstore.store import S3Store

from tests.fakes.rights_shelf import RightsShelf
from tests.fakes.s3 import run_s3


class Site(Protocol):
    """A source of documents, from its owner's side. Ids have the form `p3/0017.txt`; every body is a short text.

    Attributes:
        kind, settings, secret: what a source of it is added with; `secret` are the fields of its credential.
        keeps_moved: an item that was renamed is the same document.
        has_rights: items say who may see them.
    """

    kind: str
    settings: Mapping[str, str]
    secret: Mapping[str, str]
    keeps_moved: bool
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


@dataclass
class FolderSite:
    """Files below the folder that may be read; stopped is a file system that is not mounted."""

    base: Path
    kind: str = "folder"
    secret: Mapping[str, str] = field(default_factory=dict)
    keeps_moved: bool = True
    has_rights: bool = False
    name: str = field(default_factory=lambda: f"papers-{uuid4().hex[:6]}")
    ticks: int = 0

    @property
    def settings(self) -> Mapping[str, str]:
        return {"path": self.name}

    @property
    def root(self) -> Path:
        return self.base / self.name

    def put(self, id_: str, body: bytes) -> None:
        path = self.root / id_
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_bytes(body)
        self.ticks += 1  # its time is another one, however coarse the clock of the file system is
        os.utime(fresh, ns=(fresh.stat().st_atime_ns, fresh.stat().st_mtime_ns + self.ticks))
        fresh.rename(path)

    def delete(self, id_: str) -> None:
        (self.root / id_).unlink()

    def rename(self, id_: str, to: str) -> None:
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        (self.root / id_).rename(self.root / to)

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        """A file says nothing of people."""

    def touch(self, id_: str, year: int) -> None:
        seconds = (year - 1970) * 31_556_952
        os.utime(self.root / id_, (seconds, seconds))

    def stop(self) -> None:
        self.root.rename(self.base / f".{self.name}.away")

    def start(self) -> None:
        (self.base / f".{self.name}.away").rename(self.root)

    def errors(self, on: bool) -> None:
        """What cannot be opened: a file is in the place of the folder."""
        if on:
            self.stop()
            self.root.write_text("No folder.")
        else:
            self.root.unlink()
            self.start()

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        files = [path for path in self.root.rglob("*.txt") if not path.name.startswith(".")]
        return {str(path.relative_to(self.root)): (path.read_bytes(), ()) for path in files}


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
                if self.errors:
                    client.sendall(
                        b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    )
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
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


@dataclass
class BucketSite:
    """A bucket of moto's server, behind a door."""

    store: Any
    settings: Mapping[str, str]
    door: Doorway
    kind: str = "s3"
    secret: Mapping[str, str] = field(default_factory=lambda: {"access_key_id": "k", "secret_access_key": "s"})
    keeps_moved: bool = True
    has_rights: bool = False

    def put(self, id_: str, body: bytes) -> None:
        obstore.put(self.store, id_, body)

    def delete(self, id_: str) -> None:
        obstore.delete(self.store, id_)

    def rename(self, id_: str, to: str) -> None:
        obstore.rename(self.store, id_, to)

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        """An object says nothing of people."""

    def touch(self, id_: str, year: int) -> None:
        """Written again, at the server's own time: there is no other."""
        self.put(id_, bytes(obstore.get(self.store, id_).bytes()))

    def stop(self) -> None:
        self.door.close()

    def start(self) -> None:
        self.door.open()

    def errors(self, on: bool) -> None:
        self.door.errors = on

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        ids = [one["path"] for page in obstore.list(self.store) for one in page]
        with ThreadPoolExecutor(8) as threads:
            return dict(
                zip(ids, threads.map(lambda id_: (bytes(obstore.get(self.store, id_).bytes()), ()), ids), strict=True)
            )


@contextmanager
def folder_site(base: Path) -> Iterator[Site]:
    """A folder of its own below the base."""
    site = FolderSite(base)
    site.root.mkdir(parents=True)
    try:
        yield site
    finally:
        shutil.rmtree(site.root, ignore_errors=True)


@contextmanager
def bucket_site(base: Path) -> Iterator[Site]:
    """A bucket in a server of its own."""
    with run_s3() as server:
        chosen = server.settings()
        bucket = str(chosen.url).removeprefix("s3://").partition("/")[0]
        door = Doorway(int(server.endpoint.rpartition(":")[2]))
        door.open()
        store = S3Store(
            bucket,
            endpoint=server.endpoint,
            region="us-east-1",
            access_key_id="k",
            secret_access_key="s",
            client_options={"allow_http": True},
            virtual_hosted_style_request=False,
        )
        try:
            yield BucketSite(store, {"bucket": bucket, "endpoint": f"http://127.0.0.1:{door.port}"}, door)
        finally:
            door.close()


@contextmanager
def rights_site(base: Path) -> Iterator[Site]:
    """Items that say who may see them."""
    site = RightsShelf()
    site.start()
    try:
        yield site
    finally:
        site.stop()


SITES: Mapping[str, Callable[[Path], Any]] = {"folder": folder_site, "s3": bucket_site, "rights_shelf": rights_site}
