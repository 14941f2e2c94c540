"""The API behind a real uvicorn server on a free loopback port, in a thread of its own: for clients as they are."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from serve_apps.http.app import create_app
from serve_apps.http.deps import AppDependencies
from tests.fakes.http import PASSWORD


@contextmanager
def listening(parts: AppDependencies) -> Iterator[str]:
    """Its base URL, while it runs."""
    with serving(parts, 0) as url:
        yield url


@contextmanager
def serving(parts: AppDependencies, port: int) -> Iterator[str]:
    """As `listening`, at a port that somebody has to know beforehand."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", port))
        found.listen(256)
        config = uvicorn.Config(create_app(parts), log_level="error", timeout_graceful_shutdown=2)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{found.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


def token(url: str, email: str) -> str:
    """A user's access token."""
    answer = httpx.post(f"{url}/api/auth/login", json={"email": email, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def wait_for(holds: Callable[[], bool], seconds: float = 5.0) -> float:
    """Seconds until a condition holds; fails after too many."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, "it did not come true"
        time.sleep(0.01)
    return time.monotonic() - began
