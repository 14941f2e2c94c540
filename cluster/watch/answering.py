"""A process that says that it is alive when it is asked: a socket beside it, and its event loop behind that."""

import asyncio
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

ANSWER = b"alive\n"
BACKLOG = 8


def answer_liveness(folder: Path, name: str, loop: asyncio.AbstractEventLoop | None = None) -> socket.socket | None:
    """Answer whoever asks at `<folder>/<name>-<pid>.sock`, for as long as the process lives.

    With a loop the answer comes from it: one that is blocked does not answer. Else a thread answers by itself, which
    tells of a process that was stopped, not of one whose work hangs. Returns what listens; None where the folder cannot
    be written: then nobody asks here.
    """
    path = folder / f"{name}-{os.getpid()}.sock"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        listening.bind(str(path))
        listening.listen(BACKLOG)
    except OSError:  # another machine of a joined cluster, where nobody of ours asks
        listening.close()
        return None
    threading.Thread(target=_serve_answers, args=(listening, loop), name="answering", daemon=True).start()
    return listening


def answer_from_here(folder: Path, name: str) -> socket.socket | None:
    """As `answer_liveness`, from the loop that runs here; where none does, from a thread."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        loop = None
    return answer_liveness(folder, name, loop)


def _serve_answers(listening: socket.socket, loop: asyncio.AbstractEventLoop | None) -> None:
    with suppress(OSError):  # it was closed: nobody asks any more
        while True:
            asking, _ = listening.accept()
            if loop is None or loop.is_closed():
                _send_answer(asking)
            else:
                with suppress(RuntimeError):  # closed between the two: whoever asked waits in vain, as is right
                    loop.call_soon_threadsafe(_send_answer, asking)


def _send_answer(asking: socket.socket) -> None:
    with suppress(OSError), asking:  # who asked may have gone
        asking.sendall(ANSWER)
