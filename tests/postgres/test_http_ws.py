"""The socket of S4: signing in, chunks, cancelling, garbage, and a client that is gone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from fastapi.routing import APIWebSocketRoute
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from cluster.basics.errors import AosError, Forbidden, NotFound, Unauthenticated, Unavailable
from cluster.basics.scope import Role
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.http.auth.permissions import SOCKET, MatrixMismatch, collect_permissions
from serve_apps.http.streams.sse import StreamPacing
from serve_apps.http.streams.websocket import _close_code
from tests.fakes.http import MATRIX, Office, make_parts, open_office
from tests.fakes.listening import listening, token, wait_for
from tests.fakes.orchestrator import Act, ScriptedOrchestrator, asks_first, calls_tool, says

PATH = "/api/v1/ws/agent"


class Server:
    def __init__(self, url: str, office: Office, agents: ScriptedOrchestrator) -> None:
        self.url, self.office, self.agents = url, office, agents
        self.token = token(url, office.emails[Role.VIEWER])
        self.address = url.replace("http", "ws", 1) + PATH

    def open(self, **more: Any) -> ClientConnection:
        headers = {"Authorization": f"Bearer {self.token}"}
        return connect(self.address, **{"additional_headers": headers, "open_timeout": 20, **more})


@pytest.fixture
def server(admin_dsn: str, app_dsn: str, tmp_path: Path) -> Iterator[Server]:
    agents = ScriptedOrchestrator()
    office = open_office(admin_dsn)
    with listening(make_parts(app_dsn, tmp_path, orchestrator=agents, pace=StreamPacing(0.02, 8, 0.1))) as url:
        yield Server(url, office, agents)


def say(socket: ClientConnection, **body: Any) -> None:
    socket.send(json.dumps(body))


def chunks(socket: ClientConnection) -> list[dict[str, Any]]:
    """All of a turn."""
    told: list[dict[str, Any]] = []
    while not told or not told[-1]["is_final"]:
        told.append(json.loads(socket.recv(timeout=10)))
    return told


@pytest.mark.parametrize(
    ("error", "code"),
    [(Unavailable("Postgres does not answer"), 1013), (Unauthenticated("who"), 4401), (Forbidden("not you"), 4401)],
)
def test_a_part_that_is_away_lets_nobody_in_and_takes_nobody_for_refused(error: AosError, code: int) -> None:
    """Clients throw a token away that is refused, and sign in again; they keep it while nobody could look at it."""
    assert _close_code(error) == code


def test_hi_06_a_question_ends_the_turn_and_the_socket_takes_the_answer(server: Server) -> None:
    """HI-06, GW-05: the last chunk says what is asked; the next message of the session goes to the same way in."""
    question = {"id": "i1", "question": "Which?", "category": "clarification", "options": [], "expires_at": None}
    asks: list[Act] = [(EventKind.STATUS, {"state": "waiting_input"}), (EventKind.INPUT_REQUIRED, {"input": question})]
    server.agents.script = lambda incoming: asks if incoming.message == "plan" else says("The red one.")
    with server.open() as socket:
        say(socket, type="message", agent_id="Clerk", session_id="s", message="plan")
        last = chunks(socket)[-1]
        assert (last["type"], last["content"], last["is_final"]) == ("status", "waiting_input", True)
        assert last["data"] == {"requires_input": True, "input_request": question}
        say(socket, type="message", agent_id="Clerk", session_id="s", message="the red one")
        assert chunks(socket)[-1]["content"] == "The red one."
    assert [asked.person for _, asked in server.agents.asked] == [True, True]


def test_gw_05_a_conversation_in_stream_chunks(server: Server) -> None:
    """GW-05, ST-02, ST-03: type, content, data, is_final; several turns over one socket; whole replies if asked."""
    server.agents.script = lambda incoming: calls_tool("It is 42.")
    hello = {"type": "message", "agent_id": "Clerk", "session_id": "s-1", "message": "?", "stream": True}
    with server.open() as socket:
        for _ in range(2):
            say(socket, **hello, tenant_id=server.office.scope.tenant)
            told = chunks(socket)
            assert all(set(chunk) == {"type", "content", "data", "is_final"} for chunk in told)
            assert [chunk["type"] for chunk in told] == ["status", "tool_call", "tool_result", "text", "text", "done"]
            assert "".join(chunk["content"] for chunk in told if chunk["type"] == "text") == "It is 42."
            assert told[-1]["content"] == "It is 42." and told[1]["data"]["name"] == "calculator"
            assert "secret" not in json.dumps(told)
        say(socket, **(hello | {"stream": False}))
        (whole,) = chunks(socket)
        assert (whole["type"], whole["content"]) == ("done", "It is 42.")
        say(socket, type="ping")
        assert json.loads(socket.recv(timeout=5))["content"] == "pong"
    _, asked = server.agents.asked[0]
    assert (asked.agent, asked.session, asked.message) == ("Clerk", "s-1", "?")


def test_gw_05_a_token_comes_by_header_subprotocol_first_message_or_query(server: Server) -> None:
    """GW-05: and without one, or with a wrong one, the socket is closed with a reason."""
    bare: dict[str, Any] = {"additional_headers": None}
    with server.open(**bare, subprotocols=["aos.bearer", server.token]) as socket:
        assert socket.subprotocol == "aos.bearer"
        say(socket, type="message", message="hi")
        assert chunks(socket)[-1]["type"] == "done"
    with server.open(**bare) as socket:
        say(socket, type="auth", token=server.token)
        say(socket, type="message", message="hi")
        assert chunks(socket)[-1]["type"] == "done"
    with connect(f"{server.address}?token={server.token}") as socket:
        say(socket, type="message", message="hi")
        assert chunks(socket)[-1]["type"] == "done"
    for first in (
        '{"type": "auth", "token": "x"}',
        '{"type": "message", "message": "hi"}',
        "{",
        "",
        "null",
        "[" * 9_999,
    ):
        with server.open(**bare) as socket:
            socket.send(first)
            assert chunks(socket)[-1]["data"]["code"] in ("unauthenticated", "token_refused"), first
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=5)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 4401
    with server.open(**bare) as socket:
        socket.send(b"\x00\x01")
        assert chunks(socket)[-1]["type"] == "error"
    assert len(server.agents.asked) == 3


def test_x_39_a_tenant_in_a_message_is_compared_and_the_socket_is_in_the_matrix(server: Server, admin_dsn: str) -> None:
    """X-39: another tenant, workspace or user is refused and on record; an unknown socket starts no app."""
    with server.open() as socket:
        for name in ("tenant_id", "workspace_id", "user_id"):
            say(socket, type="message", message="hi", **{name: str(uuid4())})
            assert chunks(socket)[-1]["data"]["code"] == "scope_mismatch"
    with connect(
        f"{server.address}?tenant_id={uuid4()}", additional_headers={"Authorization": f"Bearer {server.token}"}
    ) as socket:
        assert chunks(socket)[-1]["data"]["code"] == "scope_mismatch"
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select count(*) from audit where action like 'WS %'").fetchone()
    assert row == (4,) and server.agents.asked == []
    assert (SOCKET, PATH) in MATRIX
    with pytest.raises(MatrixMismatch, match="/elsewhere"):
        collect_permissions([APIWebSocketRoute("/elsewhere", lambda socket: socket.close())])


def test_garbage_is_answered_and_the_socket_stays(server: Server) -> None:
    garbage = [
        "{",
        "null",
        "[]",
        "5",
        '"x"',
        "[" * 9_999,
        '{"type": "sing"}',
        '{"type": "message"}',
        '{"type": "cancel"}',
        '{"type": "message", "message": ""}',
        '{"type": "message", "message": "a\\u0000b"}',
        "x" * 200_000,
        '{"type": "message", "message": "\\ud800"}',
        '{"type": "message", "message": "hi", "more": 1}',
        '{"type": {}}',
        '{"type": "message", "message": 5}',
    ]
    with server.open() as socket:
        for text in garbage:
            socket.send(text)
            assert chunks(socket)[-1]["data"]["code"] in ("invalid", "not_found", "too_large"), text[:50]
        say(socket, type="message", message="hi")
        assert chunks(socket)[-1]["type"] == "done"
        socket.send(b"\xff\x00")
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=5)


def test_one_turn_at_a_time_which_can_be_cancelled(server: Server) -> None:
    """A running turn has a pulse; `cancel` marks the run, and stops a model that does not end by itself."""
    server.agents.script = lambda incoming: ["The ", 60.0]
    with server.open() as socket:
        say(socket, type="message", message="hi")
        accepted = json.loads(socket.recv(timeout=5))
        assert json.loads(socket.recv(timeout=5))["content"] == "The "
        assert json.loads(socket.recv(timeout=5))["data"] == {"heartbeat": True}
        say(socket, type="message", message="again")
        assert chunks(socket)[-1]["data"]["code"] == "conflict"
        say(socket, type="cancel")
        assert chunks(socket)[-1]["content"] == "cancelled"
        assert server.agents.closed == 1
        ((_, run),) = server.agents.cancelled
        assert run == accepted["data"]["run_id"]
        server.agents.script = lambda incoming: says("Now.")
        say(socket, type="message", message="again")
        assert chunks(socket)[-1]["content"] == "Now."


def test_a_cancelled_turn_tells_its_own_end(server: Server) -> None:
    """`cancel` asks; the turn is not closed over what its run still has to write down."""
    over: Act = (EventKind.STATUS, {"state": "cancelled", "by": "the run"})
    server.agents.script = lambda incoming: ["The ", 0.5, over]
    with server.open() as socket:
        say(socket, type="message", message="hi", verbose="debug")
        wait_for(lambda: server.agents.live == 1)
        assert json.loads(socket.recv(timeout=5))["data"]["state"] == "accepted"
        say(socket, type="cancel")
        last = chunks(socket)[-1]
        assert (last["content"], last["data"].get("by")) == ("cancelled", "the run")
        assert len(server.agents.cancelled) == 1 and server.agents.closed == 0
        say(socket, type="ping")
        assert json.loads(socket.recv(timeout=5))["content"] == "pong", "the end is told once"


def test_a_bug_before_the_first_event_is_told(server: Server) -> None:
    def broken(incoming: IncomingMessage) -> list[Act]:
        raise ZeroDivisionError("the inside")

    server.agents.script = broken
    with server.open() as socket:
        say(socket, type="message", message="hi")
        told = chunks(socket)
        assert told[-1]["data"]["code"] == "internal" and "the inside" not in json.dumps(told)


def test_a_client_that_is_gone_stops_the_model(server: Server) -> None:
    """Within five seconds, also where the model has nothing to say."""
    server.agents.script = lambda incoming: [60.0]
    with server.open() as socket:
        say(socket, type="message", message="hi")
        wait_for(lambda: server.agents.live == 1)
        socket.socket.close()
        assert wait_for(lambda: server.agents.closed == 1 and server.agents.live == 0) < 5


def test_hi_02_errors_and_questions_end_a_turn(server: Server) -> None:
    """HI-02: requires_approval over the socket; a bug tells nothing of the inside."""
    with server.open() as socket:
        server.agents.script = lambda incoming: asks_first("a1")
        say(socket, type="message", message="hi")
        assert chunks(socket)[-1]["data"]["approval_request"]["id"] == "a1"
        server.agents.script = lambda incoming: [NotFound("agent Nobody")]
        say(socket, type="message", message="hi")
        assert chunks(socket)[-1]["data"]["code"] == "not_found"
        server.agents.script = lambda incoming: [ZeroDivisionError("the inside")]
        say(socket, type="message", message="hi")
        told = chunks(socket)
        assert told[-1]["data"]["code"] == "internal" and "the inside" not in json.dumps(told)


def test_a_user_who_is_nobody_any_more_is_not_let_in(server: Server, admin_dsn: str) -> None:
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update users set disabled = true where email = %s", (server.office.emails[Role.VIEWER],))
    with server.open() as socket:
        assert chunks(socket)[-1]["data"]["code"] == "credential_ended"
    assert httpx.get(f"{server.url}{PATH}").status_code == 404
