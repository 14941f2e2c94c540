"""Questions with a limit: over a process's own socket, over HTTP, and to a server that speaks HTTP/2."""

import http.client
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cluster.watch.answering import ANSWER

# The least that a client of HTTP/2 says first: the preface and an empty SETTINGS frame (RFC 9113, section 3.4). The
# server's own SETTINGS come back, whoever may call what behind them.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


class LivenessState(StrEnum):
    """The result of a liveness question: an answer, silence until the limit, or nobody who could be asked.

    UNREADY is an answer, too: of a Postgres that starts or recovers, of a cluster that has not our applications.
    """

    ANSWERED = "answered"
    UNREADY = "unready"
    SILENT = "silent"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class LivenessCheck:
    """A question that was put.

    Attributes:
        reply: what came of it.
        pid: of the process that listens, where the kernel tells; 0 elsewhere.
        status: of an HTTP answer; 0 elsewhere.
        why: in words, where there was no answer.
    """

    reply: LivenessState
    pid: int = 0
    status: int = 0
    why: str = ""


def ask_process(path: Path, seconds: float) -> LivenessCheck:
    """Ask a process of ours by its socket; GONE where nobody listens there any more."""
    pid = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(seconds)
        try:
            asking.connect(str(path))
            pid, _, _ = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            told = asking.recv(len(ANSWER))
        except (TimeoutError, BlockingIOError):  # also a backlog that nobody empties
            return LivenessCheck(LivenessState.SILENT, pid)
        except OSError:
            return LivenessCheck(LivenessState.GONE, pid)
    return LivenessCheck(LivenessState.ANSWERED if told else LivenessState.GONE, pid)


def ask_http(
    host: str, port: int, path: str, seconds: float, headers: Mapping[str, str] | None = None
) -> LivenessCheck:
    """GET a path; whatever is answered is an answer. GONE where nobody listens or the connection breaks."""
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request("GET", path, headers={"Connection": "close", **(headers or {})})
        reply = connection.getresponse()
        reply.read()
    except TimeoutError:
        return LivenessCheck(LivenessState.SILENT)
    except (OSError, http.client.HTTPException):
        return LivenessCheck(LivenessState.GONE)
    finally:
        connection.close()
    return LivenessCheck(LivenessState.ANSWERED, status=reply.status)


def ask_http2(host: str, port: int, seconds: float) -> LivenessCheck:
    """Greet a server that speaks HTTP/2, gRPC's among them; it needs no right to anything behind that."""
    try:
        with socket.create_connection((host, port), timeout=seconds) as asking:
            asking.sendall(PREFACE)
            told = asking.recv(9)
    except TimeoutError:
        return LivenessCheck(LivenessState.SILENT)
    except OSError:
        return LivenessCheck(LivenessState.GONE)
    return LivenessCheck(LivenessState.ANSWERED if told else LivenessState.GONE)
