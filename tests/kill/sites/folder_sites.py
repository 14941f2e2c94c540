"""Folders as places that documents come from: one of this machine, one that Samba shares, one behind WebDAV."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from tests.fakes.smb_server import Samba, samba
from tests.fakes.webdav_server import PASSWORD, USER, WebDavServer, run_webdav
from tests.kill.sites.site_port import Doorway, PlainSite, Site


@dataclass
class FolderSite(PlainSite):
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
class SharedFolderSite(FolderSite):
    """What lies in a share of a real smbd; `stop` kills it and what it has forked."""

    kind: str = "smb"
    server: Samba | None = None

    @property
    def running(self) -> Samba:
        assert self.server is not None
        return self.server

    @property
    def settings(self) -> Mapping[str, str]:
        return self.running.settings

    def stop(self) -> None:
        self.running.kill()

    def start(self) -> None:
        self.running.start()

    def errors(self, on: bool) -> None:
        """The share lets nobody in any more."""
        self.running.of_share = "valid users = +nobody-at-all" if on else ""
        self.running.restart()


@dataclass
class DavFolderSite(FolderSite):
    """What a real wsgidav serves; the tag of a file stays with it where it is renamed."""

    kind: str = "webdav"
    keeps_moved: bool = True
    server: WebDavServer | None = None
    door: Doorway = field(default_factory=lambda: Doorway(0))

    @property
    def settings(self) -> Mapping[str, str]:
        return {"url": f"http://127.0.0.1:{self.door.port}/dav"}

    def stop(self) -> None:
        assert self.server is not None
        self.server.stop()

    def start(self) -> None:
        assert self.server is not None
        self.server.start()

    def errors(self, on: bool) -> None:
        self.door.errors = on


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
def shared_folder_site(base: Path) -> Iterator[Site]:
    """A share of a Samba of its own."""
    with samba() as server:
        yield SharedFolderSite(server.folder.parent, secret=server.secret, name=server.folder.name, server=server)


@contextmanager
def dav_folder_site(base: Path) -> Iterator[Site]:
    """A folder of a wsgidav of its own, behind a door."""
    with tempfile.TemporaryDirectory(prefix="aos-dav-") as place, run_webdav(Path(place)) as server:
        door = Doorway(server.port)
        door.open()
        secret = {"username": USER, "password": PASSWORD}
        try:
            yield DavFolderSite(server.folder, secret=secret, name="files", server=server, door=door)
        finally:
            door.close()
