"""A port of the loopback in front of a socket in a folder: for what connects by host and port only."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def in_front_of(path: str) -> Iterator[int]:
    """The port; whoever connects to it is connected to the socket at this path."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # closed: the end
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(path)
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=(one, other), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
