"""Exports over HTTP: searchable PDF, Markdown with pages, Parquet; for those alone who may read the document."""

import asyncio
import io
import json
import os
import signal
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pyarrow.parquet as pq
import pypdfium2 as pdfium
import pytest
import yaml
from psycopg.types.json import Jsonb

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Caveat, CaveatKind, Page
from pipelines.documents.export.parquet_tables import SCHEMAS, ExportTable
from pipelines.documents.export.pdf_export import SearchablePdfExporter
from pipelines.documents.export.searchable_pdf import SearchablePdfWorker
from pipelines.documents.export.stored_content import StoredContent
from pipelines.documents.store.page_codec import caveats_to_json
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector, load, open_generation
from tests.fakes.http import Api, Office, open_office
from tests.fakes.scans import drawn_page, scanned_page, write_scan

LINES = ["Hello world", "мир 漢字", "مرحبا بالعالم"]
TABLE = "# Tolls\n\n| Ferry | Toll |\n| --- | --- |\n| Anna | 12 |\n| Berta | 30 |\n\nPaid by: the mate"


def sheet_of(page: Page) -> Sheet:
    return Sheet(page.text, page.engine, page.confidence, page.words)


def put(admin_dsn: str, office: Office, *books: Book) -> list[str]:
    with psycopg.connect(admin_dsn) as connection:
        return load(connection, office.scope, open_generation(connection, office.scope), books)


def text_book(name: str = "tolls.txt", text: str = TABLE, **more: Any) -> Book:
    return Book(name, [Passage(text, vector=hash_vector(text), headings=("Tolls",))], [Sheet(text)], "text", **more)


def put_scan(admin_dsn: str, office: Office, path: Path, kind: str, *pages: Page, **more: Any) -> str:
    """A document that was read from a file that stays where it is."""
    book = Book(path.name, [Passage(pages[0].text)], [sheet_of(page) for page in pages], kind, **more)
    (document,) = put(admin_dsn, office, book)
    digest = sha256(path.read_bytes()).hexdigest()
    with psycopg.connect(admin_dsn) as admin:
        admin.execute(
            "update document_versions set location = %s, file_hash = %s, kind = %s where document_id = %s",
            (f"file:{path}", digest, kind, document),
        )
    return document


async def export(client: httpx.AsyncClient, document: str | None = None, **query: Any) -> httpx.Response:
    path = f"/api/documents/{document}/export" if document else "/api/documents/export"
    return await client.get(path, params=query)


def parquet(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return list(pq.read_table(io.BytesIO(answer.content)).to_pylist())


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    return write_scan(tmp_path / "Prüf plan.pdf", pages=2)


async def test_a_scan_goes_out_as_a_pdf_that_can_be_searched(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office, scan: Path
) -> None:
    pages = [scanned_page(LINES), scanned_page(["second page"], 2)]
    answer = await export(operator, put_scan(admin_dsn, office, scan, "pdf", *pages))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/pdf"), answer.text
    assert answer.headers["content-disposition"].endswith("filename*=UTF-8''Pr%C3%BCf%20plan.pdf")
    assert int(answer.headers["content-length"]) == len(answer.content)
    counts = {"pages": 2, "layered": 2, "native": 0, "empty": 0, "unread": 0, "doubled": 0, "unplaced": 0}
    assert json.loads(answer.headers["x-export-pages"]) == counts
    pdf = pdfium.PdfDocument(answer.content)
    found = [page.get_textpage().get_text_range().replace("\r\n", "\n") for page in pdf]
    assert found == [page.text for page in pages]


async def test_a_picture_goes_out_as_a_pdf_too(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    drawn_page().save(tmp_path / "letter.png", dpi=(100, 100))
    document = put_scan(admin_dsn, office, tmp_path / "letter.png", "image", scanned_page(LINES))
    answer = await export(operator, document, format="pdf")
    pdf = pdfium.PdfDocument(answer.content)
    assert pdf[0].get_textpage().get_text_range().replace("\r\n", "\n") == "\n".join(LINES)


async def test_exports_are_for_those_who_may_read_the_document(
    api: Api, operator: httpx.AsyncClient, admin_dsn: str, office: Office, scan: Path
) -> None:
    """Foreign documents answer 404 in every form, and are in nobody's Parquet; a viewer may export what they read."""
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    shared = put_scan(admin_dsn, office, scan, "pdf", scanned_page(["open"]), scanned_page(["also"], 2))
    (private,) = put(admin_dsn, office, text_book("private.txt", readers=("user:boss@x.example",)))
    for form in ("pdf", "markdown", "parquet"):
        assert (await export(viewer, shared, format=form)).status_code == 200
        for client, document in ((stranger, shared), (viewer, private), (viewer, "0" * 32)):
            refused = await export(client, document, format=form)
            assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    for table in ExportTable:
        assert {row["document_id"] for row in parquet(await export(viewer, table=table))} <= {shared}
        assert parquet(await export(stranger, table=table)) == []
    assert (await export(api.client, shared)).status_code == 401
    assert (await export(viewer, shared, format="docx")).status_code == 422


async def test_documents_that_have_no_pages_to_show_are_refused_with_what_works(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    (document,) = put(admin_dsn, office, text_book())
    refused = (await export(operator, document)).json()
    assert (refused["status"], refused["code"]) == (422, "no_pdf_export")
    assert "markdown" in refused["fix"] and "text" in refused["detail"]


async def test_a_document_that_was_not_read_is_refused_with_its_reason_in_every_form(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    waiting, failed = put(admin_dsn, office, text_book("a.txt", current=False), text_book("b.txt", current=False))
    with psycopg.connect(admin_dsn) as admin:
        admin.execute("update documents set status = 'pending' where id = %s", (waiting,))
        failure = Jsonb({"stage": "survey", "reason": "encrypted", "detail": "a password", "retryable": False})
        admin.execute("update documents set status = 'failed', failure = %s where id = %s", (failure, failed))
    for form in ("pdf", "markdown", "parquet"):
        early = (await export(operator, waiting, format=form)).json()
        assert (early["status"], early["code"], early["detail"]) == (409, "document_unread", "it is pending")
        never = (await export(operator, failed, format=form)).json()
        assert (never["status"], "encrypted" in never["detail"], "password" in never["fix"]) == (409, True, True)


async def test_a_file_that_is_another_one_now_or_gone_is_told_and_nothing_else_is_exported(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office, scan: Path
) -> None:
    document = put_scan(admin_dsn, office, scan, "pdf", scanned_page(LINES), scanned_page(["x"], 2))

    def append() -> None:
        scan.write_bytes(scan.read_bytes() + b"\n")

    await asyncio.to_thread(append)
    for _ in range(2):
        refused = (await export(operator, document)).json()
        assert (refused["status"], refused["code"], refused["reason"]) == (409, "file_changed", "changed")
        assert refused["fix"]
        await asyncio.to_thread(scan.unlink, missing_ok=True)
    assert (await export(operator, document, format="markdown")).status_code == 200, "its text is still there"


async def test_a_broken_pdf_is_refused_with_its_reason(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<<")
    document = put_scan(admin_dsn, office, tmp_path / "broken.pdf", "pdf", scanned_page(LINES))
    refused = (await export(operator, document)).json()
    assert (refused["status"], refused["code"], refused["reason"]) == (422, "unreadable_file", "corrupt")
    assert refused["fix"]


async def test_markdown_has_its_origin_at_the_head_and_a_marker_before_each_page(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    forged = "text <!-- page 9 | engine: native --> more"
    pages = [Sheet(TABLE), Sheet("scanned", "tesseract", 0.874), Sheet(forged), Sheet("")]
    book = Book("Tolls & Fees: 2026.txt", [Passage(TABLE)], pages, "text")
    (document,) = put(admin_dsn, office, book)
    doubt = Caveat(CaveatKind.TABLE_UNSURE, "the columns --> are\nguessed")
    with psycopg.connect(admin_dsn) as admin:
        failure = Jsonb({"stage": "read", "reason": "timeout", "detail": "too slow", "retryable": True})
        admin.execute("update pages set failure = %s where document_id = %s and number = 4", (failure, document))
        caveats = Jsonb(caveats_to_json([doubt]))
        admin.execute("update pages set caveats = %s where document_id = %s and number = 1", (caveats, document))
        admin.execute("update document_versions set page_count = 5 where document_id = %s", (document,))
    answer = await export(operator, document, format="markdown")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    _, front, body = answer.text.split("---\n", 2)
    told = yaml.safe_load(front)
    assert (told["document"], told["filename"], told["pages"]) == (document, "Tolls & Fees: 2026.txt", 5)
    markers = [line for line in body.splitlines() if line.startswith("<!-- page")]
    assert markers == [
        "<!-- page 1 | engine: native -->",
        "<!-- page 2 | engine: tesseract | confidence: 0.87 -->",
        "<!-- page 3 | engine: native -->",
        "<!-- page 4 | engine: native -->",
        "<!-- page 5 -->",
    ]
    assert "<!-- page 9" not in body, "a page's text is no marker"
    assert TABLE in body
    assert "<!-- table_unsure: the columns - -&gt; are guessed -->" in body
    assert "<!-- not read: timeout: too slow -->" in body and "nothing is stored of this page" in body


@pytest.mark.parametrize("table", ExportTable)
async def test_parquet_has_the_columns_it_says_also_of_an_empty_workspace(
    operator: httpx.AsyncClient, table: ExportTable
) -> None:
    answer = await export(operator, table=table)
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert pq.read_schema(io.BytesIO(answer.content)).equals(SCHEMAS[table])
    assert parquet(answer) == []


async def test_parquet_gives_back_what_is_stored(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office, scan: Path
) -> None:
    pages = [scanned_page(LINES), scanned_page(["second page"], 2)]
    scanned = put_scan(admin_dsn, office, scan, "pdf", *pages)
    (tolls,) = put(admin_dsn, office, text_book())
    of_scan = parquet(await export(operator, scanned, format="parquet", table="pages"))
    assert [(row["page"], row["text"], row["engine"], row["words"]) for row in of_scan] == [
        (page.number, page.text, "tesseract", len(page.words)) for page in pages
    ]
    words = parquet(await export(operator, scanned, format="parquet", table="words"))
    assert [(row["page"], row["start"], row["text"]) for row in words] == [
        (page.number, word.start, word.text) for page in pages for word in page.words
    ]
    assert [words[0][edge] for edge in ("x0", "y0", "x1", "y1")] == pytest.approx([0.1, 0.08, 0.25, 0.11])
    cells = parquet(await export(operator, tolls, format="parquet", table="cells"))
    shown = [(row["table"], row["row"], row["column"], row["heading"], row["text"]) for row in cells]
    assert shown == [
        (0, 0, 0, "Ferry", "Anna"),
        (0, 0, 1, "Toll", "12"),
        (0, 1, 0, "Ferry", "Berta"),
        (0, 1, 1, "Toll", "30"),
        (1, 0, 0, "Paid by", "Paid by"),
        (1, 0, 1, "Paid by", "the mate"),
    ]
    assert TABLE[cells[0]["start"] : cells[0]["end"]] == "Anna | 12"
    assert {row["document_id"] for row in parquet(await export(operator, table="pages"))} == {scanned, tolls}


async def test_parquet_of_chunks_has_spans_and_vectors_where_they_are_asked_for(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    (document,) = put(admin_dsn, office, text_book())
    (plain,) = parquet(await export(operator, document, format="parquet", table="chunks"))
    assert (plain["text"], plain["headings"], plain["embedding"]) == (TABLE, ["Tolls"], None)
    (span,) = plain["spans"]
    assert TABLE[span["start"] : span["end"]] == TABLE and span["page"] == 1
    (full,) = parquet(await export(operator, table="chunks", vectors=True))
    assert full["embedding"] == pytest.approx(hash_vector(TABLE).tolist()) and full["embedder"] == "fake"


async def test_tables_that_were_stored_are_exported_as_they_are_stored(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    (document,) = put(admin_dsn, office, text_book())
    content = {"page": 1, "kind": "grid", "columns": ["A"], "head": [0, 1], "rows": [[2, 3, "", ["stored"]]]}
    with psycopg.connect(admin_dsn) as admin:
        admin.execute(
            "insert into page_tables (version_id, ordinal, page, document_id, tenant_id, workspace_id, headings,"
            " row_count, content) select current_version, 1, 1, id, tenant_id, workspace_id, '{a}', 1, %s"
            " from documents where id = %s",
            (Jsonb(content), document),
        )
        admin.execute("update document_versions set tables_of_reads = reads where document_id = %s", (document,))
    cells = parquet(await export(operator, document, format="parquet", table="cells"))
    assert [(row["heading"], row["text"]) for row in cells] == [("A", "stored")]


async def test_a_large_table_comes_in_row_groups(
    operator: httpx.AsyncClient, admin_dsn: str, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.documents.export.parquet_tables.GROUP_ROWS", 50)
    sheets = [sheet_of(scanned_page([f"word{n} other"], n)) for n in range(1, 61)]
    put(admin_dsn, office, Book("a.pdf", [Passage("word1")], sheets, "pdf"))
    answer = await export(operator, table="words")
    file = pq.ParquetFile(io.BytesIO(answer.content))
    assert file.num_row_groups == 3
    assert [row["text"] for row in parquet(answer)][::2] == [f"word{n}" for n in range(1, 61)]


class StabbedWorker(SearchablePdfWorker):
    """Is killed from outside when its second page comes."""

    def add_pages(self, pages: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class HungWorker(SearchablePdfWorker):
    """Works without end at its first pages."""

    def add_pages(self, pages: Any) -> None:
        while True:
            pass


def make_stabbed(read: ReadSettings, ocr: OcrSettings) -> object:
    return StabbedWorker(read, ocr)


def make_hung(read: ReadSettings, ocr: OcrSettings) -> object:
    return HungWorker(read, ocr)


@pytest.mark.parametrize(("make", "told"), [(make_stabbed, "ended from outside"), (make_hung, "s of CPU")])
async def test_a_child_that_is_killed_or_works_without_end_in_the_middle_is_told_and_leaves_nothing(
    api: Api,
    operator: httpx.AsyncClient,
    admin_dsn: str,
    office: Office,
    scan: Path,
    tmp_path: Path,
    make: Any,
    told: str,
) -> None:
    document = put_scan(admin_dsn, office, scan, "pdf", scanned_page(LINES), scanned_page(["x"], 2))
    content = StoredContent(api.parts.database)
    scope = replace(office.scope, principals=("*",))
    (version,) = [one async for one in content.versions(scope, document)]
    exporter = SearchablePdfExporter(content, ReadSettings(cpu_seconds=0.5), OcrSettings(), make)
    (tmp_path / "out").mkdir()
    with pytest.raises((Unavailable, Exception), match=told):
        await exporter.write_pdf(scope, version, scan, tmp_path / "out" / "a.pdf")
    await asyncio.sleep(0.2)
    assert list((tmp_path / "out").iterdir()) == []
    assert (await export(operator, document)).status_code == 200, "the next one gets a child of its own"


async def test_a_document_that_is_deleted_meanwhile_is_not_handed_out(
    api: Api, operator: httpx.AsyncClient, admin_dsn: str, office: Office, scan: Path
) -> None:
    document = put_scan(admin_dsn, office, scan, "pdf", scanned_page(LINES), scanned_page(["x"], 2))
    asked = asyncio.create_task(export(operator, document))
    await asyncio.sleep(0.1)
    assert (await operator.delete(f"/api/documents/{document}")).status_code == 200
    assert (await asked).status_code == 404
