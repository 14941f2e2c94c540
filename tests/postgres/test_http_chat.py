"""Chatting over HTTP: whole replies, streams, errors, the short endpoints; who asks is in the token alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from cluster.basics.errors import NotFound, Overloaded, Unavailable
from cluster.basics.scope import Role
from serve_apps.http.streams.sse import StreamPacing
from tests.fakes.frames import frames
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.orchestrator import Act, ScriptedOrchestrator, asks_first, calls_tool, says


@pytest.fixture
def agents() -> ScriptedOrchestrator:
    return ScriptedOrchestrator()


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, agents: ScriptedOrchestrator) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path, orchestrator=agents, pace=StreamPacing(0.02, 8, 0.05))) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


@pytest.fixture
async def viewer(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.VIEWER])


async def test_gw_03_a_message_is_answered_with_what_it_took(
    viewer: httpx.AsyncClient, agents: ScriptedOrchestrator, office: Office
) -> None:
    """GW-03, OR-07, OB-03: conversation, message, answer and metadata; one way in; the trace is in every reply."""
    agents.script = lambda incoming: calls_tool("It is 42. [1]")
    body = {"message": "What is six times seven?", "session_id": "mine", "use_rag": False, "temperature": 0.1}
    reply = (await viewer.post("/api/chat/Clerk", json=body)).json()
    assert (reply["conversation_id"], reply["answer"], reply["error"]) == ("mine", "It is 42. [1]", None)
    assert reply["message_id"] == reply["run_id"] and reply["confidence"] == 0.9
    assert reply["agent_trace"] == [{"step": "model", "name": "scripted"}]
    metadata = reply["metadata"]
    assert (metadata["tokens"], metadata["model"], metadata["tools_used"]) == (17, "scripted", ["calculator"])
    assert [step["step"] for step in metadata["execution_steps"]] == ["tool", "route", "model"]
    ((scope, asked),) = agents.asked
    assert (asked.agent, asked.message, asked.session) == ("Clerk", body["message"], "mine")
    assert asked.options == {"stream": False, "temperature": 0.1, "use_rag": False}
    assert (scope.tenant, scope.workspace, scope.role) == (office.scope.tenant, office.scope.workspace, Role.VIEWER)
    assert scope.user is not None
    assert "secret thought" not in json.dumps(reply), "reasoning stays inside"


async def test_st_01_a_stream_in_s3s_vocabulary_with_ids(
    viewer: httpx.AsyncClient, agents: ScriptedOrchestrator
) -> None:
    """ST-01, ST-03, ST-05: events by name, text in pieces, `done` with the whole; internals only where asked for."""
    agents.script = lambda incoming: calls_tool("Hello, world.")
    accept = {"Accept": "text/event-stream"}
    answer = await viewer.post("/api/chat/Clerk", json={"message": "hi"}, headers=accept)
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = frames(answer.text)
    assert [name for _, name, _ in told] == ["trace_info", "tool_start", "tool_output", "content", "content", "done"]
    assert [id_ for id_, _, _ in told] == ["1", "3", "4", "6.4", "6.13", "9"]
    assert "".join(body["content"] for _, name, body in told if name == "content") == "Hello, world."
    assert told[0][2]["data"]["run_id"] and told[-1][2]["content"] == "Hello, world."
    assert "secret" not in answer.text and "6*7" not in answer.text
    seen = await viewer.post("/api/chat/Clerk", json={"message": "[VERBOSE] hi", "stream": True})
    assert "A secret thought." in seen.text and "6*7" in seen.text
    assert agents.asked[-1][1].message == "hi" and agents.asked[-1][1].options["verbose"] == "verbose"


async def test_hi_02_a_reply_that_waits_for_a_person_says_so(
    viewer: httpx.AsyncClient, agents: ScriptedOrchestrator
) -> None:
    """HI-02, HI-05: requires_approval with the request, in the reply, in S3's stream and in S4's chunks."""
    agents.script = lambda incoming: asks_first("a1")
    reply = (await viewer.post("/api/chat/Clerk", json={"message": "send it"})).json()
    assert reply["requires_approval"] is True
    assert (reply["approval_request"]["id"], reply["approval_request"]["tool"]) == ("a1", "http_post")
    told = frames((await viewer.post("/api/chat/Clerk", json={"message": "send it", "stream": True})).text)
    assert told[-1][1] == "awaiting_input" and told[-1][2]["data"]["approval"]["digest"] == "d" * 64
    process = {"message": "send it", "agent_id": "Clerk"}
    body = (await viewer.post("/api/v1/agents/process", json=process)).json()
    assert body["requires_approval"] is True and body["approval_request"]["id"] == "a1"
    told = frames((await viewer.post("/api/v1/agents/process", json={**process, "stream": True})).text)
    assert told[-1][2]["data"]["requires_approval"] is True


async def test_gw_06_process_message_and_the_short_chat(
    viewer: httpx.AsyncClient, agents: ScriptedOrchestrator
) -> None:
    """GW-06, GW-20, EX-14: the recovered endpoints; answer, session, trace and confidence."""
    agents.script = lambda incoming: calls_tool("It is 42.")
    body = {"agent_id": "Clerk", "session_id": "s-1", "message": "?"}
    reply = (await viewer.post("/api/v1/agents/process", json=body)).json()
    assert reply["content"] == "It is 42." and reply["tokens_used"] == 17 and reply["execution_time_ms"] >= 0
    assert reply["tool_calls"][0]["name"] == "calculator" and reply["tool_results"][0]["result"] == "42"
    assert reply["reasoning"] == "A secret thought."
    told = frames((await viewer.post("/api/v1/agents/process", json={**body, "stream": True})).text)
    assert {name for _, name, _ in told} == {"status", "tool_call", "tool_result", "text", "done"}
    short = (await viewer.post("/v1/agent/chat", json={"session_id": "s-2", "question": "?"})).json()
    assert (short["answer"], short["session_id"], short["confidence"]) == ("It is 42.", "s-2", 0.9)
    assert short["agent_trace"] and agents.asked[-1][1].options == {"use_rag": False}
    assert agents.asked[-1][1].agent == ""
    for wrong in ({"session_id": "s" * 129, "question": "?"}, {"session_id": "s", "question": "q" * 8_001}):
        assert (await viewer.post("/v1/agent/chat", json=wrong)).status_code == 422


@pytest.mark.parametrize(
    ("error", "status"), [(NotFound("agent Nobody"), 404), (Overloaded("full"), 429), (Unavailable("gone"), 503)]
)
async def test_a_turn_that_is_not_accepted_has_a_status(
    viewer: httpx.AsyncClient, agents: ScriptedOrchestrator, error: Exception, status: int
) -> None:
    agents.script = lambda incoming: [error]
    for stream in (False, True):
        answer = await viewer.post("/api/chat/Nobody", json={"message": "hi", "stream": stream})
        assert answer.status_code == status and answer.json()["code"] == error.code  # type: ignore[attr-defined]


async def test_an_error_in_the_middle_ends_the_stream_and_stands_in_the_reply(
    viewer: httpx.AsyncClient, agents: ScriptedOrchestrator
) -> None:
    """ST-03: a named error has its details, one that nobody named tells nothing of the inside."""
    acts: list[Act] = ["Half an ", Unavailable("the model is gone")]
    agents.script = lambda incoming: acts
    told = frames((await viewer.post("/api/chat/Clerk", json={"message": "hi", "stream": True})).text)
    assert told[-1][1] == "error" and told[-1][2]["data"]["code"] == "unavailable"
    reply = (await viewer.post("/api/chat/Clerk", json={"message": "hi"})).json()
    assert reply["error"]["detail"] == "the model is gone"
    acts[1] = ZeroDivisionError("the inside")
    reply_ = await viewer.post("/api/chat/Clerk", json={"message": "hi"})
    assert reply_.status_code == 500 and "the inside" not in reply_.text
    lines = []
    with pytest.raises(httpx.HTTPError):
        async with viewer.stream("POST", "/api/chat/Clerk", json={"message": "hi", "stream": True}) as answer:
            async for line in answer.aiter_lines():
                lines.append(line)
            raise httpx.ReadError("in process the end of a broken stream cannot be told from a whole one")
    assert not any("the inside" in line for line in lines)


async def test_a_silent_stream_has_a_pulse(viewer: httpx.AsyncClient, agents: ScriptedOrchestrator) -> None:
    agents.script = lambda incoming: [0.3, *says("late")]
    answer = await viewer.post("/api/chat/Clerk", json={"message": "hi", "stream": True})
    assert answer.text.count(": still here") >= 3
    assert StreamPacing().beat <= 15


async def test_x_39_who_asks_is_in_the_token(
    api: Api, viewer: httpx.AsyncClient, agents: ScriptedOrchestrator, office: Office
) -> None:
    """X-39: a tenant, workspace or user in a body is compared, never believed."""
    own = {"message": "hi", "tenant_id": office.scope.tenant, "workspace_id": office.scope.workspace}
    assert (await viewer.post("/api/chat/Clerk", json=own)).status_code == 200
    for name in ("tenant_id", "workspace_id"):
        other = await viewer.post("/api/chat/Clerk", json={"message": "hi", name: str(uuid4())})
        assert (other.status_code, other.json()["code"]) == (403, "scope_mismatch")
        other = await viewer.post("/api/v1/agents/process", json={"message": "hi", name: str(uuid4())})
        assert other.status_code == 403
    other = await viewer.post("/api/v1/agents/process", json={"message": "hi", "user_id": "somebody"})
    assert other.status_code == 403
    own_user = {"message": "hi", "user_id": office.emails[Role.VIEWER]}
    assert (await viewer.post("/api/v1/agents/process", json=own_user)).status_code == 200
    assert (await api.client.post("/api/chat/Clerk", json={"message": "hi"})).status_code == 401
    assert len(agents.asked) == 2


GARBAGE: list[Any] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"message": 5}',
    b'{"message": "a\\u0000b"}',
    b'{"message": "\\ud800"}',
    b'{"message": ""}',
    b'{"message": "hi", "temperature": NaN}',
    b'{"message": "hi", "session_id": ""}',
    b'{"message": "hi", "unknown": 1}',
    b'{"message": "hi", "stream": "perhaps"}',
    b'{"message": {"a": 1}}',
    b'{"message": "hi", "verbose": "loud"}',
    b'{"message": "hi", "session_id": "a", "conversation_id": "b"}',
    b"[" * 50_000,
    b'{"message":' * 5_000,
    b'{"question": "\\u0000", "session_id": "s"}',
    b'{"messages": [], "model": "x"}',
    b'{"messages": [{"role": "user", "content": 5}], "model": "Clerk"}',
    b'{"model": "Clerk", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
    b'{"model": "Clerk", "messages": [{"role": "wizard", "content": "x"}]}',
    b'{"input": [[1, 2]], "model": "fake"}',
    b'{"input": "", "model": "fake"}',
    b'{"input": [], "model": "fake"}',
    b'{"decision": "yes"}',
    b'{"decision": "approve", "arguments": {"a": NaN}}',
    b'{"decision": "reject", "result": 1}',
    b'{"metadata": {"a": "\\u0000"}}',
    b'{"config": {"llm_routing": {"primary_connection_id": "\\u0000"}}}',
]


async def test_garbage_is_refused_and_never_a_bug(api: Api, office: Office, agents: ScriptedOrchestrator) -> None:
    """Whatever is sent: 400, 404, 409, 413 or 422, and no turn begins."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    id_ = (await admin.post("/api/agents", json={"name": "Clerk"})).json()["id"]
    posts = ["/api/chat/Clerk", "/api/v1/agents/process", "/v1/agent/chat", "/v1/chat/completions", "/v1/embeddings"]
    posts += [f"/api/approvals/{uuid4()}", f"/api/runs/{uuid4()}/replay"]
    paths = [("POST", path) for path in posts] + [("PATCH", f"/api/agents/{id_}")]
    for method, path in paths:
        for body in GARBAGE:
            answer = await admin.request(method, path, content=body, headers={"Content-Type": "application/json"})
            told = f"{method} {path} {body[:60]!r}: {answer.status_code}"
            assert answer.status_code in (400, 404, 409, 413, 422), told
    assert agents.asked == []


async def test_strange_paths_are_no_bugs(viewer: httpx.AsyncClient) -> None:
    for path in ("/api/runs/x", f"/api/runs/{uuid4()}", "/api/approvals/x", f"/api/approvals/{uuid4()}"):
        assert (await viewer.get(path)).status_code in (404, 422)
    for name, status in (("x", 404), (str(uuid4()), 404), ("%00", 422), ("a" * 129, 422)):
        assert (await viewer.get(f"/api/v1/agents/stream/{name}")).status_code == status
    for path in ("/api/chat/%00", "/api/chat/" + "a" * 300):
        assert (await viewer.post(path, json={"message": "hi"})).status_code == 422
    assert (await viewer.get("/v1/models/%00")).status_code == 422


async def test_a_hundred_streams_at_once_with_a_pool_of_five(
    app_dsn: str, tmp_path: Path, office: Office, agents: ScriptedOrchestrator
) -> None:
    """No connection is held while a turn runs, so a small pool serves many readers."""
    from cluster.state.db.postgres import Database

    agents.script = lambda incoming: ["a", 1.5, *says("abcd", pieces=["bcd"])[2:]]
    parts = make_parts(app_dsn, tmp_path, orchestrator=agents, pace=StreamPacing(0.02, 8, 5))
    small = Database(app_dsn, size=5, timeout=20)
    parts = make_parts(app_dsn, tmp_path, orchestrator=agents, database=small, identity=type(parts.identity)(small))
    async with serve(parts) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])

        async def chat(number: int) -> str:
            body = {"message": f"number {number}", "stream": True}
            return (await admin.post("/api/chat/Clerk", json=body)).text

        told = await asyncio.gather(*(chat(number) for number in range(100)))
    assert agents.most_live == 100
    for text in told:
        assert "".join(body["content"] for _, name, body in frames(text) if name == "content") == "abcd"
