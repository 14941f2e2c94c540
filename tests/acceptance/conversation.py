"""Two turns with an agent over plain HTTP: an answer from documents, then a tool that a person has to allow.

    export AOS_AGENTS_HTTP_ALLOW=127.0.0.1:8077    # before `aos up`: the gauge's address, and no other
    python -m tests.acceptance.conversation        # after `aos login`; else --url and --token

It uploads the papers that it asks about and serves the gauge itself. Any OpenAI-compatible model will do.
"""

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx

from cluster.console.login_tokens import CredentialsFile

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
PAPERS = ("control-room.md", "turbine-maintenance.docx")
AGENT = "assistant"
FIRST = "What must be done when the grid frequency falls below 49.5 hertz? Answer in one sentence with its evidence."
SECOND = (
    "Read http://127.0.0.1:{port}/gauge with http_get. What is the grid frequency there, and what must be done now?"
)
GAUGE = "North gate, 14:05: grid frequency 49.42 hertz, falling.\n"
ENDS = {"completed", "failed", "cancelled", "interrupted"}


@dataclass
class Turn:
    """What one message led to; `approval` is what waits for a person, `state` the last that was heard of the run."""

    run: str = ""
    session: str = ""
    state: str = ""
    last: str = ""
    text: str = ""
    approval: dict[str, Any] | None = None
    citations: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)


def main(words: Sequence[str] | None = None) -> int:
    """Hold the conversation; 0 when the first answer cites, and the second used what the tool gave once allowed."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--url", default="http://127.0.0.1:8000")
    ask.add_argument(
        "--token",
        default=os.environ.get("AOS_TOKEN"),
        help="of an operator; else AOS_TOKEN, else what `aos login` kept",
    )
    ask.add_argument("--first", default=FIRST, help="another first question")
    ask.add_argument("--second", default=SECOND, help="another second one, with {port} in its address")
    ask.add_argument("--port", type=int, default=8077, help="where the gauge is served")
    ask.add_argument("--yes", action="store_true", help="allow what is asked for")
    chosen = ask.parse_args(words)
    kept = CredentialsFile.of(Path(os.environ["AOS_STATE_DIR"]) if "AOS_STATE_DIR" in os.environ else None).read(
        chosen.url
    )
    token = chosen.token or (kept.access if kept else None)
    if not token:
        ask.error("a token is needed: aos login, --token or AOS_TOKEN")
    headers = {"Authorization": f"Bearer {token}"}
    # A stream is never silent for longer than ten seconds, however slow the model is.
    with httpx.Client(base_url=chosen.url, headers=headers, timeout=httpx.Timeout(180, read=60)) as http:
        upload(http)
        with gauge(chosen.port):
            first = say(http, chosen.first)
            second = say(http, chosen.second.format(port=chosen.port), session=first.session)
            while second.approval is not None:
                decide(http, second, chosen.yes)
                follow(http, second)
    return report(first, second)


def upload(http: httpx.Client) -> None:
    """The papers, each until it can be found; what is there already is not read again."""
    for name in PAPERS:
        files = {"file": (name, (SAMPLES / name).read_bytes())}
        done = http.post("/api/documents/upload", params={"wait": 60}, files=files, timeout=90)
        done.raise_for_status()
        print(f"# {name}: {done.json()['status']}")


def say(http: httpx.Client, message: str, session: str | None = None) -> Turn:
    """POST /api/chat/{agent}, read as a stream to its end."""
    print(f"\n> {message}\n")
    turn, body = Turn(), {"message": message, "stream": True, "verbose": True}
    began = time.monotonic()
    with http.stream("POST", f"/api/chat/{AGENT}", json=body | ({"session_id": session} if session else {})) as stream:
        hear(turn, stream)
    print(f"\n# {time.monotonic() - began:.1f} s, run {turn.run}: {turn.state}")
    return turn


def decide(http: httpx.Client, turn: Turn, yes: bool) -> None:
    """POST /api/approvals/{id}: the run goes on in the background as soon as this is stored."""
    asked = turn.approval or {}
    print(f"\n? {asked['tool']} {json.dumps(asked['arguments'])}\n  {asked.get('reason', '')}")
    allowed = yes or input("  Allow this? [y/N] ").strip().lower().startswith("y")
    decision = "approve" if allowed else "reject"
    http.post(f"/api/approvals/{asked['id']}", json={"decision": decision}).raise_for_status()
    print(f"  {decision}\n")
    turn.approval = None


def follow(http: httpx.Client, turn: Turn) -> None:
    """GET /api/runs/{id}/events from where we are, to the run's end or its next question."""
    began = time.monotonic()
    while turn.state not in ENDS and turn.approval is None:
        headers = {"Last-Event-ID": turn.last}
        path = f"/api/runs/{turn.run}/events"
        with http.stream("GET", path, params={"verbose": True}, headers=headers) as stream:
            hear(turn, stream)
    print(f"\n# {time.monotonic() - began:.1f} s after the decision: {turn.state}")


def hear(turn: Turn, stream: httpx.Response) -> None:
    """Server-sent events as they come, printed, until the stream ends or a person is asked."""
    if not stream.is_success:
        stream.read()
        raise SystemExit(f"{stream.status_code}: {stream.text}")
    event: dict[str, str] = {}
    for line in stream.iter_lines():
        name, _, value = line.partition(": ")
        if name:
            event[name] = value
        elif "data" in event:
            turn.last = event.get("id", turn.last)
            told(turn, json.loads(event["data"]))
            event = {}
            if turn.approval is not None:
                return


def told(turn: Turn, chunk: dict[str, Any]) -> None:
    """One event."""
    data, content = chunk["data"], chunk["content"]
    match data["kind"]:
        case "status":
            turn.run, turn.session = data.get("run_id", turn.run), data.get("session_id", turn.session)
            turn.state = data.get("state", turn.state)
        case "text":
            turn.text += content
            print(content, end="", flush=True)
        case "citation":
            turn.citations.append(data)
            print(f'\n  [{data["n"]}] {data["filename"]}, page {data["page"]}: "{" ".join(data["quote"].split())}"')
        case "plan":
            steps = "; ".join(step["label"] for step in data["steps"])
            print(f"# plan: {steps}")
        case "tool_call":
            print(f"# calls {data['name']} {json.dumps(data['arguments'])}")
        case "tool_result":
            turn.tools.append(data)
            print(f"# {data['name']}: {json.dumps(data.get('result', data.get('error')))[:200]}")
        case "approval_required":
            turn.approval = data["approval"]
        case "error":
            turn.state = "failed"
            print(f"\nerror: {data.get('title', '')} {content}")
        case "done":
            turn.state = "completed"


def report(first: Turn, second: Turn) -> int:
    """What is missing for a good conversation, if anything."""
    got = [tool for tool in second.tools if tool["name"] == "http_get" and GAUGE.strip() in str(tool.get("result"))]
    missing = [
        text
        for text, there in (
            ("the first answer has no citation", bool(first.citations)),
            ("the first answer does not name the generator", "generator" in first.text),
            ("the gauge was not read", bool(got)),
            ("the second answer does not say what the gauge shows", "49.42" in second.text),
            ("a turn did not end", first.state == second.state == "completed"),
        )
        if not there
    ]
    print(f"\n# {'; '.join(missing) or 'as it should be'}")
    return 1 if missing else 0


@contextmanager
def gauge(port: int) -> Iterator[None]:
    """A page of this machine that says what the gauge shows."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(GAUGE)))
            self.end_headers()
            self.wfile.write(GAUGE.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the terminal."""

    with HTTPServer(("127.0.0.1", port), Page) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    sys.exit(main())
