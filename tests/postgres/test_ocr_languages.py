"""The languages of a workspace's scans: chosen by an operator, refused where not installed, passed to the readers."""

from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope
from cluster.state.work.jobs import JobLane
from pipelines.documents.store.ocr_languages import SQL, LanguageNotInstalled, OcrLanguages
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench, new_workspace

THERE = ("deu", "eng")


def write(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text("first page\fsecond page")
    return folder


async def choose(ledger: Bench, scope: Scope, *languages: str) -> None:
    async with ledger.database.transaction(scope) as tx:
        await OcrLanguages(ledger.database).change(tx, scope, languages, THERE)


async def test_a_change_reads_pages_again_in_the_new_languages_and_only_once(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "in")
    await ledger.scan(scope, folder)
    assert ledger.reader.languages == ()
    await choose(ledger, scope, "deu", "eng")
    await ledger.scan(scope, folder)
    assert ledger.reader.languages == ("deu", "eng")
    assert set(ledger.reader.readings.values()) == {2}
    await ledger.scan(scope, folder)
    assert set(ledger.reader.readings.values()) == {2}, "nothing has changed since"
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        for engine, read in (("native+human", 0), ("none", 0), ("tesseract+human", 1)):
            connection.execute("update pages set engine = %s, caveats = '[]'", (engine,))
            async with ledger.database.transaction(scope) as tx:
                files = await tx.all(SQL["read_by_ocr"], **scope.keys)
            assert len(files) == read, engine
    await choose(ledger, scope)
    await ledger.scan(scope, folder)
    assert ledger.reader.languages == () and set(ledger.reader.readings.values()) == {3}


async def test_a_folder_and_an_upload_may_be_in_languages_of_their_own(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    """And stay so where the next scan names none; a repeat reads nothing again."""
    write(tmp_path / "scans")
    for languages, read in ((["eng"], 1), ("eng", 1), (["auto", "eng"], 2), (None, 2), (["eng"], 3)):
        body = {"path": "."} | ({"languages": languages} if languages else {})
        assert (await operator.post("/api/documents/batch-scan", json=body)).status_code == 202
        await worker.run()
        assert set(worker.reader.readings.values()) == {read}, languages
    assert worker.reader.languages == ("eng",)
    worker.reader.languages = ()
    sent = {"files": {"file": ("b.txt", b"an upload")}, "data": {"languages": "eng"}}
    assert (await operator.post("/api/documents/upload", **sent)).status_code == 202
    await worker.run(JobLane.SMALL)
    assert worker.reader.languages == ("eng",)
    refused = await operator.post("/api/documents/batch-scan", json={"path": ".", "languages": ["xyz"]})
    assert refused.status_code == 422 and refused.json()["code"] == "language_not_installed"
    sent = {"files": {"file": ("c.txt", b"another")}, "data": {"languages": "../eng"}}
    assert (await operator.post("/api/documents/upload", **sent)).status_code == 422


async def test_a_workspace_is_read_in_its_own_languages(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    other = await new_workspace(admin_dsn)
    await choose(ledger, scope, "deu")
    folder = write(tmp_path / "in")
    await ledger.scan(other, folder)
    assert ledger.reader.languages == ()
    await ledger.scan(scope, folder)
    assert ledger.reader.languages == ("deu",)
    assert await OcrLanguages(ledger.database).current(other) == ()


async def test_a_language_without_data_is_refused_with_the_package_and_changes_nothing(
    ledger: Bench, scope: Scope
) -> None:
    await choose(ledger, scope, "deu")
    with pytest.raises(LanguageNotInstalled) as refused:
        await choose(ledger, scope, "eng", "chi_sim", "fra")
    assert "apt-get install -y tesseract-ocr-chi-sim tesseract-ocr-fra" in refused.value.hint
    assert "chi_sim, fra" in refused.value.detail and "deu, eng" in refused.value.detail
    assert await OcrLanguages(ledger.database).current(scope) == ("deu",)


async def test_an_operator_chooses_them_over_http(
    api: Api, office: Office, operator: httpx.AsyncClient, worker: Bench, admin_dsn: str, tmp_path: Path
) -> None:
    """On record, refused to those who only read; what OCR has read is read again where asked."""
    path = "/api/ocr/languages"
    found = (await operator.get(path)).json()
    assert (found["languages"], found["default"], found["job_id"]) == ([], ["auto"], None)
    assert "eng" in found["installed"] and "osd" not in found["installed"]
    refused = await operator.put(path, json={"languages": ["eng", "xyz"]})
    assert (refused.status_code, refused.json()["code"]) == (422, "language_not_installed")
    assert "tesseract-ocr-xyz" in refused.json()["fix"]
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.put(path, json={"languages": ["eng"]})).status_code == 403

    await operator.post("/api/documents/upload", files={"file": ("scan.txt", b"read by OCR")})
    await operator.post("/api/documents/upload", files={"file": ("text.txt", b"read without")})
    await worker.run(JobLane.SMALL)
    await worker.run(JobLane.SMALL)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "update pages set engine = 'tesseract' where document_id in"
            " (select id from documents where filename = 'scan.txt')"
        )
    changed = (await operator.put(path, json={"languages": ["eng", "eng"], "read_again": True})).json()
    assert changed["languages"] == ["eng"]
    assert await worker.run(JobLane.BULK) == changed["job_id"]
    assert sorted(worker.reader.readings.values()) == [1, 2] and worker.reader.languages == ("eng",)
    job = (await operator.get(f"/api/jobs/{changed['job_id']}")).json()
    assert (job["state"], job["documents"]["expected"]) == ("completed", 1)
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute("select detail from audit where action = 'ocr.languages'").fetchall()
    assert rows == [({"languages": ["eng", "eng"], "read_again": 1},)]
