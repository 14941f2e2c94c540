"""A real smbd on the loopback with one share, an account and other clients, and a network in between that lies."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from smbprotocol.connection import Connection
from smbprotocol.open import (
    CreateDisposition,
    CreateOptions,
    FilePipePrinterAccessMask,
    ImpersonationLevel,
    Open,
    ShareAccess,
)
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

from tests.fakes.others_read import folder_for_others

PASSWORD = "a password of 'quotes' and ümlauts"
MISSING = "smbd is missing. Run once: make samba (or: sudo apt-get install -y --no-install-recommends samba)"
PLACES = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"
CONFIG = """
[global]
workgroup = CORP
server role = standalone
interfaces = 127.0.0.1
bind interfaces only = yes
smb ports = {port}
disable netbios = yes
server signing = mandatory
passdb backend = tdbsam:{state}/passdb.tdb
private dir = {state}
lock directory = {state}
state directory = {state}
cache directory = {state}
pid directory = {state}
ncalrpc dir = {state}/ncalrpc
log file = {state}/log
load printers = no
printcap name = /dev/null
disable spoolss = yes
{more}
{shares}
"""
SHARE = """
[papers]
path = {folder}
read only = no
{more}
"""


@dataclass
class Samba:
    """One that runs, with the share `papers`. `more` is configuration of all shares, `of_share` of this one."""

    folder: Path
    state: Path
    port: int
    user: str
    more: str = ""
    of_share: str = ""
    has_share: bool = True
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def settings(self) -> dict[str, str]:
        return {"host": "127.0.0.1", "port": str(self.port), "share": "papers"}

    @property
    def secret(self) -> dict[str, str]:
        return {"username": self.user, "password": PASSWORD}

    def start(self) -> None:
        """With the configuration as it is now."""
        self._configure()
        command = [_program("smbd"), "-s", str(self.state / "smb.conf"), "--foreground", "--no-process-group"]
        with (self.state / "printed").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--debug-stdout"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        _wait_for_port(self.port, self.process)

    def kill(self) -> None:
        """It and what it has forked, without a word to anybody."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
            self.process = None

    def restart(self) -> None:
        self.kill()
        self.start()

    @contextmanager
    def client(self) -> Iterator["OtherClient"]:
        """Somebody else's, signed in with the same account."""
        connection = Connection(uuid4(), "127.0.0.1", self.port)
        connection.connect(timeout=10)
        session = Session(connection, self.user, PASSWORD, require_encryption=False, auth_protocol="ntlm")
        session.connect()
        tree = TreeConnect(session, r"\\127.0.0.1\papers")
        tree.connect()
        try:
            yield OtherClient(tree)
        finally:
            connection.disconnect(close=False)

    def add_user(self) -> None:
        self._configure()
        command = [_program("pdbedit"), "-s", str(self.state / "smb.conf"), "-a", "-t", "-u", self.user]
        twice = f"{PASSWORD}\n{PASSWORD}\n".encode()
        done = subprocess.run(command, input=twice, capture_output=True, timeout=30)
        assert done.returncode == 0, done.stderr.decode()

    def _configure(self) -> None:
        shares = SHARE.format(folder=self.folder, more=self.of_share) if self.has_share else ""
        text = CONFIG.format(port=self.port, state=self.state, more=self.more, shares=shares)
        (self.state / "smb.conf").write_text(text, encoding="utf-8")


@dataclass
class OtherClient:
    """Does to files what people's programs do."""

    tree: TreeConnect

    def open_exclusively(self, name: str) -> Open:
        """As a program does that lets nobody else read meanwhile."""
        return self._open(name, FilePipePrinterAccessMask.FILE_READ_DATA, CreateDisposition.FILE_OPEN, 0)

    def write(self, name: str, text: str) -> None:
        access = FilePipePrinterAccessMask.FILE_WRITE_DATA
        file = self._open(name, access, CreateDisposition.FILE_OVERWRITE_IF, ShareAccess.FILE_SHARE_READ)
        file.write(text.encode())
        file.close()

    def _open(self, name: str, access: int, disposition: int, shared: int) -> Open:
        file, options = Open(self.tree, name.replace("/", "\\")), CreateOptions.FILE_NON_DIRECTORY_FILE
        file.create(ImpersonationLevel.Impersonation, access, 0, shared, disposition, options)
        return file


@contextmanager
def samba(more: str = "", of_share: str = "") -> Iterator[Samba]:
    """One whose share is an empty folder. Root's tests sign in as `nobody`, whom permissions hold for."""
    user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    with folder_for_others("aos-smb.") as place:
        folder, state = place / "papers", place / "state"
        folder.mkdir()
        state.mkdir()
        folder.chmod(0o777)
        running = Samba(folder, state, _free_port(), user, more, of_share)
        try:
            running.add_user()
            running.start()
            yield running
        finally:
            running.kill()


@contextmanager
def lying_network(port: int, lie: Callable[[bytes], bytes]) -> Iterator[int]:
    """The port of a way to `port` that changes each answer: `lie` is given a frame without its length."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_carry_all, args=(server, port, lie), daemon=True).start()
        yield int(server.getsockname()[1])


def without_signature(frame: bytes) -> bytes:
    """An answer as somebody in between would send it who does not know the key."""
    is_plain, is_signed = frame[:4] == b"\xfeSMB", len(frame) > 64 and frame[16] & 8
    is_setup = frame[12:14] in (b"\x00\x00", b"\x01\x00")
    if not (is_plain and is_signed) or is_setup:
        return frame
    return frame[:16] + bytes([frame[16] & ~8]) + frame[17:48] + bytes(16) + frame[64:]


def _carry_all(server: socket.socket, port: int, lie: Callable[[bytes], bytes]) -> None:
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            try:
                there = socket.create_connection(("127.0.0.1", port))
            except OSError:  # it is down
                client.close()
                continue
            for pair in ((client, there, None), (there, client, lie)):
                threading.Thread(target=_carry, args=pair, daemon=True).start()


def _carry(source: socket.socket, target: socket.socket, lie: Callable[[bytes], bytes] | None) -> None:
    with suppress(OSError), source, target:
        while lie is None and (some := source.recv(1 << 16)):
            target.sendall(some)
        file: Any = source.makefile("rb")
        while lie is not None and (head := file.read(4)):
            frame = lie(file.read(int.from_bytes(head, "big")))
            target.sendall(len(frame).to_bytes(4, "big") + frame)


def _program(name: str) -> str:
    program = shutil.which(name, path=PLACES)
    assert program is not None, MISSING
    return program


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait_for_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        assert process.poll() is None, "smbd did not start"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise AssertionError("smbd does not listen")
