"""The DOCUMENTS path in sixty phrasings: how many of them end without an answer and without an honest hand-over."""

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.scope import Scope
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.messages import ModelMessage
from cluster.models.ports import Embedder
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from configs.sections import ChunkSettings
from configs.sections_retrieval import EmbeddingSettings
from configs.settings import load_settings
from pipelines.documents.chunk.split import chunker_fingerprint, split_pages
from pipelines.documents.document import Page
from pipelines.documents.store.page_codec import search_text
from serve_apps.agents import turn_ports
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.retrieval.answers.answerer import NO_REPLY, NOT_FOUND
from serve_apps.retrieval.answers.generate import NOTHING
from serve_apps.wiring.agents import TurnRuntime, build_container, build_turn_intake
from tests.evals.documents_shelf import DOCUMENTS, PHRASINGS, Phrasing
from tests.evals.report import Report
from tests.fakes import agents_contract, corpus
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, failing

GOAL = "DOCUMENTS path: 60 phrasings (yours; commands, follow-ups, chit-chat with trigger words): 0 dead ends."
OWN_WORDS = "I am glad to help, and this I say of my own knowledge."
CAN_DO = "No language model is configured"
WAYS_TO_FAIL: dict[str, Say] = {
    "a model that replies without a word": Say(""),
    "a model that refuses its key": failing(401),
}


class Reader:
    """What the scripted model says: it quotes the sentence with the value where it is shown one, else its own words."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self.asked = Phrasing("chit-chat", "")

    def __call__(self, body: dict[str, Any]) -> Say:
        """A reply to a request in OpenAI's form."""
        text = "\n".join(str(one["content"]) for one in body["messages"])
        quote = self._sentence()
        at = text.find(quote) if quote else -1
        if at >= 0:
            n = text[:at].rpartition("<source n=")[2].split(" ", 1)[0].strip("\"'>")
            return Say(f'{quote} [{n}: "{quote}"]')
        return Say(NOTHING if "You answer questions from numbered sources" in text else OWN_WORDS)

    def _sentence(self) -> str:
        if not self.asked.value:
            return ""
        lines = DOCUMENTS[self.asked.file].replace("\n\n", "\n").splitlines()
        held = [part for line in lines for part in line.replace(". ", ".\n").splitlines() if self.asked.value in part]
        return held[-1]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a phrasing ended; `dead` is why that is a dead end, empty where it is none."""

    asked: Phrasing
    way: str
    answer: str
    dead: str


def judged(asked: Phrasing, events: Sequence[Event], *, model: bool) -> Ended:
    """Whether a turn was a dead end."""
    last, answer = events[-1], str(events[-1].data.get("answer", ""))
    route = next((one.data["path"] for one in events if one.kind is EventKind.ROUTE), "")
    handed = any(one.kind is EventKind.FALLBACK and one.data["left"] == "documents" for one in events)
    way = f"{route}{' to general' if handed else ''}"
    if route != "documents":
        return Ended(asked, way, answer, "it did not take the DOCUMENTS path")
    if last.kind is not EventKind.DONE:
        return Ended(asked, way, str(last.data), "it has no answer")
    if answer.strip() in ("", NOT_FOUND, NO_REPLY):
        return Ended(asked, way, answer, "it ends with nothing")
    if asked.value and asked.value in answer:
        return Ended(asked, way, answer, "")
    if not handed:
        return Ended(asked, way, answer, "the documents hold another answer" if asked.value else "it claims an answer")
    if model:
        own = OWN_WORDS in answer
        return Ended(asked, way, answer, "" if own and not asked.value else "it hands over what the documents hold")
    honest = CAN_DO in answer and (not asked.value or asked.file in answer)
    return Ended(asked, way, answer, "" if honest else "it hands over without naming what is near")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A filled workspace: its servers, and a person in it."""

    points: embedded.StateEndpoints
    scope: Scope
    embedder: Embedder


async def fill(points: embedded.StateEndpoints) -> Workspace:
    """Every document through the product's chunker, embedder and schema."""
    admin, embedder, settings = points.postgres_admin or "", LocalEmbedder(EmbeddingSettings()), ChunkSettings()
    await apply_migrations(admin)
    scope = agents_contract.person(admin)
    facts, chunker = await embedder.facts(), chunker_fingerprint(settings)
    pages = {name: Page(1, text) for name, text in DOCUMENTS.items()}
    cut = {name: split_pages([page], settings) for name, page in pages.items()}
    texts = [search_text(chunk) for chunks in cut.values() for chunk in chunks]
    rest = iter(await embedder.embed(texts))
    books = [
        corpus.Book(
            name,
            [
                corpus.Passage(
                    chunk.text,
                    search_text=search_text(chunk),
                    headings=chunk.headings,
                    vector=next(rest),
                    spans=tuple((span.page, span.start, span.end) for span in chunk.spans),
                )
                for chunk in chunks
            ],
            [corpus.Sheet(pages[name].text)],
        )
        for name, chunks in cut.items()
    ]
    with psycopg.connect(admin, autocommit=True) as connection:
        generation = corpus.open_generation(
            connection, scope, chunker=chunker, embedder=facts.name, dimension=facts.dimension
        )
        corpus.load(connection, scope, generation, books, chunker=chunker)
        connection.execute("analyze")
    return Workspace(points, scope, embedder)


@asynccontextmanager
async def agents(at: Workspace, state: Path, model: ModelServer | None) -> AsyncIterator[Callable[..., Any]]:
    """Something that carries a message out, as the gateway does."""
    environment = {"AOS_STATE_DIR": str(state), "DATABASE_URL": at.points.postgres, "REDIS_URL": at.points.redis}
    if model is not None:
        environment |= {"LLM_BASE_URL": model.url, "LLM_DEFAULT_MODEL": "scripted-1", "AOS_LLM_SUPPORTS_TOOLS": "true"}
    settings = load_settings(environment)
    base = build_container(settings, at.embedder, None)
    workshop = TurnRuntime(settings, base)
    await base.database.open()
    await workshop.open()
    way_in = build_turn_intake(settings, base, dict.fromkeys(turn_ports.TurnPath, workshop.carrier))

    async def tell(asked: Phrasing) -> list[Event]:
        said = tuple(ModelMessage("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(asked.before))
        return [event async for event in way_in.process(at.scope, IncomingMessage("", asked.message, history=said))]

    try:
        yield tell
    finally:
        await workshop.close()
        await base.close()
        await base.database.close()


async def evaluate(state: Path, report: Report, show: bool) -> None:
    """Every phrasing with a model and without one, and some with one that never replies."""
    at = await fill(embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)})))
    ended: dict[str, list[Ended]] = {}
    reader = Reader()
    with serve_model(reader) as model:
        async with agents(at, state, model) as tell:
            ended["with a model"] = []
            for asked in PHRASINGS:
                reader.asked = asked
                ended["with a model"].append(judged(asked, await tell(asked), model=True))
    async with agents(at, state, None) as tell:
        ended["without a model"] = [judged(asked, await tell(asked), model=False) for asked in PHRASINGS]
    dead = [one for found in ended.values() for one in found if one.dead]
    for arm, found in ended.items():
        report.figure(f"{arm}: phrasings", len(found))
        report.figure(
            f"{arm}: answered from the documents", sum(one.way == "documents" and not one.dead for one in found)
        )
        report.figure(f"{arm}: handed over", sum(one.way.endswith("general") and not one.dead for one in found))
        report.figure(f"{arm}: dead ends", sum(bool(one.dead) for one in found))
    report.figure("dead ends", len(dead), goal=GOAL, holds=not dead and len(PHRASINGS) >= 60)
    for name, reply in WAYS_TO_FAIL.items():
        with serve_model(reply) as model:
            async with agents(at, state, model) as tell:
                events = await tell(Phrasing("not held", "Search the documents for the house sauce"))
        told = f"{events[-1].kind}: {events[-1].data.get('title', '')} {events[-1].data.get('detail', '')}".strip()
        report.figure(
            name,
            told,
            goal="a model that never replied ends the run `failed` with that reason",
            holds=events[-1].kind is EventKind.ERROR and "documents" not in told,
        )
    for arm, found in ended.items():
        for one in found:
            if one.dead or show:
                print(f"[{arm}] {one.way}: {one.dead or 'fine'}\n  {one.asked.message}\n  {one.answer[:300]!r}")


def main() -> int:
    """Fill a workspace, ask, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print how each phrasing ended")
    chosen = parser.parse_args()
    report = Report("eval-documents-path")
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        asyncio.run(evaluate(state, report, chosen.show))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
