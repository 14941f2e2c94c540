"""A connection to one network share by SMB 2 and 3: signed or encrypted both ways, bounded in time and memory."""

import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from uuid import uuid4

from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from smbprotocol.connection import Connection
from smbprotocol.exceptions import EndOfFile, NoMoreFiles, NoSuchFile, SMBException
from smbprotocol.file_info import FileAttributes, FileInformationClass
from smbprotocol.header import Commands, NtStatus
from smbprotocol.open import (
    CreateDisposition,
    CreateOptions,
    FilePipePrinterAccessMask,
    ImpersonationLevel,
    Open,
    ShareAccess,
)
from smbprotocol.session import Session
from smbprotocol.transport import Tcp
from smbprotocol.tree import TreeConnect
from spnego.exceptions import SpnegoError

CALLS_AT_ONCE: Final = 4  # that one connection is asked to carry
_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 60  # another client may take 35 s to give up its cache of a file that is opened
_FRAME: Final = 1 << 22
_BLOCK: Final = 1 << 20
_CREDIT: Final = 1 << 16  # bytes that a server lets a client ask for with one credit
_CREDITS: Final = 128
_NO_NUMBERS: Final = (0, 2**64 - 1)  # where a file system has none
_LINKS: Final = (0x8000000A, 0x80000012)  # DFS, DFSR
_NAME_SURROGATE: Final = 0x20000000  # bit of a reparse tag: this name stands for another place

# What the library raises where a server breaks off or answers with something that is no SMB.
SMB_ERRORS: Final = (
    SMBException,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
    struct.error,
    InvalidTag,
    InvalidSignature,
    UnsupportedAlgorithm,
    SpnegoError,
)


class Encryption(StrEnum):
    """When a session is encrypted; it is signed otherwise."""

    OFFERED = "offered"  # by every server that can
    REQUIRED = "required"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class SharePlace:
    """Where a share is, and who reads it; `user` may name its domain: `DOMAIN\\user`."""

    host: str
    port: int
    share: str
    user: str
    password: str = field(repr=False)
    encryption: Encryption = Encryption.OFFERED


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file or folder as its folder lists it.

    Attributes:
        number: of the file in its file system, which a rename leaves; None where there is none. It is given again once
            its file is gone. When a file was created tells nothing: smbd takes the earliest time it finds.
        leads_away: a symbolic link, junction or DFS link.
    """

    name: str
    is_folder: bool
    is_hidden: bool
    leads_away: bool
    number: int | None
    written: str
    size: int


class _Transport(Tcp):
    def _recv(self, length: int, timeout: float) -> Any:
        if length > _FRAME:
            raise ValueError(f"the server announces {length} bytes")
        return super()._recv(length, timeout)


class _CheckedConnection(Connection):
    """The library's, to an address that was checked, with a limit to each wait, and with no answer taken on trust."""

    def __init__(self, place: SharePlace, address: str) -> None:
        self._address = address
        self._transport: Tcp | None = None
        super().__init__(uuid4(), place.host, place.port, require_signing=True)

    @property
    def transport(self) -> Any:
        return self._transport

    @transport.setter
    def transport(self, made: Tcp | None) -> None:
        """Whatever is made, which would ask again what address the name has."""
        self._transport = made if made is None else _Transport(self._address, self.port, _CONNECT_SECONDS)

    def receive(
        self, request: Any, wait: bool = True, timeout: float | None = None, resolve_symlinks: bool = False
    ) -> Any:
        """Links are not followed, whatever is asked for. Raises TimeoutError, which the library has no class for."""
        try:
            return super().receive(request, wait, timeout or _ANSWER_SECONDS, resolve_symlinks=False)
        except SMBException as error:
            if str(error).startswith("Connection timeout"):
                raise TimeoutError("the server does not answer in time") from error
            raise

    def verify_signature(self, header: Any, session_id: int, force: bool = False) -> None:
        """Called for whatever came unencrypted. The library believes an answer that has no signature at all."""
        session = self.session_table.get(session_id)
        interim = header["status"].get_value() == NtStatus.STATUS_PENDING  # has no content, and comes without
        if session is not None and not interim and header["command"].get_value() != Commands.SMB2_SESSION_SETUP:
            if session.encrypt_data:
                raise SMBException("an answer of an encrypted session is not encrypted")
            force = True
        super().verify_signature(header, session_id, force)

    def cut(self) -> None:
        """End it without asking the server, who then closes what was open; whoever waits for an answer is told."""
        if self._transport is not None:
            with suppress(OSError):
                self.disconnect(close=False)


class SmbShare:
    """A share that is connected. Its methods block, and may be called by `CALLS_AT_ONCE` threads at once."""

    def __init__(self, place: SharePlace, address: str) -> None:
        """Nothing is connected yet. All methods raise `SMB_ERRORS`."""
        self._place, self._connection = place, _CheckedConnection(place, address)
        self._tree: TreeConnect | None = None
        self._block, self._below = _BLOCK, ""

    @property
    def is_encrypted(self) -> bool:
        """True where not even the names of files can be read on the way."""
        return self._tree is not None and bool(self._tree.session.encrypt_data)

    @property
    def is_lost(self) -> bool:
        """True before it is connected, and once the connection has ended."""
        return self._connection.transport is None or not self._connection.transport.connected

    def connect(self) -> None:
        """Connect and sign in; never as a guest. Whoever calls cuts what could not be connected."""
        place, connection = self._place, self._connection
        connection.connect(timeout=_CONNECT_SECONDS)
        if place.encryption is Encryption.REQUIRED and not connection.supports_encryption:
            raise SMBException("encryption is required, and the server does not offer it")
        encrypted = bool(connection.supports_encryption) and place.encryption is not Encryption.OFF
        # Not Kerberos: the library would look for its servers by itself, wherever they are.
        session = Session(connection, place.user, place.password, encrypted, auth_protocol="ntlm")
        session.connect()
        # Of several threads the library refuses the one whose question finds no credits left.
        connection.echo(session.session_id, timeout=_ANSWER_SECONDS, credit_request=_CREDITS)
        window = connection.sequence_window
        credits_each = max(1, (window["high"] - window["low"]) // CALLS_AT_ONCE)
        self._block = min(_BLOCK, connection.max_read_size, credits_each * _CREDIT)
        tree = TreeConnect(session, rf"\\{place.host}\{place.share}")
        tree.connect()
        self._tree = tree
        # What is asked of a DFS root has to be named from its server on.
        self._below = f"{place.host}\\{place.share}\\" if tree.is_dfs_share else ""

    def cut(self) -> None:
        """End the connection, also for those who wait for an answer."""
        self._connection.cut()

    def open_folder(self, path: str) -> Open:
        """A folder to be listed; `path` from the share on, with `\\`, empty for the share itself."""
        return self._open(path, FilePipePrinterAccessMask.FILE_READ_DATA, CreateOptions.FILE_DIRECTORY_FILE)

    def next_entries(self, folder: Open) -> Sequence[FolderEntry]:
        """Some more entries of a folder, in the server's order; none where there is no more."""
        kind = FileInformationClass.FILE_ID_BOTH_DIRECTORY_INFORMATION
        try:
            found = folder.query_directory("*", kind, max_output=_CREDIT)
        except (NoMoreFiles, NoSuchFile):
            return ()
        return [_entry_of(one) for one in found]

    def open_file(self, path: str) -> Open:
        """A file to be read; nobody is kept from writing, renaming or deleting it meanwhile."""
        return self._open(path, FilePipePrinterAccessMask.FILE_READ_DATA, CreateOptions.FILE_NON_DIRECTORY_FILE)

    def read_block(self, file: Open, start: int, length: int | None) -> bytes:
        """Some bytes from `start` on, at most `length`; none at the end."""
        most = self._block if length is None else min(self._block, length)
        try:
            return bytes(file.read(start, most))
        except EndOfFile:
            return b""

    def close(self, opened: Open) -> None:
        """Close a file or a folder; one of a connection that ended is closed."""
        if not self.is_lost:
            opened.close()

    def _open(self, path: str, access: int, options: int) -> Open:
        opened = Open(self._tree, f"{self._below}{path}".rstrip("\\"))
        opened.create(
            ImpersonationLevel.Impersonation,
            access | FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES,
            0,
            ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE | ShareAccess.FILE_SHARE_DELETE,
            CreateDisposition.FILE_OPEN,
            options,
        )
        return opened


def _entry_of(found: Any) -> FolderEntry:
    attributes, number = found["file_attributes"].get_value(), found["file_id"].get_value()
    reparsed = bool(attributes & FileAttributes.FILE_ATTRIBUTE_REPARSE_POINT)
    tag = found["ea_size"].get_value() if reparsed else 0  # [MS-FSCC] 2.4.17
    return FolderEntry(
        name=found["file_name"].get_value().decode("utf-16-le", "surrogatepass"),
        is_folder=bool(attributes & FileAttributes.FILE_ATTRIBUTE_DIRECTORY),
        is_hidden=bool(attributes & FileAttributes.FILE_ATTRIBUTE_HIDDEN),
        leads_away=bool(tag & _NAME_SURROGATE) or tag in _LINKS,
        number=None if number in _NO_NUMBERS else number,
        written=found["last_write_time"].get_value().isoformat(),
        size=found["end_of_file"].get_value(),
    )
