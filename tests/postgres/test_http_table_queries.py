"""Tables over HTTP and through the agents' tool: under the reader's rights, with the places of each row."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import openai
import psycopg
import pytest

from cluster.basics.scope import Role
from configs.settings import load_settings
from serve_apps.retrieval.tables import table_catalogue, table_store
from serve_apps.retrieval.tables.table_store import TableStore
from serve_apps.retrieval.tables.table_workbench import TableWorkbench
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes import corpus
from tests.fakes.http import Api, Office
from tests.fakes.listening import listening, token
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import ScriptedOrchestrator
from tests.fakes.tolls import store_toll_books


@pytest.fixture
def books(admin_dsn: str, office: Office) -> Sequence[str]:
    """May is linked to the agent `reader`; June is for administrators."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        agent = corpus.open_agent(admin, office.scope, "reader")
        return store_toll_books(admin, office.scope, agents=(agent,), readers=("role:admin",))


def may_of(books: Sequence[str]) -> str:
    return f"tolls_may_{books[0][:8]}_p1"


async def run(client: httpx.AsyncClient, sql: str, status: int = 200, **more: Any) -> Any:
    reply = await client.post("/api/tables/query", json={"sql": sql, **more})
    assert reply.status_code == status, reply.text
    return reply.json()


async def test_tables_are_listed_under_the_readers_rights(
    operator: httpx.AsyncClient, api: Api, office: Office, books: Sequence[str]
) -> None:
    found = (await operator.get("/api/tables")).json()
    (one,) = found["items"]
    assert (one["name"], one["filename"], one["rows"], one["totals"]) == (may_of(books), "tolls-may.md", 3, 1)
    assert [(it["name"], it["type"]) for it in one["columns"]] == [("Lorry", "text"), ("Toll", "number")]
    assert one["sample"][0] == ["Lorry 12", "310"] and (found["documents"], found["unseen"]) == (1, 0)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    assert (await admin.get("/api/tables")).json()["documents"] == 2
    paged = (await admin.get("/api/tables", params={"skip": 1, "limit": 1})).json()
    assert len(paged["items"]) == 1 and paged["documents"] == 2
    for search, count in (("june toll", 1), ("TOLL", 2), ("keeper", 0), ("50%_", 0)):
        assert (await admin.get("/api/tables", params={"search": search})).json()["documents"] == count, search
    assert (await admin.get("/api/tables", params={"agent_id": "reader"})).json()["documents"] == 1
    assert (await admin.get("/api/tables", params={"agent_id": "nobody"})).status_code == 404


async def test_a_query_gives_rows_with_their_places(operator: httpx.AsyncClient, books: Sequence[str]) -> None:
    found = await run(operator, 'select "Lorry", "Toll" from t where "Toll" > 100', tables={"T": may_of(books)})
    assert found["rows"] == [["Lorry 12", 310]] and found["sources"] == [
        {"rows": 1, "filenames": ["tolls-may.md"], "citations": [1]}
    ]
    (cited,) = found["citations"]
    assert (cited["document_id"], cited["page"], cited["quote"]) == (books[0], 1, "Lorry 12 | 310")
    summed = await run(operator, f'select sum("Toll") as toll from {may_of(books)}')
    assert summed["rows"] == [[400]] and summed["sources"] == [
        {"rows": 2, "filenames": ["tolls-may.md"], "citations": [1, 2]}
    ]
    assert "1 row" in summed["notes"][0]


async def test_tables_of_all_documents_are_those_that_one_may_read(
    operator: httpx.AsyncClient, api: Api, office: Office, books: Sequence[str]
) -> None:
    """Neither by name nor with all of its kind does a query reach a document of somebody else."""
    every = f'select document, sum("Toll") from {may_of(books)}_all group by all order by 1'
    assert (await run(operator, every))["rows"] == [["tolls-may.md", 400]]
    admin = await api.sign_in(office.emails[Role.ADMIN])
    assert (await run(admin, every))["rows"] == [["tolls-june.md", 100], ["tolls-may.md", 400]]
    june = f"tolls_june_{books[1][:8]}_p1"
    assert (await run(admin, f"select count(*) from {june}"))["rows"] == [[2]]
    refused = await run(operator, f"select count(*) from {june}", 404)
    assert refused["code"] == "table_not_found" and refused["fix"]
    assert (await run(admin, every, agent_id="reader"))["rows"] == [["tolls-may.md", 400]]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("drop table t", "one SELECT"),
        ("select * from read_csv('/etc/passwd')", "may not stand in FROM"),
        ('select "Tol" from t', '"Toll"'),
        ("select * from page_tables", "no table"),
        ("nonsense", "syntax error"),
    ],
)
async def test_what_cannot_be_run_says_what_to_do(
    operator: httpx.AsyncClient, books: Sequence[str], sql: str, words: str
) -> None:
    told = await run(operator, sql, 422, tables={"t": may_of(books)})
    assert told["code"] == "bad_table_query" and words in told["detail"] + told["fix"] and told["fix"]


async def test_a_result_is_a_chart_on_request_and_a_picture_of_it(
    operator: httpx.AsyncClient, books: Sequence[str]
) -> None:
    sql = f'select "Lorry", "Toll" from {may_of(books)}'
    assert (await run(operator, sql))["chart"] is None
    chart = (await run(operator, sql, chart=True))["chart"]
    assert chart["kind"] == "bar" and chart["points"] == [["Lorry 12", 310], ["Lorry 15", 90]]
    assert chart["vega_lite"]["data"]["values"][1] == {"label": "Lorry 15", "value": 90}
    assert (await run(operator, f'select sum("Toll") from {may_of(books)}', chart=True))["chart"] is None
    drawn = {name: chart[name] for name in ("kind", "label", "measure", "points")}
    picture = await operator.post("/api/tables/picture", json=drawn)
    assert picture.status_code == 200 and "Lorry 15" in picture.json()["svg"]
    for wrong in ({"kind": "pie"}, {"points": []}, {"points": [["a", "NaN"]]}, {"label": ""}):
        assert (await operator.post("/api/tables/picture", json=drawn | wrong)).status_code == 422, wrong


async def test_insights_have_their_query_and_their_rows_under_the_readers_rights(
    operator: httpx.AsyncClient, api: Api, office: Office, books: Sequence[str]
) -> None:
    few = (await operator.post("/api/tables/insights", json={"table": may_of(books)})).json()
    assert few["insights"] == [] and "3 are needed" in few["notes"][0]
    admin = await api.sign_in(office.emails[Role.ADMIN])
    found = (await admin.post("/api/tables/insights", json={"table": f"{may_of(books)}_all"})).json()
    largest = next(one for one in found["insights"] if one["kind"] == "largest")
    cited = {one["n"]: one for one in found["citations"]}
    assert largest["text"] == "The largest Toll is 310: Lorry 12."
    assert [cited[n]["quote"] for n in largest["citations"]] == ["Lorry 12 | 310"]
    assert (await run(admin, largest["sql"]))["rows"] == [[0, "Lorry 12", 310]]
    june = f"tolls_june_{books[1][:8]}_p1"
    assert (await operator.post("/api/tables/insights", json={"table": june})).status_code == 404


async def test_requests_that_are_too_large_are_refused(operator: httpx.AsyncClient, books: Sequence[str]) -> None:
    told = [
        await run(operator, "select 1", 422, tables={f"t{n}": may_of(books) for n in range(11)}),
        await run(operator, "select 1", 422, tables={"no name": may_of(books)}),
        await run(operator, "select " + "1," * 9_000 + "1", 422),
        await run(operator, "select 1", 422, limit=5_000),
    ]
    assert {one["code"] for one in told} == {"invalid"}


async def test_a_table_with_too_many_rows_says_so(
    operator: httpx.AsyncClient, books: Sequence[str], admin_dsn: str
) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("update page_tables set row_count = 300000")
    assert (await run(operator, f"select 1 from {may_of(books)}", 422))["code"] == "too_many_rows"
    (one,) = (await operator.get("/api/tables")).json()["items"]
    assert one["is_sampled"] and one["rows"] > 200_000


async def test_a_model_lists_tables_asks_them_and_cites_their_rows(
    office: Office, books: Sequence[str], app_dsn: str, redis_url: str, tmp_path: Path
) -> None:
    """Over real HTTP: the answer has the number, and its quote is a row of the page."""
    sql = f'select sum("Toll") as toll from {may_of(books)}'
    replies = [
        Say(calls=(Use("query_tables", {"action": "list", "question": "tolls of lorries"}),)),
        Say(calls=(Use("query_tables", {"action": "query", "sql": sql.replace("Toll", "Tolls")}),)),
        Say(calls=(Use("query_tables", {"action": "query", "sql": sql}),)),
        Say('All lorries paid 400 [1: "Lorry 12 | 310"] [2: "Lorry 15 | 90"].'),
    ]
    with serve_model(*replies) as model:
        settings = load_settings(
            {
                "AOS_STATE_DIR": str(tmp_path),
                "DATABASE_URL": app_dsn,
                "REDIS_URL": redis_url,
                "LLM_BASE_URL": model.url,
                "LLM_DEFAULT_MODEL": "scripted-1",
                "AOS_LLM_SUPPORTS_TOOLS": "true",
                "AOS_AGENTS_PLACEMENT": "inproc",
                "AOS_AGENTS_RAG_TOP_K": "0",
            }
        )
        parts = build_app_dependencies(settings, FakeEmbedder(), None, ScriptedOrchestrator)
        with listening(parts) as url:
            key = token(url, office.emails[Role.VIEWER])
            with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
                message: Any = {"role": "user", "content": "/chat Please add the tolls of the lorries up."}
                done = client.chat.completions.create(model="reader", messages=[message])
    said = [one["content"] for chat in model.chats for one in chat.body["messages"] if one["role"] == "tool"]
    assert done.choices[0].message.content == "All lorries paid 400 [1] [2].", said
    assert may_of(books) in said[0] and "tolls-june" not in json.dumps(said)
    assert any("Columns are" in one and '\\"Toll\\"' in json.dumps(one) for one in said)
    assert any('"rows": [[400]]' in one and "Lorry 15 | 90" in one for one in said)


async def test_the_workbench_is_bound_to_the_scope_and_not_to_names(
    api: Api, office: Office, books: Sequence[str], admin_dsn: str
) -> None:
    """In another workspace the same names are of nothing."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        other = corpus.open_home(admin, "other")
    bench = TableWorkbench(TableStore(api.parts.database))
    assert (await bench.catalogue.search_tables(other, None, None, 0, 10)).tables == ()
    with pytest.raises(Exception, match="no table"):
        await bench.run_query(other, f"select 1 from {may_of(books)}", None, aliases={})


async def test_the_rows_of_all_tables_of_a_query_are_limited_together(
    api: Api, office: Office, books: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are counted before they are read; a query of a part of them goes on."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    both = f"select count(*) from {may_of(books)}_all"
    assert (await run(admin, both))["rows"][0][0] > 2
    for module, most in ((table_store, 3), (table_catalogue, 3)):
        monkeypatch.setattr(module, "MOST_TOGETHER", most)
    assert (await run(admin, f"select 1 from {may_of(books)}"))["rows"]
    twice = f"select 1 from {may_of(books)} a, {may_of(books)}_all b"
    assert (await run(admin, twice, 422))["code"] == "too_many_rows"
    monkeypatch.setattr(table_store, "MOST_TOGETHER", 2)
    assert (await run(admin, both, 422))["code"] == "too_many_rows"
