"""A mailbox of a real dovecot as a place that documents come from: a folder for each part of an id before its `/`."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from zlib import crc32

from tests.fakes.imap_server import PASSWORD, SECONDS, USER, Dovecot, Relay, dovecot, letter, relay
from tests.kill.sites.site_port import PlainSite, Site

BYE = b"* BYE Internal error occurred. Refer to server log for more information.\r\n"


@dataclass
class MailboxSite(PlainSite):
    """A message never changes: another version is another message, and the one before has gone.

    Those of one id and body are the same to the byte, as when somebody moves one away and back. `door`: a relay before
    the server, which says what the server says, or that it has to end.
    """

    server: Dovecot
    door: Relay
    kind: str = "imap"
    secret: Mapping[str, str] = field(default_factory=lambda: {"username": USER, "password": PASSWORD})
    keeps_moved: bool = True
    keeps_changed = False
    has_rights: bool = False
    paths: dict[str, Path] = field(default_factory=dict)  # message files, by id

    @property
    def settings(self) -> Mapping[str, str]:
        return {"host": "127.0.0.1", "port": str(self.door.port), "security": "none"}

    def put(self, id_: str, body: bytes) -> None:
        folder, made = id_.partition("/")[0], letter(crc32(id_.encode() + body), text=body.decode())
        before, self.paths[id_] = self.paths.get(id_), self._deliver(folder, bytes(made))
        if before is not None:
            before.unlink()

    def delete(self, id_: str) -> None:
        self.paths.pop(id_).unlink()

    def rename(self, id_: str, to: str) -> None:
        """From one folder into another, as programs do that share a maildir; it gets another UID there."""
        folder = to.partition("/")[0]
        self.server.deliver([], folder)
        path = self.paths.pop(id_)
        self.paths[to] = path.rename(self.server.box / f".{folder}" / "cur" / path.name)

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        """Whom a message is for is part of it, and never changes."""

    def touch(self, id_: str, year: int) -> None:
        """Delivered again at that time: another UID of the same message."""
        folder, path = id_.partition("/")[0], self.paths[id_]
        raw, seconds = path.read_bytes(), int((year - 1970) * 31_556_952)
        self.paths[id_] = self._deliver(folder, raw)
        os.utime(self.paths[id_], (seconds, seconds))
        path.unlink()

    def _deliver(self, folder: str, raw: bytes) -> Path:
        self.server.deliver([raw], folder)
        number = self.server.delivered
        return self.server.box / f".{folder}" / "cur" / f"{SECONDS + number}.M{number}P{os.getpid()}.host:2,"

    def stop(self) -> None:
        self.server.stop(signal.SIGKILL)

    def start(self) -> None:
        self.server.start()

    def errors(self, on: bool) -> None:
        self.door.alter = (lambda block: BYE) if on else (lambda block: block)

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        """Of what lies in its folders; an id is known by its file."""
        ids = {path: id_ for id_, path in self.paths.items()}
        there = [path for path in self.server.box.rglob("*:2,*") if path.is_file()]
        assert set(there) == set(ids), "dovecot has renamed files"
        return {ids[path]: (_text_of(path.read_bytes()), ()) for path in there}

    def own_lies(self) -> Mapping[str, AbstractContextManager[None]]:
        return {"another UIDVALIDITY of each folder": self._renumbered()}

    @contextmanager
    def _renumbered(self) -> Iterator[None]:
        self.server.stop(signal.SIGKILL)
        for folder in {id_.partition("/")[0] for id_ in self.paths}:
            self.server.renumber(folder)
        self.server.start()
        yield


def _text_of(raw: bytes) -> bytes:
    return str(message_from_bytes(raw, policy=default).get_content()).encode()


@contextmanager
def mailbox_site(base: Path) -> Iterator[Site]:
    """A mailbox with a server of its own, behind a relay."""
    with dovecot() as server, relay(server.plain) as door:
        yield MailboxSite(server, door)
