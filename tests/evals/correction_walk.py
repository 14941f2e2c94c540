"""A walk of random corrections under running questions: how soon each is found, what it costs, what goes stale."""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

MOST_SECONDS = 30.0  # then a correction counts as not found
PAUSE = 0.05  # seconds between two looks, and between two questions of an asker
LEAST_WORDS = 4  # of a line that is corrected
ASKED_WORDS = 6  # of a line, as a question
LETTERS = "bcdfghklmnprstvz"

Place = tuple[str, int]  # document and page


@dataclass(frozen=True, slots=True)
class PageText:
    """A text of a page, and from when until when it may have been read, in seconds."""

    text: str
    since: float
    until: float = float("inf")


@dataclass
class CorrectionFigures:
    """What a walk has measured."""

    seconds: list[float] = field(default_factory=list)  # until each correction was found
    reembedded: list[int] = field(default_factory=list)  # chunks, of each
    answers: int = 0  # citations were looked at of so many
    citations: int = 0
    corrected: int = 0  # of them that say that they were corrected since
    stale: list[str] = field(default_factory=list)  # what the others show and no page says
    lost: int = 0  # citations of before that are withheld, though whatever they quote was only corrected

    @property
    def slowest(self) -> float:
        """Seconds of the one that was found last."""
        return max(self.seconds, default=float("inf"))

    def within(self, share: float) -> float:
        """Seconds within which that share of corrections was found."""
        ordered = sorted(self.seconds) or [float("inf")]
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class CorrectionWalk:
    """Corrects random lines of documents through the API, while others ask; it is the only one who corrects."""

    def __init__(self, client: httpx.AsyncClient, rng: random.Random, askers: int = 2) -> None:
        """`client` has the token of somebody who may correct."""
        self._client, self._rng, self._askers = client, rng, askers
        self._texts: dict[Place, list[PageText]] = {}
        self._questions: list[str] = []
        self._answers: list[str] = []  # ids of those that cite something
        self.figures = CorrectionFigures()

    async def run(self, corrections: int) -> CorrectionFigures:
        """So many corrections; afterwards every answer that was given is looked up again."""
        await self._look_around()
        asking = [asyncio.create_task(self._ask_on()) for _ in range(self._askers)]
        try:
            for number in range(corrections):
                await self._correct_one(number)
                if failed := next((task for task in asking if task.done()), None):
                    await failed  # raises what ended it
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        now = {place: await self._page_text(place) for place in sorted(self._texts)}
        for answer in self._answers:
            await self._look_into(answer, now)
        return self.figures

    async def _look_around(self) -> None:
        for document in (await self._get("/api/documents/", limit=500))["items"]:
            for page in range(1, (document["page_count"] or 0) + 1):
                lines = await self._get(f"/api/documents/{document['id']}/pages/{page}/lines")
                if any(len(line["text"].split()) >= LEAST_WORDS for line in lines["lines"]):
                    place = (document["id"], page)
                    self._texts[place] = [PageText(await self._page_text(place), time.monotonic())]
                    self._questions += [self._question_of(line["text"]) for line in lines["lines"][::5]]
        if not self._texts:
            raise ValueError("there is no page with lines to correct")

    async def _correct_one(self, number: int) -> None:
        """Ask about a line, correct it, and look until the correction is found; then ask about it again."""
        place = self._rng.choice(sorted(self._texts))
        path = f"/api/documents/{place[0]}/pages/{place[1]}"
        shown = await self._get(f"{path}/lines")
        line = self._rng.choice([one for one in shown["lines"] if len(one["text"].split()) >= LEAST_WORDS])
        question = self._question_of(line["text"])
        await self._ask(question)
        marker, text = self._changed_line(line["text"], number)
        body = {"page_version": shown["page_version"], "line": line["line"], "text": text}
        began = time.monotonic()
        reply = await self._client.post(f"{path}/corrections", json=body)
        reply.raise_for_status()
        answered = time.monotonic()
        await self._note_text(place, began, answered)
        self.figures.reembedded.append(int(reply.json()["reembedded"]))
        self.figures.seconds.append(await self._find(marker, began))
        await self._ask(question)

    async def _find(self, marker: str, began: float) -> float:
        """Seconds until a search finds a passage with the new word."""
        while time.monotonic() - began < MOST_SECONDS:
            body = {"query": marker, "limit": 5}
            found = await self._client.post("/api/documents/search", json=body)
            found.raise_for_status()
            if any(marker in hit["text"] for hit in found.json()["results"]):
                return time.monotonic() - began
            await asyncio.sleep(PAUSE)
        return float("inf")

    async def _ask_on(self) -> None:
        while True:
            await self._ask(self._rng.choice(self._questions))
            await asyncio.sleep(PAUSE)

    async def _ask(self, question: str) -> None:
        """Ask, and hold each citation against the texts that its page had while the question was answered."""
        began = time.monotonic()
        reply = await self._client.post("/api/ask", json={"question": question})
        reply.raise_for_status()
        answer, ended = reply.json(), time.monotonic()
        self.figures.answers += 1
        for cited in answer["citations"]:
            place = (cited["document_id"], cited["page"])
            self.figures.citations += 1
            known = self._texts.get(place, [])
            # A correction of which the answer is still under way is written, or it is not: either text is right.
            said = [one.text for one in known if one.since <= ended and one.until >= began]
            if not known or any(_shows(text, cited) for text in said):
                continue
            if not _shows(await self._page_text(place), cited):  # what is being written now is not noted yet
                self.figures.stale.append(cited["quote"])
        if answer["citations"]:
            self._answers.append(str(answer["id"]))

    async def _look_into(self, answer: str, now: Mapping[Place, str]) -> None:
        """An answer of before: a passage is as its page says now; one that is withheld is lost."""
        why = await self._get(f"/api/answers/{answer}/why")
        self.figures.answers += 1
        for cited in why["citations"]:
            self.figures.citations += 1
            self.figures.corrected += bool(cited["corrections"])
            if cited["withheld"]:
                self.figures.lost += 1
                continue
            if not _shows(now.get((cited["document_id"], cited["page"]), ""), cited):
                self.figures.stale.append(cited["quote"])

    async def _note_text(self, place: Place, began: float, answered: float) -> None:
        """The page has another text: the old one may have been read until the answer, the new one from the request."""
        after = PageText(await self._page_text(place), began)
        last = self._texts[place].pop()
        self._texts[place] += [PageText(last.text, last.since, answered), after]

    async def _page_text(self, place: Place) -> str:
        return str((await self._get(f"/api/documents/{place[0]}/pages/{place[1]}"))["text"])

    def _question_of(self, line: str) -> str:
        words = [word.strip(".,;:|") for word in line.split() if word.strip(".,;:|").isalnum()]
        return f"What is said about {' '.join(words[:ASKED_WORDS]) or 'this'}?"

    def _changed_line(self, line: str, number: int) -> tuple[str, str]:
        """A word that stands nowhere else, and the line with it in place of one word or beside it."""
        marker = "qu" + "".join(self._rng.choice(LETTERS) + self._rng.choice("aeiou") for _ in range(4)) + f"x{number}"
        words = line.split()
        at = self._rng.choice([n for n, word in enumerate(words) if "|" not in word])
        if self._rng.random() < 0.5:
            words[at] = marker
        else:
            words.insert(at, marker)
        return marker, " ".join(words)

    async def _get(self, path: str, **query: Any) -> Any:
        reply = await self._client.get(path, params=query)
        reply.raise_for_status()
        return reply.json()


def _shows(text: str, cited: Mapping[str, Any]) -> bool:
    """True if a page with this text says what is cited, where it is cited."""
    return bool(text[cited["start"] : cited["end"]] == cited["quote"])
