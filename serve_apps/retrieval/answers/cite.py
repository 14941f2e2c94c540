"""Citations of one answer: each quote checked against its page, each place numbered once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cluster.state.db.postgres import Row
from pipelines.documents.document import Page
from pipelines.documents.store.page_codec import placed_from_json
from serve_apps.retrieval.answers.evidence import EvidenceSentence
from serve_apps.retrieval.answers.quote import ANYWHERE, Citation, describe_quote, locate_quote, page_of
from serve_apps.retrieval.search.query import SearchHit

Pages = Mapping[tuple[str, int], Page]  # by version and number


@dataclass(slots=True)
class CitationList:
    """The citations so far, in the order of their numbers."""

    hits: Sequence[SearchHit]
    pages: Pages
    all: list[Citation] = field(default_factory=list)

    def place(self, n: int, quote: str) -> Citation | None:
        """Citation of a quote in source `n` (from 1, or ANYWHERE), within its own spans; not numbered yet.

        None where it does not.
        """
        for hit in self.hits if n == ANYWHERE else self.hits[max(n - 1, 0) : n]:
            for span in hit.spans:
                page = self.pages.get((hit.version_id, span.page))
                at = page and locate_quote(quote, page.text, span.start, span.end)
                if at:
                    return self._make_citation(hit, span.page, quote, at)
        return None

    def sentence(self, sentence: EvidenceSentence) -> Citation | None:
        """A sentence of a hit, not numbered yet; None where its page says something else by now."""
        hit = self.hits[sentence.hit]
        return self._make_citation(hit, sentence.page, sentence.text, (sentence.start, sentence.end))

    def titles(self, citations: Sequence[Citation]) -> list[str]:
        """Headings and filenames of the passages that are cited."""
        cited = {one.chunk_id for one in citations}
        return [title for hit in self.hits if hit.chunk_id in cited for title in hit.titles]

    def covers(self, citation: Citation) -> bool:
        """True where another citation has all of this place and more."""
        return any(
            _share_a_page(one, citation) and one.start <= citation.start and citation.end <= one.end
            for one in self.all
            if _place_key(one) != _place_key(citation)
        )

    def number(self, citation: Citation) -> int:
        """Its number in the answer; the same place keeps the one it has."""
        for known in self.all:
            if _place_key(known) == _place_key(citation):
                return known.n
        self.all.append(replace(citation, n=len(self.all) + 1))
        return len(self.all)

    def _make_citation(self, hit: SearchHit, number: int, quote: str, at: tuple[int, int]) -> Citation | None:
        """A citation, unless the page does not say this there: a quote is never taken on trust."""
        page = self.pages.get((hit.version_id, number))
        if page is None or page.text[at[0] : at[1]].split() != quote.split():
            return None
        boxes, confidence = describe_quote(page, *at)
        return Citation(
            n=0,
            chunk_id=hit.chunk_id,
            document_id=hit.document_id,
            version_id=hit.version_id,
            filename=hit.filename,
            page=number,
            quote=page.text[at[0] : at[1]],
            start=at[0],
            end=at[1],
            boxes=boxes,
            ocr_confidence=confidence,
            caveats=tuple(one for one in hit.caveats if one.page in (None, number)),
        )


def cite_page(row: Row, start: int, end: int, *, n: int = 0) -> Citation:
    """A citation of [start, end) on a stored page.

    `row`: the page's columns, with its document_id, version_id, filename, caveats, and chunk_id where it is known.
    """
    page = page_of(row)
    boxes, confidence = describe_quote(page, start, end)
    return Citation(
        n=n,
        chunk_id=row.get("chunk_id") or "",
        document_id=row["document_id"],
        version_id=row["version_id"],
        filename=row["filename"],
        page=page.number,
        quote=page.text[start:end],
        start=start,
        end=end,
        boxes=boxes,
        ocr_confidence=confidence,
        caveats=placed_from_json(row["caveats"]),
    )


def citations_overlap(one: Citation, other: Citation) -> bool:
    """True where two citations have some of a page in common."""
    return _share_a_page(one, other) and one.start < other.end and other.start < one.end


def _share_a_page(one: Citation, other: Citation) -> bool:
    return (one.version_id, one.page) == (other.version_id, other.page)


def _place_key(citation: Citation) -> tuple[str, int, int, int]:
    return citation.version_id, citation.page, citation.start, citation.end
