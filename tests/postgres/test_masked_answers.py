"""Answers under a policy that masks them: nothing of what is planted reaches a reader, a row or Redis."""

import json
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from configs.settings import load_settings
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import Api, Office, open_office, serve
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import ScriptedOrchestrator
from tests.fakes.planted import plant_values
from tests.postgres.test_planted_values import kept_in_redis, kept_rows, planted_in

pytestmark = pytest.mark.postgres

VALUES = tuple(islice(plant_values(2026), 12))  # of those that `planted_in` looks for
SAID = ". And then ".join(one.said for one in VALUES)
ANSWER = f"The file has a list of contacts in it, as follows here. {SAID}. That is all that there is in it."
POLICIES = "/api/data-governance/policies"
LINE = "The contract was signed by ann.planted@mail1.example.org on behalf of the tenant."


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as server:
        yield server


@pytest.fixture
def environment(app_dsn: str, redis_url: str, tmp_path: Path) -> dict[str, str]:
    places = {"AOS_STATE_DIR": str(tmp_path / "state"), "DATABASE_URL": app_dsn, "REDIS_URL": redis_url}
    return {**places, "AOS_AGENTS_PLACEMENT": "inproc", "AOS_AGENTS_PLANNING_ENABLED": "false"}


@pytest.fixture
async def library(environment: dict[str, str]) -> AsyncIterator[Api]:
    """Without a model: answers are sentences of the documents."""
    parts = build_app_dependencies(load_settings(environment), FakeEmbedder(), None, ScriptedOrchestrator)
    async with serve(parts) as made:
        yield made


@pytest.fixture
async def api(environment: dict[str, str], model: ModelServer) -> AsyncIterator[Api]:
    llm = {"LLM_BASE_URL": model.url, "LLM_DEFAULT_MODEL": "scripted-1", "AOS_LLM_SUPPORTS_TOOLS": "true"}
    parts = build_app_dependencies(load_settings(environment | llm), FakeEmbedder(), None, ScriptedOrchestrator)
    async with serve(parts) as made:
        yield made


async def set_policy(admin: httpx.AsyncClient, **body: object) -> None:
    made = await admin.post(POLICIES, json={"name": "Answers", "body": body, "tenant_wide": True})
    assert made.status_code == 201, made.text


@pytest.mark.parametrize("size", [1, 5, 1_000])
async def test_gv_04_nothing_of_a_streamed_answer_comes_out(
    api: Api, office: Office, model: ModelServer, admin_dsn: str, redis_url: str, size: int
) -> None:
    """GV-04: SSE, stream chunks and OpenAI's, in pieces of any size; stored nowhere, replayed the same, and
    unmasked only by right, with a line in the trail."""
    admin, user = await api.sign_in(office.emails[Role.ADMIN]), await api.sign_in(office.emails[Role.VIEWER])
    await set_policy(admin, pii={"answers": "mask"})
    model.replies[:] = [Say(ANSWER, size=size) for _ in range(4)]
    ask = {"message": "/chat What is in it?", "session_id": "s1", "verbose": True}
    streamed = await user.post("/api/chat/assistant", json={**ask, "stream": True})
    whole = await user.post("/api/chat/assistant", json={**ask, "stream": False})
    chat = {"model": "assistant", "messages": [{"role": "user", "content": "/chat What is in it?"}]}
    openai = await user.post("/v1/chat/completions", json={**chat, "stream": True})
    plain = await user.post("/v1/chat/completions", json=chat)
    for answer in (streamed, whole, openai, plain):
        assert answer.status_code == 200, answer.text
        assert planted_in(pieces_of(answer.text)) == [] and planted_in(answer.text) == []
        assert "[email]" in pieces_of(answer.text) + answer.text and '"personal_data"' in answer.text
    body = whole.json()
    assert body["personal_data"]["masked"]["card"] >= 1 and body["answer"].startswith("The file has a list of contacts")
    assert pieces_of(openai.text) == plain.json()["choices"][0]["message"]["content"] == body["answer"]
    run = body["run_id"]
    replayed = await user.post(f"/api/runs/{run}/replay", json={})
    assert replayed.json()["same"] is True, replayed.text
    told = await user.get(f"/api/runs/{run}/events")
    said = (await user.get("/api/sessions/s1/messages")).text
    places = {"events": told.text, "messages": said, "redis": kept_in_redis(redis_url)} | kept_rows(admin_dsn)
    assert {place: found for place, text in places.items() if (found := planted_in(text))} == {}
    assert (await user.post(f"/api/runs/{run}/unmask", json={"reason": "only to look"})).status_code == 403
    unmasked = await admin.post(f"/api/runs/{run}/unmask", json={"reason": "ticket 4711"})
    assert unmasked.json()["answer"] == ANSWER
    trail = (await admin.get("/api/audit", params={"action": "run.unmask"})).json()["items"]
    assert [(one["detail"]["reason"], one["detail"]["answer"]) for one in trail] == [("ticket 4711", True)]


async def test_without_a_policy_nothing_changes_and_a_mark_only_counts(
    api: Api, office: Office, model: ModelServer
) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    ask = {"message": "/chat What is in it?", "stream": False}
    model.replies[:] = [Say(ANSWER), Say(ANSWER)]
    before = (await admin.post("/api/chat/assistant", json=ask)).json()
    assert (before["answer"], before["personal_data"]) == (ANSWER, {})
    await set_policy(admin, pii={"answers": "mark"}, answers={"kinds": ["email"]})
    marked = (await admin.post("/api/chat/assistant", json=ask)).json()
    emails = sum(one.kind == "email" for one in VALUES)
    assert (marked["answer"], marked["personal_data"]) == (ANSWER, {"marked": {"email": emails}})


async def test_an_answer_from_documents_is_masked_with_its_quotes_and_not_remembered(
    library: Api, office: Office, admin_dsn: str, redis_url: str
) -> None:
    """The citation, the drafts, the stored answer, the reasons and the cache; the quote still leads to its page."""
    fill(admin_dsn, office)
    admin = await library.sign_in(office.emails[Role.ADMIN])
    question = {"question": "Who signed the contract on behalf of the tenant?"}
    before = (await admin.post("/api/ask", json=question)).json()
    assert before["mode"] == "extractive" and "ann.planted@" in before["answer"]
    await admin.delete("/api/rag/cache")
    await set_policy(admin, pii={"answers": "mask", "search": "mask"})
    for _ in range(2):
        answer = await admin.post("/api/ask", json=question)
        body = answer.json()
        assert "ann.planted@" not in answer.text and "[email]" in body["answer"]
        assert "[email]" in body["citations"][0]["quote"] and body["personal_data"]["masked"]["email"] >= 1
    why = await admin.get(f"/api/answers/{body['id']}/why")
    assert why.status_code == 200 and "ann.planted@" not in why.text
    assert why.json()["citations"][0]["withheld"] is None, "the quote is still found on its page"
    found = await admin.post("/api/documents/search", json={"query": "signed on behalf", "group_by_document": True})
    assert found.status_code == 200 and found.json()["results"] and "ann.planted@" not in found.text
    chat = await admin.post("/api/chat/assistant", json={"message": f"/docs {question['question']}", "stream": True})
    assert "[email]" in chat.text and "ann.planted@" not in chat.text
    assert "ann.planted@" not in kept_in_redis(redis_url)
    rows = {name: text for name, text in kept_rows(admin_dsn).items() if "ann.planted@" in text}
    assert rows.keys() <= {"table pages", "table document_chunks"}, rows.keys()


async def test_names_of_files_are_masked_in_a_search(library: Api, office: Office, admin_dsn: str) -> None:
    """As in answers: a file may be called after a person."""
    fill(admin_dsn, office, "Letter to bob.named@mail1.example.org .txt")
    admin = await library.sign_in(office.emails[Role.ADMIN])
    await set_policy(admin, pii={"search": "mask"})
    asked = {"query": "signed on behalf", "group_by_document": True, "pack": True}
    found = await admin.post("/api/documents/search", json=asked)
    assert found.status_code == 200 and "bob.named@" not in found.text
    body = found.json()
    assert body["results"][0]["filename"] == body["documents"][0]["filename"] == "Letter to [email] .txt"


async def test_classes_are_inherited_and_a_change_by_hand_holds_at_once(
    library: Api, office: Office, admin_dsn: str
) -> None:
    """Rules classify what is indexed, answers say the highest class of what they quote, and masks may hang on it."""
    (document,) = fill(admin_dsn, office)
    admin = await library.sign_in(office.emails[Role.ADMIN])
    rule = {"name": "partners", "rank": 5, "keywords": ["tenant"]}
    await set_policy(
        admin, classes=[rule], pii={"answers": "mask", "search": "mask"}, answers={"classes": ["partners"]}
    )
    # A process may be at it, too: each document is settled once.
    await library.parts.governance.classes.sweep(office.scope)
    assert await library.parts.governance.classes.left(office.scope) == 0
    shown = (await admin.get(f"/api/documents/{document}")).json()
    assert (shown["classification"], shown["classified_by"]) == ("partners", "policy")
    question = {"question": "Who signed the contract on behalf of the tenant?"}
    answer = (await admin.post("/api/ask", json=question)).json()
    assert answer["classification"] == "partners" and "[email]" in answer["answer"]
    path = f"/api/documents/{document}/classification"
    assert (await admin.put(path, json={"classification": "nonsense"})).json()["code"] == "unknown_class"
    by_hand = (await admin.put(path, json={"classification": "public"})).json()
    assert (by_hand["classification"], by_hand["classified_by"]) == ("public", "hand")
    found = (await admin.post("/api/documents/search", json={"query": "signed on behalf"})).json()
    assert {hit["classification"] for hit in found["results"]} == {"public"} and "ann.planted@" in json.dumps(found)
    answer = (await admin.post("/api/ask", json=question)).json()
    assert answer["classification"] == "public" and "ann.planted@" in answer["answer"]
    assert await library.parts.governance.classes.sweep(office.scope) == 0, "a hand's word stays"
    ask = {"message": f"/docs {question['question']}", "session_id": "s2", "stream": False}
    chat = (await admin.post("/api/chat/assistant", json=ask)).json()
    assert chat["classification"] == "public", chat
    stored = (await admin.get("/api/sessions/s2/messages")).json()["items"][-1]
    assert stored["classification"] == "public"
    replayed = await admin.post(f"/api/runs/{chat['run_id']}/replay", json={})
    assert replayed.json()["same"] is True, replayed.text
    assert (await admin.get(f"/api/answers/{chat['run_id']}/why")).json()["classification"] == "public"
    back = (await admin.put(path, json={"classification": None})).json()
    assert (back["classification"], back["classified_by"]) == ("partners", "policy")
    viewer = await library.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.put(path, json={"classification": "public"})).status_code == 403


def fill(admin_dsn: str, office: Office, name: str = "contract.txt") -> list[str]:
    """One document, linked to the default agent."""
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        generation = open_generation(connection, office.scope)
        return load(connection, office.scope, generation, [Book(name, [Passage(LINE, vector=hash_vector(LINE))])])


def pieces_of(stream: str) -> str:
    """What a client puts together of a stream's texts."""
    texts = []
    for line in stream.splitlines():
        if line.startswith("data: {"):
            data = json.loads(line.removeprefix("data: "))
            if data.get("choices"):
                texts.append(data["choices"][0]["delta"].get("content") or "")
            elif data.get("data", {}).get("kind") == "text":
                texts.append(data.get("content", ""))
    return "".join(texts)
