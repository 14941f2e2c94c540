"""HI-06 on a real database: a question outlives its process, the next message answers it, once, by whoever may."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Role
from cluster.state.approvals import ReviewVerdict
from serve_apps.agents import turn_ports
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.inquiries.inquiry import NAME, NOBODY
from serve_apps.agents.inquiries.replies import AlreadyAnswered
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.wiring.agents import TurnRuntime, build_container, build_turn_intake
from tests.fakes.frames import frames
from tests.fakes.http import make_parts, serve
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder
from tests.fakes.workplace import Workplace, workplace

pytestmark = pytest.mark.postgres

QUESTION = Say(calls=(Use(NAME, {"question": "Which city?", "category": "selection", "options": ["Berlin", "Rome"]}),))


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as served:
        yield served


@pytest.fixture
async def bench(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> AsyncIterator[Workplace]:
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model) as made:
        yield made


def kinds(events: list[Event]) -> list[str]:
    return [str(event.kind) for event in events if not event.piece]


async def test_hi_06_the_next_message_answers_the_question(bench: Workplace) -> None:
    """HI-06: the same run goes on; the model is asked once for each part; the conversation reads as it was."""
    bench.model.replies[:] = [QUESTION, Say("Berlin it is.")]
    asked = await bench.tell("/chat Plan my trip")
    assert asked[-1].kind is EventKind.INPUT_REQUIRED
    assert asked[-1].data["input"]["options"] == ["Berlin", "Rome"]
    run = asked[0].data["run_id"]
    assert await bench.until(run, "waiting") == "waiting"
    answer = await bench.tell("1")
    assert answer[0].data["run_id"] == run and answer[-1].kind is EventKind.DONE
    assert kinds(answer)[:3] == ["status", "input_given", "status"], "what was told before is not told again"
    assert answer[-1].data["answer"] == "Berlin it is." and len(bench.model.chats) == 2
    told = bench.model.chats[-1].body["messages"][-1]
    assert told["role"] == "tool" and json.loads(told["content"]) == {"reply": "1", "selected": "Berlin"}
    session = await bench.base.conversations.show(bench.ann, "trip")
    said = await bench.base.conversations.messages(bench.ann, session.id)
    assert [(one.role, one.text, one.run) for one in said] == [
        ("user", "/chat Plan my trip", run),
        ("assistant", "Which city?\n1. Berlin\n2. Rome", run),
        ("user", "1", run),
        ("assistant", "Berlin it is.", run),
    ]
    stored = await bench.runs.events_after(bench.ann, run, 0)
    assert [row["seq"] for row in stored] == list(range(1, len(stored) + 1))
    async with bench.base.database.transaction(bench.ann) as tx:
        trail = await tx.all("select action, actor, detail from audit where action = 'input.reply'")
    assert [(row["actor"], row["detail"]) for row in trail] == [(bench.ann.user, {"run": run})]


async def test_hi_06_a_kill_between_question_and_answer_loses_nothing(bench: Workplace) -> None:
    """HI-06, RE-01: the process that asked is gone; another one, with nothing in memory, takes the answer."""
    bench.model.replies[:] = [QUESTION, Say("Rome it is.")]
    run = (await bench.tell("/chat Plan my trip"))[0].data["run_id"]
    other_base = build_container(bench.settings, FakeEmbedder(), None)
    await other_base.database.open()
    other = TurnRuntime(bench.settings, other_base)
    try:
        way_in = build_turn_intake(bench.settings, other_base, dict.fromkeys(turn_ports.TurnPath, other.carrier))
        events = [one async for one in way_in.process(bench.ann, IncomingMessage("", "Rome", "trip", person=True))]
        assert events[-1].data["answer"] == "Rome it is." and events[0].data["run_id"] == run
    finally:
        await other.close()
        await other_base.close()
        await other_base.database.close()


async def test_hi_06_an_answer_whose_reader_is_gone_can_be_taken_up(bench: Workplace, admin_dsn: str) -> None:
    """HI-06: killed after the answer was stored and before anybody carried it on; its run is resumed as any other."""
    bench.model.replies[:] = [QUESTION, Say("Rome it is.")]
    run = (await bench.tell("/chat Plan my trip"))[0].data["run_id"]
    row = await bench.base.approvals.question(bench.ann, "trip", str(bench.ann.user))
    assert row is not None
    async with bench.base.database.transaction(bench.ann) as tx:
        await bench.base.approvals.reply(tx, bench.ann, str(row["id"]), "Rome", 0.2)
    assert await bench.until(run, "interrupted") == "interrupted"
    events = [event async for event in bench.desk.resume(bench.ann, turn_ports.RunId(run))]
    assert events[-1].data["answer"] == "Rome it is." and len(bench.model.chats) == 2


async def test_hi_06_an_answer_sent_twice_goes_on_once(bench: Workplace) -> None:
    """HI-06: at the same moment and while the turn is under way; the second is told so and begins no turn."""
    bench.model.replies[:] = [QUESTION, Say("Rome it is, then.", wait=1.0)]
    run = (await bench.tell("/chat Plan my trip"))[0].data["run_id"]
    ended = await asyncio.gather(*(bench.tell("Rome") for _ in range(4)), return_exceptions=True)
    won = [one for one in ended if not isinstance(one, BaseException)]
    assert len(won) == 1 and all(isinstance(one, AlreadyAnswered) for one in ended if isinstance(one, BaseException))
    assert won[0][-1].data["answer"] == "Rome it is, then." and len(bench.model.chats) == 2
    session = await bench.base.conversations.show(bench.ann, "trip")
    said = await bench.base.conversations.messages(bench.ann, session.id)
    assert [one.text for one in said if one.role == "user"] == ["/chat Plan my trip", "Rome"]
    assert {one.run for one in said} == {run}


async def test_hi_06_who_may_not_see_the_conversation_cannot_answer(bench: Workplace) -> None:
    """HI-06: neither by the session's id, nor by its name, nor through the approvals; nor a machine in its name."""
    bench.model.replies[:] = [QUESTION, Say("Something else.")]
    run = (await bench.tell("/chat Plan my trip"))[0].data["run_id"]
    row = await bench.base.approvals.question(bench.ann, "trip", str(bench.ann.user))
    assert row is not None
    boss = bench.people[Role.ADMIN]
    with pytest.raises(NotFound):
        await bench.tell("Rome", str(row["session_id"]), scope=boss)
    await bench.tell("/chat Rome", scope=boss)  # their own conversation of that name
    await bench.tell("/chat Rome", person=False)  # MCP: a machine begins a turn of its own
    assert await bench.until(run, "waiting") == "waiting"
    found, total = await bench.base.approvals.page(boss, state="pending")
    assert (found, total) == ([], 0), "a question is part of a conversation"
    with pytest.raises(Conflict):
        await bench.base.approvals.decide(boss, str(row["id"]), ReviewVerdict.APPROVED)


async def test_hi_06_a_question_ends_with_its_time_or_its_run(bench: Workplace, admin_dsn: str) -> None:
    """HI-06, X-37: late is no answer, and the run goes on by itself; a cancelled run waits for none."""
    bench.model.replies[:] = [QUESTION, Say("I assume Berlin.")]
    run = (await bench.tell("/chat Plan my trip"))[0].data["run_id"]
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update approvals set expires_at = now() - interval '1 s' where run_id = %s", (run,))
    assert await bench.until(run, "completed", "failed") == "completed"
    told = bench.model.chats[-1].body["messages"][-1]["content"]
    assert "unanswered" in told
    bench.model.replies[:] = [QUESTION, Say("A new turn.")]
    second = (await bench.tell("/chat Plan another"))[0].data["run_id"]
    await bench.desk.cancel(bench.ann, turn_ports.RunId(second))
    events = await bench.tell("/chat Rome")
    assert events[0].data["run_id"] != second and events[-1].data["answer"] == "A new turn."


async def test_hi_06_a_schedule_has_nobody_to_ask(bench: Workplace) -> None:
    """HI-06: an unattended turn is not offered the tool, and a model that calls it all the same is told why not."""
    bench.model.replies[:] = [QUESTION, Say("I assume Berlin.")]
    turn = await bench.desk.accept(bench.ann, IncomingMessage("", "/chat Plan", "nightly", person=True), attended=False)
    assert await bench.until(turn.run, "completed", "failed") == "completed"
    assert NAME not in json.dumps(bench.model.chats[0].body["tools"])
    assert NOBODY in json.dumps(bench.model.chats[-1].body["messages"])


@pytest.fixture
async def client(bench: Workplace, app_dsn: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(make_parts(app_dsn, tmp_path, orchestrator=bench.desk)) as api:
        yield await api.sign_in(bench.office.emails[Role.OPERATOR])


async def test_hi_06_over_http_and_openais_route(bench: Workplace, client: httpx.AsyncClient) -> None:
    """HI-06, GW-03: in the reply, in the stream, in a completion, and in the conversation until it is answered."""
    bench.model.replies[:] = [QUESTION, Say("Rome it is.")]
    body = {"message": "/chat Plan my trip", "session_id": "web"}
    reply = (await client.post("/api/chat/assistant", json=body)).json()
    assert reply["requires_input"] is True and reply["input_request"]["question"] == "Which city?"
    assert reply["requires_approval"] is False
    session = (await client.get("/api/sessions/web")).json()
    assert session["pending_input"]["options"] == ["Berlin", "Rome"]
    assert session["pending_input"]["run_id"] == reply["run_id"]
    sent = await client.post("/api/chat/assistant", json={"message": "Rome", "session_id": "web", "stream": True})
    told = frames(sent.text)
    assert told[0][2]["data"]["run_id"] == reply["run_id"] and told[-1][1] == "done"
    assert (await client.get("/api/sessions/web")).json()["pending_input"] is None
    bench.model.replies[:] = [QUESTION, Say("Berlin it is.")]
    completion = {"model": "assistant", "messages": [{"role": "user", "content": "/chat Plan"}], "session_id": "gpt"}
    made = (await client.post("/v1/chat/completions", json=completion)).json()
    shown = made["choices"][0]["message"]["content"]
    assert shown == "Which city?\n1. Berlin\n2. Rome" and made["choices"][0]["finish_reason"] == "stop"
    said = [*completion["messages"], {"role": "assistant", "content": shown}, {"role": "user", "content": "Berlin"}]
    again = (await client.post("/v1/chat/completions", json={**completion, "messages": said})).json()
    assert again["aos"]["run_id"] == made["aos"]["run_id"]
    assert again["choices"][0]["message"]["content"] == "Berlin it is."
