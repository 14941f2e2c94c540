"""What an orchestrator keeps to wherever it and its executor run; the same assertions in process and on Serve."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Role, Scope, UserId
from cluster.state.approvals import ApprovalStore, ReviewVerdict
from cluster.state.work.run_queries import RunQueries
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.turn_ports import IncomingMessage, RunId, TurnOrchestrator
from tests.fakes.http import open_office
from tests.fakes.model_server import ModelServer
from tests.fakes.model_wires import Say, Use

PAGE = "The gauge at the north gate shows 4.2 bar."


@dataclass
class Bench:
    """An orchestrator, and what looks at its traces."""

    orchestrator: TurnOrchestrator
    runs: RunQueries
    approvals: ApprovalStore
    model: ModelServer
    site: str
    scope: Scope

    async def tell(self, message: str, **more: Any) -> list[Event]:
        """All events of a turn, as its reader gets them."""
        return [event async for event in self.orchestrator.process(self.scope, IncomingMessage("", message, **more))]

    async def state(self, run: str, *wanted: str, seconds: float = 30) -> str:
        """The run's state as soon as it is one of these."""
        async with asyncio.timeout(seconds):
            while True:
                state = str((await self.runs.show(self.scope, run))["state"])
                if state in wanted:
                    return state
                await asyncio.sleep(0.05)


def person(admin_dsn: str) -> Scope:
    """An operator of a new tenant."""
    office = open_office(admin_dsn)
    email = office.emails[Role.OPERATOR]
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select id from users where email = %s", (email,)).fetchone()
    assert row is not None
    return Scope(office.scope.tenant, office.scope.workspace, (f"user:{email}",), UserId(str(row[0])), Role.OPERATOR)


@contextmanager
def page() -> Iterator[str]:
    """A web page on loopback; yields its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PAGE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


async def keeps_the_contract(bench: Bench) -> None:
    """Every part in turn, each in a conversation of its own."""
    await answers_with_pieces_that_make_the_text(bench)
    await counts_without_a_model(bench)
    await says_what_is_missing(bench)
    await stops_for_a_person_and_goes_on_by_itself(bench)
    await is_interrupted_with_its_reader_and_resumed(bench)
    await is_cancelled(bench)


async def answers_with_pieces_that_make_the_text(bench: Bench) -> None:
    greeting = "Good morning, and welcome to the control room."
    bench.model.replies[:] = [Say(greeting, between=0.02)]
    events = await bench.tell("/chat Good morning", session="first")
    whole = [event for event in events if not event.piece]
    assert [event.seq for event in whole] == list(range(1, len(whole) + 1))
    assert (whole[0].kind, whole[0].data["state"]) == (EventKind.STATUS, "accepted")
    assert (whole[-1].kind, whole[-1].data["answer"]) == (
        EventKind.DONE,
        "Good morning, and welcome to the control room.",
    )
    pieces = "".join(event.data["text"] for event in events if event.piece)
    (text,) = [event for event in whole if event.kind is EventKind.TEXT]
    assert pieces and pieces == text.data["text"][: text.sent]
    assert await bench.state(whole[0].data["run_id"], "completed", seconds=5) == "completed"


async def counts_without_a_model(bench: Bench) -> None:
    asked = len(bench.model.chats)
    events = await bench.tell("How many documents do we have by status?")
    assert any(event.kind is EventKind.ROUTE and event.data["path"] == "analytics" for event in events)
    assert events[-1].kind is EventKind.DONE and len(bench.model.chats) == asked


async def says_what_is_missing(bench: Bench) -> None:
    with pytest.raises(NotFound):
        _ = [event async for event in bench.orchestrator.process(bench.scope, IncomingMessage("nobody", "Hello"))]
    with pytest.raises(NotFound):
        await bench.tell("Hello", session="00000000-0000-0000-0000-000000000009")


async def stops_for_a_person_and_goes_on_by_itself(bench: Bench) -> None:
    wanted = Use("http_get", {"url": f"{bench.site}/gauge"})
    bench.model.replies[:] = [Say("Let me read it."), Say(calls=(wanted,)), Say("The gauge shows 4.2 bar.")]
    events = await bench.tell("Read the gauge at the north gate.")
    assert events[-1].kind is EventKind.APPROVAL_REQUIRED, events
    asked = events[-1].data["approval"]
    run = events[0].data["run_id"]
    assert asked["tool"] == "http_get" and await bench.state(run, "waiting") == "waiting"
    await bench.approvals.decide(bench.scope, asked["id"], ReviewVerdict.APPROVED)
    with pytest.raises(Conflict):
        await bench.approvals.decide(bench.scope, asked["id"], ReviewVerdict.REJECTED)
    assert await bench.state(run, "completed", "failed") == "completed"
    stored = await bench.runs.events_after(bench.scope, run, 0)
    assert [row["seq"] for row in stored] == list(range(1, len(stored) + 1))
    results = [row["payload"] for row in stored if row["type"] == "tool_result"]
    assert len(results) == 1 and PAGE in str(results[0]["result"])
    assert stored[-1]["payload"]["answer"] == "The gauge shows 4.2 bar."


async def is_interrupted_with_its_reader_and_resumed(bench: Bench) -> None:
    """A client that goes away stops the model within five seconds."""
    bench.model.replies[:] = [Say("All is well. ", size=14, after="forever", between=0.05)]
    events = bench.orchestrator.process(bench.scope, IncomingMessage("", "/chat Tell me everything."))
    run = await _until_it_speaks(events)
    asked = bench.model.chats[-1]
    await events.aclose()  # type: ignore[attr-defined]
    assert await asyncio.to_thread(asked.closed.wait, 5)
    assert await bench.state(run, "interrupted") == "interrupted"
    bench.model.replies[:] = [Say("All is well.")]
    told = [event async for event in bench.orchestrator.resume(bench.scope, RunId(run))]
    assert told[-1].kind is EventKind.DONE and told[-1].data["answer"] == "All is well."
    with pytest.raises(Conflict):
        _ = [event async for event in bench.orchestrator.resume(bench.scope, RunId(run))]


async def is_cancelled(bench: Bench) -> None:
    bench.model.replies[:] = [Say("On and on. ", size=11, after="forever", between=0.05)]
    events = bench.orchestrator.process(bench.scope, IncomingMessage("", "/chat Go on."))
    run = await _until_it_speaks(events)
    await bench.orchestrator.cancel(bench.scope, RunId(run))
    last = [event async for event in events if not event.piece][-1]
    assert (last.kind, last.data["state"]) == (EventKind.STATUS, "cancelled")
    assert await bench.state(run, "cancelled") == "cancelled"


async def _until_it_speaks(events: AsyncIterator[Event]) -> str:
    run = ""
    async for event in events:
        run = event.data.get("run_id", run)
        if event.piece:
            break
    return run
