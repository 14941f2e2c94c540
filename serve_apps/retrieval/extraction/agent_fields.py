"""Extraction as an agent's tool: the values of one of its documents, those in doubt, and passages to quote."""

from typing import Any, Final

from cluster.basics.scope import Scope
from pipelines.documents.privacy.answer_rules import UNKNOWN_CLASS
from serve_apps.retrieval.extraction.document_extractor import DocumentExtraction, DocumentExtractor, UseModel
from serve_apps.retrieval.extraction.extraction_result import ExtractedField, FieldState

Json = Any
MOST_DOUBTS: Final = 20  # a model reads the beginning of an observation
MOST_QUOTED: Final = 6  # passages of one result
AROUND: Final = 60  # characters beside a value that are quoted with it


class AgentFields:
    """`skills.framework.passage_source.FieldSource` over the extractor."""

    def __init__(self, extractor: DocumentExtractor) -> None:
        """No further model is asked: the one that called can read the document itself."""
        self._extractor = extractor

    async def extract(self, scope: Scope, agent: str, document: str, schema: Any) -> Json:
        """{data, doubts, more_doubts, document, notes, passages}; doubts as `path: state, reason`. Nothing is stored.

        Raises SchemaRefused, Invalid, NotFound; Unavailable: Postgres cannot be reached.
        """
        found = await self._extractor.extract(scope, document, schema, UseModel.NEVER, agent, by_name=True, keep=False)
        doubts = [one for one in found.result.fields if one.state is not FieldState.FOUND]
        return {
            "document": found.document.filename,
            "data": found.result.data,
            "doubts": [f"{one.path}: {one.state}, {one.reason}" for one in doubts[:MOST_DOUBTS]],
            "more_doubts": max(0, len(doubts) - MOST_DOUBTS),
            "notes": [*found.result.notes, *found.result.flaws],
            "passages": _quotable(found),
            "classification": UNKNOWN_CLASS,  # nobody has asked of which class the document is
        }


def _quotable(found: DocumentExtraction) -> list[Json]:
    """The lines around the first values, each once."""
    pages = {page.number: page.text for page in found.document.pages}
    spans: dict[tuple[int, int, int], None] = {}
    for one in found.result.fields:
        if one.place is not None and one.place.page in pages:
            spans.setdefault(_line_span(pages[one.place.page], one), None)
    document = found.document
    return [
        {
            "document_id": document.document_id,
            "version_id": document.version_id,
            "chunk_id": "",
            "filename": document.filename,
            "page": page,
            "score": 1.0,
            "content": pages[page][start:end],
            "spans": [[page, start, end]],
            "classification": UNKNOWN_CLASS,
        }
        for page, start, end in list(spans)[:MOST_QUOTED]
    ]


def _line_span(text: str, one: ExtractedField) -> tuple[int, int, int]:
    """The line of a value, or of a long line what stands around it."""
    assert one.place is not None
    start = max(text.rfind("\n", 0, one.place.start) + 1, one.place.start - AROUND)
    end = text.find("\n", one.place.end)
    return one.place.page, start, min(len(text) if end < 0 else end, one.place.end + AROUND)
