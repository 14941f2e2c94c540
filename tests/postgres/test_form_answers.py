"""Answers from forms among their like: the document that is named, its fields, and none of its rivals."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import psycopg
import pytest

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.answers.answerer import CitedAnswer, DocumentAnswerer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector
from tests.fakes.models import FakeEmbedder
from tests.fakes.writer import FakeWriter

FIRES = (
    ("0001.pdf", "Ely, NV", "03/05/2021", "K7713", "12", "41", "a blocked chimney"),
    ("0002.pdf", "Reno, NV", "03/05/2021", "K1290", "7", "29", "a cigarette in the hay"),
    ("0003.pdf", "Ocala, FL", "07/09/2022", "K5521", "30", "55", "a fault in the wiring"),
)


def report(place: str, day: str, vehicle: str, men: str, age: str, cause: str) -> tuple[str, str]:
    """The two pages of a report on a fire."""
    first = f"""County Fire Office

# Fire report

| Place: | {place} | Date: | {day} |
| --- | --- | --- | --- |
| Vehicle: | {vehicle} | Alarm: | silent |

## Cause

The officer in charge determines the cause of this fire to be: {cause}.

Filed and closed.
Signed by the chief.
Sheet 1"""
    second = f"""County Fire Office

## Crew

| Crew: | {men} men | Driver's Age: | {age} |
| --- | --- | --- | --- |
| Water Used: | 900 litres | Hose Length: | 60 m |

## Trainee

| Driver's Age: | 19 | Boots: | none |
| --- | --- | --- | --- |
| Helmet: | red | Gloves: | blue |

Filed and closed.
Signed by the chief.
Sheet 2"""
    return first, second


@dataclass
class FireStation:
    """A workspace with reports of one form, and a text of another kind."""

    database: Database
    scope: Scope

    async def ask(self, question: str, reply: str | None = None) -> CitedAnswer:
        search = SearchPipeline(self.database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
        writer = None if reply is None else FakeWriter(reply)
        return await DocumentAnswerer(search, self.database, FakeEmbedder(), writer).ask(self.scope, question)


@pytest.fixture
async def station(admin_dsn: str, app_dsn: str) -> AsyncIterator[FireStation]:
    database = Database(app_dsn, size=3)
    await database.open()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        scope = corpus.open_home(admin)
        generation = corpus.open_generation(admin, scope)
        books = []
        for name, *told in FIRES:
            pages = report(*told)
            passages = [Passage(text, page=n, vector=hash_vector(text)) for n, text in enumerate(pages, 1)]
            books.append(Book(name, passages, [Sheet(text) for text in pages]))
        note = "The water tower of Sparks holds 900 cubic metres."
        books.append(Book("tower.txt", [Passage(note, vector=hash_vector(note))]))
        corpus.load(admin, scope, generation, books)
    yield FireStation(database, scope)
    await database.close()


@pytest.mark.parametrize(
    ("question", "file", "answer"),
    [
        ("How many men did the crew of vehicle K1290 have?", "0002.pdf", "Crew: 7 men"),
        ("What was the place of the fire with vehicle K5521?", "0003.pdf", "Place: Ocala, FL"),
        ("What was the cause of the fire at Ely, Nevada, on March 5, 2021?", "0001.pdf", "a blocked chimney"),
        ("What was the hose length at the Ocala fire of 07/09/2022?", "0003.pdf", "Hose Length: 60 m"),
    ],
)
async def test_the_named_document_answers_and_no_other_of_its_form(
    station: FireStation, question: str, file: str, answer: str
) -> None:
    found = await station.ask(question)
    assert answer in found.text and {one.filename for one in found.citations} == {file}


async def test_a_field_is_cited_from_its_label_to_its_value(station: FireStation) -> None:
    found = await station.ask("How many men did the crew of vehicle K1290 have?")
    first = found.citations[0]
    assert (first.quote, first.page) == ("Crew: | 7 men", 2) and found.claims[0].basis == "extracted"


async def test_what_two_sections_state_under_one_label_is_told_with_the_sections(station: FireStation) -> None:
    found = await station.ask("What was the driver's age in vehicle K7713?")
    assert found.text.splitlines()[:2] == ["Crew, Driver's Age: 41 [1]", "Trainee, Driver's Age: 19 [2]"]


async def test_a_comparison_says_which_document_each_value_is_from(station: FireStation) -> None:
    found = await station.ask("What was the water used by vehicle K7713 and vehicle K5521?")
    said = {line.partition(" [")[0] for line in found.text.splitlines()}
    assert {"0001.pdf, Crew, Water Used: 900 litres", "0003.pdf, Crew, Water Used: 900 litres"} <= said
    assert "0002.pdf" not in found.text


@pytest.mark.parametrize(
    "question",
    [
        "How many men did the crew of vehicle K9999 have?",
        "What was the cause of the fire at Boise, Idaho, on March 5, 2021?",
        "How many men fought the Ocala fire of March 5, 2021?",
    ],
)
async def test_a_form_holds_no_answer_about_another_place_day_or_number(station: FireStation, question: str) -> None:
    assert (await station.ask(question)).mode == "not_found"


async def test_running_lines_never_answer(station: FireStation) -> None:
    for question in ("Who signed and closed the report of vehicle K7713?", "What is the County Fire Office?"):
        found = await station.ask(question)
        assert not any(one.quote in ("County Fire Office", "Sheet 1", "Sheet 2") for one in found.citations)


async def test_documents_of_another_kind_still_answer(station: FireStation) -> None:
    found = await station.ask("How many cubic metres does the water tower of Sparks hold?")
    assert found.citations[0].filename == "tower.txt"


async def test_a_field_answers_where_a_model_finds_nothing(station: FireStation) -> None:
    """Small models read past fields; the answer is the document's and says who found none."""
    reply = "NOT IN THE SOURCES"
    answer = await station.ask("How old was the driver in the fire at Ocala, Florida, on July 9, 2022?", reply)
    assert answer.mode == "extractive" and "55" in answer.text and answer.citations
    assert answer.fallback is not None and "scripted-1 found no answer" in answer.fallback
    for question in (
        "Who sold the barn at Ocala, Florida, on July 9, 2022?",
        "How old was the driver at Bend, Oregon?",
    ):
        absent = await station.ask(question, reply)
        assert absent.mode == "not_found", "what no field holds, and what is in no document, stays unanswered"
