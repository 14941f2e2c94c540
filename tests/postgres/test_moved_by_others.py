"""Exports that somebody else has touched, and imports into a workspace that has rules of its own."""

import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.signed_receipts import ReceiptSigner
from pipelines.documents.portable.export_manifest import MANIFEST, ExportFolderTaken
from pipelines.documents.portable.export_parts import NOTES
from pipelines.documents.portable.workspace_import import KeptReaders
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.item_rights import GONE
from pipelines.documents.store.blobs import FolderBlobs, Location
from tests.fakes import corpus
from tests.fakes.portable import Yard, content, open_yard


@pytest.fixture
async def yard(admin_dsn: str, app_dsn: str, tmp_path: Path) -> AsyncIterator[Yard]:
    async with open_yard(admin_dsn, app_dsn, tmp_path) as yard:
        yield yard


def filled(yard: Yard, count: int, target: Scope | None = None) -> tuple[Scope, list[str]]:
    """A workspace with documents; another one that has an index of the same kind may be there."""
    scope = corpus.open_home(yard.admin, "archive")
    generation = corpus.open_generation(yard.admin, scope, *(() if target is None else (target,)))
    return scope, yard.fill(scope, generation, range(count))


@pytest.mark.parametrize("name", ["pages/*.parquet", "blobs/*/*"])
async def test_what_was_damaged_is_mended_by_another_export(yard: Yard, name: str) -> None:
    """A file of the same size, too: an import says that exporting again helps."""
    target = corpus.open_home(yard.admin, "arrival")
    mine, _ = filled(yard, 4, target)
    await yard.send(mine, "moved")
    path = next((yard.folder / "moved").glob(name))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    again = await yard.send(mine, "moved")
    assert (again.written_parts, again.kept_parts) == (1, 1)
    await yard.receive(target, "moved")
    assert yard.contents(target) == yard.contents(mine)


async def test_bytes_that_are_back_are_exported_by_a_later_run(yard: Yard) -> None:
    mine, (document,) = filled(yard, 1)
    path = yard.blobs.path(yard.blobs.location(mine.tenant, mine.workspace, f"b{document}"))
    path.rename(yard.folder / "away")
    assert (await yard.send(mine, "moved")).manifest["left_out"]["without_bytes"] == 1
    (yard.folder / "away").rename(path)
    assert (await yard.send(mine, "moved")).manifest["left_out"]["without_bytes"] == 0


class AwayBlobs(FolderBlobs):
    """A store that does not answer."""

    @contextmanager
    def open_local(self, location: Location, most: int | None = None) -> Iterator[Path]:
        raise Unavailable("the store is away")
        yield


async def test_a_store_that_is_away_ends_the_export_and_counts_nothing_as_missing(yard: Yard) -> None:
    mine, _ = filled(yard, 1)
    there, yard.blobs = yard.blobs, AwayBlobs(yard.folder / "blobs")
    with pytest.raises(Unavailable, match="away"):
        await yard.send(mine, "moved")
    assert not (yard.folder / "moved" / MANIFEST).exists()
    yard.blobs = there
    assert (await yard.send(mine, "moved")).manifest["left_out"]["without_bytes"] == 0


async def test_a_folder_that_cannot_be_written_is_no_missing_document(yard: Yard) -> None:
    mine, _ = filled(yard, 1)
    (yard.folder / "moved" / NOTES).mkdir(parents=True)
    (yard.folder / "moved" / NOTES / "workspace.json").write_text(
        json.dumps({"workspace": mine.workspace, "format_version": 1})
    )
    (yard.folder / "moved" / "blobs").write_text("no folder")
    with pytest.raises(Unavailable, match="cannot be written"):
        await yard.send(mine, "moved")


@pytest.mark.parametrize("key", ["none", "another"])
async def test_what_somebody_else_wrote_into_the_folder_is_never_signed(yard: Yard, key: str) -> None:
    target = corpus.open_home(yard.admin, "arrival")
    mine, _ = filled(yard, 1, target)
    await yard.send(mine, "moved")
    folder = yard.folder / "moved"
    pages, note = folder / "pages" / "000001.parquet", folder / NOTES / "000001.json"
    before = pages.read_bytes()
    pages.write_bytes(b"forged".ljust(len(before)))
    body = json.loads(note.read_text())
    body["files"]["pages/000001.parquet"]["sha256"] = hash_file(pages)
    if key == "another":
        plain = {name: value for name, value in body.items() if name not in ("key", "signature")}
        body = ReceiptSigner.kept_in(yard.folder / "elsewhere").sign(plain)
    note.write_text(json.dumps(body))
    assert (await yard.send(mine, "moved")).kept_parts == 0
    await yard.receive(target, "moved")
    assert yard.contents(target) == yard.contents(mine)


async def test_links_in_the_folder_lead_nobody_elsewhere(yard: Yard) -> None:
    mine, _ = filled(yard, 1)
    await yard.send(mine, "moved")
    (yard.folder / "moved" / "pages").rename(yard.folder / "pages")
    (yard.folder / "moved" / "pages").symlink_to(yard.folder / "pages")
    with pytest.raises(ExportFolderTaken, match="pages"):
        await yard.send(mine, "moved")


async def test_of_deleted_documents_nothing_is_left_after_another_export(yard: Yard) -> None:
    mine, ids = filled(yard, 4)
    await yard.send(mine, "moved")
    gone = 3
    yard.admin.execute("delete from documents where id = %s", (ids[gone],))
    blobs = yard.folder / "moved" / "blobs"
    (blobs / "ab").mkdir(exist_ok=True)
    (blobs / "ab" / f"{'ab' * 32}.part").write_bytes(b"cut off")
    await yard.send(mine, "moved")
    found = [path.read_bytes() for path in (yard.folder / "moved").rglob("*") if path.is_file()]
    assert b"cut off" not in found and content(gone) not in found and len([*blobs.glob("*/*")]) == 3


def erase(yard: Yard, scope: Scope, numbers: tuple[int, ...]) -> None:
    """An erasure of these contents is on record."""
    named = [
        {"document": "gone", "version": "v", "sha256": hashlib.sha256(content(one)).hexdigest()} for one in numbers
    ]
    yard.admin.execute(
        "insert into erasures (id, tenant_id, workspace_id, kind, subjects, reason, asked_by, asked_at, content, marks)"
        " values (gen_random_uuid(), %s, %s, 'document', '{gone}', 'asked', gen_random_uuid(), now(), %s, '{}')",
        (scope.tenant, scope.workspace, Jsonb(named)),
    )


async def test_what_was_erased_here_does_not_come_back(yard: Yard) -> None:
    """With the members of its container; another tenant's erasures are its own."""
    target, other = corpus.open_home(yard.admin, "arrival"), corpus.open_home(yard.admin, "other")
    mine, ids = filled(yard, 4, target)
    yard.admin.execute(
        "update documents set origin = 'upload:paper-001.pdf!/' || filename, parent_id = %s where id = %s",
        (ids[1], ids[2]),
    )
    erase(yard, target, (1,))
    erase(yard, other, (0,))
    await yard.send(mine, "moved")
    made = (await yard.receive(target, "moved")).as_json()
    assert made["documents"]["erased"] == 2 and made["pages"] == 4
    assert [one["name"] for one in made["conflicts"]] == ["paper-001.pdf", "paper-002.pdf"]
    rows = yard.admin.execute(
        "select filename from documents where workspace_id = %s order by 1", (target.workspace,)
    ).fetchall()
    assert rows == [("paper-000.pdf",), ("paper-003.pdf",)]


async def test_tables_of_pages_that_are_masked_here_stay_behind_and_are_looked_for_anew(yard: Yard) -> None:
    mine, _ = filled(yard, 2)
    for statement in (
        "update pages set text = 'Write to ann@north.example about it.', words = '[]'"
        " where number = 1 and workspace_id = %(w)s and document_id = (select min(id) from documents"
        " where workspace_id = %(w)s)",
        "update page_tables set headings = '{ann@north.example,b}' where workspace_id = %(w)s and document_id ="
        " (select min(id) from documents where workspace_id = %(w)s)",
    ):
        yard.admin.execute(statement, {"w": mine.workspace})
    await yard.send(mine, "moved")
    target = corpus.open_home(yard.admin, "arrival")
    await yard.receive(target, "moved", action="mask")
    tables = yard.admin.execute("select headings from page_tables where workspace_id = %s", (target.workspace,))
    assert tables.fetchall() == [(["a", "b"],)]
    unknown = "select count(*) from document_versions where workspace_id = %s and tables_of_reads <> reads"
    assert yard.counted(unknown, target.workspace) == 1


def rule(yard: Yard, scope: Scope, folder: str, *readers: str) -> None:
    yard.admin.execute(
        "insert into folder_readers values (%s, %s, %s, %s, %s)",
        (scope.tenant, scope.workspace, folder, [f"file:{folder}/"], list(readers)),
    )


async def test_a_merge_opens_no_folder_within_one_that_is_closed_here(yard: Yard) -> None:
    target = corpus.open_home(yard.admin, "arrival")
    mine, _ = filled(yard, 1, target)
    rule(yard, mine, "/data/open", "role:viewer")
    rule(yard, mine, "/other", "role:viewer")
    rule(yard, mine, "/other/inside", "role:operator")
    rule(yard, target, "/data", "role:admin")
    await yard.send(mine, "moved")
    made = await yard.receive(target, "moved", merge=True)
    assert [(one["kind"], one["name"]) for one in made.plan.conflicts] == [("folder", "/data/open")]
    rows = yard.admin.execute(
        "select folder from folder_readers where workspace_id = %s order by 1", (target.workspace,)
    )
    assert rows.fetchall() == [("/data",), ("/other",), ("/other/inside",)]


async def test_readers_that_are_not_those_of_the_folder_here_stay_when_it_changes(yard: Yard) -> None:
    target = corpus.open_home(yard.admin, "arrival")
    mine, ids = filled(yard, 2, target)
    rule(yard, mine, "/data", "role:admin")
    rule(yard, target, "/data", "role:viewer")
    yard.admin.execute("update documents set origin = 'file:/data/' || filename where id = any(%s)", (ids,))
    for readers, own, document in ((["role:admin"], False, ids[0]), (["role:viewer"], False, ids[1])):
        yard.admin.execute(
            "update documents set readers = %s, own_readers = %s where id = %s", (readers, own, document)
        )
    await yard.send(mine, "moved")
    await yard.receive(target, "moved", merge=True)
    rows = yard.admin.execute(
        "select readers, own_readers from documents where workspace_id = %s order by filename", (target.workspace,)
    )
    assert rows.fetchall() == [(["role:admin"], True), (["role:viewer"], False)]


async def test_a_merge_shows_nothing_that_a_source_hides_here(yard: Yard) -> None:
    target = corpus.open_home(yard.admin, "arrival")
    mine, ids = filled(yard, 1, target)
    generation = yard.counted("select generation_id from workspaces where id = %s", target.workspace)
    yard.admin.execute("update documents set readers = '{role:viewer}' where id = %s", (ids[0],))
    yard.fill(target, generation, range(1), readers=(GONE,))
    await yard.send(mine, "moved")
    await yard.receive(target, "moved", merge=True, readers=KeptReaders.KEEP)
    (row,) = yard.admin.execute("select readers from documents where workspace_id = %s", (target.workspace,))
    assert row == ([GONE],)
