"""Quotes in an answer: checked word for word against the page, numbered in the order in which they appear."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, load_queries
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.knowledge import RETRIEVAL, SourceList, SourcePassage
from serve_apps.agents.turn.limits import ENDINGS
from serve_apps.agents.turn_ports import Journal, Json, Turn
from serve_apps.retrieval.answers.quote import describe_quote, page_of

SQL = load_queries(Path(__file__).parents[2] / "retrieval" / "answers" / "answer.sql")

# [n: "quote"], as `retrieval.generate` has it; a bare [n] and, where a reply was cut off, half a mark prove nothing.
# Code is left as it is: there [n] is an index, and no reader takes it for a citation.
_OPEN, _CLOSE = "[\"“”'‘’]+", "[\"“”'‘’]+"
MARK = re.compile(
    r"(?P<fence>^[ \t]*```)|(?P<code>`(?![^`\n]*\[\s*\d{1,3}\s*:)[^`\n]+`)"
    rf"|[ \t]*\[\s*(?P<n>\d{{1,3}})\s*:\s*{_OPEN}(?P<quote>.{{1,1000}}?){_CLOSE}\s*\]"
    r"|[ \t]*\[(?P<bare>\d{1,3})\]"
    rf"|[ \t]*(?<![\w\])])\[\s*(?P<half>\d{{1,3}})(?:\s*:\s*(?:{_OPEN}[^\[\]]*)?)?\Z",
    re.DOTALL | re.MULTILINE,
)


class QuotePlaces(Protocol):
    """Port that locates quotes on their pages, as rectangles for pictures."""

    async def describe(self, scope: Scope, quotes: Sequence[Mapping[str, Any]]) -> Json:
        """{boxes, ocr_confidence, caveats} of each quote; None where its page is gone or says otherwise."""
        ...


class StoredPlaces:
    """Places on the pages that are stored, for readers who may see them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def describe(self, scope: Scope, quotes: Sequence[Mapping[str, Any]]) -> Json:
        """As `QuotePlaces.describe`. Raises Unavailable: Postgres cannot be reached."""
        async with self._database.transaction(scope) as tx:
            versions, numbers = ([quote[name] for quote in quotes] for name in ("version_id", "page"))
            rows = await tx.all(SQL["pages"], **scope.keys, versions=versions, numbers=numbers)
        found = {(row["version_id"], row["number"]): row for row in rows}
        described: list[Json] = []
        for quote in quotes:
            row = found.get((quote["version_id"], quote["page"]))
            start, end = quote["start"], quote["end"]
            page = page_of(row) if row else None
            if row is None or page is None or page.text[start:end] != quote["quote"]:
                described.append(None)
                continue
            boxes, sure = describe_quote(page, start, end)
            flat = [[one.page, one.box.x0, one.box.y0, one.box.x1, one.box.y1] for one in boxes]
            described.append({"boxes": flat, "ocr_confidence": sure, "caveats": row["caveats"]})
        return described


@dataclass
class QuoteChecker:
    """The citations of an answer so far; `removed` are marks that nothing supports, with the reason."""

    sources: SourceList
    citations: list[dict[str, Any]] = field(default_factory=list)
    removed: list[dict[str, Any]] = field(default_factory=list)
    told: int = 0
    fenced: bool = False  # what comes next is in a block of code

    @property
    def refuted(self) -> bool:
        """True if a quote was removed because its source does not say it: what leans on it is worth less."""
        return any("quote" in one for one in self.removed)

    def checked(self, text: str) -> str:
        """A text with [k] for each mark whose quote stands in its source, and without the others.

        The same place keeps its number k; the numbers are those of the citations, not of the sources. Texts are given
        in the order in which they are read: a block of code may begin in one and end in a later one.
        """
        if not len(self.sources):
            return text
        return MARK.sub(self._replace_mark, text)

    def _replace_mark(self, found: re.Match[str]) -> str:
        if found["fence"] is not None:
            self.fenced = not self.fenced
        if self.fenced or found["fence"] is not None or found["code"] is not None:
            return found[0]
        if found["half"] is not None:
            self.removed.append({"n": int(found["half"]), "why": "half a quote"})
            return ""
        if found["bare"] is not None:
            # A number that no source has would be read as that of a citation, once the answer has so many.
            self.removed.append({"n": int(found["bare"]), "why": "no quote"})
            return ""
        n, quote = int(found["n"]), found["quote"].strip()
        source = self.sources.get(n)
        place = source.place(quote) if source else None
        if source is None or place is None:
            why = "the source does not say this" if source else "there is no such source"
            self.removed.append({"n": n, "why": why, "quote": quote[:200]})
            return ""
        return f" [{self._number_citation(source, place)}]"

    def _number_citation(self, source: SourcePassage, place: tuple[int, int, int]) -> int:
        page, start, end = place
        wanted = (source.version_id, page, start, end)
        for known in self.citations:
            if (known["version_id"], known["page"], known["start"], known["end"]) == wanted:
                return int(known["n"])
        said = {name: getattr(source, name) for name in ("document_id", "version_id", "chunk_id", "filename")}
        said |= {"page": page, "quote": source.at(place), "start": start, "end": end}
        said |= {"boxes": [], "ocr_confidence": None, "caveats": []}
        url = f"/api/documents/{source.document_id}/versions/{source.version_id}/pages/{page}"
        self.citations.append({"n": len(self.citations) + 1, **said, "url": url})
        return len(self.citations)


async def emit_citations(turn: Turn, journal: Journal, places: QuotePlaces, quotes: QuoteChecker) -> None:
    """A CITATION event for each citation that is new, with its rectangles where the pages are still there."""
    new = quotes.citations[quotes.told :]
    if not new:
        return
    wanted = [{name: one[name] for name in ("version_id", "page", "start", "end", "quote")} for one in new]

    async def look(_: str) -> Json:
        return await places.describe(turn.scope, wanted)

    try:
        described = await journal.step(RETRIEVAL, "places", wanted, look)
    except ENDINGS:
        raise
    except AosError:  # the quote was checked; only its rectangles are missing, and the step says why
        described = [None] * len(new)
    for one, more in zip(new, described, strict=True):
        one.update(more or {})
        journal.emit(EventKind.CITATION, **one)
    quotes.told = len(quotes.citations)
