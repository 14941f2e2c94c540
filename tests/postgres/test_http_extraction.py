"""Extraction over HTTP, by the command line and by an agent's tool: under the reader's rights, stored for review."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import openai
import psycopg
import pytest
from rich.console import Console
from typer.testing import CliRunner

from cluster.basics.errors import NotFound
from cluster.basics.scope import Role, Scope
from cluster.cli import app as cli
from cluster.console.commands.documents.extract_command import render_extraction
from configs.settings import load_settings
from serve_apps.retrieval.extraction.agent_fields import AgentFields
from serve_apps.retrieval.extraction.document_extractor import DocumentExtractor, UseModel
from serve_apps.retrieval.extraction.stored_extractions import StoredExtractions
from serve_apps.retrieval.search.query_writer import WriterReply
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector
from tests.fakes.http import Api, Office
from tests.fakes.listening import listening, token
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import ScriptedOrchestrator
from tests.fakes.paperwork import INVOICE, RECEIPT, typeset, wanting

NODE = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}
SCHEMA = wanting(invoiceNumber="string", totalDue="number: total amount due", ship="string")


def book(name: str, pages: Sequence[Any], **more: Any) -> Book:
    passages = [Passage(page.text, page.number, vector=hash_vector(page.text)) for page in pages]
    sheets = [Sheet(page.text, page.engine, page.confidence, page.words) for page in pages]
    return Book(name, passages, sheets, **more)


@pytest.fixture
def papers(admin_dsn: str, office: Office) -> Sequence[str]:
    """An invoice that is linked to the agent `clerk`, and a blurred receipt for administrators."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        agent = corpus.open_agent(admin, office.scope, "clerk")
        generation = corpus.open_generation(admin, office.scope)
        books = [
            book("invoice.pdf", INVOICE.pages, agents=(agent,)),
            book("receipt.png", RECEIPT.pages, readers=("role:admin",)),
        ]
        documents = corpus.load(admin, office.scope, generation, books)
        # As a scan whose words can hardly be made out.
        admin.execute(
            "update pages set words = (select jsonb_agg(jsonb_set(w, '{6}', '0.3')) from jsonb_array_elements(words) w)"
            " where document_id = %s",
            (documents[1],),
        )
    return documents


async def extract(client: httpx.AsyncClient, document: str, status: int = 200, **body: Any) -> Any:
    reply = await client.post(f"/api/documents/{document}/extract", json={"schema": SCHEMA, **body})
    assert reply.status_code == status, reply.text
    return reply.json()


async def test_a_document_is_extracted_with_the_place_of_each_value(
    operator: httpx.AsyncClient, papers: Sequence[str]
) -> None:
    found = await extract(operator, papers[0])
    assert found["data"] == {"invoiceNumber": "INV-20417", "totalDue": 588}
    assert (found["model"], found["spend"], found["counts"]["missing"]) == (None, None, 1)
    number, total, ship = found["fields"]
    assert (number["path"], number["state"], number["page"], number["quote"]) == (
        "/invoiceNumber",
        "found",
        1,
        "INV-20417",
    )
    (box,) = total["boxes"]
    assert box[0] == 1 and 0 < box[1] < box[3] <= 1 and total["source"] == "facts" and total["ocr_confidence"] is None
    assert (ship["state"], ship["reason"], ship["page"], ship["boxes"]) == ("missing", "not found", None, [])
    page = (await operator.get(number["url"])).json()
    assert page["text"][number["start"] : number["end"]] == "INV-20417"


async def test_who_may_not_read_a_document_extracts_nothing_of_it(
    operator: httpx.AsyncClient, api: Api, office: Office, papers: Sequence[str]
) -> None:
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await extract(viewer, papers[0]))["data"]["totalDue"] == 588
    assert (await extract(operator, papers[1], 404))["code"] == "not_found"
    assert (await extract(operator, "0" * 32, 404))["code"] == "not_found"
    await extract(operator, "no-id", 422)
    await extract(api.client, papers[0], 401)


@pytest.mark.parametrize(
    ("schema", "code", "words"),
    [
        ({"$defs": {"n": NODE}, "properties": {"n": {"$ref": "#/$defs/n"}}}, "schema_refused", "refers to itself"),
        (wanting(**{f"f{n}": "string" for n in range(201)}), "schema_refused", "more than 200 fields"),
        ({"type": "object"}, "schema_refused", "names no fields"),
        ({"properties": {"a": {"type": "strange"}}}, "invalid", "the schema is none"),
        ("text", None, ""),
        (None, None, ""),
        ({"properties": {"a": {"type": "string", "description": "nul \0"}}}, None, "NUL"),
    ],
)
async def test_a_schema_that_is_none_is_refused_with_what_to_do(
    operator: httpx.AsyncClient, papers: Sequence[str], schema: Any, code: str | None, words: str
) -> None:
    told = await extract(operator, papers[0], 422, schema=schema)
    assert words in json.dumps(told) and (code is None or told["code"] == code)
    assert code != "schema_refused" or told["fix"]
    await extract(operator, papers[0], 422, use_model="sometimes")
    await extract(operator, papers[0], 422, unknown=1)


async def test_a_body_that_is_too_large_is_refused(operator: httpx.AsyncClient, papers: Sequence[str]) -> None:
    told = await extract(operator, papers[0], 413, schema=wanting(a=f"string: {'a' * 150_000}"))
    assert told["code"] == "too_large"


async def test_what_is_unsure_is_listed_for_those_who_may_read_it(
    operator: httpx.AsyncClient, api: Api, office: Office, papers: Sequence[str], admin_dsn: str
) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    schema = wanting(orderId="string", total="number")
    for _ in range(2):  # the second takes the place of the first
        found = await extract(admin, papers[1], schema=schema)
    assert {one["state"] for one in found["fields"]} == {"unsure"}
    listed = (await admin.get("/api/documents/unsure-fields")).json()
    assert listed["total"] == 2
    first = listed["items"][0]
    assert (first["filename"], first["path"], first["value"], first["run_id"]) == (
        "receipt.png",
        "/orderId",
        "K7-3391",
        found["id"],
    )
    assert "low OCR confidence 0.30" in first["reason"] and first["page"] == 1 and first["url"]
    assert (await operator.get("/api/documents/unsure-fields")).json() == {"items": [], "total": 0}
    one = {"document_id": papers[0]}
    assert (await admin.get("/api/documents/unsure-fields", params=one)).json()["total"] == 0
    paged = (await admin.get("/api/documents/unsure-fields", params={"skip": 1, "limit": 1})).json()
    assert len(paged["items"]) == 1 and paged["total"] == 2
    with psycopg.connect(admin_dsn, autocommit=True) as owner:
        assert owner.execute("select count(*) from extraction_runs").fetchone() == (1,)
        owner.execute("delete from document_versions where document_id = %s", (papers[1],))
        assert owner.execute("select count(*) from extraction_fields").fetchone() == (0,)


async def test_a_page_with_a_value_in_doubt_waits_for_review_until_somebody_has_looked_at_it(
    operator: httpx.AsyncClient, api: Api, office: Office, papers: Sequence[str], admin_dsn: str
) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])

    async def waiting(client: httpx.AsyncClient, **more: Any) -> list[dict[str, Any]]:
        sent = await client.get("/api/review/pages", params={"below": 0, "reason": "field", **more})
        assert sent.status_code == 200, sent.text
        items: list[dict[str, Any]] = sent.json()["items"]
        return items

    async def mark(fine: bool) -> None:
        version = (await admin.get(f"{place}/lines")).json()["page_version"]
        sent = await admin.put(f"{place}/review", json={"page_version": version, "fine": fine})
        assert sent.status_code == 200, sent.text

    place = f"/api/documents/{papers[1]}/pages/1"
    schema = wanting(orderId="string")
    assert await waiting(admin) == []
    await extract(admin, papers[1], schema=schema)
    (page,) = await waiting(admin)
    (told,) = page["fields"]
    assert (page["filename"], page["page"], page["reasons"]) == ("receipt.png", 1, ["field"])
    assert (told["path"], told["value"], told["state"]) == ("/orderId", "K7-3391", "unsure")
    assert "low OCR confidence" in told["reason"]
    assert (await admin.get(f"{place}/lines")).json()["fields"] == [told]
    assert await waiting(operator) == [], "who may not see the document sees no value of it"
    await mark(True)
    assert await waiting(admin) == [] and len(await waiting(admin, reviewed=True)) == 1
    await mark(False)
    assert len(await waiting(admin)) == 1
    await mark(True)
    await extract(admin, papers[1], schema=schema)
    assert len(await waiting(admin)) == 1, "it was extracted after somebody had looked"
    await mark(True)
    assert await waiting(admin) == []
    with psycopg.connect(admin_dsn, autocommit=True) as owner:
        owner.execute("update extraction_fields set page = null, first_char = null")
    await mark(False)
    assert [(one["page"], one["fields"]) for one in await waiting(admin)] == [(1, [told])]


async def test_another_workspace_sees_no_run_and_no_field(
    operator: httpx.AsyncClient, api: Api, office: Office, papers: Sequence[str], admin_dsn: str
) -> None:
    """Row-level security alone: the query names no workspace."""
    await extract(operator, papers[0])
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        other = corpus.open_home(admin, "other")
    counts = []
    for scope in (office.scope, other, Scope(other.tenant, office.scope.workspace)):
        async with api.parts.database.transaction(scope) as tx:
            runs = await tx.only("select count(*) as n from extraction_runs")
            fields = await tx.only("select count(*) as n from extraction_fields")
        counts.append((runs["n"], fields["n"]))
    assert counts == [(1, 3), (0, 0), (0, 0)]


async def test_escapes_that_are_no_text_are_replaced(
    operator: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    page = typeset('{"ship": "abc\\ud800d", "keeper": "a\\u0000b"}')
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        generation = corpus.open_generation(admin, office.scope)
        (document,) = corpus.load(admin, office.scope, generation, [book("ship.json", [page])])
    found = await extract(operator, document, schema=wanting(ship="string", keeper="string"))
    assert found["data"] == {"ship": "abc\ufffdd", "keeper": "a\ufffdb"}


def reader_of(office: Office) -> Scope:
    return Scope(office.scope.tenant, office.scope.workspace, ("role:viewer",))


@dataclass
class Meanwhile:
    """A writer during whose reply something else happens."""

    happens: Callable[[], Any]
    reply: Any = None

    async def write(self, *asked: Any, **more: Any) -> WriterReply:
        self.happens()
        return WriterReply(json.dumps(self.reply or {"ship": "Black Pearl"}), "scripted-1")


@pytest.mark.parametrize(
    "change",
    [
        "delete from documents where id = %(document)s",
        "update documents set readers = '{role:admin}' where id = %(document)s",
        "delete from document_versions where document_id = %(document)s",
    ],
)
async def test_a_document_that_is_gone_while_a_model_writes_is_not_found(
    api: Api, office: Office, papers: Sequence[str], admin_dsn: str, change: Any
) -> None:
    def happens() -> None:
        with psycopg.connect(admin_dsn, autocommit=True) as admin:
            admin.execute(change, {"document": papers[0]})

    extractor = DocumentExtractor(StoredExtractions(api.parts.database), Meanwhile(happens))
    with pytest.raises(NotFound):
        await extractor.extract(reader_of(office), papers[0], SCHEMA)


async def test_a_run_without_a_model_leaves_that_of_a_model_and_an_agents_is_not_stored(
    api: Api, office: Office, papers: Sequence[str], admin_dsn: str
) -> None:
    stored = StoredExtractions(api.parts.database)
    extractor, scope = DocumentExtractor(stored, Meanwhile(lambda: None)), reader_of(office)
    alone = await extractor.extract(scope, papers[0], SCHEMA | {"title": "another"}, UseModel.NEVER)
    asked = await extractor.extract(scope, papers[0], SCHEMA)
    assert (await extractor.extract(scope, papers[0], SCHEMA, UseModel.NEVER)).id not in (asked.id, alone.id)
    rows, total = await stored.list_unsure_fields(scope)
    assert [(str(row["run_id"]), row["path"]) for row in rows] == [(asked.id, "/ship")] and total == 1
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        agent = str(admin.execute("select agent_id from document_agent_links").fetchall()[0][0])
        before = admin.execute("select id, at from extraction_runs order by id").fetchall()
        told = await AgentFields(extractor).extract(scope, agent, papers[0], SCHEMA)
        assert told["data"]["totalDue"] == 588
        assert admin.execute("select id, at from extraction_runs order by id").fetchall() == before


def settings_of(app_dsn: str, redis_url: str, folder: Path, model: str) -> Any:
    return load_settings(
        {
            "AOS_STATE_DIR": str(folder),
            "DATABASE_URL": app_dsn,
            "REDIS_URL": redis_url,
            "LLM_BASE_URL": model,
            "LLM_DEFAULT_MODEL": "scripted-1",
            "AOS_LLM_SUPPORTS_TOOLS": "true",
            "AOS_AGENTS_PLACEMENT": "inproc",
            "AOS_AGENTS_RAG_TOP_K": "0",
        }
    )


async def test_a_model_fills_what_labels_leave_and_the_command_line_shows_it(
    office: Office, papers: Sequence[str], app_dsn: str, redis_url: str, tmp_path: Path
) -> None:
    """Over real HTTP: what it invents is marked, its spend is told, and without it the labels answer alone."""
    reply = json.dumps({"invoiceNumber": "INV-20417", "totalDue": 588, "ship": "Black Pearl"})
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8")
    with serve_model(Say(reply)) as model:
        parts = build_app_dependencies(
            settings_of(app_dsn, redis_url, tmp_path, model.url), FakeEmbedder(), None, ScriptedOrchestrator
        )
        with listening(parts) as url:
            environment = {
                "AOS_URL": url,
                "AOS_TOKEN": token(url, office.emails[Role.VIEWER]),
                "AOS_STATE_DIR": str(tmp_path),
            }
            run = CliRunner()
            command = ["extract", papers[0], "--schema", str(file)]
            alone = run.invoke(cli, [*command, "--no-model", "--json"], env=environment)
            assert alone.exit_code == 0, alone.output
            assert json.loads(alone.stdout)["model"] is None and not model.chats
            asked = run.invoke(cli, [*command, "--json"], env=environment)
            shown = run.invoke(cli, ["extract", papers[0], "--schema", "-"], env=environment, input=json.dumps(SCHEMA))
            for wrong in ("{broken", "[]", "{}"):
                refused = run.invoke(cli, ["extract", papers[0], "--schema", "-"], env=environment, input=wrong)
                assert refused.exit_code != 0, wrong
    found = json.loads(asked.stdout)
    ship = next(one for one in found["fields"] if one["path"] == "/ship")
    assert (ship["state"], ship["reason"], ship["source"]) == ("unsure", "stands nowhere in the document", "model")
    assert found["model"] == "scripted-1" and found["spend"]["completion_tokens"] > 0
    assert "Black Pearl" in shown.output and "unsure" in shown.output and "asked scripted-1" in shown.output


async def test_an_agents_tool_extracts_from_its_own_documents(
    office: Office, papers: Sequence[str], app_dsn: str, redis_url: str, tmp_path: Path, api: Api
) -> None:
    """It names a document by its file; the result is quoted; one that is not linked is none."""
    replies = [
        Say(calls=(Use("extract_fields", {"document": "receipt.png", "schema": SCHEMA}),)),
        Say(calls=(Use("extract_fields", {"document": "Invoice.pdf", "schema": {"type": "object"}}),)),
        Say(calls=(Use("extract_fields", {"document": "Invoice.pdf", "schema": SCHEMA}),)),
        Say('The total is 588 [2: "Total due: £588.00"].'),
    ]
    admin = await api.sign_in(office.emails[Role.ADMIN])
    clerk = next(one["id"] for one in (await admin.get("/api/agents")).json()["items"] if one["name"] == "clerk")
    attached = await admin.post(f"/api/universal-agents/{clerk}/skills", json={"name": "extract_fields"})
    assert attached.status_code < 300, attached.text
    with serve_model(*replies) as model:
        parts = build_app_dependencies(
            settings_of(app_dsn, redis_url, tmp_path, model.url), FakeEmbedder(), None, ScriptedOrchestrator
        )
        with listening(parts) as url:
            key = token(url, office.emails[Role.VIEWER])
            with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
                message: Any = {"role": "user", "content": "/chat Please read the total of the invoice."}
                done = client.chat.completions.create(model="clerk", messages=[message])
    said = [one["content"] for chat in model.chats for one in chat.body["messages"] if one["role"] == "tool"]
    assert "The total is 588 [1]" in str(done.choices[0].message.content), said
    assert any("not_found" in one or "document receipt.png" in one for one in said), said
    assert any("names no fields" in one for one in said) and any("/ship: missing" in one for one in said)


def test_what_a_document_says_is_no_markup_in_the_terminal() -> None:
    field = {"path": "/a", "value": "[red]\x1b[2J", "page": None, "state": "found", "reason": "[b]x"}
    body = {
        "filename": "a\nb",
        "fields": [field],
        "counts": {"found": 1},
        "model": None,
        "flaws": ["f"],
        "notes": ["n"],
    }
    out = StringIO()
    Console(file=out, width=100).print(render_extraction(body))
    assert "[red]" in out.getvalue() and "\x1b[2J" not in out.getvalue() and "[b]x" in out.getvalue()
