"""`aos login --sso`: the browser signs in at a provider and comes back to a port of this machine (RFC 8252)."""

import secrets
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import monotonic
from urllib.parse import parse_qsl, urlencode, urlsplit

from cluster.basics.errors import Unauthenticated

WAIT_SECONDS = 300.0
SILENCE_SECONDS = 2.0
PATH = "/aos"
DONE = "<!doctype html><title>AOS</title><p>Go back to the terminal; this window can be closed."


class NoBrowserAnswer(Unauthenticated):
    """No browser came back with a sign-in."""

    code = "no_sign_in"
    fix = "Run the command again and finish in the browser, or sign in with --email."


@dataclass(frozen=True, slots=True)
class BrowserSignIn:
    """A sign-in that a browser has brought: the code, and what it is redeemed with."""

    code: str
    verifier: str


@dataclass
class _Landing:
    """The port to which the browser comes back, and what it has brought."""

    brought: dict[str, str] = field(default_factory=dict)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        landing = self

        class Handler(BaseHTTPRequestHandler):
            timeout = SILENCE_SECONDS  # browsers open connections in advance and say nothing

            def do_GET(self) -> None:
                address = urlsplit(self.path)
                brought = dict(parse_qsl(address.query))
                known = address.path == PATH and not brought.keys().isdisjoint(("code", "error"))
                if known:
                    landing.brought |= brought
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(DONE.encode() if known else b"")

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing: the terminal is the user's."""

        return Handler


def browser_answer(
    address_of: Callable[[str], str],
    say: Callable[[str], None],
    *,
    open_browser: Callable[[str], object] = webbrowser.open,
    wait_seconds: float = WAIT_SECONDS,
) -> dict[str, str]:
    """What a browser brings back that was sent off.

    Args:
        address_of: where to send it, by the address at which it comes back.
        say: is told that address, for whoever has the browser elsewhere on this machine.

    Raises NoBrowserAnswer: it did not come, or with an error.
    """
    landing = _Landing()
    with HTTPServer(("127.0.0.1", 0), landing.handler()) as server:
        address = address_of(f"http://127.0.0.1:{server.server_port}{PATH}")
        say(address)
        # Some browsers come back to us only once they are closed.
        threading.Thread(target=open_browser, args=(address,), daemon=True).start()
        end = monotonic() + wait_seconds
        while not landing.brought and (left := end - monotonic()) > 0:
            server.timeout = left
            server.handle_request()
    if "code" not in landing.brought:
        raise NoBrowserAnswer(landing.brought.get("error", "")[:100])
    return landing.brought


def sign_in_by_browser(
    url: str,
    start: str,
    say: Callable[[str], None],
    *,
    open_browser: Callable[[str], object] = webbrowser.open,
    wait_seconds: float = WAIT_SECONDS,
) -> BrowserSignIn:
    """Send the browser off, and wait for it.

    Args:
        url: of the API.
        start: the provider's own address there.
        say: is told the address, for whoever has the browser elsewhere on this machine.

    Raises NoBrowserAnswer: it did not come, or with an error.
    """
    from authlib.oauth2.rfc7636 import create_s256_code_challenge  # costs what every other command would wait for

    verifier = secrets.token_urlsafe(48)
    challenge = create_s256_code_challenge(verifier)
    brought = browser_answer(
        lambda back: f"{url}{start}?{urlencode({'challenge': challenge, 'return_to': back})}",
        say,
        open_browser=open_browser,
        wait_seconds=wait_seconds,
    )
    return BrowserSignIn(brought["code"], verifier)
