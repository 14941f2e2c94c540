"""Documents over HTTP: in by upload or scan, out by list, page, picture and text, gone by delete."""

import asyncio
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.work.jobs import JobLane
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.store.blobs import FolderBlobs, Location
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector, load, open_agent, open_generation
from tests.fakes.http import PNG, Api, Office, make_parts, serve
from tests.fakes.ledger import Bench


async def upload(client: httpx.AsyncClient, name: str, content: bytes, **query: Any) -> httpx.Response:
    form = query.pop("form", {})
    return await client.post("/api/documents/upload", files={"file": (name, content)}, data=form, params=query)


def rows(admin_dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(admin_dsn) as connection:
        return connection.execute(query.encode()).fetchall()


def put(admin_dsn: str, office: Office, *books: Book) -> list[str]:
    with psycopg.connect(admin_dsn) as connection:
        return load(connection, office.scope, open_generation(connection, office.scope), books)


def keep_stored_file(folder: Path) -> None:
    """The bytes behind documents that `put` wrote."""
    (folder / "blobs").mkdir(exist_ok=True)
    (folder / "blobs" / "none").write_bytes(b"x")


def book(name: str, text: str, **more: Any) -> Book:
    return Book(name, [Passage(text, vector=hash_vector(text))], **{"file_type": "text", **more})


async def test_an_upload_keeps_the_name_that_its_sender_meant(operator: httpx.AsyncClient, worker: Bench) -> None:
    """.NET sends an encoded word in `filename` and the name in `filename*`: a CSV was kept as text under the word."""
    head = 'Content-Disposition: form-data; name=file; filename="=?utf-8?B?UHLDvGZwbGFuLmNzdg==?="; '
    body = f"--B\r\n{head}filename*=utf-8''Pr%C3%BCfplan.csv\r\n\r\nNr;N\n1;2\n\r\n--B--\r\n".encode()
    sent = await operator.post(
        "/api/documents/upload", content=body, headers={"content-type": 'multipart/form-data; boundary="B"'}
    )
    assert sent.json()["filename"] == "Prüfplan.csv", sent.text
    shown = (await operator.get(f"/api/documents/{sent.json()['document_id']}")).json()
    assert (shown["filename"], shown["file_type"]) == ("Prüfplan.csv", "csv")


async def test_gw_09_an_upload_is_accepted_seen_at_once_and_searchable_when_its_job_ends(
    api: Api, operator: httpx.AsyncClient, worker: Bench
) -> None:
    """GW-09, IN-16: 202 with document and job; pending, then completed; the same bytes again are a duplicate."""
    form = {"description": "who rents what", "tags": "lease, 2026,lease"}
    answer = await upload(operator, "../../Lease ü.txt", b"The lease ends in May. It may be prolonged.", form=form)
    body = answer.json()
    assert (answer.status_code, body["status"], body["filename"]) == (202, "pending", "Lease ü.txt")
    shown = (await operator.get(f"/api/documents/{body['document_id']}")).json()
    assert (shown["status"], shown["tags"], shown["description"]) == ("pending", ["lease", "2026"], "who rents what")
    assert await worker.run(JobLane.SMALL) == body["job_id"]
    shown = (await operator.get(f"/api/documents/{body['document_id']}")).json()
    assert (shown["status"], shown["pages"]) == (
        "completed",
        {"expected": 1, "stored": 1, "failed": 0, "with_caveats": 0},
    )
    again = await upload(operator, "other name.txt", b"The lease ends in May. It may be prolonged.")
    assert (again.status_code, again.json()["status"], again.json()["job_id"]) == (200, "duplicate", None)
    assert again.json()["document_id"] == body["document_id"]


async def test_an_upload_may_wait_for_the_end(operator: httpx.AsyncClient, worker: Bench) -> None:
    async def work() -> None:
        await asyncio.sleep(0.3)
        await worker.run(JobLane.SMALL)

    answer, _ = await asyncio.gather(upload(operator, "a.txt", b"Anchors are heavy things.", wait=15), work())
    assert (answer.status_code, answer.json()["status"]) == (200, "completed")
    early = await upload(operator, "b.txt", b"Boats are light things.", wait=0.2)
    assert (early.status_code, early.json()["status"]) == (202, "pending")


@pytest.mark.parametrize(
    ("name", "content", "status", "reason"),
    [
        ("a.pdf", b"just text", 415, "unsupported"),
        ("a.png", b"%PDF-1.7 not a picture", 415, "unsupported"),
        ("a.bin", bytes(range(256)) * 4, 415, "unsupported"),
        ("a.txt", b"", 422, "empty"),
        ("a.txt", b"x" * 200_001, 413, None),
        ("a.txt", b"x" * 400_000, 413, None),
        ("\u202e", b"text", 422, None),
        ("n" * 256 + ".txt", b"text", 422, None),
    ],
)
async def test_gw_09_what_cannot_be_read_is_refused_with_its_reason_and_leaves_nothing(
    api: Api, operator: httpx.AsyncClient, tmp_path: Path, name: str, content: bytes, status: int, reason: str | None
) -> None:
    """GW-09: size limit, and content that belies its extension."""
    answer = await upload(operator, name, content)
    assert (answer.status_code, answer.json().get("reason")) == (status, reason), answer.text
    if status == 413:
        assert answer.json()["detail"] and answer.json()["fix"], "what the limit is, and what to do"
    assert answer.headers["content-type"] == "application/problem+json"
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
    assert (await operator.get("/api/documents/")).json()["total"] == 0


async def test_who_cannot_see_an_upload_cannot_replace_it_by_its_name(
    api: Api, operator: httpx.AsyncClient, office: Office
) -> None:
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    private = (await upload(developer, "plan.txt", b"first", form={"readers": "user:boss@x.example"})).json()
    assert (await developer.get(f"/api/documents/{private['document_id']}")).status_code == 200
    assert (await operator.get(f"/api/documents/{private['document_id']}")).status_code == 404
    other = (await upload(operator, "plan.txt", b"second")).json()
    assert other["document_id"] != private["document_id"]
    assert (await upload(operator, "p.txt", b"third", form={"readers": "everybody"})).status_code == 422
    team = (await upload(developer, "team.txt", b"fourth", form={"team_access": "boss@x.example, operator"})).json()
    seen = (await developer.get(f"/api/documents/{team['document_id']}")).json()["readers"]
    assert {"user:boss@x.example", "role:operator"} < set(seen), "team_access is no field that is passed over"


async def test_in_17_documents_are_linked_by_upload_by_call_and_by_agents_that_take_every_upload(
    api: Api, operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    """IN-17: upload?agent_id, POST links, auto_link_uploads; many to many; an agent by id or display name."""
    await operator.post("/api/agents", json={"name": "Clerk"})
    await operator.post("/api/agents", json={"name": "All", "extra_config": {"auto_link_uploads": True}})
    both = {"name": "Both", "config": {}, "extra_config": {"rag_top_k": 3}}
    assert (await operator.post("/api/agents", json=both)).status_code == 422
    first = (await upload(operator, "a.txt", b"one", agent_id="Clerk")).json()["document_id"]
    second = (await upload(operator, "b.txt", b"two")).json()["document_id"]
    links = {"agent_id": "Clerk", "document_ids": [first, second]}
    assert (await operator.post("/api/documents/links", json=links)).json()["changed"] == 1
    counts = {a["name"]: a["documents"] for a in (await operator.get("/api/agents")).json()["items"]}
    assert counts == {"Clerk": 2, "All": 2}
    missing = {"agent_id": "Clerk", "document_ids": [first, "0" * 32], "action": "unlink"}
    assert (await operator.post("/api/documents/links", json=missing)).status_code == 404
    gone = await operator.post("/api/documents/links", json={**links, "action": "unlink"})
    assert gone.json()["changed"] == 2
    agents = (await operator.get(f"/api/documents/{first}")).json()["agents"]
    assert [agent["name"] for agent in agents] == ["All"]
    assert (await upload(operator, "c.txt", b"three", agent_id="Nobody")).status_code == 404


async def test_in_13_gw_14_a_scan_stays_below_its_folder_and_starts_once_per_key(
    api: Api, operator: httpx.AsyncClient, tmp_path: Path
) -> None:
    """IN-13, GW-14: batch-scan under NFS_BASE_PATH; the same Idempotency-Key is the same job."""
    (tmp_path / "scans" / "in").mkdir()
    (tmp_path / "scans" / "out").symlink_to(tmp_path)
    started = await operator.post("/api/documents/batch-scan", json={"path": "in"}, headers={"Idempotency-Key": "k1"})
    assert (started.status_code, started.json()["status"]) == (202, "queued")
    again = await operator.post(
        "/api/documents/batch-scan", json={"path": str(tmp_path / "scans" / "in")}, headers={"Idempotency-Key": "k1"}
    )
    assert (again.json()["job_id"], again.json()["fresh"]) == (started.json()["job_id"], False)
    other = await operator.post("/api/documents/batch-scan", json={"path": "."}, headers={"Idempotency-Key": "k1"})
    assert other.status_code == 409
    for outside in ("/etc", "../", "out/blobs", "in/../../", str(tmp_path)):
        refused = await operator.post("/api/documents/batch-scan", json={"path": outside})
        assert refused.status_code == 403, outside
    for nothing in ("in/none", "n" * 3_000, "in/" + "n" * 300):
        assert (await operator.post("/api/documents/batch-scan", json={"path": nothing})).status_code == 404


async def test_in_13_without_a_base_path_nothing_can_be_scanned(app_dsn: str, office: Office, tmp_path: Path) -> None:
    """IN-13: the guard fails closed, and says what to set."""
    parts = make_parts(app_dsn, tmp_path)
    from dataclasses import replace

    async with serve(replace(parts, read=parts.read.model_copy(update={"nfs_base_path": None}))) as api:
        client = await api.sign_in(office.emails[Role.OPERATOR])
        answer = await client.post("/api/documents/batch-scan", json={"path": "/tmp"})
    assert (answer.status_code, "NFS_BASE_PATH" in answer.json()["fix"]) == (422, True)


async def test_gw_15_gw_12_re_index_embed_pending_and_process_are_jobs(
    api: Api, operator: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    """GW-15, GW-12 (X-14): chunk sizes are told; agents by name; both paths of one handler."""
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, office.scope, "Clerk")
    two = put(admin_dsn, office, book("a.txt", "one two three"), book("b.txt", "four five six"))
    keep_stored_file(tmp_path)
    answer = await operator.post("/api/documents/reindex-all", params={"agent_id": "Clerk"})
    assert (answer.status_code, answer.json()["chunk_size_used"], answer.json()["chunk_overlap_used"]) == (
        202,
        1500,
        300,
    )
    await operator.post("/api/documents/embed-pending", params={"agent_id": agent})
    for document, path in zip(two, ("process", "reprocess"), strict=True):
        assert (await operator.post(f"/api/documents/{document}/{path}")).status_code == 202
    with psycopg.connect(admin_dsn) as connection:
        jobs = connection.execute("select kind, lane, payload from jobs order by created_at").fetchall()
    read = [{"origin": f"upload:{name}", "filename": name, "location": "blob:none"} for name in ("a.txt", "b.txt")]
    assert jobs == [
        ("reindex", "bulk", {"agent_id": agent}),
        ("embed", "bulk", {"agent_id": agent}),
        *(
            ("process", "small", {"document_id": one, "reading": {}, "files": [file], "refresh": True})
            for one, file in zip(two, read, strict=True)
        ),
    ]


async def test_gw_10_the_list_has_filters_and_pages(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    """GW-10: skip, limit, status, file_type, search; `%` and `_` stand for themselves."""
    put(
        admin_dsn,
        office,
        book("100%_sure.txt", "a b c"),
        book("1000 sures.txt", "d e f"),
        book("c.csv", "g h i", file_type="csv"),
    )

    async def names(**params: Any) -> set[str]:
        return {item["filename"] for item in (await operator.get("/api/documents/", params=params)).json()["items"]}

    assert await names(search="%_SURE") == {"100%_sure.txt"}
    assert await names(file_type="csv", status="completed") == {"c.csv"}
    assert await names(status="failed") == set()
    assert len(await names(limit=2)) == 2 and len(await names(skip=2)) == 1
    for wrong in ({"limit": 1001}, {"limit": 0}, {"skip": -1}, {"skip": 10**30}, {"status": "x"}, {"search": "\0"}):
        assert (await operator.get("/api/documents/", params=wrong)).status_code == 422


async def test_gw_10_content_is_the_pages_text_escaped_with_chunks_marked(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    """GW-10: highlight_chunk_ids -> <mark>; what a document contains is never HTML of ours."""
    evil = "<script>alert(1)</script> & more"
    sheets = [Sheet(f"Before. {evil} After."), Sheet("Second page.", "tesseract", 0.8)]
    (document,) = put(admin_dsn, office, Book("x.txt", [Passage(evil)], sheets, file_type="text"))
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select id from document_chunks").fetchone()
    assert row is not None
    url = f"/api/documents/{document}/content"
    body = (await operator.get(url, params={"highlight_chunk_ids": row[0]})).json()
    assert body["pages"][0]["html"] == ("Before. <mark>&lt;script&gt;alert(1)&lt;/script&gt; &amp; more</mark> After.")
    assert body["content"] == f"Before. {evil} After.\fSecond page."
    part = (await operator.get(url, params={"pages": 1})).json()
    assert (len(part["pages"]), part["next_page"]) == (1, 2)
    page = (await operator.get(f"/api/documents/{document}/pages/2")).json()
    assert (page["text"], page["engine"], round(page["confidence"], 2), page["page_count"]) == (
        "Second page.",
        "tesseract",
        0.8,
        2,
    )
    for number in ("3", "0", "-1", "x", "99999999999999999999"):
        assert (await operator.get(f"/api/documents/{document}/pages/{number}")).status_code in (404, 422)


async def test_the_picture_of_a_page_comes_from_the_bytes_that_were_read_or_not_at_all(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    file = tmp_path / "scan.txt"
    file.write_bytes(b"as it was")
    (document,) = put(admin_dsn, office, book("scan.txt", "as it was", version=sha256(b"as it was").hexdigest()))
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update document_versions set location = %s", (f"file:{file}",))
    url = f"/api/documents/{document}/pages/1/image"
    drawn = await operator.get(url, params={"dpi": 72})
    assert (drawn.headers["content-type"], drawn.content) == ("image/png", PNG + b"1@72")
    assert (await operator.get(f"/api/documents/{document}/pages/2/image")).status_code == 404
    file.write_bytes(b"as it is now")
    changed = await operator.get(url)
    assert (changed.status_code, changed.json()["reason"]) == (409, "changed")
    file.unlink()
    assert (await operator.get(url)).status_code == 409


async def test_gw_10_a_deletion_tells_what_goes_and_takes_all_of_it(
    api: Api, operator: httpx.AsyncClient, worker: Bench, tmp_path: Path, admin_dsn: str
) -> None:
    """GW-10: delete with impact; pages, chunks, vectors, links and an upload's bytes are gone, the trail stays."""
    await operator.post("/api/agents", json={"name": "Clerk"})
    sent = (await upload(operator, "a.txt", b"Anchors are heavy. Boats are light.", agent_id="Clerk")).json()
    await worker.run(JobLane.SMALL)
    url = f"/api/documents/{sent['document_id']}"
    impact = (await operator.get(f"{url}/delete-impact")).json()
    assert impact["pages"] == impact["versions"] == 1 and impact["chunks"] == impact["embeddings"] >= 1
    assert impact["agents"] == ["Clerk"]
    assert (await operator.delete(url)).json() == impact
    assert (await operator.delete(url)).status_code == (await operator.get(url)).status_code == 404
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
    with psycopg.connect(admin_dsn) as connection:
        for table in ("pages", "document_chunks", "embeddings", "document_agent_links", "document_versions"):
            assert connection.execute(f"select count(*) from {table}").fetchone() == (0,), table
        trail = connection.execute("select action from audit where object = %s", (sent["document_id"],)).fetchall()
    assert trail == [("document.upload",), ("document.delete",)]


async def test_a_deletion_takes_the_bytes_of_uploads_that_were_never_read(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    """Neither one that waits nor those it replaced by its name, before and after they were read, leaves a file."""

    def files() -> int:
        return sum(path.is_file() for path in (tmp_path / "blobs").rglob("*"))

    await upload(operator, "a.txt", b"first of this name")
    await worker.run(JobLane.SMALL)
    sent = (await upload(operator, "a.txt", b"second of this name")).json()
    await upload(operator, "a.txt", b"third of this name")
    other = (await upload(operator, "b.txt", b"another one that waits")).json()
    assert files() == 4
    shown = (await operator.get(f"/api/documents/{sent['document_id']}")).json()
    assert "blob:" not in str(shown), "where the bytes are is nobody's business"
    assert (await operator.delete(f"/api/documents/{sent['document_id']}")).status_code == 200
    assert files() == 1
    assert (await operator.delete(f"/api/documents/{other['document_id']}")).status_code == 200
    assert files() == 0


async def test_whoever_changes_the_index_waits_for_the_workspace_before_taking_a_document(
    operator: httpx.AsyncClient, worker: Bench, admin_dsn: str, office: Office
) -> None:
    """As indexing does; in another order a deletion and a worker wait for each other until Postgres ends one."""
    sent = (await upload(operator, "a.txt", b"Anchors are heavy.")).json()
    await worker.run(JobLane.SMALL)
    url = f"/api/documents/{sent['document_id']}"
    with psycopg.connect(admin_dsn) as indexing:
        lock = "select 1 from workspaces where id = %s for no key update"
        indexing.execute(lock, (office.scope.workspace,))
        calls = [
            asyncio.create_task(call) for call in (operator.delete(url), upload(operator, "a.txt", b"Boats are light."))
        ]
        for _ in range(500):
            if len(rows(admin_dsn, "select 1 from pg_locks where not granted")) == 2:
                break
            await asyncio.sleep(0.02)
        indexing.execute("select 1 from documents where id = %s for update nowait", (sent["document_id"],))
    assert {answer.status_code for answer in await asyncio.gather(*calls)} == {200, 202}


async def test_a_document_that_waits_to_be_read_is_not_read_again(operator: httpx.AsyncClient) -> None:
    """The job that will read it is named."""
    sent = (await upload(operator, "a.txt", b"Anchors are heavy.")).json()
    for path in ("process", "reprocess"):
        refused = await operator.post(f"/api/documents/{sent['document_id']}/{path}")
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert "job" in refused.json()["fix"]


async def test_gw_16_statistics_count_what_can_be_searched(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    """GW-16: documents, pages, chunks, vectors and the generation, in all and for one agent."""
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, office.scope, "Clerk")
    put(admin_dsn, office, book("a.txt", "one two", agents=(agent,)), book("b.txt", "three four"))
    whole = (await operator.get("/api/documents/vector-store/stats")).json()
    assert (whole["documents"], whole["pages"], whole["chunks"], whole["embeddings"]) == (2, 2, 2, 2)
    assert whole["by_status"] == {"completed": 2} and whole["generation"]["dimension"] > 1
    part = (await operator.get("/api/documents/vector-store/stats", params={"agent_id": "Clerk"})).json()
    assert (part["documents"], part["embeddings"]) == (1, 1)


async def test_vs_03_statistics_tell_who_embeds(api: Api, operator: httpx.AsyncClient) -> None:
    """VS-03: the model in this process, or the server and whether the first start found it; no key of its URL."""

    async def told() -> tuple[str, str | None, bool]:
        found = (await operator.get("/api/documents/vector-store/stats")).json()
        return found["model"], found["endpoint"], found["ollama_auto_detected"]

    assert await told() == ("packaged", None, False)
    for detected, url in (("ollama", "http://127.0.0.1:11434"), (None, "https://e.example/v1?key=sk-1")):
        settings = EmbeddingSettings(base_url=url, model="m", detected=detected)
        object.__setattr__(api.parts, "embedding", settings)
        assert await told() == ("m", url.partition("?")[0], detected == "ollama")


class SlowBlobs(FolderBlobs):
    """Removes nothing before it is let go."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.begun, self.go = threading.Event(), threading.Event()

    def delete(self, location: Location) -> None:
        self.begun.set()
        self.go.wait(10)
        super().delete(location)


async def test_a_deletion_that_is_cut_off_after_its_commit_still_removes_all_bytes(
    app_dsn: str, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    blobs = SlowBlobs(tmp_path / "blobs")
    async with serve(make_parts(app_dsn, tmp_path, blobs=blobs)) as api:
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        await upload(operator, "a.txt", b"first of this name")
        sent = (await upload(operator, "a.txt", b"second of this name")).json()
        deleting = asyncio.create_task(operator.delete(f"/api/documents/{sent['document_id']}"))
        assert await asyncio.to_thread(blobs.begun.wait, 10)
        deleting.cancel()
        await asyncio.sleep(0.1)
        blobs.go.set()
        await asyncio.wait({deleting})
    assert rows(admin_dsn, "select id from documents") == []
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
