"""A real dovecot on the loopback, with TLS by a CA made here; and a relay before it that alters what it says."""

import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from imapclient import IMAPClient

from tests.fakes.others_read import folder_for_others
from tests.fakes.slapd import Authority

USER, PASSWORD = "mail@corp.example", 'the box\'s "own" \\ pässword'
MISSING = "dovecot is missing. Run: make dovecot (or: sudo apt-get install -y --no-install-recommends dovecot-imapd)"
SECONDS = 1_700_000_000  # when the first message came
CONFIG = """
base_dir = {folder}/run
log_path = {folder}/dovecot.log
protocols = imap
listen = 127.0.0.1
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
auth_failure_delay = 0
mail_max_userip_connections = {connections}
mail_location = maildir:~/Maildir
mail_fsync = never
ssl = yes
ssl_cert = <{folder}/server.pem
ssl_key = <{folder}/server.key
disable_plaintext_auth = no
auth_mechanisms = plain login xoauth2 oauthbearer
passdb {{
  driver = passwd-file
  args = scheme=PLAIN {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Trash {{
    special_use = \\Trash
    auto = create
  }}
  mailbox Spam {{
    special_use = \\Junk
    auto = create
  }}
  mailbox Drafts {{
    special_use = \\Drafts
    auto = create
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  process_min_avail = 0
  inet_listener imap {{
    port = {plain}
  }}
  inet_listener imaps {{
    port = {secure}
    ssl = yes
  }}
}}
"""


def letter(n: int, subject: str = "", text: str = "", **headers: str) -> EmailMessage:
    """A message of its own, from one of seven senders."""
    made = EmailMessage()
    made["Message-ID"] = f"<{n}@corp.example>"
    made["Date"] = f"Tue, {1 + n % 28} Oct 2024 10:{n % 60:02}:00 +0000"
    made["Subject"] = subject or f"Letter {n}"
    made["From"] = f"sender{n % 7}@corp.example"
    made["To"] = "Mail <mail@corp.example>"
    for name, value in headers.items():
        made[name] = value
    made.set_content(text or f"Letter {n} tells of harbour {n}.")
    return made


@dataclass
class Dovecot:
    """One that runs, with one mailbox."""

    folder: Path
    plain: int
    secure: int
    authority: Authority
    process: subprocess.Popen[bytes] | None = None
    run_as: Mapping[str, Any] = field(default_factory=dict)
    delivered: int = 0

    @property
    def ca(self) -> str:
        return self.authority.pem(self.folder).read_text()

    @property
    def box(self) -> Path:
        return self.folder / "mail" / "Maildir"

    def start(self) -> None:
        program = shutil.which("dovecot", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        assert program is not None, MISSING
        command = [program, "-F", "-c", str(self.folder / "dovecot.conf")]
        with (self.folder / "start.log").open("ab") as log:
            # Its master stays in front and its children in its session: who ends the one ends the others.
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, **self.run_as
            )
        _wait_for_ports((self.plain, self.secure), self.process, self.folder)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, with everybody who is connected."""
        if self.process is None:
            return
        if how == signal.SIGKILL:
            os.killpg(self.process.pid, how)
        else:
            self.process.send_signal(how)
        self.process.wait(10)
        with suppress(ProcessLookupError):  # its children see soon that it is gone, but not at once
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process = None
        shutil.rmtree(self.folder / "run", ignore_errors=True)

    def reissue(self, authority: Authority) -> None:
        """Another certificate, of another CA."""
        authority.issue(self.folder)
        self._own(self.folder / "server.pem", self.folder / "server.key")

    @contextmanager
    def client(self) -> Iterator[IMAPClient]:
        """Signed in, to change what is there."""
        with IMAPClient("127.0.0.1", self.plain, ssl=False, timeout=20) as client:
            client.plain_login(USER, PASSWORD)
            yield client

    def deliver(self, letters: Sequence[EmailMessage | bytes], folder: str = "") -> None:
        """Put messages into a folder, as a mail transport does: as files, each a second later than the one before."""
        place = self.box / (f".{folder.replace('/', '.')}" if folder else "") / "cur"
        place.mkdir(parents=True, exist_ok=True)
        for sub in ("new", "tmp"):
            (place.parent / sub).mkdir(exist_ok=True)
        paths = []
        for one in letters:
            self.delivered += 1
            n = self.delivered
            raw = one if isinstance(one, bytes) else bytes(one)
            path = place / f"{SECONDS + n}.M{n}P{os.getpid()}.host:2,"
            path.write_bytes(raw)
            os.utime(path, (SECONDS + n, SECONDS + n))
            paths.append(path)
        above = [one for one in place.parents if one.is_relative_to(self.folder / "mail")]
        self._own(*above, place, place.parent / "new", place.parent / "tmp", *paths)

    def renumber(self, folder: str = "") -> None:
        """Forget a folder's UIDs: it gets another UIDVALIDITY."""
        place = self.box / (f".{folder}" if folder else "")
        for path in place.glob("dovecot*"):
            if path.is_file():
                path.unlink()

    def flags(self) -> set[str]:
        """All that the names of message files tell of flags."""
        return {path.name.partition(":2,")[2] for path in self.box.rglob("*:2,*") if path.is_file()}

    def _own(self, *paths: Path) -> None:
        if self.run_as:
            for path in paths:
                shutil.chown(path, self.run_as["user"])


@contextmanager
def dovecot(connections: int = 50) -> Iterator[Dovecot]:
    """One in a folder of its own, as this user; for root as `nobody`, because dovecot opens no mailbox of root's."""
    who = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    run_as = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
    group = grp.getgrgid(who.pw_gid).gr_name
    with folder_for_others("aos-imap.") as folder:
        plain, secure = _free_ports(2)
        ids = {"user": who.pw_name, "group": group, "uid": who.pw_uid, "gid": who.pw_gid}
        ports = {"plain": plain, "secure": secure, "connections": connections}
        (folder / "dovecot.conf").write_text(CONFIG.format(folder=folder, **ids, **ports))
        (folder / "users").write_text(f"{USER}:{PASSWORD}\n", encoding="utf-8")
        (folder / "mail").mkdir()
        authority = Authority()
        authority.pem(folder)
        authority.issue(folder)
        one = Dovecot(folder, plain, secure, authority, run_as=run_as)
        one._own(folder, folder / "mail", folder / "server.pem", folder / "server.key", folder / "users")
        one.start()
        try:
            yield one
        finally:
            one.stop()


@dataclass
class Relay:
    """A port before a server. `alter` is called with each block that the server sends, and gives what to send on;
    None closes the connection.
    """

    port: int
    alter: Callable[[bytes], bytes | None] = lambda block: block
    said: list[bytes] = field(default_factory=list)  # what clients have said


@contextmanager
def relay(server: int) -> Iterator[Relay]:
    """Before a server's plain port."""
    listener = socket.create_server(("127.0.0.1", 0))
    made = Relay(int(listener.getsockname()[1]))
    open_: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # closed: the end
                return
            try:
                there = socket.create_connection(("127.0.0.1", server), 10)
            except OSError:
                client.close()
                continue
            there.settimeout(None)
            open_.extend((client, there))
            for one, other, way in ((client, there, _said_to(made)), (there, client, lambda b: made.alter(b))):
                threading.Thread(target=_carry, args=(one, other, way), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield made
    finally:
        for one in (listener, *open_):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def _said_to(made: Relay) -> Callable[[bytes], bytes]:
    def keep(block: bytes) -> bytes:
        made.said.append(block)
        return block

    return keep


def _carry(one: socket.socket, other: socket.socket, way: Callable[[bytes], bytes | None]) -> None:
    with suppress(OSError):
        while block := one.recv(65_536):
            if (altered := way(block)) is None:
                break
            other.sendall(altered)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _group_of(gid: int) -> str:
    import grp

    return grp.getgrgid(gid).gr_name


def _free_ports(count: int) -> list[int]:
    open_ = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in open_]
    for one in open_:
        one.close()
    return ports


def _wait_for_ports(ports: Sequence[int], process: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + 20
    for port in ports:
        while True:
            assert process.poll() is None and time.monotonic() < end, (folder / "start.log").read_text()
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.02)
