"""Archives and letters in a job: each member is a document with a parent, none lost, doubled or left behind."""

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.disk import DiskRoom, DiskUsage
from cluster.basics.errors import DiskFull
from cluster.basics.scope import Role, Scope
from cluster.state.work.jobs import JobId, JobLane, JobState
from configs.sections import ReadSettings
from pipelines.documents.document import FailureReason, Unreadable, document_id
from pipelines.documents.extract.containers.unpacked import UnpackedMembers, failed_unpacking
from pipelines.documents.ingest.stages import FileTask, HereStages, SurveyResult
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.blobs import FolderBlobs, Location
from pipelines.documents.store.library import DocumentFilter, DocumentLibrary
from tests.fakes.containers import OpeningReader, mail_bytes, zip_bytes
from tests.fakes.corpus import open_agent
from tests.fakes.http import Api, open_office
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled

DOCUMENTS = """
select d.id, d.origin, d.filename, d.status, d.caveats, d.readers, d.tags, d.failure, p.filename as parent, d.metadata
from documents d left join documents p on p.id = d.parent_id order by d.origin
"""


@pytest.fixture
def opening(ledger: Bench) -> Bench:
    ledger.reader = OpeningReader()
    return ledger


async def shown(ledger: Bench, scope: Scope) -> dict[str, dict[str, Any]]:
    return {row["filename"]: row for row in await ledger.rows(scope, DOCUMENTS)}


async def parents(ledger: Bench, scope: Scope) -> dict[str, tuple[str | None, str]]:
    return {name: (row["parent"], row["status"]) for name, row in (await shown(ledger, scope)).items()}


async def progress(ledger: Bench, scope: Scope, job: JobId) -> dict[str, tuple[int, int, int, int]]:
    rows = await ledger.rows(
        scope, "select stage, expected, done, failed, unchanged from job_progress where job_id = %(job)s", job=job
    )
    return {row["stage"]: (row["expected"], row["done"], row["failed"], row["unchanged"]) for row in rows}


async def texts(ledger: Bench, scope: Scope, filename: str) -> list[str]:
    rows = await ledger.rows(
        scope,
        "select p.text from pages p join documents d on d.current_version = p.version_id"
        " where d.filename = %(name)s order by p.number",
        name=filename,
    )
    return [row["text"] for row in rows]


def stored_bytes(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "blobs").rglob("*") if path.is_file())


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A folder with an archive that holds a text, a letter with two things attached, and an archive."""
    folder = tmp_path / "in"
    folder.mkdir()
    enclosed = mail_bytes("The enclosed letter asks for 12 bollards.", {"sheet.txt": b"Bollards: 12"})
    letter = mail_bytes("See the plan.", {"plan.txt": b"Berth nine is closed."}, enclosed)
    inner = zip_bytes({"deep.txt": "The deepest text speaks of wolfram."})
    (folder / "docs.zip").write_bytes(
        zip_bytes({"contract.txt": "The contract runs for one year.", "mail/a.eml": letter, "inner.zip": inner})
    )
    return folder


ALL = {
    "docs.zip": (None, "completed"),
    "contract.txt": ("docs.zip", "completed"),
    "a.eml": ("docs.zip", "completed"),
    "plan.txt": ("a.eml", "completed"),
    "The enclosed letter.eml": ("a.eml", "completed"),
    "sheet.txt": ("The enclosed letter.eml", "completed"),
    "inner.zip": ("docs.zip", "completed"),
    "deep.txt": ("inner.zip", "completed"),
}


async def test_every_member_is_a_document_with_a_parent(opening: Bench, scope: Scope, box: Path) -> None:
    job = await opening.scan(scope, box)
    assert await parents(opening, scope) == ALL
    assert (await opening.desk.show(scope, job))["state"] == JobState.COMPLETED
    assert await progress(opening, scope, job) == {"survey": (8, 8, 0, 0), "read": (8, 8, 0, 0), "index": (8, 8, 0, 0)}
    assert await texts(opening, scope, "deep.txt") == ["The deepest text speaks of wolfram."]
    assert "| mail/a.eml |" in (await texts(opening, scope, "docs.zip"))[0]
    (found,) = [row for row in await opening.rows(scope, DOCUMENTS) if row["filename"] == "sheet.txt"]
    assert found["origin"] == f"file:{box}/docs.zip!/mail/a.eml!/The enclosed letter.eml!/sheet.txt"
    assert not (box.parent / "blobs" / scope.tenant / scope.workspace / "staging").exists() or not list(
        (box.parent / "blobs" / scope.tenant / scope.workspace / "staging").iterdir()
    )


async def test_scanned_twice_nothing_is_read_or_kept_twice(
    opening: Bench, scope: Scope, box: Path, tmp_path: Path
) -> None:
    await opening.scan(scope, box)
    before, kept = await shown(opening, scope), stored_bytes(tmp_path)
    assert isinstance(opening.reader, OpeningReader)
    opening.reader.readings.clear()
    job = await opening.scan(scope, box)
    assert await progress(opening, scope, job) == {"survey": (8, 0, 0, 8)}
    assert await shown(opening, scope) == before and stored_bytes(tmp_path) == kept
    assert not opening.reader.readings


class KilledBefore(HereStages):
    """Ends the worker when the survey of a file is done and nobody was told of it yet."""

    def __init__(self, reader: Any, indexer: Any, name: str) -> None:
        super().__init__(reader, indexer)
        self._name = name

    async def survey(self, files: Sequence[FileTask]) -> AsyncIterator[list[SurveyResult]]:
        async for found in super().survey(files):
            if found[0].key.endswith(self._name):
                raise WorkerKilled
            yield found


@pytest.mark.parametrize("name", ["docs.zip", "a.eml", "inner.zip", "deep.txt"])
async def test_killed_between_unpacking_and_the_write_nothing_is_lost_or_doubled(
    opening: Bench, scope: Scope, box: Path, tmp_path: Path, name: str
) -> None:
    await opening.enqueue(scope, "scan", {"root": str(box), "agent_id": None})
    opening.stages = KilledBefore(opening.reader, opening.indexer(), name)
    with pytest.raises(WorkerKilled):
        await opening.run(owner="killed")
    async with opening.database.transaction(scope) as tx:
        await tx.run("update jobs set lease_until = clock_timestamp() - interval '1 hour'")
    opening.stages = None
    job = await opening.run(owner="next")
    assert await parents(opening, scope) == ALL
    assert await progress(opening, scope, job) == {"survey": (8, 8, 0, 0), "read": (8, 8, 0, 0), "index": (8, 8, 0, 0)}
    assert len([one for one in stored_bytes(tmp_path) if "-" in one]) == 7, "one file of bytes a member"


async def test_killed_in_the_middle_of_the_write_leaves_nothing_of_it(
    opening: Bench, scope: Scope, box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opening.enqueue(scope, "scan", {"root": str(box), "agent_id": None})
    job = await opening.claim("killed")
    runner = opening.runner()
    adopt, calls = opening.blobs.adopt, []

    def die_at_the_second(tenant: str, workspace: str, staged: Path, key: str) -> Location:
        calls.append(key)
        if len(calls) == 2:
            raise WorkerKilled
        return adopt(tenant, workspace, staged, key)

    monkeypatch.setattr(opening.blobs, "adopt", die_at_the_second)
    with pytest.raises(WorkerKilled):
        await runner.turn(job, await opening.recipe(), lambda: False)
    assert await parents(opening, scope) == {}, "the archive itself is not settled without its members"
    monkeypatch.undo()
    await opening.finish(job, runner)
    assert await parents(opening, scope) == ALL


async def test_a_member_that_is_gone_from_its_archive_goes_and_a_changed_one_is_read(
    opening: Bench, scope: Scope, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    inner = zip_bytes({"deep.txt": "wolfram"})
    parts: dict[str, str | bytes] = {"same.txt": "same", "old.txt": "old", "inner.zip": inner, "new.txt": "before"}
    (folder / "a.zip").write_bytes(zip_bytes(parts))
    await opening.scan(scope, folder)
    (folder / "a.zip").write_bytes(zip_bytes({"same.txt": "same", "new.txt": "after", "more.txt": "more"}))
    job = await opening.scan(scope, folder)
    assert set(await parents(opening, scope)) == {"a.zip", "same.txt", "new.txt", "more.txt"}
    assert await texts(opening, scope, "new.txt") == ["after"]
    assert await progress(opening, scope, job) == {"survey": (4, 3, 0, 1), "read": (3, 3, 0, 0), "index": (3, 3, 0, 0)}
    rows = await opening.rows(scope, "select count(*) as n from embeddings")
    assert rows[0]["n"] == 4
    assert len(stored_bytes(tmp_path)) == 4, "same, new before and after, more; the bytes of what is gone went with it"


async def test_a_member_that_is_damaged_now_stays_as_it_was(opening: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    noise = os.urandom(3000).hex()
    whole = zip_bytes({"1.txt": noise, "2.txt": "two"})
    (folder / "a.zip").write_bytes(whole)
    await opening.scan(scope, folder)
    (folder / "a.zip").write_bytes(whole[:500] + bytes(20) + whole[520:])
    await opening.scan(scope, folder)
    assert set(await parents(opening, scope)) == {"a.zip", "1.txt", "2.txt"}
    assert await texts(opening, scope, "1.txt") == [noise]


async def test_an_archive_takes_its_members_along_when_it_is_deleted(
    opening: Bench, scope: Scope, box: Path, tmp_path: Path
) -> None:
    await opening.scan(scope, box)
    library = DocumentLibrary(opening.database)
    archive = document_id(scope.workspace, f"file:{box}/docs.zip")
    impact = await library.impact(scope, archive)
    assert (impact.members, impact.versions, impact.pages) == (7, 8, 8)
    rows, total = await library.page_of(scope, DocumentFilter(parent=archive), 0, 10)
    assert total == 3 and {row["parent_id"] for row in rows} == {archive}
    one = await library.show(scope, rows[0]["id"])
    assert (one["parent_filename"], (await library.show(scope, archive))["members"]) == ("docs.zip", 3)
    async with opening.database.transaction(scope) as tx:
        _, locations = await library.delete(tx, scope, archive)
    for location in locations:
        opening.blobs.delete(Location(location))
    assert await parents(opening, scope) == {} and stored_bytes(tmp_path) == [] and (box / "docs.zip").exists()
    for table in ("document_versions", "pages", "document_chunks", "embeddings", "document_agent_links"):
        assert (await opening.rows(scope, f"select count(*) as n from {table}"))[0]["n"] == 0


async def test_members_are_for_the_readers_of_their_archive_alone(opening: Bench, scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({"secret.txt": "The vault opens at noon."}))
    origin, mine = "upload:ab/a.zip", ["user:ana@x.example"]
    file = {"origin": origin, "filename": "a.zip", "location": f"file:{tmp_path}/a.zip"}
    payload = {"files": [file], "readers": mine, "tags": ["legal"]}
    await opening.enqueue(scope, "upload", payload, JobLane.SMALL)
    async with opening.database.transaction(scope) as tx:  # as an upload is announced
        await tx.run("update documents set readers = %(mine)s, tags = '{legal}'", mine=mine)
    await opening.run(JobLane.SMALL)
    rows = await shown(opening, scope)
    assert rows["secret.txt"]["readers"] == mine and rows["secret.txt"]["tags"] == ["legal"]
    for table in ("document_chunks", "embeddings"):
        found = await opening.rows(scope, f"select distinct readers from {table}")
        assert [row["readers"] for row in found] == [mine]
    stranger = Scope(scope.tenant, scope.workspace, principals=("user:bo@x.example",))
    assert await opening.rows(stranger, "select filename from documents") == []
    async with opening.database.transaction(scope) as tx:
        await tx.run("update documents set readers = '{role:admin}' where parent_id is null")
    assert (await shown(opening, scope))["secret.txt"]["readers"] == ["role:admin"]


async def test_a_later_look_does_not_open_a_members_readers(opening: Bench, scope: Scope, tmp_path: Path) -> None:
    """A request to read an archive again names no readers: its members have those of the archive, and not everybody."""
    (tmp_path / "a.zip").write_bytes(zip_bytes({"a.txt": "one"}))
    file = {"origin": "upload:ab/a.zip", "filename": "a.zip", "location": f"file:{tmp_path}/a.zip"}
    await opening.enqueue(scope, "upload", {"files": [file], "readers": ["role:admin"]}, JobLane.SMALL)
    async with opening.database.transaction(scope) as tx:
        await tx.run("update documents set readers = '{role:admin}'")
        await tx.run("update documents set metadata = '{}'")
    await opening.run(JobLane.SMALL)
    (tmp_path / "a.zip").write_bytes(zip_bytes({"a.txt": "one", "b.txt": "two"}))
    await opening.enqueue(scope, "process", {"files": [file], "refresh": True}, JobLane.SMALL)
    await opening.run(JobLane.SMALL)
    rows = await shown(opening, scope)
    assert sorted(rows) == ["a.txt", "a.zip", "b.txt"]
    assert all(row["readers"] == ["role:admin"] for row in rows.values())


async def test_what_is_not_taken_is_said_of_the_container(opening: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    parts: dict[str, str | bytes] = {"ok.txt": "fine", "../up.txt": "no", ".DS_Store": "x"}
    (folder / "a.zip").write_bytes(zip_bytes(parts))
    await opening.scan(scope, folder)
    row = (await shown(opening, scope))["a.zip"]
    assert row["status"] == "partial"
    assert [(one["kind"], one["count"]) for one in row["caveats"]] == [("parts_skipped", 1), ("passed_over", 1)]
    assert "../up.txt (its name leads out of the container)" in row["caveats"][0]["detail"]
    (folder / "a.zip").write_bytes(zip_bytes({"ok.txt": "fine", ".DS_Store": "x"}))
    await opening.scan(scope, folder)
    assert (await shown(opening, scope))["a.zip"]["status"] == "completed", "notes leave nothing out"


async def test_containers_without_end_come_to_an_end(opening: Bench, scope: Scope, tmp_path: Path) -> None:
    limits = ReadSettings(archive_depth=2, archive_members=5)
    opening.read, opening.reader = limits, OpeningReader(limits=limits)
    folder = tmp_path / "in"
    folder.mkdir()
    leaf = zip_bytes({"x.txt": "never read"})
    inner = zip_bytes({f"{n}.txt": f"text {n}" for n in range(4)} | {"leaf.zip": leaf})
    (folder / "wide.zip").write_bytes(zip_bytes({"one.zip": inner, "two.zip": inner}))
    await opening.scan(scope, folder)
    rows = await opening.rows(scope, DOCUMENTS)
    assert len(rows) == 1 + 5, "the outermost one's limit holds for all that is within it"
    named = {row["filename"]: row for row in rows}
    assert "has no room for more" in named["two.zip"]["caveats"][0]["detail"]
    (folder / "wide.zip").unlink()
    deep = zip_bytes({"leaf.zip": leaf})
    (folder / "deep.zip").write_bytes(zip_bytes({"in.zip": deep}))
    await opening.scan(scope, folder)
    named = await shown(opening, scope)
    assert named["leaf.zip"]["parent"] == "in.zip" and "x.txt" not in named
    assert "too deep" in named["leaf.zip"]["caveats"][0]["detail"] and named["leaf.zip"]["status"] == "partial"


async def test_members_count_against_the_quota_and_a_broken_one_is_a_document_with_a_reason(
    opening: Bench, scope: Scope, tmp_path: Path
) -> None:
    opening.read = ReadSettings(tenant_pages=2)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.zip").write_bytes(zip_bytes({"1.txt": "one", "2.txt": "two", "bad.pdf": b"%PDF-1.4 broken"}))
    job = await opening.scan(scope, folder)
    rows = await shown(opening, scope)
    assert {name: (row["status"], (row["failure"] or {}).get("reason")) for name, row in rows.items()} == {
        "a.zip": ("completed", None),
        "1.txt": ("completed", None),
        "2.txt": ("failed", "too_large"),
        "bad.pdf": ("failed", "corrupt"),
    }
    assert (await progress(opening, scope, job))["survey"] == (4, 2, 2, 0)
    assert rows["bad.pdf"]["metadata"]["uploads"], "its bytes are known, so that it can be read again and deleted"


async def test_an_archive_that_is_deleted_while_it_is_read_leaves_no_members(
    opening: Bench, scope: Scope, box: Path
) -> None:
    await opening.enqueue(scope, "scan", {"root": str(box), "agent_id": None})
    job, runner = await opening.claim(), opening.runner()
    await runner.turn(job, await opening.recipe(), lambda: False)
    library = DocumentLibrary(opening.database)
    async with opening.database.transaction(scope) as tx:
        await library.delete(tx, scope, document_id(scope.workspace, f"file:{box}/docs.zip"))
    await opening.finish(job, runner)
    assert await parents(opening, scope) == {}


async def test_members_are_linked_to_the_agents_of_their_archive(
    opening: Bench, scope: Scope, box: Path, admin_dsn: str
) -> None:
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, scope, "clerk")
    await opening.enqueue(scope, "scan", {"root": str(box), "agent_id": agent})
    await opening.run()
    rows = await opening.rows(scope, "select count(*) as n from document_agent_links")
    assert rows[0]["n"] == 8


async def test_a_link_and_its_end_take_what_came_out_along(
    opening: Bench, scope: Scope, box: Path, admin_dsn: str
) -> None:
    await opening.scan(scope, box)
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, scope, "later")
    container, links = document_id(scope.workspace, f"file:{box}/docs.zip"), AgentLinks(opening.database)
    async with opening.database.transaction(scope) as tx:
        assert await links.link(tx, scope, agent, [container]) == len(ALL)
        assert await links.unlink(tx, scope, agent, [container]) == len(ALL)


async def test_what_is_said_of_members_is_mended_when_it_is_no_longer_so(
    opening: Bench, scope: Scope, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.zip").write_bytes(zip_bytes({"1.txt": "one", "2.txt": "two"}))
    opening.reader = OpeningReader(limits=ReadSettings(archive_members=1))
    await opening.scan(scope, folder)
    assert await parents(opening, scope) == {"a.zip": (None, "partial"), "1.txt": ("a.zip", "completed")}
    opening.reader = OpeningReader()
    await opening.scan(scope, folder)
    assert {name: state for name, (_, state) in (await parents(opening, scope)).items()} == dict.fromkeys(
        ("a.zip", "1.txt", "2.txt"), "completed"
    )


class BlindReader(OpeningReader):
    """Cannot look into containers."""

    def unpack(self, path: Path, kind: Kind, folder: Path | None, **text: str | None) -> UnpackedMembers:
        return failed_unpacking(kind, Unreadable(FailureReason.CRASHED, "the reading process ended"))


async def test_members_stay_where_nobody_could_look_into_their_container(
    opening: Bench, scope: Scope, box: Path
) -> None:
    await opening.scan(scope, box)
    opening.reader = BlindReader()
    await opening.scan(scope, box)
    found = await parents(opening, scope)
    assert found == ALL | {"docs.zip": (None, "partial")}


async def test_an_uploaded_archive_is_shown_deleted_and_read_again_with_what_came_out_of_it(
    api: Api, operator: httpx.AsyncClient, admin_dsn: str, worker: Bench, tmp_path: Path
) -> None:
    worker.reader = OpeningReader()
    letter = mail_bytes("See the plan.", {"plan.txt": b"Berth nine is closed."})
    data = zip_bytes({"contract.txt": "The contract runs for one year.", "a.eml": letter})
    sent = await operator.post("/api/documents/upload", files={"file": ("docs.zip", data)})
    assert sent.status_code == 202, sent.text
    archive = sent.json()["document_id"]
    await worker.run(JobLane.SMALL)
    body = (await operator.get("/api/documents/", params={"parent": archive})).json()
    assert {one["filename"] for one in body["items"]} == {"contract.txt", "a.eml"} and body["total"] == 2
    mail = next(one["id"] for one in body["items"] if one["filename"] == "a.eml")
    shown_mail = (await operator.get(f"/api/documents/{mail}")).json()
    assert (shown_mail["parent_id"], shown_mail["parent_filename"], shown_mail["members"]) == (archive, "docs.zip", 1)
    other = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    assert (await other.get(f"/api/documents/{mail}")).status_code == 404
    assert (await other.get("/api/documents/", params={"parent": archive})).json()["total"] == 0
    again = await operator.post(f"/api/documents/{mail}/reprocess")
    assert again.status_code == 202, again.text
    await worker.run(JobLane.SMALL)
    assert (await operator.get(f"/api/jobs/{again.json()['job_id']}")).json()["state"] == "completed"
    impact = (await operator.get(f"/api/documents/{archive}/delete-impact")).json()
    assert (impact["members"], impact["pages"]) == (3, 4)
    assert (await operator.delete(f"/api/documents/{archive}")).json()["members"] == 3
    assert (await operator.get("/api/documents/")).json()["total"] == 0 and stored_bytes(tmp_path) == []


async def test_a_disk_without_room_loses_no_member_and_is_not_filled_by_what_waits(
    opening: Bench, scope: Scope, box: Path, tmp_path: Path
) -> None:
    free = [0]
    room = DiskRoom(tmp_path / "blobs", least_bytes=100, usage=lambda _: DiskUsage(free[0], 1000))
    opening.blobs = FolderBlobs(tmp_path / "blobs", room, tmp_path)
    await opening.enqueue(scope, "scan", {"root": str(box), "agent_id": None})
    job, runner = await opening.claim(), opening.runner()
    with pytest.raises(DiskFull):
        await runner.turn(job, await opening.recipe(), lambda: False)
    assert stored_bytes(tmp_path) == [] and await parents(opening, scope) == {}
    free[0] = 500
    await opening.finish(job, runner)
    assert await parents(opening, scope) == ALL
