"""Answers by the workspace's models over real HTTP: connected while it runs, streamed as drafts, killed half-way."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from configs.settings import load_settings
from serve_apps.retrieval.answers.answerer import NO_REPLY
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.http import Office, open_office
from tests.fakes.listening import listening, token
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, failing
from tests.fakes.models import FakeEmbedder

pytestmark = pytest.mark.postgres

LEASE = "The lease of the cold store ends in May. The rent is paid each quarter."
QUESTION = "When does the lease of the cold store end?"
REPLY = 'The lease ends in May. [1: "The lease of the cold store ends in May."]'
WITHIN_SECONDS = 5.0


@dataclass
class House:
    """The API over real HTTP, and an administrator of a workspace with one document."""

    http: httpx.AsyncClient
    office: Office

    async def connect(self, name: str, url: str, *, default: bool = True) -> str:
        wanted = {"name": name, "base_url": url, "model": "scripted-1", "default": default}
        made = await self.http.post("/api/llm-connections", json=wanted)
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    async def ask(self, question: str = QUESTION) -> dict[str, Any]:
        answer = await self.http.post("/api/ask", json={"question": question})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    @asynccontextmanager
    async def asking(self, path: str, **body: Any) -> AsyncIterator[AsyncIterator[tuple[str, Any, float]]]:
        """The events of a stream as they come: name, data, seconds on the monotonic clock."""
        async with self.http.stream("POST", path, json=body | {"stream": True}) as answer:
            assert answer.status_code == 200, await answer.aread()
            yield read_events(answer)


async def read_events(answer: httpx.Response) -> AsyncIterator[tuple[str, Any, float]]:
    name = ""
    async for line in answer.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: ")), time.monotonic()


@pytest.fixture
def office(admin_dsn: str) -> Iterator[Office]:
    office = open_office(admin_dsn)
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        generation = corpus.open_generation(admin, office.scope)
        corpus.load(admin, office.scope, generation, [Book("lease.txt", [Passage(LEASE, vector=hash_vector(LEASE))])])
    yield office


@pytest.fixture
async def house(office: Office, app_dsn: str, redis_url: str, tmp_path: Path) -> AsyncIterator[House]:
    environment = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn, "REDIS_URL": redis_url}
    environment |= {"AOS_MODELS_ALLOW": "127.0.0.1"}
    parts = build_app_dependencies(load_settings(environment), FakeEmbedder(), None, lambda: pytest.fail("elsewhere"))
    with listening(replace(parts)) as url:
        headers = {"Authorization": f"Bearer {token(url, office.emails[Role.ADMIN])}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30) as http:
            yield House(http, office)


async def test_mr_a_connection_that_is_added_answers_the_next_question(house: House) -> None:
    """MR-07, OR-03: without a restart, though the same question was answered and remembered before; and back again."""
    before = await house.ask()
    assert (before["mode"], before["model"], before["usage"]) == ("extractive", None, None)
    with serve_model(Say(REPLY)) as model:
        made = await house.connect("ours", model.url)
        answer = await house.ask()
        assert (answer["mode"], answer["model"]) == ("generated", "scripted-1"), answer["fallback"]
        assert answer["answer"] == "The lease ends in May. [1]" and answer["citations"][0]["filename"] == "lease.txt"
        assert answer["usage"]["connection"] == "ours" and answer["usage"]["completion_tokens"] > 0
        again = await house.ask()
        assert again["answer"] == answer["answer"] and again["usage"] is None, "it was remembered: nothing was spent"
        assert len(model.chats) == 1
        assert (await house.http.delete(f"/api/llm-connections/{made}")).status_code < 300
    assert (await house.ask())["mode"] == "extractive"


@pytest.mark.parametrize(
    ("path", "body"), [("/api/ask", {"question": QUESTION}), ("/api/chat/assistant", {"message": f"/docs {QUESTION}"})]
)
async def test_or_03_words_of_a_model_reach_the_client_while_it_writes(
    house: House, path: str, body: dict[str, Any]
) -> None:
    """OR-03, GW: the draft comes before the model has ended, and the checked answer with its citation at the end."""
    with serve_model(Say(REPLY, size=6, between=0.05)) as model:
        await house.connect("ours", model.url)
        drafts, answer, first = list[str](), None, None
        async with house.asking(path, **body) as events:
            async for name, data, at in events:
                if name == "draft" or (name == "thinking" and data["data"]["kind"] == "draft"):
                    first = first or at
                    drafts.append(data.get("text") or data.get("content"))
                elif name in ("answer", "done"):
                    answer, ended = data, at
    assert "".join(drafts) == "The lease ends in May.", "evidence in brackets is no part of a draft"
    assert len(drafts) > 1 and first is not None and ended - first > 0.2, "it came word by word"
    assert answer is not None
    text = answer["answer"] if path == "/api/ask" else answer["data"]["answer"]
    assert text == "The lease ends in May. [1]"


async def test_a_chat_counts_what_its_documents_path_took_of_a_model(house: House) -> None:
    """MR: tokens of an answer from the documents are the run's, as those of any other model call."""
    with serve_model(Say(REPLY)) as model:
        await house.connect("ours", model.url)
        said = await house.http.post(
            "/v1/chat/completions",
            json={"model": "assistant", "messages": [{"role": "user", "content": f"/docs {QUESTION}"}]},
        )
    assert said.status_code == 200, said.text
    usage = said.json()["usage"]
    assert usage["prompt_tokens"] > 50 and usage["completion_tokens"] == -(-len(REPLY) // 4)


@pytest.mark.parametrize("after", ["cut", "stop", "garbage"])
async def test_re_01_a_model_that_is_killed_half_way_is_named_and_the_documents_answer(
    house: House, after: Any
) -> None:
    """RE-01, MR: within five seconds, streamed or not; the draft of the dead is no part of the answer."""
    with serve_model(Say(REPLY, size=6, upto=3, after=after)) as model:
        await house.connect("ours", model.url)
        began = time.monotonic()
        answer = await house.ask()
        assert time.monotonic() - began < WITHIN_SECONDS
        async with house.asking("/api/ask", question=f"{QUESTION} Please.") as events:
            told = [(name, data) async for name, data, _ in events]
        assert time.monotonic() - began < 2 * WITHIN_SECONDS
    for one in (answer, told[-1][1]):
        assert one["mode"] == "extractive" and one["model"] is None
        assert one["answer"].startswith("The lease of the cold store ends in May. [1]")
        assert one["fallback"] and one["fallback"].startswith("extractive, "), one["fallback"]
    assert [name for name, _ in told[:-1]] == ["draft"] * (len(told) - 1) and told[-1][0] == "answer"


async def test_re_01_a_model_that_never_replied_is_said_as_such(house: House) -> None:
    """RE-01: never "not found in the documents": nobody has read them."""
    with serve_model(failing(500)) as model:
        await house.connect("ours", model.url)
    answer = await house.ask("Does the cold store have a lease with a clause on subletting to others?")
    if answer["mode"] == "not_found":
        assert answer["answer"] == NO_REPLY and "model" in answer["abstained"]
    else:
        assert "extractive, " in str(answer["fallback"])


async def test_mr_another_connection_answers_and_the_answer_says_which_was_left(house: House) -> None:
    """MR: the fallback of a connection is told with the answer, and in a chat as an event."""
    with serve_model(failing(401)) as dead, serve_model(Say(REPLY)) as alive:
        first = await house.connect("dead", dead.url)
        assert (await house.ask())["mode"] == "extractive"
        await house.connect("alive", alive.url)
        routing = {"primary_connection_id": first}
        agents = (await house.http.get("/api/agents")).json()["items"]
        own = next(one["id"] for one in agents if one["name"] == "assistant")
        changed = await house.http.patch(f"/api/agents/{own}", json={"config": {"llm_routing": routing}})
        assert changed.status_code == 200, changed.text
        answer = await house.ask()
        assert (answer["mode"], answer["usage"]["connection"]) == ("generated", "alive")
        assert "dead was left for alive" in answer["fallback"]
        said = {"message": f"/docs {QUESTION}", "verbose": "debug"}
        async with house.asking("/api/chat/assistant", **said) as events:
            kinds = [data["data"] async for _, data, _ in events]
    (left,) = [one for one in kinds if one["kind"] == "fallback"]
    assert (left["left"], left["taken"]) == ("dead", "alive")
    (usage,) = [one for one in kinds if one["kind"] == "usage"]
    assert usage["connection"] == "alive"


async def test_or_03_a_follow_up_goes_where_the_answer_came_from(house: House) -> None:
    """OR-03: without a word that names documents; thanks are no question, and what documents do not hold is GENERAL's.

    Who follows nothing goes on as before.
    """

    async def say(session: str, message: str) -> tuple[str, str]:
        said = {"message": message, "session_id": session, "verbose": "debug"}
        path = ""
        async with house.asking("/api/chat/assistant", **said) as events:
            async for _, told, _ in events:
                path = told["data"]["path"] if told["data"]["kind"] == "route" else path
                answer = told["data"].get("answer", "")
        return path, answer

    assert "ends in May" in (await say("first", f"/docs {QUESTION}"))[1]
    assert await say("first", "And when is the rent paid?") == ("documents", "The rent is paid each quarter. [1]")
    for session, message in (
        ("first", "Thanks!"),
        ("second", "And when is the rent paid?"),
        ("second", "Summarise it"),
        ("second", "Write a summary of French cooking"),
    ):
        assert (await say(session, message))[0] == "general"
    for message in ("Summarise it in one sentence", "summarise lease.txt", "What is our lease about?"):
        path, answer = await say("first", message)
        assert path == "documents" and "[1]" in answer, message


async def test_a_reader_who_leaves_stops_the_model(house: House) -> None:
    """GW: an answer that nobody waits for is not paid for to its end."""
    with serve_model(Say(REPLY, size=4, upto=4, after="forever", between=0.02)) as model:
        await house.connect("ours", model.url)
        async with house.asking("/api/ask", question=QUESTION) as events:
            async for name, _, _ in events:
                assert name == "draft"
                break
        (asked,) = model.chats
        assert asked.closed.wait(5), "the model goes on though nobody reads"


async def test_what_is_refused_before_the_first_word_is_a_status(house: House) -> None:
    answer = await house.http.post("/api/ask", json={"question": QUESTION, "agent_id": "nobody", "stream": True})
    assert answer.status_code == 404, answer.text
