"""Syslog over TLS (RFC 5424, 5425), where a batch is confirmed by how the collector closes its connection.

Syslog has no acknowledgement, and what lies in a socket's buffers when a collector dies is lost without a word. So each
batch has a connection of its own, that we end by TLS' close_notify; the batch counts as received when

1. the collector's machine has acknowledged close_notify while the connection stood: it lies in the collector's receive
   queue, behind the batch;
2. the collector then closes without a reset. A socket that is closed with something unread in its queue, by its owner
   or because that was killed, sends a reset (RFC 1122, 4.2.2.13; RFC 2525, 2.17): so close_notify was read, and whoever
   reads one record after the other has taken the batch before.

Everything else is no confirmation: the batch is sent again, and entries of it may come twice, with the same `id`.
"""

import asyncio
import fcntl
import os
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC

from cluster.state.audit_export.chain import ChainedEntry
from cluster.state.audit_export.sinks import CollectorAway, entry_line
from configs.audit_sinks import SyslogSink

AUDIT_FACILITY = 13
_SEVERITIES = {"done": 6, "denied": 4, "failed": 3}
ENTERPRISE = 32473  # of examples (RFC 5612): there is none of ours
_UNSENT = 0x5411  # SIOCOUTQ: bytes that the other side has not acknowledged
_POLL_SECONDS = 0.002


class SyslogCollector:
    """An `AuditSink` that speaks syslog over TLS."""

    def __init__(self, settings: SyslogSink, hostname: str) -> None:
        """`hostname`: of this machine, as messages say. Raises OSError: a file of a certificate cannot be read."""
        self._settings, self._hostname = settings, hostname
        self._tls = ssl.create_default_context(cafile=settings.ca_file)
        if settings.certificate_file is not None:
            self._tls.load_cert_chain(settings.certificate_file, settings.key_file)

    async def send(self, tenant: str, entries: Sequence[ChainedEntry]) -> None:
        """See `AuditSink`."""
        frames = b"".join(self._frame(entry) for entry in entries)
        try:
            await asyncio.to_thread(self._deliver, frames)
        except OSError as error:  # of sockets, of names, and of TLS
            raise CollectorAway(f"{self._settings.host}:{self._settings.port}: {error}") from error

    def _deliver(self, frames: bytes) -> None:
        """One connection; raises OSError where it does not end as it should."""
        place = (self._settings.host, self._settings.port)
        with closing(socket.create_connection(place, self._settings.seconds)) as plain:
            name = self._settings.server_name or self._settings.host
            with self._tls.wrap_socket(plain, server_hostname=name) as secured:
                secured.sendall(frames)
                _close_confirmed(secured, self._settings.seconds)

    def _frame(self, entry: ChainedEntry) -> bytes:
        message = self._message(entry)
        if len(message) > self._settings.max_bytes:
            message = self._message(replace(entry, detail=None))
        return b"%d %s" % (len(message), message)

    def _message(self, entry: ChainedEntry) -> bytes:
        at = entry.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        priority = AUDIT_FACILITY * 8 + _SEVERITIES[entry.outcome]
        kind = "".join(one for one in entry.action if "!" <= one <= "~")[:32] or "-"
        known = f'[aos@{ENTERPRISE} id="{entry.id}" seq="{entry.seq}" tenant="{entry.tenant}"]'
        head = f"<{priority}>1 {at} {self._hostname} aos - {kind} {known} "
        return (head + entry_line(entry, self._settings.format)).encode("ascii")


def _close_confirmed(secured: ssl.SSLSocket, seconds: float) -> None:
    """Say that nothing follows, and wait for the close that proves it was read. Raises OSError: that did not come."""
    deadline = time.monotonic() + seconds
    secured.setblocking(False)
    while not _notified(secured):
        _pause(deadline)
    while _unacknowledged(secured):
        _raise_reset(secured)
        _pause(deadline)
    while _has_more(secured):
        _pause(deadline)
    _raise_reset(secured)


def _notified(secured: ssl.SSLSocket) -> bool:
    """True when close_notify was sent; an answer to it is not waited for, as not every collector sends one."""
    try:
        secured.unwrap()
    except ssl.SSLWantWriteError:
        return False
    except ssl.SSLWantReadError:
        return True  # sent: what is waited for is the answer
    except ssl.SSLEOFError as error:
        if error.reason != "UNEXPECTED_EOF_WHILE_READING":  # the connection ended where we read, having sent
            raise
    return True


def _has_more(secured: ssl.SSLSocket) -> bool:
    """Reads what the collector still sends, below TLS: only the end of it is of interest."""
    try:
        return bool(os.read(secured.fileno(), 4096))
    except BlockingIOError:
        return True


def _unacknowledged(secured: ssl.SSLSocket) -> int:
    return int(struct.unpack("i", fcntl.ioctl(secured.fileno(), _UNSENT, b"\0" * 4))[0])


def _raise_reset(secured: ssl.SSLSocket) -> None:
    if number := secured.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise ConnectionResetError(number, "the collector has reset the connection")


def _pause(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError("the collector has not closed the connection")
    time.sleep(_POLL_SECONDS)
