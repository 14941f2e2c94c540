"""Questions over documents in a Postgres that outlives the run, answered without a model and judged item by item."""

import asyncio
import json
import pickle
import random
import re
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.ports import Embedder, EmbedderFacts, EmbeddingLane
from cluster.state.db.migrate import apply_migrations
from configs.sections import ChunkSettings, OcrSettings, ReadSettings
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.document import Page
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import table_to_json
from pipelines.documents.index.chunk_and_embed import search_text
from serve_apps.retrieval.answers.answerer import CitedAnswer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery, SearchResults
from tests.evals import look_alikes, qa_data
from tests.evals.eval_answers import report_questions, squeezed
from tests.evals.many_languages import LanguageSet
from tests.fakes import corpus

EVIDENCE = 0.5  # share of an evidence text that an answer has to contain
Judged = Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question, and what a right answer holds; `absent` where nothing answers it."""

    text: str
    answers: tuple[str, ...] = ()  # of which it says one
    evidence: tuple[str, ...] = ()  # of which it says half
    documents: frozenset[str] = frozenset()  # stems of the file names that may be cited
    absent: bool = False

    def judge(self, answer: CitedAnswer) -> Judged:
        """The figures that count; `right` is the one that decides."""
        found = answer.mode != "not_found"
        if self.absent:
            return {"right": not found, "answered though absent": found}
        truth = found and (
            any(squeezed(one) in squeezed(answer.text) for one in self.answers)
            or any(qa_data.contained(answer.text, one) >= EVIDENCE for one in self.evidence)
        )
        stems = {qa_data.plain(Path(one.filename).stem) for one in answer.citations}
        wrong = bool(stems - self.documents)
        return {
            "right": truth and not wrong,
            "truth in the answer": truth,
            "wrong document": wrong,
            "false not found": not found,
        }


@dataclass
class MemoEmbedder:
    """An `Embedder` that makes no vector twice; `keep` writes them down."""

    inner: Embedder
    path: Path
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            self.known = pickle.loads(self.path.read_bytes())

    async def facts(self) -> EmbedderFacts:
        """Of the one that makes them."""
        return await self.inner.facts()

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """Shape (texts, dimension)."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        for start in range(0, len(new), 64):
            batch = new[start : start + 64]
            self.known.update(zip(batch, await self.inner.embed(batch, lane), strict=True))
        return np.stack([self.known[text] for text in texts])

    def keep(self) -> None:
        """For the next run."""
        self.path.write_bytes(pickle.dumps(self.known))


class MemoSearch(SearchPipeline):
    """A search that works no query out twice: no rule that is left out here changes what is found."""

    memo: dict[tuple[Scope, SearchQuery], SearchResults]

    async def run(self, scope: Scope, query: SearchQuery, vector: Any = None) -> SearchResults:
        """As it was found the first time."""
        self.memo = getattr(self, "memo", {})
        if (scope, query) not in self.memo:
            self.memo[scope, query] = await super().run(scope, query, vector)
        return self.memo[scope, query]


def read_documents(qa: Path, name: str) -> dict[str, tuple[Page, ...]]:
    """The pages of a corpus by file name."""
    if name == "squad2":
        return {f"{key}.md": (Page(1, text),) for key, text in qa_data.paragraphs(qa / "squad2_dev").items()}
    if name == "rag":
        return {path.name: (Page(1, path.read_text("utf-8")),) for path in (qa / "rag_multi_corpus/md").rglob("*.md")}
    if name == "spanish":
        return {file: (Page(1, text),) for file, text in _spanish(qa, 1).paragraphs.items()}
    if name == "forms":
        with tempfile.TemporaryDirectory(prefix="aos-forms-") as place:
            return _read_folder([form.write(Path(place)) for form in _generated_forms()])
    return _read_folder(sorted((qa / "reports").glob("*.pdf")))


def _read_folder(paths: Sequence[Path]) -> dict[str, tuple[Page, ...]]:
    found = {}
    with DocumentReader(ReadSettings(), OcrSettings(strategy="tesseract")) as reader:
        for path in paths:
            survey = reader.survey(path)
            found[path.name] = tuple(reader.read(path, survey.kind, range(1, survey.pages + 1)))
    return found


def _generated_forms() -> list[look_alikes.GeneratedForm]:
    return [*look_alikes.accident_reports(40), *look_alikes.other_forms(10)]


def _spanish(qa: Path, most: int) -> LanguageSet:
    return LanguageSet.read(qa.parent / "xquad", "es", most)


def read_questions(qa: Path, name: str, most: int) -> list[SetQuestion]:
    """Of a set, at even distances."""
    if name == "rag":
        rows = qa_data.spread(qa_data.questions(qa / "rag_multi_corpus"), most)
        return [SetQuestion(one.text, evidence=one.evidence, documents=one.files) for one in rows]
    if name == "forms":
        forms = qa_data.spread(list(look_alikes.all_questions(_generated_forms())), most)
        return [_about_file(one.text, one.answers, one.file) for one in forms]
    if name == "spanish":
        foreign = _spanish(qa, most).questions
        return [_about_file(remove_accents(one.text), one.answers, one.file) for one in foreign]
    if name.startswith("squad2"):
        absent = name.endswith("absent")
        asked = [one for one in qa_data.squad(qa / "squad2_dev") if bool(one.answers) is not absent]
        reworded = {"squad2 misspelt": misspell, "squad2 commanded": command}.get(name, str)
        return [
            SetQuestion(
                reworded(one.text), one.answers, documents=frozenset({qa_data.plain(one.paragraph)}), absent=absent
            )
            for one in qa_data.spread(asked, most)
        ]
    asked = report_questions(qa / "reports")
    if name == "reports absent":
        return [SetQuestion(_of_another(one.text, at), absent=True) for at, one in enumerate(asked[:most])]
    return [_about_file(one.text, one.answers, one.file) for one in asked[:most]]


def _about_file(text: str, answers: tuple[str, ...], file: str) -> SetQuestion:
    return SetQuestion(text, answers, documents=frozenset({qa_data.plain(Path(file).stem)}))


def misspell(question: str) -> str:
    """Two inner letters of its longest small word have changed places."""
    word = max(re.findall(r"\b[a-z]{5,}\b", question) or [""], key=len)
    if not word:
        return question
    at = random.Random(question).randrange(1, len(word) - 2)
    return question.replace(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :], 1)


def command(question: str) -> str:
    """It is asked for by a whole sentence, as people write to a colleague."""
    way = random.Random(question).choice(_COMMANDS)
    return way.format(question[:1].lower() + question[1:].rstrip("?"))


_COMMANDS = (
    "Could you find out for me {}?",
    "I would like to know {}.",
    "Please look up {}, thanks",
    "Hi, can you tell me {}?",
)


def remove_accents(text: str) -> str:
    """As it is typed on a keyboard without them."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


_ELSEWHERE = (
    ("Springfield, Missouri", "March 3, 2006", "03/03/2006", "N7713Q"),
    ("Ridgecrest, Utah", "July 19, 2009", "07/19/2009", "N88XL"),
    ("Portland, Maine", "December 8, 2005", "12/08/2005", "N5512K"),
)


def _of_another(question: str, at: int) -> str:
    """The same about an accident that no document tells of."""
    place, day, date, aircraft = _ELSEWHERE[at % len(_ELSEWHERE)]
    question = re.sub(r"\bN\d\w+", aircraft, question)
    question = re.sub(r"at [A-Z][\w ]+, [A-Z][\w ]+?, on \w+ \d+, \d+", f"at {place}, on {day}", question)
    question = re.sub(r"the [A-Z][\w ]+? accident of [\d/]+", f"the {place.split(',')[0]} accident of {date}", question)
    return re.sub(r"the Chevroux accident", f"the {place.split(',')[0]} accident", question)


async def load_corpus(admin: str, qa: Path, name: str, embedder: MemoEmbedder) -> Scope:
    """A workspace with a corpus, made in an earlier run or now."""
    await apply_migrations(admin)
    facts = await embedder.facts()
    with psycopg.connect(admin, autocommit=True) as connection:
        there = connection.execute("select tenant_id, id from workspaces where name = %s", (name,)).fetchone()
        if there is not None:
            return Scope(TenantId(str(there[0])), WorkspaceId(str(there[1])))
        documents = await asyncio.to_thread(read_documents, qa, name)
        cut = {file: split_pages(pages, ChunkSettings()) for file, pages in documents.items()}
        texts = [search_text(chunk) for chunks in cut.values() for chunk in chunks]
        await embedder.embed(texts, EmbeddingLane.BULK)
        embedder.keep()
        scope = corpus.open_home(connection, name)
        settings = {"chunker": "ablation", "embedder": facts.name, "dimension": facts.dimension}
        generation = corpus.open_generation(connection, scope, **settings)
        books = [
            corpus.Book(
                file,
                [
                    corpus.Passage(
                        one.text,
                        one.spans[0].page,
                        one.headings,
                        tuple((span.page, span.start, span.end) for span in one.spans),
                        embedder.known[search_text(one)],
                        search_text(one),
                    )
                    for one in cut[file]
                ],
                [corpus.Sheet(page.text, page.engine, page.confidence, page.words) for page in pages],
                file.rpartition(".")[2],
            )
            for file, pages in documents.items()
        ]
        corpus.load(connection, scope, generation, books, chunker="ablation")
        _load_tables(connection, scope, documents)
        connection.execute("analyze")
    return scope


def _load_tables(connection: psycopg.Connection[Any], scope: Scope, documents: Mapping[str, Sequence[Page]]) -> None:
    statement = (
        "insert into page_tables (version_id, ordinal, page, document_id, tenant_id, workspace_id, headings, row_count,"
        " content) select current_version, %s, %s, id, tenant_id, workspace_id, %s, %s, %s from documents"
        " where workspace_id = %s and filename = %s"
    )
    for file, pages in documents.items():
        tables = [table for page in pages for table in find_tables(page)]
        for number, table in enumerate(tables, 1):
            content = Jsonb(json.loads(json.dumps(table_to_json(table))))
            told = (number, table.page, list(table.headings), len(table.rows), content, scope.workspace, file)
            connection.execute(statement, told)
    connection.execute(
        "update document_versions set tables_of_reads = reads where workspace_id = %s", (scope.workspace,)
    )
