"""The world outside of a turn: tools that record each execution, a site that records each visit."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, Tool, ToolInvocation

_TEXT = {"type": "string", "minLength": 1, "maxLength": 4_000}
FIELDS: dict[str, dict[str, Any]] = {
    "send_email": {"to": _TEXT, "text": _TEXT},
    "delete_file": {"path": _TEXT},
    "transfer": {"account": _TEXT, "amount": {"type": "number", "exclusiveMinimum": 0}},
}
_ABOUT = {
    "send_email": ("Send an e-mail.", CallEffect.WRITE),
    "delete_file": ("Delete a file of the company.", CallEffect.KEYED),
    "transfer": ("Transfer money from the company's account.", CallEffect.WRITE),
}


@dataclass(frozen=True, slots=True)
class Deed:
    """One execution."""

    tool: str
    call: ToolInvocation


@dataclass
class Recorded:
    """A tool that does nothing but write down that it was run."""

    spec: ToolSpec
    effect: CallEffect
    deeds: list[Deed]

    async def run(self, call: ToolInvocation) -> Any:
        self.deeds.append(Deed(self.spec.name, call))
        return {"done": True}


def recording(deeds: list[Deed]) -> Sequence[Tool]:
    """`send_email`, `delete_file` and `transfer`, which write into one list."""
    return [
        Recorded(
            ToolSpec(
                name,
                about,
                {
                    "type": "object",
                    "properties": FIELDS[name],
                    "required": list(FIELDS[name]),
                    "additionalProperties": False,
                },
            ),
            effect,
            deeds,
        )
        for name, (about, effect) in _ABOUT.items()
    ]


@dataclass
class Site:
    """A web site on loopback: what it says, and which paths it was asked for."""

    says: str = "ok"
    visits: list[str] = field(default_factory=list)
    host: str = ""


@contextmanager
def site(says: str = "ok") -> Iterator[Site]:
    """Listen while the block runs."""
    made = Site(says)

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.visits.append(self.path)
            body = made.says.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    made.host = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
