"""Answers that are calculated from tables: over all of one head, with their rows, and never past anybody's rights."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import psycopg
import pytest

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.answers.answerer import CitedAnswer, DocumentAnswerer
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.tables.sandboxed_sql import BadQuery
from serve_apps.retrieval.tables.table_search import TableQuestion, TableSearch
from serve_apps.retrieval.tables.table_store import TableStore
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import FakeEmbedder
from tests.fakes.tolls import MONTHS, store_toll_books

CLERK = "clerk@tolls.example"
QUESTION = "What is the total toll of all lorries?"


@dataclass
class TollOffice:
    """A workspace with a book of tolls a month; that of June is for the chiefs."""

    database: Database
    scope: Scope

    async def ask(self, question: str, *, chief: bool = False) -> CitedAnswer:
        search = SearchPipeline(self.database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
        answerer = DocumentAnswerer(search, self.database, FakeEmbedder())
        return await answerer.ask(self.as_reader(chief=chief), question)

    def as_reader(self, *, chief: bool) -> Scope:
        return replace(self.scope, principals=(f"user:{CLERK}", "group:chiefs" if chief else "group:clerks"))


@pytest.fixture
async def office(admin_dsn: str, app_dsn: str) -> AsyncIterator[TollOffice]:
    database = Database(app_dsn, size=3)
    await database.open()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        scope = corpus.open_home(admin)
        store_toll_books(admin, scope, readers=("group:chiefs",))
    yield TollOffice(database, scope)
    await database.close()


async def test_a_sum_goes_over_all_tables_of_its_head_and_cites_their_rows(office: TollOffice) -> None:
    found = await office.ask(QUESTION, chief=True)
    assert found.text.startswith("Total Toll: 500 (4 rows of 2 documents)") and found.calculation is not None
    assert set(found.calculation.documents) == set(MONTHS) and found.calculation.totals_left_out == 2
    quotes = {one.quote for one in found.citations}
    assert quotes == {"Lorry 12 | 310", "Lorry 15 | 90", "Lorry 12 | 40", "Lorry 19 | 60"}


async def test_rows_of_documents_that_one_may_not_read_are_in_no_sum(office: TollOffice) -> None:
    found = await office.ask(QUESTION)
    assert found.text.startswith("Total Toll: 400 (2 rows)")
    assert {one.filename for one in found.citations} == {"tolls-may.md"}


async def test_a_named_file_is_summed_alone(office: TollOffice) -> None:
    found = await office.ask("What is the total toll of all lorries in June?", chief=True)
    assert ": 100 (2 rows)" in found.text and {one.filename for one in found.citations} == {"tolls-june.md"}


async def test_why_shows_the_query_to_those_who_may_read_all_of_its_rows(office: TollOffice) -> None:
    stored, chief = StoredAnswers(office.database), office.as_reader(chief=True)
    found = await office.ask(QUESTION, chief=True)
    id_ = await stored.keep(chief, QUESTION, None, found)
    shown = await stored.why(chief, id_)
    assert "sum(" in shown["calculation"]["sql"] and shown["claims"][0]["basis"] == "calculated"
    assert shown["claims"][0]["text"].startswith("Total Toll: 500")
    # Who asked and lost a right since reads the sum no more than anybody else.
    lost = await stored.why(office.as_reader(chief=False), id_)
    assert lost["calculation"] is None and lost["claims"][0]["text"] is None
    everyone = replace(office.scope, principals=("role:admin", "group:clerks"))
    withheld = await stored.why(everyone, id_)
    assert withheld["calculation"] is None and withheld["claims"][0]["text"] is None


async def test_a_version_from_before_tables_were_kept_is_looked_at_when_asked(
    office: TollOffice, admin_dsn: str
) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("delete from page_tables")
        admin.execute("update document_versions set tables_of_reads = null")
    found = await office.ask(QUESTION, chief=True)
    assert found.text.startswith("Total Toll: 500 (4 rows of 2 documents)") and "Not in this" not in found.text


async def test_a_sum_says_which_documents_are_not_in_it(office: TollOffice, admin_dsn: str) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        row = admin.execute("select generation_id from workspaces where id = %s", (office.scope.workspace,)).fetchone()
        assert row is not None
        notes = [f"Canal {number} was dug by hand, long before any lorry paid a toll." for number in range(40)]
        books = [Book(f"c{n}.txt", [Passage(note, vector=hash_vector(note))]) for n, note in enumerate(notes)]
        corpus.load(admin, office.scope, row[0], books)
    found = await office.ask(QUESTION, chief=True)
    assert "documents indexed before tables were kept" in found.text


async def test_a_sum_over_more_rows_than_are_calculated_over_says_so(office: TollOffice, admin_dsn: str) -> None:
    """What is only looked up goes on without the table that is too large."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("update page_tables set row_count = 300000")
    found = await office.ask(QUESTION, chief=True)
    assert found.calculation is None and "not calculated" in (found.fallback or "")
    looked_up = await office.ask("What is the toll of Lorry 12?", chief=True)
    assert looked_up.calculation is None and looked_up.fallback is None


async def test_an_answer_of_several_rows_has_its_chart(office: TollOffice) -> None:
    found = await office.ask("What is the total toll by lorry?", chief=True)
    assert found.calculation is not None and found.calculation.chart is not None
    points = dict(found.calculation.chart.points)
    assert points == {"Lorry 12": 350.0, "Lorry 15": 90.0, "Lorry 19": 60.0}
    summed = await office.ask(QUESTION, chief=True)
    assert summed.calculation is not None and summed.calculation.chart is None


async def test_where_planning_takes_too_long_nothing_is_calculated(office: TollOffice) -> None:
    found = await office.ask(QUESTION, chief=True)
    asked = TableQuestion(QUESTION, found.calculation.document_ids if found.calculation else (), {}, frozenset(), False)
    store = TableStore(office.database)
    assert await TableSearch(store, FakeEmbedder()).calculate(office.as_reader(chief=True), asked) is not None
    with pytest.raises(BadQuery, match="takes too long"):
        await TableSearch(store, FakeEmbedder(), seconds=0.0).calculate(office.as_reader(chief=True), asked)


async def test_two_values_are_compared_over_all_tables_that_one_may_read(office: TollOffice) -> None:
    question = "Which had the higher toll, Lorry 12 or Lorry 15?"
    found = await office.ask(question, chief=True)
    assert found.text.startswith("Lorry 12, by 260") and found.calculation is not None
    assert {one.quote for one in found.citations} == {"Lorry 12 | 310", "Lorry 12 | 40", "Lorry 15 | 90"}
    clerk = await office.ask(question)
    assert clerk.text.startswith("Lorry 12, by 220") and "june" not in str(clerk.citations)
    absent = await office.ask("Which had the higher toll, Lorry 12 or Lorry 99?", chief=True)
    assert absent.calculation is None
