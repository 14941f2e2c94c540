"""A workspace that moves: out into an open folder and into another tenant, without a page being read again."""

import asyncio
import fcntl
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from cluster.state.signed_receipts import ReceiptSigner
from configs.sections import ChunkSettings
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.portable.export_manifest import (
    MANIFEST,
    BrokenExport,
    ExportFolderTaken,
    ForgedExport,
    NewerExport,
    NoExport,
    UnknownSigner,
)
from pipelines.documents.portable.export_parts import NOTES
from pipelines.documents.portable.import_plan import WorkspaceNotEmpty
from pipelines.documents.portable.workspace_import import KeptReaders
from pipelines.documents.sources.item_rights import NOBODY
from pipelines.documents.store.blobs import Location
from pipelines.documents.store.page_quota import OverQuota
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.fakes import corpus
from tests.fakes.models import FakeEmbedder
from tests.fakes.portable import KilledHere, Yard, killer


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def yard(admin: psycopg.Connection[Any], app_dsn: str, tmp_path: Path) -> AsyncIterator[Yard]:
    database = Database(app_dsn, size=4)
    await database.open()
    yield Yard(admin, app_dsn, database, tmp_path)
    await database.close()


CHUNKER = chunker_fingerprint(ChunkSettings(), "fake-1")


def open_index(yard: Yard, scope: Scope) -> int:
    """An index that the fake embedder and the standard chunker make."""
    row = yard.admin.execute(
        "select open_generation('fake', 'fake-1', 512, %s, %s, true)", (CHUNKER, f"f{scope.workspace}")
    ).fetchone()
    assert row is not None
    yard.admin.execute("update workspaces set generation_id = %s where id = %s", (row[0], scope.workspace))
    return int(row[0])


def filled(yard: Yard, count: int = 8) -> tuple[Scope, int]:
    """A workspace with documents, an agent that searches two of them, and a set of questions."""
    scope = corpus.open_home(yard.admin, "archive")
    generation = open_index(yard, scope)
    agent = corpus.open_agent(yard.admin, scope, "clerk")
    ids = fill(yard, scope, generation, range(count))
    for document in ids[:2]:
        yard.admin.execute(
            "insert into document_agent_links values (%s, %s, %s, %s)", (agent, document, scope.tenant, scope.workspace)
        )
    yard.admin.execute(
        "with s as (insert into golden_sets (tenant_id, workspace_id, name) values (%(t)s, %(w)s, 'known')"
        " returning id) insert into golden_questions (set_id, tenant_id, workspace_id, key, question, answers)"
        " select s.id, %(t)s, %(w)s, 'k1', 'What does valve v101 hold?', '{303 bar}' from s",
        {"t": scope.tenant, "w": scope.workspace},
    )
    return scope, generation


def fill(yard: Yard, scope: Scope, generation: int, numbers: range, pages: int = 2, **more: Any) -> list[str]:
    ids = yard.fill(scope, generation, numbers, pages, **more)
    yard.admin.execute("update document_chunks set chunker = %s where workspace_id = %s", (CHUNKER, scope.workspace))
    return ids


async def ask(yard: Yard, scope: Scope, text: str, *readers: str) -> list[Any]:
    search = SearchPipeline(yard.database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
    return list((await search.run(Scope(scope.tenant, scope.workspace, readers), SearchQuery(text))).hits)


async def test_another_tenant_has_the_same_texts_words_chunks_and_vectors(yard: Yard) -> None:
    mine, _ = filled(yard)
    other = corpus.open_home(yard.admin, "neighbour")
    fill(yard, other, open_index(yard, other), range(50, 53))
    sent = await yard.send(mine, "moved")
    assert sent.manifest["counts"]["documents"] == 8 and sent.manifest["counts"]["pages"] == 16
    target = corpus.open_home(yard.admin, "arrival")
    made = await yard.receive(target, "moved")
    assert made.written == 8 and made.vectors == "kept" and made.embed_job is None and not made.plan.conflicts
    assert yard.contents(target) == yard.contents(mine)
    assert yard.counted("select count(*) from units") == 0 and yard.counted("select count(*) from jobs") == 0
    assert yard.counted("select count(*) from audit where action = 'workspace.import'") == 1


async def test_the_same_question_finds_the_same_in_the_same_order_with_pages_and_boxes(yard: Yard) -> None:
    mine, _ = filled(yard)
    target = corpus.open_home(yard.admin, "arrival")
    await yard.send(mine, "moved")
    await yard.receive(target, "moved")
    for question in ("What does valve v301 hold?", "line 3 bar", "Page 700 valve v700"):
        here, there = await ask(yard, mine, question), await ask(yard, target, question)
        assert here and [hit.score for hit in here] == [hit.score for hit in there]
        assert in_order(here) == in_order(there)
        assert {h.chunk_id for h in here}.isdisjoint(h.chunk_id for h in there)
        assert all(hit.boxes and hit.ocr_confidence == pytest.approx(0.8125) for hit in there)


def in_order(hits: list[Any]) -> list[tuple[Any, ...]]:
    """By score; those of one score follow their ids, which are others in each workspace."""
    return sorted(map(places, hits), key=lambda place: (-place[-1], place[:3]))


def places(hit: Any) -> tuple[Any, ...]:
    """What a citation shows, without ids."""
    return (
        hit.filename,
        hit.page,
        hit.page_end,
        hit.text,
        hit.spans,
        hit.boxes,
        hit.ocr_confidence,
        hit.engine,
        hit.score,
    )


@pytest.mark.parametrize("ends", [(1, 9, 30), (0, 17, 41), (5, 25, 34)])
async def test_killed_three_times_on_either_side_nothing_is_doubled(yard: Yard, ends: tuple[int, ...]) -> None:
    mine, _ = filled(yard, 9)
    for end in ends:
        with pytest.raises(KilledHere):
            await yard.send(mine, "moved", killer(end))
    sent = await yard.send(mine, "moved")
    assert sent.manifest["counts"]["documents"] == 9
    target = corpus.open_home(yard.admin, "arrival")
    for end in (0, 3, 5):
        with pytest.raises(KilledHere):
            await yard.receive(target, "moved", step=killer(end))
    made = await yard.receive(target, "moved")
    assert made.written == 4 and not made.plan.conflicts
    assert yard.contents(target) == yard.contents(mine)
    assert yard.counted("select count(*) from audit where action = 'workspace.import'") == 1
    assert (await yard.receive(target, "moved")).written == 0


async def test_two_imports_at_once_double_nothing(yard: Yard) -> None:
    mine, _ = filled(yard, 6)
    await yard.send(mine, "moved")
    target = corpus.open_home(yard.admin, "arrival")
    made = await asyncio.gather(yard.receive(target, "moved"), yard.receive(target, "moved"))
    assert sum(one.written for one in made) == 6 and yard.contents(target) == yard.contents(mine)


async def test_two_exports_never_write_one_folder(yard: Yard) -> None:
    mine, _ = filled(yard, 2)
    await yard.send(mine, "moved")
    with (yard.folder / "moved" / NOTES / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ExportFolderTaken, match="another export"):
            await yard.send(mine, "moved")
    assert (await yard.send(mine, "moved")).written_parts == 0


async def test_what_changed_since_a_cut_off_export_is_written_again_and_nothing_else(yard: Yard) -> None:
    """All is as it was at one moment: that of the run that ended."""
    mine, generation = filled(yard, 9)
    with pytest.raises(KilledHere):
        await yard.send(mine, "moved", killer(45))
    first = yard.counted("select count(*) from documents where workspace_id = %s", mine.workspace)
    fill(yard, mine, generation, range(20, 22))
    yard.admin.execute(
        "update documents set description = 'other' where id = (select min(id) from documents where workspace_id = %s)",
        (mine.workspace,),
    )
    yard.admin.execute(
        "delete from documents where id = (select max(id) from documents where workspace_id = %s)", (mine.workspace,)
    )
    sent = await yard.send(mine, "moved")
    assert sent.kept_parts < sent.written_parts + sent.kept_parts and first == 9
    again = await yard.send(mine, "moved")
    assert again.kept_parts and not again.written_parts and again.manifest["files"] == sent.manifest["files"]
    target = corpus.open_home(yard.admin, "arrival")
    await yard.receive(target, "moved")
    assert yard.contents(target) == yard.contents(mine)


async def test_other_workspaces_of_the_tenant_and_their_people_stay_out(yard: Yard) -> None:
    mine, _ = filled(yard, 2)
    beside = corpus.open_home(yard.admin, "beside", mine.tenant)
    fill(yard, beside, open_index(yard, beside), range(30, 33))
    sent = await yard.send(mine, "moved")
    assert sent.manifest["counts"]["documents"] == 2 and sent.manifest["counts"]["vectors"] == 4
    found = b"".join(path.read_bytes() for path in (yard.folder / "moved").rglob("*") if path.is_file())
    assert b"paper-001" in found and b"paper-030" not in found and beside.workspace.encode() not in found
    foreign = Scope.of_worker(corpus.open_home(yard.admin).tenant, mine.workspace)
    with pytest.raises(NotFound):
        await yard.send(foreign, "stolen")


async def test_secrets_of_a_workspace_never_leave(yard: Yard) -> None:
    mine, _ = filled(yard, 1)
    keys = {"t": mine.tenant, "w": mine.workspace}
    for statement in (
        "insert into credentials (tenant_id, workspace_id, name, type, sealed, fields)"
        " values (%(t)s, %(w)s, 'canary-credential', 'ssh', 'canary-sealed', '{a}')",
        "insert into sources (tenant_id, workspace_id, name, kind, credential)"
        " values (%(t)s, %(w)s, 'canary-source', 's3', 'canary-key')",
        "insert into llm_connections (tenant_id, workspace_id, name, base_url, provider, model, sealed_key)"
        " values (%(t)s, %(w)s, 'canary-connection', 'http://x', 'openai', 'm', 'canary-llm')",
    ):
        yard.admin.execute(statement, keys)
    yard.account(mine, "canary-person@north.example")
    await yard.send(mine, "moved")
    found = [path for path in (yard.folder / "moved").rglob("*") if path.is_file() and b"canary" in path.read_bytes()]
    assert found == []
    assert b"canary" not in b"".join(
        repr(pq.read_table(path).to_pylist()).encode() for path in (yard.folder / "moved").rglob("*.parquet")
    )


async def test_readers_are_people_and_groups_of_the_target_and_unknown_is_nobody(yard: Yard) -> None:
    mine, generation = filled(yard, 1)
    for number, readers in enumerate(
        (("user:ann@north.example",), ("user:bob@north.example", "group:board"), ("group:ghosts",), ("role:admin",)), 10
    ):
        fill(yard, mine, generation, range(number, number + 1), readers=readers)
    target = corpus.open_home(yard.admin, "arrival")
    yard.account(target, "bob@north.example")
    yard.admin.execute("insert into groups (tenant_id, name) values (%s, 'board')", (target.tenant,))
    await yard.send(mine, "moved")
    made = await yard.receive(target, "moved")
    assert made.as_json()["unknown_readers"] == ["group:ghosts", "user:ann@north.example"]
    found = dict(
        yard.admin.execute("select filename, readers from documents where workspace_id = %s", (target.workspace,))
    )
    assert found["paper-000.pdf"] == [] and found["paper-013.pdf"] == ["role:admin"]
    assert found["paper-010.pdf"] == found["paper-012.pdf"] == [NOBODY]
    assert found["paper-011.pdf"] == ["user:bob@north.example", "group:board"]
    assert [hit.filename for hit in await ask(yard, target, "valve v1001")].count("paper-010.pdf") == 0
    names = {hit.filename for hit in await ask(yard, target, "valve v1101", "group:board")}
    assert "paper-011.pdf" in names


async def test_a_merge_keeps_what_is_there_and_lists_what_conflicts(yard: Yard) -> None:
    mine, _ = filled(yard, 6)
    target, generation = filled(yard, 2)
    fill(yard, target, generation, range(90, 91), filename="paper-004.pdf", readers=("role:admin",))
    await yard.send(mine, "moved")
    with pytest.raises(WorkspaceNotEmpty):
        await yard.receive(target, "moved")
    before = yard.contents(target)
    planned = await yard.receiver(target).dry_run(yard.checked("moved"), merge=True)
    assert yard.contents(target) == before
    made = await yard.receive(target, "moved", merge=True)
    told = made.as_json()["documents"]
    assert planned.as_json()["documents"] == told and (told["same"], told["new"]) == (2, 4)
    assert {(one["kind"], one["name"]) for one in made.plan.conflicts} == {
        ("document", "paper-004.pdf"),
        ("agent", "clerk"),
        ("golden_set", "known"),
    }
    after = yard.contents(target)
    assert len(after["documents"]) == 7 and [row[1] for row in after["documents"]].count("paper-004.pdf") == 2
    assert len({row[0] for row in after["versions"]}) == 7
    again = await yard.receive(target, "moved", merge=True)
    assert again.written == 0 and yard.contents(target) == after
    assert yard.counted("select count(*) from audit where action = 'workspace.merge'") == 1


@pytest.mark.parametrize(
    ("readers", "kept"), [(KeptReaders.TARGET, ["role:admin"]), (KeptReaders.KEEP, ["role:admin", "role:operator"])]
)
async def test_a_merge_widens_rights_only_where_somebody_says_so(
    yard: Yard, readers: KeptReaders, kept: list[str]
) -> None:
    mine, generation = filled(yard, 0)
    fill(yard, mine, generation, range(1), readers=("role:operator",))
    fill(yard, mine, generation, range(1, 2))
    target, there = filled(yard, 0)
    fill(yard, target, there, range(2), readers=("role:admin",))
    await yard.send(mine, "moved")
    made = await yard.receive(target, "moved", merge=True, readers=readers)
    rows = dict(
        yard.admin.execute("select filename, readers from documents where workspace_id = %s", (target.workspace,))
    )
    assert rows == {"paper-000.pdf": kept, "paper-001.pdf": ["role:admin"]}  # never to everybody
    assert made.written == 0 and [one["kind"] for one in made.plan.conflicts].count("readers") == 2


async def test_members_stay_in_their_containers(yard: Yard) -> None:
    mine, generation = filled(yard, 1)
    ids = fill(yard, mine, generation, range(1, 4))
    for number in (2, 3):
        yard.admin.execute(
            "update documents set origin = 'upload:paper-001.pdf!/' || filename, parent_id = %s where id = %s",
            (ids[0], ids[number - 1]),
        )
    await yard.send(mine, "moved", parts=1)
    target = corpus.open_home(yard.admin, "arrival")
    await yard.receive(target, "moved")
    query = (
        "select d.filename, c.filename from documents d join documents c on c.id = d.parent_id"
        " where d.workspace_id = %s order by 1"
    )
    rows = yard.admin.execute(query, (target.workspace,)).fetchall()
    assert rows == [("paper-002.pdf", "paper-001.pdf"), ("paper-003.pdf", "paper-001.pdf")]


async def test_vectors_of_another_space_are_made_anew_and_words_find_meanwhile(yard: Yard) -> None:
    mine, _ = filled(yard, 3)
    await yard.send(mine, "moved")
    target = corpus.open_home(yard.admin, "arrival")
    made = await yard.receive(target, "moved", fingerprint="fake-2")
    assert made.vectors == "anew" and made.embed_job is not None
    states = yard.admin.execute(
        "select distinct status, has_embeddings from documents where workspace_id = %s", (target.workspace,)
    ).fetchall()
    assert states == [("embedding_pending", False)]
    assert yard.counted("select count(*) from embeddings where workspace_id = %s", target.workspace) == 0
    assert yard.counted("select count(*) from document_chunks where workspace_id = %s", target.workspace) == 6
    again = await yard.receive(target, "moved", fingerprint="fake-2")
    assert again.embed_job == made.embed_job and yard.counted("select count(*) from jobs where kind = 'embed'") == 1


async def test_pages_are_masked_where_the_target_masks_and_cut_anew(yard: Yard) -> None:
    mine, generation = filled(yard, 1)
    yard.admin.execute(
        "update pages set text = 'Write to ann@north.example about it.', words = '[]'"
        " where number = 1 and workspace_id = %s",
        (mine.workspace,),
    )
    await yard.send(mine, "moved")
    target = corpus.open_home(yard.admin, "arrival")
    made = await yard.receive(target, "moved", action="mask")
    text = yard.admin.execute(
        "select string_agg(text, ' ') from pages where workspace_id = %s", (target.workspace,)
    ).fetchone()
    assert text is not None and "ann@north" not in text[0] and "valve" in text[0]
    assert yard.counted("select count(*) from document_chunks where workspace_id = %s", target.workspace) == 0
    assert made.embed_job is not None and generation


async def test_the_pages_that_a_tenant_may_have_hold(yard: Yard) -> None:
    mine, _ = filled(yard, 4)
    await yard.send(mine, "moved")
    target = corpus.open_home(yard.admin, "arrival")
    with pytest.raises(OverQuota):
        await yard.receive(target, "moved", most_pages=7)
    assert yard.counted("select count(*) from documents where workspace_id = %s", target.workspace) == 0
    assert yard.counted("select count(*) from audit where action like 'workspace.%%'") == 0


async def test_bytes_that_are_gone_are_named_and_the_pages_still_move(yard: Yard) -> None:
    mine, _ = filled(yard, 2)
    yard.admin.execute(
        "update document_versions set location = 'blob:gone/gone/gone' where document_id = ("
        " select id from documents where filename = 'paper-001.pdf' and workspace_id = %s)",
        (mine.workspace,),
    )
    sent = await yard.send(mine, "moved")
    assert sent.manifest["left_out"]["without_bytes_names"] == ["paper-001.pdf"]
    target = corpus.open_home(yard.admin, "arrival")
    await yard.receive(target, "moved")
    rows = yard.admin.execute(
        "select d.filename, v.location, v.file_size from document_versions v join documents d on d.id = v.document_id"
        " where v.workspace_id = %s order by 1",
        (target.workspace,),
    ).fetchall()
    sizes = [yard.blobs.size(Location(location)) for _, location, _ in rows]
    assert sizes == [rows[0][2], None]


async def test_documents_that_nobody_has_read_yet_are_counted(yard: Yard) -> None:
    mine, _ = filled(yard, 1)
    yard.admin.execute(
        "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type)"
        " values ('x', %s, %s, 'upload:new.pdf', 'new.pdf', 'pdf', 'upload')",
        (mine.tenant, mine.workspace),
    )
    sent = await yard.send(mine, "moved")
    assert sent.manifest["left_out"]["unread_names"] == ["new.pdf"] and sent.manifest["counts"]["documents"] == 1


async def test_a_folder_of_something_else_is_left_alone(yard: Yard) -> None:
    mine, _ = filled(yard, 1)
    (yard.folder / "photos").mkdir()
    (yard.folder / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(ExportFolderTaken):
        await yard.send(mine, "photos")
    await yard.send(mine, "moved")
    with pytest.raises(ExportFolderTaken):
        await yard.send(filled(yard, 1)[0], "moved")


Damage = Callable[[Path], None]


def flipped(name: str) -> Damage:
    def damage(folder: Path) -> None:
        path = next(folder.glob(name))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))

    return damage


def linked(folder: Path) -> None:
    path = next(folder.glob("pages/*.parquet"))
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")


def reworded(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        body = json.loads((folder / MANIFEST).read_text())
        (folder / MANIFEST).write_text(json.dumps(body | changes))

    return damage


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (flipped("pages/*.parquet"), BrokenExport),
        (flipped("vectors/*.parquet"), BrokenExport),
        (flipped("blobs/*/*"), BrokenExport),
        (lambda folder: next(folder.glob("words/*.parquet")).unlink(), BrokenExport),
        (lambda folder: next(folder.glob("blobs/*/*")).unlink(), BrokenExport),
        (linked, BrokenExport),
        (reworded(format_version=2), NewerExport),
        (reworded(format_version="2"), BrokenExport),
        (reworded(format="erasure"), NoExport),
        (reworded(product="9"), ForgedExport),
        (lambda folder: (folder / MANIFEST).write_text("{"), BrokenExport),
        (lambda folder: (folder / MANIFEST).unlink(), NoExport),
    ],
)
async def test_what_was_changed_on_the_way_is_refused_and_nothing_is_written(
    yard: Yard, damage: Damage, error: type[Exception]
) -> None:
    mine, _ = filled(yard, 2)
    target = corpus.open_home(yard.admin, "arrival")
    await yard.send(mine, "moved")
    damage(yard.folder / "moved")
    with pytest.raises(error):
        await yard.receive(target, "moved")
    assert yard.counted("select count(*) from documents where workspace_id = %s", target.workspace) == 0


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "pages/../../x.parquet", "pages/000001.parquet\n", "x"]
)
async def test_a_signed_manifest_leads_nowhere_else(yard: Yard, name: str) -> None:
    mine, _ = filled(yard, 1)
    await yard.send(mine, "moved")
    path = yard.folder / "moved" / MANIFEST
    body = json.loads(path.read_text())
    body["files"][name] = next(iter(body["files"].values()))
    unsigned = {key: value for key, value in body.items() if key not in ("key", "signature")}
    path.write_text(json.dumps(yard.signer.sign(unsigned)))
    with pytest.raises(BrokenExport):
        yard.checked("moved")


async def test_another_installations_key_is_trusted_only_where_somebody_says_so(yard: Yard) -> None:
    mine, _ = filled(yard, 1)
    await yard.send(mine, "moved")
    own = ReceiptSigner.kept_in(yard.folder / "elsewhere").public
    with pytest.raises(UnknownSigner):
        yard.checked("moved", own=own)
    with pytest.raises(UnknownSigner):
        yard.checked("moved", trusted="x" * 43, own=own)
    assert yard.checked("moved", trusted=yard.signer.public, own=own).signer == yard.signer.public
