"""What pages say of themselves comes to their documents, chunks and jobs, and everything adds up."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane, JobState
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.document import NO_TEXT, CaveatKind
from pipelines.documents.ingest.outcome import OutcomeCounts
from serve_apps.agents.turn.quotes import StoredPlaces
from serve_apps.http.routes.documents.passages import search_response
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.cache.codec import EntryCodec
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery, SearchResults
from tests.fakes.ledger import AwayEmbedder, Bench

STATUSES = "select filename, status, caveats, has_embeddings, failure from documents order by filename"


async def documents(ledger: Bench, scope: Scope) -> dict[str, dict[str, Any]]:
    return {row["filename"]: row for row in await ledger.rows(scope, STATUSES)}


def folder_of(path: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (path / f"{name}.txt").write_text(text)
    return path


async def outcome(ledger: Bench, scope: Scope, job: str) -> OutcomeCounts:
    shown = await ledger.desk.show(scope, job)  # type: ignore[arg-type]
    return OutcomeCounts.of(shown["progress"], shown["ended"])


async def test_a_document_is_as_good_as_the_gravest_caveat_of_its_pages(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    await ledger.scan(
        scope,
        folder_of(
            tmp_path,
            good="all is there",
            noted="a HIDDEN row",
            doubtful="fine\fa DOUBT here",
            unread="a DOUBT\fa PICTURE and a PICTURE\ffine\fa PICTURE",
            failing="a DOUBT\fFAIL",
            nothing="FAIL",
        ),
    )
    rows = await documents(ledger, scope)
    assert {name: row["status"] for name, row in rows.items()} == {
        "good.txt": "completed",
        "noted.txt": "completed",
        "doubtful.txt": "degraded",
        "unread.txt": "partial",
        "failing.txt": "partial",
        "nothing.txt": "failed",
    }
    assert rows["good.txt"]["caveats"] == []
    assert [one["kind"] for one in rows["noted.txt"]["caveats"]] == ["hidden_content"]
    pictures, table = rows["unread.txt"]["caveats"]  # the gravest first
    assert pictures == {
        "kind": "pictures_unread",
        "weight": "unread",
        "detail": "a picture was not read",
        "count": 3,
        "pages": [2, 4],
        "page_count": 2,
    }
    assert (table["kind"], table["pages"]) == ("table_unsure", [1])


async def test_a_document_without_a_word_is_not_plainly_completed(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    await ledger.scan(scope, folder_of(tmp_path, blank=" \n\f\t", half="FAIL\f ", seen="words"))
    rows = await documents(ledger, scope)
    assert {name: row["status"] for name, row in rows.items()} == {
        "blank.txt": "degraded",
        "half.txt": "partial",
        "seen.txt": "completed",
    }
    (told,) = rows["blank.txt"]["caveats"]
    assert told == {
        "kind": "no_text",
        "weight": "unsure",
        "detail": NO_TEXT.detail,
        "count": 1,
        "pages": [],
        "page_count": 0,
    }
    assert [one["kind"] for one in rows["half.txt"]["caveats"]] == ["no_text"]


async def test_missing_vectors_and_caveats_hide_each_other_from_nobody(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.embedder = AwayEmbedder()
    with pytest.raises(Unavailable):  # its job waits for the embedder
        await ledger.scan(scope, folder_of(tmp_path, good="fine", doubtful="a DOUBT"))
    rows = await documents(ledger, scope)
    assert {name: (row["status"], row["has_embeddings"]) for name, row in rows.items()} == {
        "good.txt": ("embedding_pending", False),
        "doubtful.txt": ("degraded", False),
    }


async def test_the_counts_of_a_job_add_up_and_it_says_why_it_is_partial(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    folder = folder_of(
        tmp_path, good="fine", doubtful="a DOUBT\fa DOUBT", unread="a PICTURE", nothing="FAIL", closed=""
    )
    job = await ledger.scan(scope, folder)
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "partial"
    assert await outcome(ledger, scope, job) == OutcomeCounts(1, 1, 1, 2, 0, 0, pages_with_caveats=3)
    assert shown["caveats"] == {"pictures_unread": 1, "table_unsure": 1}
    listed = await ledger.desk.doubtful_units(scope, job)
    assert [(row["filename"], row["status"], row["unchanged"]) for row in listed] == [
        ("doubtful.txt", "degraded", False),
        ("nothing.txt", "failed", False),
        ("unread.txt", "partial", False),
    ]
    assert listed[0]["caveats"][0]["pages"] == [1, 2]
    last = (await ledger.desk.events_after(scope, job, 0))[-1]
    assert (last["type"], last["payload"]["outcome"]["degraded"]) == ("partial", 1)


async def test_doubts_alone_make_a_job_partial_and_notes_do_not(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    noted = await ledger.scan(scope, folder_of(tmp_path / "a", noted="a HIDDEN row", good="fine"))
    assert (await ledger.desk.show(scope, noted))["state"] == JobState.COMPLETED
    doubtful = await ledger.scan(scope, folder_of(tmp_path / "b", doubtful="a DOUBT"))
    assert (await ledger.desk.show(scope, doubtful))["state"] == JobState.PARTIAL


async def test_what_stays_doubtful_is_said_again_and_counts_once(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, good="fine", doubtful="a DOUBT", nothing="FAIL")
    await ledger.scan(scope, folder)
    again = await ledger.scan(scope, folder)
    shown = await ledger.desk.show(scope, again)
    assert shown["state"] == "partial" and shown["progress"]["survey"]["unchanged"] == 3
    assert await outcome(ledger, scope, again) == OutcomeCounts(degraded=1, failed=1, unchanged=1)
    assert [(row["filename"], row["unchanged"]) for row in await ledger.desk.doubtful_units(scope, again)] == [
        ("doubtful.txt", True),
        ("nothing.txt", True),
    ]


async def test_a_page_that_is_read_again_without_its_caveat_mends_document_chunk_and_job(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, doubtful="one\fa DOUBT")
    await ledger.scan(scope, folder)
    on = "select page_start, caveats from document_chunks order by page_start"
    assert [one["kind"] for row in await ledger.rows(scope, on) for one in row["caveats"]] == ["table_unsure"]
    ledger.reader.caveats = {}
    ledger.read_fingerprint = "reader-2"
    job = await ledger.scan(scope, folder)
    assert (await documents(ledger, scope))["doubtful.txt"]["status"] == "completed"
    assert not [one for row in await ledger.rows(scope, on) for one in row["caveats"]]
    assert await outcome(ledger, scope, job) == OutcomeCounts(completed=1)


async def test_a_chunk_carries_the_caveats_of_its_pages_and_those_of_the_whole_document(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    long = "word " * 250
    await ledger.scan(scope, folder_of(tmp_path, text=f"GARBLED HIDDEN {long}\f{long}\fa DOUBT {long}"))
    rows = await ledger.rows(scope, "select spans, caveats from document_chunks order by chunk_index")
    assert len(rows) > 2
    for row in rows:
        pages = {span[0] for span in row["spans"]}
        told = {(one["kind"], one["page"]) for one in row["caveats"]}
        assert ("encoding_unsure", None) in told
        assert (("table_unsure", 3) in told) == (3 in pages)
        assert (("hidden_content", 1) in told) == (1 in pages)
    assert all("whole" not in one for row in rows for one in row["caveats"])


async def test_retrying_what_failed_takes_back_what_was_counted(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, half="a DOUBT\fFAIL")
    job = await ledger.scan(scope, folder)
    assert await outcome(ledger, scope, job) == OutcomeCounts(partial=1, pages_with_caveats=1)
    ledger.reader.fail_word = "nothing fails"
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.retry(tx, scope, job, last_stage="index")
    assert (await outcome(ledger, scope, job)).pending == 1
    await ledger.run(JobLane.BULK)
    assert await outcome(ledger, scope, job) == OutcomeCounts(degraded=1, pages_with_caveats=1)


async def test_pages_of_an_earlier_cut_of_the_same_bytes_do_not_stay(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, text="one\ftwo\fthree")
    await ledger.scan(scope, folder)
    ledger.reader.most_pages = 2
    ledger.read_fingerprint = "reader-2"
    await ledger.scan(scope, folder)
    assert [row["number"] for row in await ledger.rows(scope, "select number from pages order by 1")] == [1, 2]
    texts = await ledger.rows(scope, "select text from document_chunks")
    assert texts and not any("three" in row["text"] for row in texts)
    assert (await ledger.rows(scope, "select page_count from document_versions"))[0]["page_count"] == 2


GARBLED = "The GARBLED harbour opens at noon on Sundays, says the second board.\fA DOUBT about the ferry's price."


def searching(ledger: Bench) -> SearchPipeline:
    return SearchPipeline(ledger.database, ledger.embedder, None, SearchSettings(), RerankSettings())


async def test_a_hit_and_its_citation_say_what_is_doubtful_about_their_pages(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """Whoever reads the passage alone must see it, over HTTP as in what is remembered of a search."""
    await ledger.scan(scope, folder_of(tmp_path, boards=GARBLED, clear="The library opens at nine on Mondays."))
    results = await searching(ledger).run(scope, SearchQuery("harbour opens at noon"))
    hit = next(one for one in results.hits if "harbour" in one.text)
    assert ("encoding_unsure", "unsure", "the encoding is guessed", None) in [
        (one.kind, one.weight, one.detail, one.page) for one in hit.caveats
    ]
    assert all(one.caveats == () for one in results.hits if one.filename == "clear.txt")
    sent = {one.chunk_id: one for one in search_response("harbour", results).results}[hit.chunk_id].model_dump()
    assert {
        "kind": "encoding_unsure",
        "weight": "unsure",
        "detail": "the encoding is guessed",
        "count": 1,
        "page": None,
    } in sent["caveats"]
    assert EntryCodec(SearchResults).value(b"\n" + TypeAdapter(SearchResults).dump_json(results)) == results
    quote = {"version_id": hit.version_id, "page": 1, "start": 0, "end": 19, "quote": GARBLED[:19]}
    (described,) = await StoredPlaces(ledger.database).describe(scope, [quote])
    assert [one["kind"] for one in described["caveats"]] == ["encoding_unsure"]


async def test_an_answer_cites_a_page_with_the_doubts_of_that_page_alone(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    await ledger.scan(scope, folder_of(tmp_path, boards=GARBLED))
    answerer = DocumentAnswerer(searching(ledger), ledger.database, ledger.embedder)
    answer = await answerer.ask(scope, "When does the harbour open?", None)
    first = next(one for one in answer.citations if one.page == 1)
    assert [one.kind for one in first.caveats] == [CaveatKind.ENCODING_UNSURE]
    stored = StoredAnswers(ledger.database)
    why = await stored.why(scope, await stored.keep(scope, "When does the harbour open?", None, answer))
    assert [one["kind"] for one in why["citations"][first.n - 1]["caveats"]] == ["encoding_unsure"]
