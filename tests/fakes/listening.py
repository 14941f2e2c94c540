"""The API behind a real uvicorn server on a free loopback port, in a thread of its own: for clients as they are."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from serve_apps.http.app import create_app
from serve_apps.http.deps import AppDependencies
from tests.fakes.http import PASSWORD
from tests.fakes.prompt_server import in_a_thread


@contextmanager
def listening(parts: AppDependencies) -> Iterator[str]:
    """Its base URL, while it runs."""
    with serving(parts, 0) as url:
        yield url


@contextmanager
def serving(parts: AppDependencies, port: int) -> Iterator[str]:
    """As `listening`, at a port that somebody has to know beforehand."""
    config = uvicorn.Config(create_app(parts), log_level="error", timeout_graceful_shutdown=2)
    with in_a_thread(config, port) as url:
        yield url


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
