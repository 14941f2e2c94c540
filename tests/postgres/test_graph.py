"""The graph in Postgres: made by jobs, seen through its evidence, gone with its documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import NotFound, Unavailable
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobId, JobLane
from configs.sections_retrieval import GraphSettings
from pipelines.documents.graph.browse import EntityFilter, KnowledgeGraph, Subgraph
from pipelines.documents.graph.extract import GraphExtractor
from pipelines.documents.graph.graph_rows import GraphStore, PayingAgent
from pipelines.documents.graph.graph_stage import GraphStage, ModelReader
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.graph.model import EntityType, GraphPage
from pipelines.documents.graph.model_extraction import ModelExtraction, parse_reply
from pipelines.documents.store.library import DocumentLibrary
from serve_apps.agents.turn.graph_context import GraphEntities
from skills.framework.builtin import build_tool, shipped_skill
from skills.framework.contract import ToolInvocation
from tests.fakes.corpus import open_agent
from tests.fakes.graphs import extractor
from tests.fakes.ground import ground
from tests.fakes.ledger import Bench, new_workspace
from tests.fakes.reading import WorkerKilled

PUBLIC = "Aventro Motors uses PostgreSQL.\fDr. Annie Rao works in Germany."
SECRET = "Velvera Inc was founded by Maria Lopez. Aventro Motors uses Docker."
TABLES = ("entities", "entity_mentions", "relations", "relation_evidence", "graph_versions")


def stage(ledger: Bench, reader: ModelReader | None = None, **settings: Any) -> GraphStage:
    chosen = GraphSettings(**settings)

    def rules() -> GraphExtractor:
        return extractor(max_entities=chosen.max_entities)

    return GraphStage(ledger.jobs, GraphStore(ledger.database), rules, chosen, reader)


def reading(ledger: Bench) -> KnowledgeGraph:
    return KnowledgeGraph(ledger.database, NameLexicon.shipped())


def person(scope: Scope, *principals: str) -> Scope:
    """Somebody of the workspace, and not the worker."""
    return replace(scope, principals=principals)


async def ingest(ledger: Bench, scope: Scope, folder: Path, **files: str) -> JobId:
    """Scan a folder with these files; documents that are gone from it stay."""
    put(folder, files)
    return await ledger.scan(scope, folder)


def put(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)


async def names(graph: KnowledgeGraph, scope: Scope, text: str | None = None, agent: str | None = None) -> set[str]:
    found = await graph.search(scope, EntityFilter(text, agent=agent), 0, 200)
    return {node.name for node in found.nodes}


async def document(ledger: Bench, scope: Scope, name: str) -> str:
    rows = await ledger.rows(scope, "select id from documents where filename = %(name)s", name=f"{name}.txt")
    return str(rows[0]["id"])


async def shut(ledger: Bench, scope: Scope, name: str, *readers: str) -> None:
    await ledger.rows(
        scope,
        "update documents set readers = %(readers)s where filename = %(name)s returning id",
        readers=list(readers),
        name=f"{name}.txt",
    )


@pytest.fixture
def graph(ledger: Bench) -> KnowledgeGraph:
    ledger.graph = stage(ledger)
    return reading(ledger)


async def test_kg_06_a_job_fills_the_tables_and_evidence_names_its_page(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    """KG-06, KG-05: entities and relations of the workspace; a stage of its own with a unit a version."""
    job = await ingest(ledger, scope, tmp_path / "in", one=PUBLIC)
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "completed"
    assert shown["progress"]["graph"] == {"expected": 1, "done": 1, "failed": 0, "unchanged": 0}
    for table in TABLES:
        assert await ledger.rows(scope, f"select 1 from {table}"), table
    found = await graph.search(scope, EntityFilter("Aventro"), 0, 10)
    node, mentions, edges = await graph.show(person(scope), found.nodes[0].id)
    assert (node.name, node.type, node.documents, node.confidence) == ("Aventro Motors", "organization", 1, 0.5)
    assert [(one.page, one.quote) for one in mentions] == [(1, "Aventro Motors uses PostgreSQL.")]
    (edge,) = edges
    assert (edge.source.name, edge.type, edge.target.name, edge.strength) == (
        "Aventro Motors",
        "uses",
        "PostgreSQL",
        0.8,
    )
    (said,) = edge.evidence
    assert (said.filename, said.page, said.quote, said.start, said.end) == (
        "one.txt",
        1,
        "Aventro Motors uses PostgreSQL.",
        0,
        31,
    )
    (rao,) = (await graph.search(scope, EntityFilter("Annie Rao", EntityType.PERSON), 0, 10)).nodes
    assert [one.page for one in (await graph.show(scope, rao.id))[1]] == [2]


async def test_kg_01_the_same_name_in_two_documents_is_one_entity(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    """KG-01: deduplicated by canonical name over documents, with the best confidence."""
    await ingest(ledger, scope, tmp_path / "in", one="Velvera announced it.", two="The firm VELVERA, Inc. is large.")
    (node,) = (await graph.search(scope, EntityFilter("velvera"), 0, 10)).nodes
    assert (node.documents, node.occurrences, node.confidence) == (2, 2, 0.6)


async def test_a_new_version_takes_the_place_of_the_old_one(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    """KG-06: what only the old text said is gone, entity and relation."""
    await ingest(ledger, scope, tmp_path / "in", one=PUBLIC, two="PostgreSQL is here.")
    await ingest(ledger, scope, tmp_path / "in", one="Aventro Motors uses Docker.")
    assert await names(graph, scope) == {"Aventro Motors", "Docker", "PostgreSQL"}
    kinds = await ledger.rows(scope, "select canonical_name from entities order by 1")
    assert [row["canonical_name"] for row in kinds] == ["aventro motors", "docker", "postgresql"]
    assert len(await ledger.rows(scope, "select 1 from relations")) == 1


async def test_kg_06_a_document_takes_its_graph_along(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    """KG-06: what only it said is gone from every table; what others say too stays."""
    await ingest(ledger, scope, tmp_path / "in", one=PUBLIC, two="PostgreSQL is here.")
    async with ledger.database.transaction(scope) as tx:
        await DocumentLibrary(ledger.database).delete(tx, scope, await document(ledger, scope, "one"))
    assert await names(graph, scope) == {"PostgreSQL"}
    counts = [len(await ledger.rows(scope, f"select 1 from {table}")) for table in TABLES]
    assert counts == [1, 1, 0, 0, 1]
    async with ledger.database.transaction(scope) as tx:
        await DocumentLibrary(ledger.database).delete(tx, scope, await document(ledger, scope, "two"))
    assert [len(await ledger.rows(scope, f"select 1 from {table}")) for table in TABLES] == [0] * 5


async def test_kg_06_what_is_known_only_from_documents_one_may_not_read_is_not_there(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    """KG-06, B-08: seen through evidence: names, counts, relations, quotes and ids."""
    await ingest(ledger, scope, tmp_path / "in", public=PUBLIC, secret=SECRET)
    await shut(ledger, scope, "secret", "user:boss")
    boss, other = person(scope, "user:boss"), person(scope, "user:other")
    assert {"Velvera Inc", "Maria Lopez", "Docker"} <= await names(graph, boss)
    assert await names(graph, other) == {"Aventro Motors", "PostgreSQL", "Annie Rao", "Germany"}
    (seen,) = (await graph.search(other, EntityFilter("Aventro Motors"), 0, 10)).nodes
    assert (seen.documents, seen.occurrences) == (1, 1)
    _, mentions, edges = await graph.show(other, seen.id)
    assert {one.filename for one in mentions} == {"public.txt"} and [edge.target.name for edge in edges] == [
        "PostgreSQL"
    ]
    (hidden,) = (await graph.search(boss, EntityFilter("Velvera"), 0, 10)).nodes
    with pytest.raises(NotFound):
        await graph.show(other, hidden.id)
    with pytest.raises(NotFound):
        await graph.view(other, EntityFilter(), hidden.id, 50)
    for text in ("Velvera", "Maria Lopez", "vel", "Who founded Velvera Inc?"):
        assert await graph.ask(other, None, text, 10) == Subgraph((), ())
        assert await names(graph, other, text) == set()
    drawn = await graph.view(other, EntityFilter(), None, 50)
    assert {node.name for node in drawn.nodes} == {"Aventro Motors", "PostgreSQL", "Annie Rao", "Germany"}
    assert {edge.target.name for edge in drawn.edges} == {"PostgreSQL"}


async def test_kg_06_row_level_security_alone_holds(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    """KG-06, B-08: plain queries on each table, by another tenant, another workspace, and somebody who may not read."""
    await ingest(ledger, scope, tmp_path / "in", secret=SECRET)
    await shut(ledger, scope, "secret", "user:boss")
    neighbour, stranger = await new_workspace(admin_dsn), await new_workspace(admin_dsn)
    for table in TABLES:
        query = f"select 1 from {table}"
        assert await ledger.rows(person(scope, "user:boss"), query), table
        for other in (person(scope, "user:other"), neighbour, stranger, replace(scope, workspace=stranger.workspace)):
            assert not await ledger.rows(other, query), table
    query = "select * from entities_named('{velvera}', '{velvera}', 'v', null, null, 0.5, 10)"
    assert await ledger.rows(person(scope, "user:boss"), query) and not await ledger.rows(stranger, query)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await ledger.rows(
            person(scope),
            "insert into entities (id, tenant_id, workspace_id, type, canonical_name)"
            " values ('x', %(t)s, %(w)s, 'concept', 'x') returning id",
            t=scope.tenant,
            w=scope.workspace,
        )


async def test_whoever_deletes_one_document_takes_nothing_from_documents_that_they_do_not_see(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    await ingest(ledger, scope, tmp_path / "in", one="PostgreSQL is here.", two="PostgreSQL and Docker are here.")
    await shut(ledger, scope, "two", "user:boss")
    other = person(scope, "user:other")
    async with ledger.database.transaction(other) as tx:
        await DocumentLibrary(ledger.database).delete(tx, other, await document(ledger, other, "one"))
    assert await names(graph, other) == set()
    assert await names(graph, person(scope, "user:boss")) == {"PostgreSQL", "Docker"}


async def test_an_agent_sees_what_is_linked_to_it(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    """KG-06: by the tool as well, whose result names document and page."""
    await ingest(ledger, scope, tmp_path / "in", one=PUBLIC, two=SECRET)
    with psycopg.connect(admin_dsn) as connection:
        agent, idle = open_agent(connection, scope, "keeper"), open_agent(connection, scope, "idle")
        connection.execute(
            "insert into document_agent_links select %s, id, tenant_id, workspace_id from documents"
            " where filename = 'two.txt'",
            (agent,),
        )
    assert await names(graph, scope, agent=agent) == {"Velvera Inc", "Maria Lopez", "Aventro Motors", "Docker"}
    assert await names(graph, scope, agent=idle) == set()
    tool = build_tool(shipped_skill("search_graph"), ground(entities=GraphEntities(graph)))
    asked = {"query": "Who founded Velvera, and what does Aventro Motors use?"}
    found = await tool.run(ToolInvocation(scope, agent, "k", asked))
    told = {(one["source"], one["relation"], one["target"]) for one in found["relations"]}
    assert told == {("Velvera Inc", "created_by", "Maria Lopez"), ("Aventro Motors", "uses", "Docker")}
    (evidence,) = next(one["evidence"] for one in found["relations"] if one["relation"] == "uses")
    assert (evidence["filename"], evidence["page"], evidence["quote"]) == ("two.txt", 1, "Aventro Motors uses Docker.")
    assert await tool.run(ToolInvocation(scope, idle, "k", asked)) == {"relations": [], "entities": []}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("aventro", "Aventro Motors"),
        ("aven", "Aventro Motors"),
        ("motors", "Aventro Motors"),
        ("Postgres", "PostgreSQL"),
        ("ozr", "Optical Zebra Ranking"),
        ("optical zebra rankings", "Optical Zebra Ranking"),
        ("which zebra?", None),
        ("the", None),
        ("%", None),
        ("' or 1=1 --", None),
        ("\\", None),
    ],
)
async def test_what_is_looked_for_is_found_by_name_beginning_word_alias_and_spelling(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path, text: str, first: str | None
) -> None:
    await ingest(ledger, scope, tmp_path / "in", one=PUBLIC, two="We tried Optical Zebra Ranking (OZR) today.")
    found = (await graph.search(scope, EntityFilter(text), 0, 10)).nodes
    assert [node.name for node in found[:1]] == ([] if first is None else [first])


async def test_a_kill_between_index_and_graph_loses_nothing(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    """KG-06: the unit is written with the index; whoever claims the job next goes on with it."""
    made = extractor()
    times: list[int] = []

    class Deadly:
        def extract(self, pages: Sequence[GraphPage]) -> Any:
            times.append(1)
            if len(times) == 1:
                raise WorkerKilled
            return made.extract(pages)

    ledger.graph = GraphStage(ledger.jobs, GraphStore(ledger.database), lambda: Deadly(), GraphSettings())  # type: ignore[arg-type,return-value]
    with pytest.raises(WorkerKilled):
        await ingest(ledger, scope, tmp_path / "in", one=PUBLIC)
    assert (await ledger.rows(scope, "select status from documents"))[0]["status"] == "completed"
    assert await names(graph, scope) == set()
    await ledger.rows(scope, "update jobs set lease_until = now() - interval '1 s' returning id")
    job = await ledger.run(owner="worker-2")
    assert (await ledger.desk.show(scope, job))["state"] == "completed"
    assert await names(graph, scope) == {"Aventro Motors", "PostgreSQL", "Annie Rao", "Germany"}


async def test_a_text_that_ends_its_worker_each_time_is_given_up_and_its_document_stays_whole(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    class Deadly:
        def extract(self, pages: Sequence[GraphPage]) -> Any:
            raise WorkerKilled

    ledger.graph = GraphStage(ledger.jobs, GraphStore(ledger.database), lambda: Deadly(), GraphSettings())  # type: ignore[arg-type,return-value]
    folder = tmp_path / "in"
    with pytest.raises(WorkerKilled):
        await ingest(ledger, scope, folder, one=PUBLIC)
    for _ in range(2):
        await ledger.rows(scope, "update jobs set lease_until = now() - interval '1 s' returning id")
        with pytest.raises(WorkerKilled):
            await ledger.run()
    await ledger.rows(scope, "update jobs set lease_until = now() - interval '1 s' returning id")
    job = await ledger.run()
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "partial" and shown["progress"]["graph"]["failed"] == 1
    (failed,) = await ledger.desk.failed_units(scope, job, skip=0, limit=10)
    assert (failed["stage"], failed["failure"]["reason"]) == ("graph", "crashed")
    assert (await ledger.rows(scope, "select status from documents"))[0]["status"] == "completed"
    ledger.graph = stage(ledger)
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.retry(tx, scope, job, last_stage="index")
    await ledger.run()
    assert (await ledger.desk.show(scope, job))["state"] == "completed"
    assert "PostgreSQL" in await names(graph, scope)


async def test_what_waits_beside_a_text_that_ends_its_worker_is_made(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    made = extractor()

    class Deadly:
        def extract(self, pages: Sequence[GraphPage]) -> Any:
            if "Docker" in pages[0].text:
                raise WorkerKilled
            return made.extract(pages)

    ledger.graph = GraphStage(ledger.jobs, GraphStore(ledger.database), lambda: Deadly(), GraphSettings())  # type: ignore[arg-type,return-value]
    put(tmp_path / "in", {"one": "PostgreSQL is here.", "two": "Docker is here.", "zoo": "Redis is here."})
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
    for _ in range(3):
        with pytest.raises(WorkerKilled):
            await ledger.run()
        await ledger.rows(scope, "update jobs set lease_until = now() - interval '1 s' returning id")
    shown = await ledger.desk.show(scope, await ledger.run())
    assert (shown["state"], shown["progress"]["graph"]["done"], shown["progress"]["graph"]["failed"]) == (
        "partial",
        2,
        1,
    )
    assert await names(graph, scope) == {"PostgreSQL", "Redis"}


async def test_what_is_there_already_is_not_made_again(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    """The same text by the same rules is the same graph; other settings make another one."""
    await ingest(ledger, scope, tmp_path / "in", one=PUBLIC)
    (before,) = await ledger.rows(scope, "select at, fingerprint from graph_versions")
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    await ledger.run()
    assert await ledger.rows(scope, "select at, fingerprint from graph_versions") == [before]
    ledger.graph = stage(ledger, max_entities=1)
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    await ledger.run()
    assert await ledger.rows(scope, "select at, fingerprint from graph_versions") != [before]
    assert len(await names(graph, scope)) == 1


async def test_text_that_was_read_since_is_not_evidence(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    await ingest(ledger, scope, tmp_path / "in", one=PUBLIC)
    await ledger.rows(scope, "update document_versions set reads = reads + 1 returning id")
    assert await names(graph, scope) == set() and await names(graph, scope, "PostgreSQL") == set()
    ledger.read_fingerprint = "reader-2"
    await ledger.scan(scope, tmp_path / "in")
    assert "PostgreSQL" in await names(graph, scope)


async def test_switched_off_it_makes_nothing_and_no_job_waits_for_it(
    ledger: Bench, graph: KnowledgeGraph, scope: Scope, tmp_path: Path
) -> None:
    ledger.graph = stage(ledger, enabled=False)
    job = await ingest(ledger, scope, tmp_path / "in", one=PUBLIC)
    assert "graph" not in (await ledger.desk.show(scope, job))["progress"]
    ledger.graph = GraphStage(ledger.jobs, GraphStore(ledger.database), killer, GraphSettings())
    with pytest.raises(WorkerKilled):
        await ingest(ledger, scope, tmp_path / "other", two=SECRET)
    await ledger.rows(
        scope, "update jobs set lease_until = now() - interval '1 s' where state = 'running' returning id"
    )
    ledger.graph = stage(ledger, enabled=False)
    job = await ledger.run()
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "completed" and shown["progress"]["graph"]["unchanged"] == 1
    assert await names(graph, scope) == set()


def killer() -> Any:
    raise WorkerKilled


@dataclass
class ScriptedReader:
    """Says of every document what it was given; `asked` records in whose name."""

    says: ModelExtraction | str
    asked: list[str] = field(default_factory=list)

    async def read(self, scope: Scope, payer: PayingAgent, pages: Sequence[GraphPage]) -> ModelExtraction | str:
        self.asked.append(payer.agent)
        return self.says


def believed(text: str) -> ModelExtraction:
    row = {"name": "Quibble", "type": "product", "evidence": "Quibble is new."}
    found = parse_reply(f'{{"entities": [{str(row).replace(chr(39), chr(34))}]}}', [GraphPage(1, text)])
    assert found is not None
    return found


async def upload(ledger: Bench, scope: Scope, folder: Path, text: str, agent: str | None, lane: JobLane) -> None:
    path = folder / "note.txt"
    path.write_text(text)
    file = {"origin": "upload:note.txt", "filename": "note.txt", "location": f"file:{path}"}
    await ledger.enqueue(scope, "upload", {"files": [file], "agent_id": agent}, lane)
    await ledger.run(lane)


@pytest.mark.parametrize(
    ("lane", "model", "linked", "size", "asks"),
    [
        (JobLane.SMALL, "small", True, 0, True),
        (JobLane.BULK, "small", True, 0, False),
        (JobLane.BULK, "always", True, 0, True),
        (JobLane.SMALL, "off", True, 0, False),
        (JobLane.SMALL, "small", False, 0, False),
        (JobLane.SMALL, "small", True, 9_000, False),
    ],
)
async def test_kg_01_a_model_reads_short_documents_that_people_upload_in_an_agents_name(
    ledger: Bench,
    scope: Scope,
    admin_dsn: str,
    tmp_path: Path,
    lane: JobLane,
    model: str,
    linked: bool,
    size: int,
    asks: bool,
) -> None:
    """KG-01, KG-03: under 8,000 characters; confidence 0.9; a document of no agent has nobody who pays."""
    text = "Quibble is new. It uses PostgreSQL." + " word" * (size // 5)
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, scope, "keeper") if linked else None
    reader = ScriptedReader(believed(text))
    ledger.graph = stage(ledger, reader, model=model)
    await upload(ledger, scope, tmp_path, text, agent, lane)
    assert reader.asked == ([agent] if asks else [])
    found = {node.name: node.confidence for node in (await reading(ledger).search(scope, EntityFilter(), 0, 10)).nodes}
    assert found == ({"Quibble": 0.9, "PostgreSQL": 0.6} if asks else {"PostgreSQL": 0.6})


async def test_a_model_that_does_not_answer_leaves_the_rules_and_the_row_says_so(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, scope, "keeper")
    ledger.graph = stage(ledger, ScriptedReader("the model's reply was no JSON object"))
    await upload(ledger, scope, tmp_path, "PostgreSQL is here.", agent, JobLane.SMALL)
    (row,) = await ledger.rows(scope, "select note from graph_versions")
    assert row["note"] == "rules; the model's reply was no JSON object"
    assert await names(reading(ledger), scope) == {"PostgreSQL"}


async def test_a_database_that_goes_away_costs_no_attempt(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    class Gone(GraphStore):
        async def source(self, scope: Scope, version: Any) -> Any:
            raise Unavailable("Postgres went away")

    ledger.graph = GraphStage(ledger.jobs, Gone(ledger.database), extractor, GraphSettings())
    with pytest.raises(Unavailable):
        await ingest(ledger, scope, tmp_path / "in", one=PUBLIC)
    (unit,) = await ledger.rows(scope, "select attempts, status from units where stage = 'graph'")
    assert unit == {"attempts": 0, "status": "pending"}
