"""Jobs and questions over HTTP: counters, events, cancel, resume, retry; search and ask; hostile requests."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.work.jobs import JobLane
from configs.sections import WorkerSettings
from pipelines.documents.ingest.job_loop import JobLoop
from serve_apps.http.problems import MEDIA_TYPE
from tests.fakes.http import Api, Office, ScriptedAnswerer, ScriptedSearch, make_parts, serve
from tests.fakes.ledger import Bench


async def scan(operator: httpx.AsyncClient, tmp_path: Path) -> str:
    folder = tmp_path / "scans"
    for name in "ab":
        text = "\f".join(f"{name}, page {n}. It tells of the {name * 5} matter." for n in range(1, 4))
        (folder / f"{name}.txt").write_text(text)
    started = await operator.post("/api/documents/batch-scan", json={"path": "."})
    return str(started.json()["job_id"])


def read_stream(text: str) -> list[dict[str, str]]:
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


async def test_a_job_tells_pages_and_documents_and_its_events_can_be_followed_from_any_number(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    job = await scan(operator, tmp_path)
    queued = (await operator.get(f"/api/jobs/{job}")).json()
    assert (queued["state"], queued["pages"]["expected"], queued["kind"]) == ("queued", 0, "scan")
    follower = asyncio.create_task(operator.get(f"/api/jobs/{job}/events"))
    await worker.run(JobLane.BULK)
    stream = await asyncio.wait_for(follower, 15)
    assert stream.headers["content-type"].startswith("text/event-stream")
    events = read_stream(stream.text)
    assert [int(event["id"]) for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["event"], events[-1]["event"]) == ("queued", "completed")
    shown = (await operator.get(f"/api/jobs/{job}")).json()
    assert shown["state"] == "completed" and shown["finished_at"] and shown["failures"] == {}
    assert shown["pages"] == {"expected": 6, "done": 6, "failed": 0, "unchanged": 0}
    assert shown["documents"] == {"expected": 2, "done": 2, "failed": 0, "unchanged": 0}
    headers = {"Last-Event-ID": str(len(events) - 1)}
    rest = read_stream((await operator.get(f"/api/jobs/{job}/events", headers=headers)).text)
    assert [event["id"] for event in rest] == [events[-1]["id"]]
    headers = {"Last-Event-ID": events[-1]["id"]}
    assert (await operator.get(f"/api/jobs/{job}/events", headers=headers)).status_code == 204
    listed = (await operator.get("/api/jobs", params={"state": "completed"})).json()
    assert (listed["total"], listed["items"][0]["id"], listed["items"][0]["pages"]["done"]) == (1, job, 6)


async def test_st_06_the_stream_tells_each_stage_as_it_comes_and_goes(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    """ST-06: every turn tells how far surveying, reading and indexing are; the end has the whole count."""
    job = await scan(operator, tmp_path)
    worker.read = worker.read.model_copy(update={"batch_pages": 3})
    await worker.run(JobLane.BULK)
    told = read_stream((await operator.get(f"/api/jobs/{job}/events")).text)
    assert [event["event"] for event in told] == ["queued", "progress", "progress", "completed"]
    begun, _, ended = (json.loads(event["data"]) for event in told[1:])
    assert [begun[stage]["done"] for stage in ("survey", "read", "index")] == [2, 3, 1]
    assert [ended[stage]["done"] for stage in ("survey", "read", "index")] == [2, 6, 2]
    assert all(ended[stage]["expected"] == ended[stage]["done"] for stage in ("survey", "read", "index"))


async def test_st_06_the_stream_of_a_job_that_fails_ends_with_the_reason(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    """ST-06: whoever follows a job is told why it failed, without asking again; before its end and after."""
    job = await scan(operator, tmp_path)
    shutil.rmtree(tmp_path / "scans")
    following = asyncio.create_task(operator.get(f"/api/jobs/{job}/events"))
    shift = JobLoop(worker.jobs, worker.runner(), worker.recipe, WorkerSettings(), "w")
    assert await shift.once(JobLane.BULK)
    told = read_stream((await asyncio.wait_for(following, 15)).text)
    assert (told[0]["event"], told[-1]["event"]) == ("queued", "failed")
    shown = (await operator.get(f"/api/jobs/{job}")).json()
    assert json.loads(told[-1]["data"])["error"] == shown["error"] and "scans" in shown["error"]


async def test_a_waiting_job_can_be_cancelled_and_resumed_and_its_stream_ends(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path, admin_dsn: str
) -> None:
    job = await scan(operator, tmp_path)
    assert (await operator.post(f"/api/jobs/{job}/cancel")).json()["state"] == "cancelled"
    events = read_stream((await operator.get(f"/api/jobs/{job}/events")).text)
    assert events[-1]["event"] == "cancelled"
    assert (await operator.post(f"/api/jobs/{job}/cancel")).status_code == 409
    assert (await operator.post(f"/api/jobs/{job}/resume")).json()["state"] == "queued"
    await worker.run(JobLane.BULK)
    # The stream goes past the first end: the job was taken up again.
    events = read_stream((await operator.get(f"/api/jobs/{job}/events")).text)
    assert events[-1]["event"] == "completed"
    assert (await operator.post(f"/api/jobs/{job}/resume")).status_code == 409
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute("select action from audit where object = %s order by seq", (job,)).fetchall()
    assert [row[0] for row in rows] == ["job.scan", "job.cancel", "job.resume"]


async def test_what_failed_is_listed_and_tried_again(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path, admin_dsn: str
) -> None:
    job = await scan(operator, tmp_path)
    await worker.run(JobLane.BULK)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update jobs set state = 'partial'")
        connection.execute(
            'update units set status = \'failed\', failure = \'{"stage": "read", "reason": "timeout"}\''
            " where stage = 'read' and key = (select min(key) from units where stage = 'read')"
        )
        connection.execute("update job_progress set done = done - 1, failed = failed + 1 where stage = 'read'")
    shown = (await operator.get(f"/api/jobs/{job}")).json()
    assert (shown["failures"], shown["pages"]["failed"]) == ({"timeout": 1}, 1)
    failed = (await operator.get(f"/api/jobs/{job}/failures")).json()["items"]
    assert [(unit["stage"], unit["page"] in (1, 2, 3), unit["failure"]["reason"]) for unit in failed] == [
        ("read", True, "timeout")
    ]
    assert failed[0].keys() == {"stage", "document_id", "filename", "page", "attempts", "failure"}
    again = (await operator.post(f"/api/jobs/{job}/retry")).json()
    assert (again["state"], again["pages"]["failed"]) == ("queued", 0)
    await worker.run(JobLane.BULK)
    shown = (await operator.get(f"/api/jobs/{job}")).json()
    assert (shown["state"], shown["documents"]["done"]) == ("completed", 2)


async def test_failures_of_documents_that_one_may_not_see_are_not_told(
    api: Api, office: Office, operator: httpx.AsyncClient, worker: Bench, admin_dsn: str
) -> None:
    """A restricted upload's name, page and place are for its readers, also where it failed."""
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    sent = await developer.post(
        "/api/documents/upload",
        files={"file": ("dismissal of B.txt", b"a DOUBT on page one\fFAIL")},
        data={"readers": "user:boss@x.example"},
    )
    await worker.run(JobLane.SMALL)
    url = f"/api/jobs/{sent.json()['job_id']}/failures"
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update units set status = 'failed' where stage = 'survey'")
    mine = (await developer.get(url)).json()["items"]
    assert [(unit["stage"], unit["page"]) for unit in mine] == [("survey", None), ("read", 2)]
    assert {(u["document_id"], u["filename"]) for u in mine} == {(sent.json()["document_id"], "dismissal of B.txt")}
    assert [(one["filename"], one["status"]) for one in (await developer.get(url)).json()["caveats"]] == [
        ("dismissal of B.txt", "partial")
    ]
    theirs = await operator.get(url)
    assert theirs.json() == {"items": [], "caveats": []} and "dismissal" not in theirs.text
    assert "blob:" not in (await developer.get(url)).text


async def test_gw_13_search_passes_the_question_and_its_conditions_on(
    api: Api, operator: httpx.AsyncClient, office: Office
) -> None:
    """GW-13: conditions flat or in `filters`, dates as whole days in UTC, an agent by name; the reply's shape."""
    agent = (await operator.post("/api/agents", json={"name": "Clerk"})).json()["id"]
    body = {
        "query": " when? ",
        "limit": 3,
        "agent_id": "Clerk",
        "doc_type": "pdf",
        "min_similarity": 0.5,
        "upload_date_to": "2026-05-01",
        "filters": {"source_file": "lease", "upload_date_from": "2026-01-01"},
    }
    found = (await operator.post("/api/documents/search", json=body)).json()
    assert (found["total_results"], found["keyword_engine"], found["execution_time_ms"]) == (7, "bm25", 1.5)
    hit = found["results"][0]
    assert hit["spans"] == [[2, 0, 22]] and hit["boxes"] == [[2, 0.1, 0.2, 0.3, 0.4]] and hit["scores"]["fused"] == 0.5
    assert hit["url"].endswith("/pages/2")
    assert isinstance(api.parts.search, ScriptedSearch)
    scope, query = api.parts.search.asked[0]
    assert scope.principals == (f"user:{office.emails[Role.OPERATOR]}", "role:operator")
    assert (query.text, query.limit, query.agent_id, query.min_similarity) == ("when?", 3, agent, 0.5)
    assert (query.filters.doc_type, query.filters.source_file) == ("pdf", "lease")
    assert str(query.filters.upload_date_from) == "2026-01-01 00:00:00+00:00"
    assert str(query.filters.upload_date_to) == "2026-05-01 23:59:59.999999+00:00"


async def test_an_answer_comes_with_its_citations(api: Api, operator: httpx.AsyncClient) -> None:
    answer = (await operator.post("/api/ask", json={"question": "When does it end?"})).json()
    assert (answer["answer"], answer["mode"], answer["model"]) == ("The lease ends in May. [1]", "extractive", None)
    cited = answer["citations"][0]
    assert (cited["n"], cited["filename"], cited["page"], cited["quote"]) == (
        1,
        "lease.pdf",
        2,
        "The lease ends in May.",
    )
    assert cited["url"] == f"/api/documents/{cited['document_id']}/versions/{cited['version_id']}/pages/2"
    assert isinstance(api.parts.answerer, ScriptedAnswerer)
    assert api.parts.answerer.asked[0][2] is None


HOSTILE: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/ask", {"content": b'{"question": "a\\u0000b"}'}),
    ("POST", "/api/ask", {"content": b'{"question": "\\ud800"}'}),
    ("POST", "/api/ask", {"content": b'{"question": "x", "\\ud800": 1}'}),
    ("POST", "/api/ask", {"content": b"[" * 50_000}),
    ("POST", "/api/ask", {"content": b'{"question": ' + b"9" * 6_000 + b"}"}),
    ("POST", "/api/ask", {"content": b"\xff\xfe"}),
    ("POST", "/api/ask", {"content": b'{"question": "' + b"a" * 200_000 + b'"}'}),
    ("POST", "/api/documents/search", {"content": b'{"query": "x", "min_similarity": NaN}'}),
    ("POST", "/api/documents/search", {"json": {"query": "x", "upload_date_to": "9999-99-99"}}),
    ("POST", "/api/documents/search", {"json": {"query": "x", "limit": 10**40}}),
    ("POST", "/api/documents/links", {"json": {"agent_id": "a", "document_ids": ["../.."]}}),
    (
        "POST",
        "/api/documents/upload",
        {"content": b"--x\r\nbroken", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
    ),
    ("GET", "/api/documents/%00", {}),
    ("GET", "/api/documents/" + "a" * 9_000, {}),
    ("GET", "/api/documents/vector-store/stats?agent_id=%00", {}),
    ("GET", "/api/jobs/urn:uuid:zz", {}),
    ("GET", "/api/jobs?skip=99999999999999999999999", {}),
    ("GET", "/api/jobs/00000000-0000-0000-0000-000000000000/events", {"headers": {"Last-Event-ID": "x"}}),
    ("PUT", "/api/jobs", {}),
    ("GET", "/nowhere", {}),
]


@pytest.mark.parametrize(("method", "path", "request_"), HOSTILE, ids=lambda value: str(value)[:40])
async def test_whatever_is_sent_the_answer_is_a_problem_of_the_caller(
    operator: httpx.AsyncClient, method: str, path: str, request_: dict[str, Any]
) -> None:
    headers = {"Content-Type": "application/json", **request_.get("headers", {})}
    answer = await operator.request(method, path, **{**request_, "headers": headers})
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert {"type", "title", "status", "detail", "code", "fix", "instance"} <= answer.json().keys()


async def test_a_body_that_lies_about_its_length_is_cut_off(operator: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"question": "'
        for _ in range(1_000):
            yield b"a" * 1_000

    answer = await operator.post("/api/ask", content=endless(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_an_error_without_a_name_is_500_with_an_id_and_nothing_else(
    app_dsn: str, office: Office, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(ScriptedSearch):
        async def run(self, scope: Any, query: Any) -> Any:
            raise KeyError("the password is 12345")

    async with serve(make_parts(app_dsn, tmp_path, search=Broken())) as api:
        client = await api.sign_in(office.emails[Role.VIEWER])
        answer = await client.post("/api/documents/search", json={"query": "x"})
    assert (answer.status_code, "12345" in answer.text) == (500, False)
    assert answer.json()["error_id"] in caplog.text


async def test_without_postgres_health_is_cheap_deep_health_is_red_and_everything_else_is_shut(
    api: Api, operator: httpx.AsyncClient
) -> None:
    """B-08, B-18: a database that errs lets nobody in."""
    assert (await api.client.get("/health", params={"deep": 1})).json() == {"status": "ok", "parts": {"postgres": "ok"}}
    await api.parts.database.close()
    assert (await api.client.get("/health")).status_code == 200
    deep = await api.client.get("/health", params={"deep": 1})
    assert (deep.status_code, deep.json()["status"]) == (503, "degraded")
    shut = await operator.get("/api/documents/")
    assert (shut.status_code, shut.json()["code"], shut.headers["Retry-After"]) == (503, "unavailable", "1")
