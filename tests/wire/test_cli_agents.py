"""The commands for agents against a real HTTP server: chat, runs, replay, approvals, connections."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.cli import run_command
from cluster.console.login_tokens import CredentialsFile, LoginTokens
from tests.fakes.api_server import ApiServer

APPROVAL = {"id": "a1", "tool": "http_post", "arguments": {"url": "https://x.example"}, "reason": "http_* asks"}


def sse(*events: tuple[str, str, dict[str, Any]], first: int = 1) -> str:
    told = ": still here\n\n"
    for number, (name, content, data) in enumerate(events, first):
        told += f"id: {number}\nevent: {name}\ndata: {json.dumps({'type': name, 'content': content, 'data': data})}\n\n"
    return told


ACCEPTED = ("trace_info", "accepted", {"state": "accepted", "run_id": "r1", "session_id": "s1"})
ASKED = ("awaiting_input", "", {"approval": APPROVAL})
ANSWERED = (("content", "It is ", {}), ("content", "42. [1]", {}), ("done", "It is 42. [1]", {"finish_reason": "stop"}))


def test_chat_streams_the_answer_with_its_sources(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    cited = ("content", "", {"n": 1, "filename": "lease.pdf", "page": 3})
    tool = ("tool_start", "", {"id": "c", "name": "calculator"})
    api.answers["POST /api/chat/My%20Clerk"] = sse(ACCEPTED, tool, *ANSWERED[:2], cited, ANSWERED[2])
    assert run_command(["chat", "My Clerk", "What is it?", "--session", "mine"]) == 0
    (call,) = api.of("POST /api/chat/My%20Clerk")
    assert call.body == {"message": "What is it?", "session_id": "mine", "stream": True, "verbose": False}
    shown = capsys.readouterr().out
    assert "It is 42. [1]" in shown and "[calculator]" in shown and "[1] lease.pdf, page 3" in shown


def test_chat_prints_json_for_scripts(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    reply = {"answer": "42", "conversation_id": "s1", "run_id": "r1", "requires_approval": False, "error": None}
    api.answers["POST /api/chat/Clerk"] = [reply, reply | {"requires_approval": True}, reply | {"error": {"code": "x"}}]
    for code in (0, 3, 1):
        assert run_command(["chat", "Clerk", "hi", "--json"]) == code
        assert json.loads(capsys.readouterr().out)["answer"] == "42"
    assert run_command(["chat", "Clerk", "--json"]) == 1


def test_chat_without_a_person_leaves_the_decision_to_others(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["POST /api/chat/Clerk"] = sse(ACCEPTED, ASKED)
    assert run_command(["chat", "Clerk", "send it"]) == 3
    shown = capsys.readouterr().out
    assert "https://x.example" in shown and "aos approvals approve a1" in shown
    assert not [call for call in api.calls if "approvals" in call.path]


Converse = Callable[..., tuple[int, str]]


@pytest.fixture
def converse(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Converse:
    """At a terminal, where this is typed."""

    def at_a_terminal(typed: str, *arguments: str) -> tuple[int, str]:
        leader, follower = os.openpty()
        os.write(leader, typed.encode())
        with open(follower, encoding="utf-8") as terminal:  # noqa: PTH123
            monkeypatch.setattr(sys, "stdin", terminal)
            code = run_command(["chat", *arguments])
        os.close(leader)
        return code, capsys.readouterr().out

    return at_a_terminal


@pytest.mark.parametrize(("typed", "decision"), [("y\n", "approve"), ("n\n", "reject"), ("\n", "reject")])
def test_chat_asks_in_place_and_goes_on(api: ApiServer, converse: Converse, typed: str, decision: str) -> None:
    api.answers["POST /api/chat/Clerk"] = sse(ACCEPTED, ASKED)
    api.answers["POST /api/approvals/a1"] = {"id": "a1", "tool": "http_post", "state": decision, "run_id": "r1"}
    api.answers["GET /api/runs/r1/events"] = sse(*ANSWERED, first=3)
    code, shown = converse(typed, "Clerk", "send it")
    assert code == 0, shown
    assert "Approval needed: http_post" in shown and "It is 42." in shown
    assert [call.body for call in api.of("POST /api/approvals/a1")] == [{"decision": decision}]
    (followed,) = api.of("GET /api/runs/r1/events")
    assert followed.headers["Last-Event-ID"] == "2"


def test_hi_06_what_an_agent_asks_is_answered_by_the_next_line(
    api: ApiServer, converse: Converse, capsys: pytest.CaptureFixture[str]
) -> None:
    """HI-06: shown as the agent's words; alone it exits 3, in a conversation the next line answers it."""
    question = {"id": "i1", "question": "Which?", "category": "clarification", "options": ["a"], "expires_at": None}
    asks = ("awaiting_input", "Which?\n1. a", {"kind": "input_required", "input": question})
    api.answers["POST /api/chat/Clerk"] = [sse(ACCEPTED, asks), sse(ACCEPTED, asks), sse(ACCEPTED, *ANSWERED)]
    assert run_command(["chat", "Clerk", "plan it"]) == 3
    assert "Which?\n1. a" in capsys.readouterr().out
    code, shown = converse("plan it\na\n\x04", "Clerk")
    assert code == 0 and "Which?" in shown and "It is 42." in shown
    assert (api.calls[-1].body["session_id"], api.calls[-1].body["message"]) == ("s1", "a")


def test_chat_says_who_may_decide(api: ApiServer, converse: Converse) -> None:
    api.answers["POST /api/chat/Clerk"] = sse(ACCEPTED, ASKED)
    api.answers["POST /api/approvals/a1"] = (403, {"detail": "this needs the role operator", "fix": ""})
    code, shown = converse("y\n", "Clerk", "send it")
    assert code == 3 and "needs the role operator" in shown and "aos approvals approve a1" in shown


def test_chat_without_a_message_is_a_conversation(api: ApiServer, converse: Converse) -> None:
    api.answers["POST /api/chat/Clerk"] = sse(ACCEPTED, *ANSWERED)
    code, shown = converse("one\n\ntwo\n\x04", "Clerk")
    assert code == 0 and shown.count("It is 42.") == 2
    sent = [call.body.get("session_id") for call in api.of("POST /api/chat/Clerk")]
    assert sent == [None, "s1"], "the second message goes on with the first one's session"


def test_what_a_model_writes_does_not_command_the_terminal(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["POST /api/chat/Clerk"] = sse(ACCEPTED, ("content", "\x1b[2Jcleared\x07", {}), ANSWERED[2])
    assert run_command(["chat", "Clerk", "hi"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\x07" not in shown and "cleared" in shown


def test_chat_ends_with_what_went_wrong(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    failed = ("error", "nobody answers", {"code": "unavailable", "title": "A part cannot be reached.", "fix": "Wait."})
    api.answers["POST /api/chat/Clerk"] = [sse(ACCEPTED, failed), sse(ACCEPTED), (404, {"detail": "agent Clerk"})]
    assert run_command(["chat", "Clerk", "hi"]) == 1
    assert "nobody answers" in capsys.readouterr().err
    assert run_command(["chat", "Clerk", "hi"]) == 1
    assert "aos runs resume r1" in capsys.readouterr().out, "a stream without an end"
    assert run_command(["chat", "Clerk", "hi"]) == 1
    assert "agent Clerk" in capsys.readouterr().err


def test_an_expired_token_is_renewed_before_the_stream(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AOS_TOKEN")
    api.token = "access-2"
    CredentialsFile.of(tmp_path).write(api.url, LoginTokens("access-1", "refresh-1"))
    api.answers["POST /api/auth/refresh"] = {"access_token": "access-2", "refresh_token": "refresh-2"}
    api.answers["POST /api/chat/Clerk"] = sse(ACCEPTED, *ANSWERED)
    assert run_command(["chat", "Clerk", "hi"]) == 0
    assert "It is 42." in capsys.readouterr().out


RUN = {
    "id": "r1",
    "state": "completed",
    "path": "general",
    "ms": 12,
    "cost_usd": 0.001,
    "prompt_tokens": 3,
    "completion_tokens": 4,
    "created_at": "2026-11-22T10:00:00Z",
    "error": None,
    "steps": [{"seq": 1, "kind": "model", "name": "chat", "state": "done", "ms": 12, "cost_usd": 0.001}],
}


def test_runs_are_listed_shown_watched_resumed_and_cancelled(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers |= {
        "GET /api/runs": {"items": [RUN], "total": 1},
        "GET /api/runs/r1": RUN,
        "GET /api/runs/r1/events": [
            sse(ACCEPTED, ASKED, ("skill_activity", "", {"kind": "approval_decided"})),
            sse(*ANSWERED, first=4),
        ],
        "POST /api/runs/r1/resume": {"answer": "Done [now].", "requires_approval": False, "error": None},
        "POST /api/runs/r1/cancel": RUN | {"state": "cancelled"},
    }
    assert run_command(["runs", "list", "--state", "completed"]) == 0
    assert run_command(["runs", "show", "r1"]) == 0
    shown = capsys.readouterr().out
    assert "completed" in shown and "chat" in shown
    assert run_command(["runs", "watch", "r1"]) == 0
    assert "It is 42." in capsys.readouterr().out
    assert [call.headers.get("Last-Event-ID") for call in api.of("GET /api/runs/r1/events")] == [None, "3"]
    assert run_command(["runs", "resume", "r1"]) == 0
    assert "Done [now]." in capsys.readouterr().out
    assert run_command(["runs", "cancel", "r1"]) == 0
    assert run_command(["runs", "show", "r2", "--json"]) == 1


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ([], {}),
        (["--with", "model=small"], {"model": "small"}),
        (["--with", "prompt=Be = rude."], {"prompt": "Be = rude."}),
        (["--with", "model=a", "--with", "prompt=b"], {"model": "a", "prompt": "b"}),
    ],
)
def test_replay_exits_with_whether_it_is_the_same(
    api: ApiServer, capsys: pytest.CaptureFixture[str], options: list[str], body: dict[str, str]
) -> None:
    other = {"step": 2, "event": None, "name": "chat", "recorded": ["act"], "now": "answer"}
    api.answers["POST /api/runs/r1/replay"] = [
        {"same": True, "steps": 3, "events": 9, "diverged": None},
        {"same": False, "diverged": other},
    ]
    assert run_command(["replay", "r1", *options]) == 0
    assert "The same, in 3 steps and 9 events." in capsys.readouterr().out
    assert run_command(["replay", "r1", *options, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["diverged"]["step"] == 2
    assert run_command(["replay", "r1", *options]) == 3
    assert "Diverges at step 2, chat" in capsys.readouterr().out
    assert [call.body for call in api.of("POST /api/runs/r1/replay")] == [body] * 3


def test_replay_takes_model_and_prompt_only(api: ApiServer) -> None:
    for wrong in ("temperature=1", "model", "model="):
        assert run_command(["replay", "r1", "--with", wrong]) == 1
    assert api.calls == []


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["approve", "a1"], {"decision": "approve", "notes": ""}),
        (
            ["approve", "a1", "--arguments", '{"url": "u"}'],
            {"decision": "approve", "notes": "", "arguments": {"url": "u"}},
        ),
        (["reject", "a1", "--notes", "too early"], {"decision": "reject", "notes": "too early"}),
        (["reconcile", "a1", "happened", "--result", "5"], {"decision": "happened", "notes": "", "result": 5}),
    ],
)
def test_approvals_are_decided(api: ApiServer, words: list[str], body: dict[str, Any]) -> None:
    row = {"id": "a1", "tool": "act", "arguments": {}, "state": "approved", "run_id": "r1"}
    api.answers |= {"POST /api/approvals/a1": row, "GET /api/approvals": {"items": [row], "total": 1}}
    assert run_command(["approvals", "list"]) == run_command(["approvals", "list", "--state", "all", "--json"]) == 0
    assert [call.path.partition("?")[2] for call in api.of("GET /api/approvals")] == ["state=pending", ""]
    assert run_command(["approvals", *words]) == 0
    assert [call.body for call in api.of("POST /api/approvals/a1")] == [body]
    assert run_command(["approvals", "approve", "a1", "--arguments", "{"]) == 1
    assert run_command(["approvals", "reconcile", "a1", "perhaps"]) == 1


def test_connections_are_added_tested_and_removed(
    api: ApiServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"id": "c1", "name": "local", "provider": "openai_compatible", "model": "m", "base_url": "u", "has_key": True}
    works = {"ok": True, "endpoint": "http://x/v1", "latency_ms": 3.2, "model_listed": False, "detail": ""}
    api.answers |= {
        "GET /api/llm-connections": {"items": [row]},
        "POST /api/llm-connections": (201, row),
        "POST /api/llm-connections/c1/test": [
            works,
            works | {"ok": False, "reason": "refused", "detail": "[Errno 111]"},
        ],
        "DELETE /api/llm-connections/c1": {},
    }
    assert run_command(["connections", "list"]) == 0
    secret = tmp_path / "key"
    secret.write_text("sk-1\n")
    with secret.open() as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        assert (
            run_command(["connections", "add", "local", "http://x/v1", "m", "--key-stdin", "--no-tools", "--default"])
            == 0
        )
    (call,) = api.of("POST /api/llm-connections")
    assert call.body == {
        "name": "local",
        "base_url": "http://x/v1",
        "model": "m",
        "price_in": 0,
        "price_out": 0,
        "default": True,
        "supports_tools": False,
        "key": "sk-1",
    }
    assert run_command(["connections", "test", "c1"]) == 0
    assert "does not name this one" in capsys.readouterr().out
    assert run_command(["connections", "test", "c1"]) == 1
    assert "refused: [Errno 111]" in capsys.readouterr().out
    assert run_command(["connections", "remove", "c1"]) == 0


@pytest.mark.parametrize("words", [["chat"], ["replay"], *([group] for group in ("runs", "approvals", "connections"))])
def test_help_has_examples(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run_command([*words, "--help"])
    shown = capsys.readouterr().out
    assert "Example" in shown or "approve" in shown or "Commands" in shown
