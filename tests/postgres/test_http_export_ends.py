"""Ends of exports: cancelled, without a place, without a credential; and that nothing of theirs goes on then."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.export.pdf_export import SearchablePdfExporter
from pipelines.documents.export.stored_content import StoredContent
from tests.fakes.http import Api, Office
from tests.fakes.scans import scanned_page, write_scan
from tests.postgres.test_http_export import export, make_hung, put, put_scan, text_book

LINES = ["Hello world"]


async def test_an_export_that_is_cancelled_in_the_middle_ends_its_child_at_once(
    api: Api, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    scan = write_scan(tmp_path / "scan.pdf", pages=2)
    document = put_scan(admin_dsn, office, scan, "pdf", scanned_page(LINES), scanned_page(["x"], 2))
    content = StoredContent(api.parts.database)
    (version,) = [one async for one in content.versions(replace(office.scope, principals=("*",)), document)]
    exporter = SearchablePdfExporter(content, ReadSettings(), OcrSettings(), make_hung)
    (tmp_path / "out").mkdir()
    writing = exporter.write_pdf(office.scope, version, scan, tmp_path / "out" / "a.pdf")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await writing
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("export")]


@pytest.mark.parametrize("form", ["pdf", "markdown", "parquet"])
async def test_who_finds_no_place_is_refused_before_the_answer_begins_and_places_come_back(
    api: Api, operator: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path, form: str
) -> None:
    scan = write_scan(tmp_path / "scan.pdf", pages=2)
    document = put_scan(admin_dsn, office, scan, "pdf", scanned_page(LINES), scanned_page(["x"], 2))
    queue: Any = api.parts.exports
    queue._free, queue._service = 0, 1_000.0
    refused = await export(operator, document, format=form)
    assert (refused.status_code, refused.json()["code"]) == (429, "crowded")
    assert refused.headers["retry-after"]
    queue._free, queue._service = 2, 0.0
    for _ in range(1 if form == "pdf" else 3):
        assert (await export(operator, document, format=form)).status_code == 200
    assert queue._free == 2


async def test_an_export_ends_with_the_credential_that_asked_for_it_and_does_not_look_whole(
    api: Api, admin_dsn: str, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = put(admin_dsn, office, text_book())[0]
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    monkeypatch.setattr(api.parts.watch, "_pause", 0.05)

    async def slow(*_: Any) -> Any:
        yield "first"
        with psycopg.connect(admin_dsn) as admin:
            admin.execute("delete from memberships where workspace_id = %s", (office.scope.workspace,))
        await asyncio.sleep(10)
        yield "last"

    monkeypatch.setattr("serve_apps.http.routes.documents.exports.markdown_pages", slow)
    sent, bodies = list[Any](), [{"type": "http.request", "body": b"", "more_body": False}]
    headers = [(b"authorization", viewer.headers["authorization"].encode())]
    asked = {"type": "http", "method": "GET", "path": f"/api/documents/{document}/export", "headers": headers}
    asked |= {"query_string": b"format=markdown", "scheme": "http", "server": ("aos.test", 80), "client": ("a", 1)}
    asked |= {"asgi": {"version": "3.0"}, "http_version": "1.1", "root_path": "", "raw_path": b""}

    async def receive() -> Any:
        return bodies.pop() if bodies else await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    with pytest.raises(RuntimeError):
        async with asyncio.timeout(5):
            await api.app(asked, receive, send)
    assert b"".join(message.get("body", b"") for message in sent) == b"first"
    assert sent[-1]["more_body"], "an end is not told"
