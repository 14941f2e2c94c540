"""Re-indexing beside the live index: a gate that bad embedders do not pass, a switch that mixes nothing, a way back."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import AosError, Conflict, NotFound, Transient, Unavailable
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import EmbedderMoved, pair_embedders
from cluster.models.model_errors import Unusable
from cluster.state.work.jobs import JobId, JobLane, JobState
from configs.sections import ChunkSettings
from configs.sections_retrieval import GateSettings, RerankSettings, SearchSettings
from pipelines.documents.document import VersionId, chunk_id
from pipelines.documents.index.generations import (
    BrokenVectors,
    IndexedVersion,
    IndexGenerations,
    IndexRecipe,
    WriteTarget,
)
from pipelines.documents.index.switch import SwitchResult
from pipelines.documents.ingest.stages import HereStages
from serve_apps.retrieval.golden.question_form import GoldenQuestion
from serve_apps.retrieval.golden.sets import GoldenSets, SetFacts
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.fakes import bent
from tests.fakes.bent import WordEmbedder
from tests.fakes.ledger import Bench, new_workspace
from tests.fakes.models import MovingEmbedder
from tests.fakes.reading import WorkerKilled

FILES = 24
LINES = 6


def told(number: int, seed: int = 0) -> str:
    """A text of its own words, some of them everybody's."""
    rng = random.Random(number * 1000 + seed)
    common = ["harbour", "ledger", "signal", "window", "copper", "orchard", "letter", "bridge"]
    words = [f"w{rng.randrange(4000)}" if rng.random() < 0.7 else rng.choice(common) for _ in range(LINES * 12)]
    return "\n\n".join(" ".join(words[at : at + 12]) + "." for at in range(0, len(words), 12))


@pytest.fixture
async def library(ledger: Bench, scope: Scope, tmp_path: Path) -> AsyncIterator[Path]:
    """A folder that is indexed with a good embedder, each paragraph a chunk or two."""
    folder = tmp_path / "library"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_text(told(number))
    ledger.chunk = ChunkSettings(size=100, overlap=0, minimum=20)
    ledger.embedder = WordEmbedder()  # type: ignore[assignment]
    await ledger.scan(scope, folder)
    yield folder


async def held(ledger: Bench, scope: Scope) -> tuple[int | None, int | None]:
    """The live generation, and the one before."""
    (row,) = await ledger.rows(
        scope,
        "select generation_id as live, previous_generation_id as previous from workspaces where id = %(w)s",
        w=scope.workspace,
    )
    return row["live"], row["previous"]


async def reindex(ledger: Bench, scope: Scope, **wanted: bool) -> dict[str, Any]:
    """The job of a re-index as it ended."""
    job = await ledger.enqueue(scope, "reindex", {"agent_id": None, **wanted})
    await ledger.run()
    return await ledger.desk.show(scope, job)


async def report_of(ledger: Bench, scope: Scope, generation: int) -> dict[str, Any]:
    rows = {row["id"]: row for row in await ledger.switchover.overview(scope)}
    return dict(rows[generation]["report"])


class Halves:
    """Hands out what it has indexed version by version, so that a job can be stopped between two."""

    def __init__(self, stages: HereStages) -> None:
        self._stages, self.survey, self.read = stages, stages.survey, stages.read

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        for version in versions:
            async for indexed in self._stages.index(scope, [version]):
                yield indexed


def search(ledger: Bench) -> SearchPipeline:
    return SearchPipeline(ledger.database, ledger.embedder, None, SearchSettings(), RerankSettings())


async def found(ledger: Bench, scope: Scope, text: str) -> list[str]:
    return [hit.filename for hit in (await search(ledger).run(scope, SearchQuery(text, limit=3))).hits]


async def rollback(ledger: Bench, scope: Scope) -> SwitchResult:
    async with ledger.database.transaction(scope) as tx:
        return await ledger.switchover.back(tx, scope)


async def test_gw_15_a_good_index_passes_the_gate_and_its_report_is_kept(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    """GW-15: measured on parts of its own passages, beside the live index where what made that is there."""
    live, _ = await held(ledger, scope)
    job = await reindex(ledger, scope)
    assert job["state"] == "completed"
    now, previous = await held(ledger, scope)
    assert now is not None and now != live and previous == live
    report = await report_of(ledger, scope, now)
    assert (report["verdict"], report["reasons"], report["expected"], report["held"]) == ("passed", [], FILES, FILES)
    assert report["items"]["asked"] >= 50 and report["items"]["recall"] > 0.9
    assert report["items"]["before"] == pytest.approx(report["items"]["recall"])
    events = [event["type"] for event in await ledger.desk.events_after(scope, JobId(str(job["id"])), 0)]
    assert "gate" in events
    ledger.embedder = WordEmbedder("other words")  # type: ignore[assignment]
    await reindex(ledger, scope)
    now, _ = await held(ledger, scope)
    assert now is not None
    report = await report_of(ledger, scope, now)
    assert report["items"]["before"] is None and "made with words, not with other words" in report["alone"]


async def test_while_another_embedder_takes_over_questions_are_asked_with_the_one_before(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    """EM-08, GW-15: by meaning before the switch, after it and after the way back; the gate compares both."""
    before, now = ledger.embedder, WordEmbedder("next", bent.mirrored)
    ledger.embedder = pair_embedders(now, before)  # type: ignore[assignment]

    async def asked() -> tuple[str, str | None, int | None]:
        results = await search(ledger).run(scope, SearchQuery(told(5).split("\n")[0], strategy="vector"))
        return results.hits[0].filename, results.fallback, results.generation

    old, _ = await held(ledger, scope)
    assert await asked() == ("5.txt", None, old)
    assert (await reindex(ledger, scope))["state"] == "completed"
    new, _ = await held(ledger, scope)
    assert new is not None and new != old and await asked() == ("5.txt", None, new)
    items = (await report_of(ledger, scope, new))["items"]
    assert items["before"] == pytest.approx(items["recall"]) and items["recall"] > 0.9
    await rollback(ledger, scope)
    assert await asked() == ("5.txt", None, old)


@pytest.mark.parametrize("why", [Unavailable("its server is switched off"), Unusable("its server refuses the key")])
async def test_an_embedder_that_is_gone_for_good_holds_up_no_index(
    ledger: Bench, scope: Scope, library: Path, why: AosError
) -> None:
    """GW-15: the next index is tried by itself, and the report says why."""

    def gone() -> None:
        raise why

    ledger.embedder = pair_embedders(WordEmbedder("next"), WordEmbedder(before=gone))  # type: ignore[assignment]
    assert (await reindex(ledger, scope))["state"] == "completed"
    now, _ = await held(ledger, scope)
    assert now is not None
    report = await report_of(ledger, scope, now)
    assert report["items"]["before"] is None and "words, does not answer: its server" in report["alone"]


async def test_what_another_model_made_is_not_written_into_an_index(
    ledger: Bench, scope: Scope, library: Path, tmp_path: Path
) -> None:
    """X-04: the replicas were updated while a job was under way; it looks again, and is refused by name."""
    moving = MovingEmbedder(ledger.embedder, WordEmbedder("next", bent.mirrored))
    ledger.embedder = moving  # type: ignore[assignment]
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "late.txt").write_text(told(800))
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "late"), "agent_id": None})
    job, recipe = await ledger.claim(), await ledger.recipe()
    moving.move()
    with pytest.raises(EmbedderMoved):
        while not (await ledger.runner().turn(job, recipe, lambda: False)).ended:
            job = await ledger.jobs.reload(job)
    assert not await ledger.rows(
        scope, "select 1 from embeddings e join documents d on d.id = e.document_id where d.filename = 'late.txt'"
    )
    with pytest.raises(Conflict, match="another embedder or chunker"):
        await ledger.runner().turn(await ledger.jobs.reload(job), await ledger.recipe(), lambda: False)


async def test_an_index_from_before_fingerprints_learns_its_own(
    ledger: Bench, scope: Scope, library: Path, tmp_path: Path, admin_dsn: str
) -> None:
    """EM-08: by the first job that writes into it; other weights under the same name are refused from then on."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("update generations set embedder_fingerprint = ''")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(told(900))
    await ledger.scan(scope, tmp_path / "one")
    live, _ = await held(ledger, scope)
    (row,) = await ledger.rows(scope, "select embedder_fingerprint as made from generations where id = %(g)s", g=live)
    assert row["made"] == (await ledger.embedder.facts()).fingerprint
    ledger.embedder = WordEmbedder(fingerprint="other weights")  # type: ignore[assignment]
    with pytest.raises(Conflict, match="another embedder or chunker"):
        await ledger.scan(scope, tmp_path / "two")


@pytest.mark.parametrize("bend", [bent.constant, bent.random_by_text, bent.mixed_up, bent.nearly_none])
@pytest.mark.parametrize("name", ["words", "another model"])
async def test_a_bad_embedder_is_stopped_by_the_gate(
    ledger: Bench, scope: Scope, library: Path, bend: Any, name: str
) -> None:
    """Whatever it is called: without any golden set, and the live index goes on as it was."""
    before = await held(ledger, scope)
    ledger.embedder = WordEmbedder(name, bend)  # type: ignore[assignment]
    job = await reindex(ledger, scope)
    assert job["state"] == "failed" and "the gate refused" in job["error"] and "force=true" in job["error"]
    assert await held(ledger, scope) == before
    ledger.embedder = WordEmbedder()  # type: ignore[assignment]
    assert (await found(ledger, scope, told(5).split("\n")[0]))[0] == "5.txt"
    statuses = await ledger.rows(scope, "select distinct status, has_embeddings from documents")
    assert [(row["status"], row["has_embeddings"]) for row in statuses] == [("completed", True)]


async def test_what_the_gate_refused_can_be_insisted_on_and_is_swept_by_the_next_build(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    ledger.embedder = WordEmbedder("bad", bent.constant)  # type: ignore[assignment]
    await reindex(ledger, scope)
    refused = max(row["id"] for row in await ledger.switchover.overview(scope))
    async with ledger.database.transaction(scope) as tx:
        with pytest.raises(Conflict, match="the gate refused"):
            await ledger.switchover.forward(tx, scope, refused, force=False)
    async with ledger.database.transaction(scope) as tx:
        await ledger.switchover.forward(tx, scope, refused, force=True)
    assert (await held(ledger, scope))[0] == refused
    await rollback(ledger, scope)
    job = await reindex(ledger, scope, force=True)
    forced, before = await held(ledger, scope)
    assert job["state"] == "completed" and forced is not None
    assert (await report_of(ledger, scope, forced))["verdict"] == "forced"
    kept = await ledger.rows(scope, "select distinct generation_id as g from embeddings order by 1")
    assert [row["g"] for row in kept] == sorted(one for one in (forced, before) if one is not None)


async def test_golden_questions_guard_the_index(ledger: Bench, scope: Scope, library: Path) -> None:
    """A set that demands more than the next index finds stops it; one that is found lets it pass."""
    sets = GoldenSets(ledger.database)
    line = told(3).split("\n")[0]
    async with ledger.database.transaction(scope) as tx:
        mine = await sets.add(tx, scope, SetFacts("contracts", gate=True, least_recall=0.9))
        good = [GoldenQuestion("a", line, ("3.TXT",)), GoldenQuestion("gone", line, ("nowhere.txt",))]
        await sets.put(tx, scope, mine, good)
    assert (await reindex(ledger, scope))["state"] == "completed"
    live, _ = await held(ledger, scope)
    assert live is not None
    (golden,) = (await report_of(ledger, scope, live))["golden"]
    assert (golden["name"], golden["asked"], golden["recall"], golden["skipped"]) == ("contracts", 1, 1.0, 1)
    assert golden["fell"] == []
    async with ledger.database.transaction(scope) as tx:
        await sets.put(tx, scope, mine, [GoldenQuestion("b", "zebra quagga okapi", ("7.txt", "8.txt"))])
    job = await reindex(ledger, scope)
    assert job["state"] == "failed" and "contracts: " in job["error"]
    (refused,) = [row for row in await ledger.switchover.overview(scope) if row["state"] == "refused"]
    assert refused["report"]["golden"][0]["fell"] == ["b"]
    async with ledger.database.transaction(scope) as tx:
        await sets.change(tx, scope, mine, SetFacts("contracts", gate=False))
    assert (await reindex(ledger, scope))["state"] == "completed"


async def test_too_few_passages_prove_nothing_and_pass(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "one.txt").write_text("A short note about the harbour and its ledger.")
    ledger.embedder = WordEmbedder()  # type: ignore[assignment]
    await ledger.scan(scope, tmp_path / "few")
    assert (await reindex(ledger, scope))["state"] == "completed"
    live, _ = await held(ledger, scope)
    assert live is not None and (await report_of(ledger, scope, live))["items"] is None


async def test_the_gate_can_be_switched_off(ledger: Bench, scope: Scope, library: Path) -> None:
    ledger.gate = GateSettings(questions=0)
    ledger.embedder = WordEmbedder("bad", bent.constant)  # type: ignore[assignment]
    assert (await reindex(ledger, scope))["state"] == "completed"


async def test_vectors_that_are_no_numbers_end_the_job_and_are_not_written(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    before = await held(ledger, scope)
    ledger.embedder = WordEmbedder("broken", bent.not_numbers)  # type: ignore[assignment]
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    with pytest.raises(BrokenVectors):
        await ledger.run()
    assert await held(ledger, scope) == before
    assert len(await ledger.rows(scope, "select distinct generation_id from embeddings")) == 1


async def test_a_killed_worker_in_the_middle_of_a_build_is_followed_by_one_that_goes_on(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    """Killed while it builds and while the gate asks: nothing is lost, nothing is there twice."""
    deaths: list[int] = []

    def die() -> None:
        calls = ledger.embedder.calls  # type: ignore[attr-defined]
        if calls in (1, 3, 5):  # the build, the gate's first questions, its last
            deaths.append(calls)
            raise WorkerKilled

    ledger.embedder = WordEmbedder("next", before=die)  # type: ignore[assignment]
    ledger.read = ledger.read.model_copy(update={"max_attempts": 9})
    job = await ledger.enqueue(scope, "reindex", {"agent_id": None})
    for _ in range(20):
        claimed = await ledger.claim(f"worker-{len(deaths)}", lease=0.01)
        try:
            while not (await ledger.runner().turn(claimed, await ledger.recipe(), lambda: False)).ended:
                claimed = await ledger.jobs.reload(claimed)
            break
        except WorkerKilled:
            await asyncio.sleep(0.03)
    assert deaths == [1, 3, 5] and (await ledger.desk.show(scope, job))["state"] == "completed"
    live, previous = await held(ledger, scope)
    counts = await ledger.rows(
        scope, "select generation_id as g, count(*) as n, count(distinct chunk_id) as d from embeddings group by 1"
    )
    assert {row["g"] for row in counts} == {live, previous}
    assert len({row["n"] for row in counts}) == 1 and all(row["n"] == row["d"] for row in counts)


async def test_an_embedder_that_goes_away_at_the_gate_costs_no_work(ledger: Bench, scope: Scope, library: Path) -> None:
    def away() -> None:
        if ledger.embedder.calls > 1:  # type: ignore[attr-defined]
            raise Unavailable("away")

    before = await held(ledger, scope)
    ledger.embedder = WordEmbedder("next", before=away)  # type: ignore[assignment]
    job = await ledger.enqueue(scope, "reindex", {"agent_id": None})
    claimed = await ledger.claim()
    with pytest.raises(Transient):
        await ledger.runner().turn(claimed, await ledger.recipe(), lambda: False)
    assert await held(ledger, scope) == before
    await ledger.jobs.release(claimed.lease)
    ledger.embedder = WordEmbedder("next")  # type: ignore[assignment]
    await ledger.run()
    assert (await ledger.desk.show(scope, job))["state"] == "completed"
    assert ledger.embedder.calls == 2  # type: ignore[attr-defined]  # the gate's questions only


async def test_a_build_in_whose_middle_settings_change_begins_again(ledger: Bench, scope: Scope, library: Path) -> None:
    """One generation is made in one way: the job makes the next one whole, and says so."""
    live, _ = await held(ledger, scope)
    ledger.embedder = WordEmbedder("next")  # type: ignore[assignment]
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    claimed = await ledger.claim()
    answers = iter([False])
    await ledger.runner().turn(claimed, await ledger.recipe(), lambda: next(answers, True))
    (begun,) = [row["id"] for row in await ledger.switchover.overview(scope) if row["state"] == "building"]
    ledger.embedder = WordEmbedder("yet another")  # type: ignore[assignment]
    job = await ledger.jobs.reload(claimed)
    while not (await ledger.runner().turn(job, await ledger.recipe(), lambda: False)).ended:
        job = await ledger.jobs.reload(job)
    now, previous = await held(ledger, scope)
    rows = {row["id"]: row for row in await ledger.switchover.overview(scope)}
    assert now is not None and previous == live and begun not in rows
    assert (rows[now]["embedder"], rows[now]["documents"], rows[now]["embedded"]) == ("yet another", FILES, FILES)
    shown = await ledger.desk.show(scope, claimed.lease.job)
    index = shown["progress"]["index"]
    assert (shown["state"], index["done"], index["expected"]) == ("completed", FILES, FILES)
    told_of = [
        event["payload"]
        for event in await ledger.desk.events_after(scope, claimed.lease.job, 0)
        if event["type"] == "begun_again"
    ]
    assert len(told_of) == 1 and f"generation {begun} was begun with next" in told_of[0]["why"]


async def test_a_build_that_a_later_one_makes_needless_ends(ledger: Bench, scope: Scope, library: Path) -> None:
    """Twice changed, twice asked for: the work is done once, with what there is now."""
    ledger.embedder = WordEmbedder("next")  # type: ignore[assignment]
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    claimed = await ledger.claim()
    answers = iter([False])
    await ledger.runner().turn(claimed, await ledger.recipe(), lambda: next(answers, True))
    ledger.embedder = WordEmbedder("yet another")  # type: ignore[assignment]
    later = await ledger.enqueue(scope, "reindex", {"agent_id": None})
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.supersede(tx, scope, later)
    assert await ledger.jobs.heartbeat(claimed.lease, 60), "it is to end"
    await ledger.jobs.finish(claimed.lease, JobState.CANCELLED)
    assert f"job {later}" in (await ledger.desk.show(scope, claimed.lease.job))["error"]
    assert await ledger.run() == later
    shown = await ledger.desk.show(scope, later)
    assert shown["state"] == "completed" and shown["progress"]["index"]["done"] == FILES


async def test_a_later_build_goes_on_where_the_one_before_it_stood(ledger: Bench, scope: Scope, library: Path) -> None:
    """The same embedder and cut: what is embedded stays; a text that was read again meanwhile does not."""
    ledger.embedder = WordEmbedder("next")  # type: ignore[assignment]
    job = await ledger.enqueue(scope, "reindex", {"agent_id": None})
    claimed = await ledger.claim()
    ledger.stages = Halves(ledger.here())
    answers = iter([False, False, False])
    await ledger.runner().turn(claimed, await ledger.recipe(), lambda: next(answers, True))
    done = (await ledger.desk.show(scope, job))["progress"]["index"]["done"]
    assert 0 < done < FILES
    later = await ledger.enqueue(scope, "reindex", {"agent_id": None})
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.supersede(tx, scope, later)
    await ledger.jobs.finish(claimed.lease, JobState.CANCELLED)
    await ledger.rows(
        scope,
        "update document_versions set reads = reads + 1 where id in (select version_id from indexed_versions m"
        " join generations g on g.id = m.generation_id where g.embedder = 'next' order by version_id limit 1)"
        " returning id",
    )
    ledger.stages = None
    assert await ledger.run() == later
    shown = await ledger.desk.show(scope, later)
    assert shown["state"] == "completed" and shown["progress"]["index"]["done"] == FILES - done + 1
    now, _ = await held(ledger, scope)
    rows = {row["id"]: row for row in await ledger.switchover.overview(scope)}
    assert now is not None and (rows[now]["embedder"], rows[now]["embedded"]) == ("next", FILES)


async def test_a_reader_who_remembers_the_former_embedder_asks_anew_what_made_the_index(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    """Else questions would be answered by words alone until the gateway is started again."""
    remembering = MovingEmbedder(ledger.embedder, WordEmbedder("next"), remembers=True)
    await remembering.facts()
    ledger.embedder = WordEmbedder("next")  # type: ignore[assignment]
    assert (await reindex(ledger, scope))["state"] == "completed"
    remembering.move()
    ledger.embedder = remembering  # type: ignore[assignment]
    results = await search(ledger).run(scope, SearchQuery(told(3)[:200], limit=3))
    assert results.fallback is None and results.hits[0].filename == "3.txt"


def other_chunks(ledger: Bench) -> None:
    ledger.chunk = ChunkSettings(size=160, overlap=0, minimum=20)


def other_embedder(ledger: Bench) -> None:
    ledger.embedder = WordEmbedder("next")  # type: ignore[assignment]


def both(ledger: Bench) -> None:
    other_chunks(ledger)
    other_embedder(ledger)


@pytest.mark.parametrize("change", [lambda ledger: None, other_chunks, other_embedder, both])
async def test_the_way_back_loses_no_document_of_since(ledger: Bench, scope: Scope, library: Path, change: Any) -> None:
    """New, changed and deleted documents are the same after one call; what is not embedded is found by its words."""
    first = ledger.embedder, ledger.chunk
    change(ledger)
    await reindex(ledger, scope)
    live, previous = await held(ledger, scope)
    (library / "new.txt").write_text(told(500))
    (library / "5.txt").write_text(told(5, seed=9))
    await ledger.scan(scope, library)
    await ledger.rows(scope, "delete from documents where filename = '6.txt' returning id")
    made = await rollback(ledger, scope)
    assert (made.generation, made.previous, made.carried) == (previous, live, 2)
    assert await held(ledger, scope) == (previous, live)
    ledger.embedder, ledger.chunk = first
    lines = {name: told(number, seed).split("\n")[0] for name, number, seed in (("new.txt", 500, 0), ("5.txt", 5, 9))}
    for name, line in lines.items():
        assert (await found(ledger, scope, line))[0] == name
    stale = (await search(ledger).run(scope, SearchQuery(told(5).split("\n")[0], limit=5))).hits
    assert told(5).split("\n")[0] not in [hit.text for hit in stale]
    assert "6.txt" not in await found(ledger, scope, told(6).split("\n")[0])
    waiting = await ledger.rows(scope, "select filename from documents where status = 'embedding_pending' order by 1")
    assert [row["filename"] for row in waiting] == ["5.txt", "new.txt"]
    await ledger.enqueue(scope, "embed", {"agent_id": None})
    await ledger.run()
    assert {row["status"] for row in await ledger.rows(scope, "select status from documents")} == {"completed"}
    chunkers = await ledger.rows(
        scope,
        "select count(distinct c.chunker) as n from embeddings e join document_chunks c on c.id = e.chunk_id"
        " where e.generation_id = %(g)s",
        g=previous,
    )
    assert chunkers[0]["n"] == 1
    assert (await found(ledger, scope, lines["new.txt"]))[0] == "new.txt"


async def test_a_second_rollback_leads_forward_again(ledger: Bench, scope: Scope, library: Path) -> None:
    with pytest.raises(Conflict, match="no generation before"):
        await rollback(ledger, scope)
    await reindex(ledger, scope)
    live, previous = await held(ledger, scope)
    await rollback(ledger, scope)
    again = await rollback(ledger, scope)
    assert (again.generation, again.carried) == (live, 0) and await held(ledger, scope) == (live, previous)


async def test_an_index_that_is_held_back_is_switched_to_by_somebody_and_lacks_nothing(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    before = await held(ledger, scope)
    assert (await reindex(ledger, scope, hold=True))["state"] == "completed"
    assert await held(ledger, scope) == before
    ready = max(row["id"] for row in await ledger.switchover.overview(scope))
    results = await search(ledger).run(scope, SearchQuery(told(9).split("\n")[0], generation=ready))
    assert results.generation == ready and results.hits[0].filename == "9.txt"
    (library / "late.txt").write_text(told(600))
    await ledger.scan(scope, library)
    async with ledger.database.transaction(scope) as tx:
        made = await ledger.switchover.forward(tx, scope, ready, force=False)
    assert (made.generation, made.carried) == (ready, 1)
    assert (await found(ledger, scope, told(600).split("\n")[0]))[0] == "late.txt"
    async with ledger.database.transaction(scope) as tx:
        with pytest.raises(NotFound):
            await ledger.switchover.forward(tx, scope, 9_999, force=True)


async def test_the_graph_is_there_before_readers_come(ledger: Bench, scope: Scope, library: Path) -> None:
    """Nobody's question pays for the time in which it is built."""
    ledger.exact_scope = 50
    await reindex(ledger, scope, hold=True)
    rows = await ledger.switchover.overview(scope)
    assert [(row["live"], row["state"], row["graph"]) for row in rows] == [(False, "ready", True), (True, None, False)]


async def test_one_query_uses_one_generation_while_they_are_switched(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    """0 failed, 0 mixed: readers never see passages of one cut in an answer of another."""
    first = ledger.chunk
    other_chunks(ledger)
    await reindex(ledger, scope)
    live, previous = await held(ledger, scope)
    rows = await ledger.rows(scope, "select c.id, g.id as g from document_chunks c join generations g using (chunker)")
    cut_of = {row["id"]: row["g"] for row in rows}
    ledger.chunk, over = first, asyncio.Event()
    seen: set[int | None] = set()

    async def ask(number: int) -> int:
        asked = 0
        while not over.is_set():
            results = await search(ledger).run(scope, SearchQuery(told(number).split("\n")[0], limit=5))
            assert results.hits and {cut_of[hit.chunk_id] for hit in results.hits} == {results.generation}
            seen.add(results.generation)
            asked += 1
        return asked

    asking = [asyncio.create_task(ask(number)) for number in range(2)]
    for _ in range(30):
        await rollback(ledger, scope)
        await asyncio.sleep(0.02)
    over.set()
    assert min(await asyncio.gather(*asking)) > 5 and seen == {live, previous}


async def test_a_switch_in_one_workspace_is_no_switch_in_another(
    ledger: Bench, scope: Scope, library: Path, admin_dsn: str
) -> None:
    """MT-01: generations are shared by recipe, and every workspace has its own row, builds and reports."""
    other = await new_workspace(admin_dsn)
    await ledger.scan(other, library)
    theirs = await held(ledger, other)
    assert theirs[0] == (await held(ledger, scope))[0]
    await reindex(ledger, scope)
    assert await held(ledger, other) == theirs
    assert {row["id"] for row in await ledger.switchover.overview(other)} == {theirs[0]}
    mine, _ = await held(ledger, scope)
    assert mine is not None
    async with ledger.database.transaction(other) as tx:
        with pytest.raises(NotFound):
            await ledger.switchover.forward(tx, other, mine, force=True)
    assert await ledger.rows(other, "select 1 from generation_builds") == []
    assert (await found(ledger, other, told(9).split("\n")[0]))[0] == "9.txt"


async def test_a_chunk_has_the_same_id_in_sql_and_in_python(ledger: Bench, scope: Scope, library: Path) -> None:
    text = "Ein Größenmaß\nvon 3 µm, “quoted” 你好"
    (row,) = await ledger.rows(scope, "select chunk_digest('v', 'c', 12, %(text)s) as id", text=text)
    assert row["id"] == chunk_id("v", "c", 12, text)  # type: ignore[arg-type]
    rows = await ledger.rows(
        scope, "select id, chunk_digest(version_id, chunker, chunk_index, text) as made from document_chunks"
    )
    assert rows and all(row["id"] == row["made"] for row in rows)


async def test_an_upload_that_waited_through_a_switch_is_written_into_what_is_live(
    ledger: Bench, scope: Scope, library: Path, tmp_path: Path
) -> None:
    """And it is still there after the way back."""
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "up.txt").write_text(told(700))
    payload = {
        "files": [{"origin": "upload:up.txt", "filename": "up.txt", "location": f"file:{tmp_path / 'up/up.txt'}"}]
    }
    await ledger.enqueue(scope, "upload", payload, JobLane.SMALL)
    await reindex(ledger, scope)
    await ledger.run(JobLane.SMALL)
    assert (await found(ledger, scope, told(700).split("\n")[0]))[0] == "up.txt"
    await rollback(ledger, scope)
    assert (await found(ledger, scope, told(700).split("\n")[0]))[0] == "up.txt"


@pytest.mark.parametrize("change", [other_chunks, other_embedder, both])
async def test_what_arrives_while_settings_change_is_found_by_words_at_once_and_whole_after_the_switch(
    ledger: Bench, scope: Scope, library: Path, tmp_path: Path, change: Any
) -> None:
    """An upload is refused only while nobody builds an index that fits; it never mixes embedders."""
    change(ledger)
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "late.txt").write_text(told(800))
    with pytest.raises(Conflict, match="another embedder or chunker"):
        await ledger.scan(scope, tmp_path / "late")
    await ledger.rows(scope, "update jobs set state = 'cancelled' returning id")
    await ledger.enqueue(scope, "reindex", {"agent_id": None})
    rebuilding = await ledger.claim()
    answers = iter([False])
    await ledger.runner().turn(rebuilding, await ledger.recipe(), lambda: next(answers, True))
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "late"), "agent_id": None}, JobLane.SMALL)
    await ledger.run(JobLane.SMALL)
    line = told(800).split("\n")[0]
    results = await search(ledger).run(scope, SearchQuery(line, strategy="keyword"))
    assert results.hits[0].filename == "late.txt"
    (row,) = await ledger.rows(scope, "select status, has_embeddings from documents where filename = 'late.txt'")
    assert (row["status"], row["has_embeddings"]) == ("embedding_pending", False)
    job = await ledger.jobs.reload(rebuilding)
    while not (await ledger.runner().turn(job, await ledger.recipe(), lambda: False)).ended:
        job = await ledger.jobs.reload(job)
    (row,) = await ledger.rows(scope, "select status, has_embeddings from documents where filename = 'late.txt'")
    assert (row["status"], row["has_embeddings"]) == ("completed", True)
    assert (await found(ledger, scope, line))[0] == "late.txt"


async def test_a_build_that_drops_chunks_which_readers_share_counts_as_a_change_of_the_corpus(
    ledger: Bench, scope: Scope, library: Path
) -> None:
    """Generations of one chunker share their chunks; what remembers searches asks for this number."""
    corpus = "select corpus_version as number from workspaces where id = %(w)s"
    (row,) = await ledger.rows(
        scope,
        "select v.id, v.reads, g.chunker from documents d join document_versions v on v.id = d.current_version, "
        "workspaces w join generations g on g.id = w.generation_id where w.id = %(w)s and d.filename = '0.txt'",
        w=scope.workspace,
    )
    generations, indexed = IndexGenerations(ledger.database), IndexedVersion(row["id"], (), None, row["reads"])
    built = await generations.next(scope, IndexRecipe(await ledger.embedder.facts(), row["chunker"]))
    numbers = []
    for _ in range(3):
        numbers += [one["number"] for one in await ledger.rows(scope, corpus, w=scope.workspace)]
        async with ledger.database.transaction(scope) as tx:
            assert await generations.write(tx, scope, indexed, WriteTarget(built, row["chunker"]), building=True)
    assert numbers[1] == numbers[0] + 1, "its chunks are gone"
    assert numbers[2] == numbers[1], "there was nothing more to drop"


async def test_jobs_that_begin_at_once_in_a_new_workspace_open_one_index(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    """All wait for the workspace; the first opens the index, and the others find what it was made with."""
    recipe = await ledger.recipe()
    async with await psycopg.AsyncConnection.connect(admin_dsn) as admin:
        await admin.execute("select from workspaces where id = %s for update", [scope.workspace])
        begun = [asyncio.create_task(ledger.generations.target(scope, recipe)) for _ in range(3)]
        async with asyncio.timeout(10):
            while await lock_waits(admin) < len(begun):  # noqa: ASYNC110 -- of other connections
                await asyncio.sleep(0.02)
    targets = await asyncio.gather(*begun)
    assert len(set(targets)) == 1


async def lock_waits(admin: psycopg.AsyncConnection[Any]) -> int:
    """Connections to this database that wait for a lock."""
    await admin.execute("select pg_stat_clear_snapshot()")
    waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    row = await (await admin.execute(waits)).fetchone()
    return 0 if row is None else int(row[0])
