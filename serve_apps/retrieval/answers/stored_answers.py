"""Stored answers, and why they say what they say: from each claim to the page, its engine, its file and its job."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from cluster.basics.errors import NotFound
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Role, Scope
from cluster.state.canonical_json import normalize_json
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.corrections.followed_quote import follow_quote, hash_quote
from pipelines.documents.privacy.answer_masks import AnswerMask
from serve_apps.retrieval.answers.answerer import CitedAnswer
from serve_apps.retrieval.answers.claims import AnswerClaim, DroppedClaim, SourceConflict, as_said
from serve_apps.retrieval.answers.quote import describe_quote, page_of
from serve_apps.retrieval.search.query import SearchResults
from serve_apps.retrieval.tables.calculation import Calculation
from serve_apps.retrieval.text.rule_languages import RuleLanguage

Json = Any
_HIT = ("chunk_id", "document_id", "page", "engine", "score", "scores")
_KEPT = ("id", "agent", "run", "mode", "model", "fallback", "abstained", "generation", "classification")
_PLACE = ("n", "document_id", "version_id", "chunk_id", "page", "start", "end", "quote")
WITHHELD = "The document is gone, or is none that you may read."
CHANGED = "The page says something else by now."


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """An answer to be stored."""

    id: str  # a UUID; that of the run, where an agent answered
    question: str
    mode: str
    claims: Sequence[AnswerClaim]
    citations: Sequence[Mapping[str, Any]]  # n, document_id, version_id, chunk_id, page, start, end, quote of each
    agent: str | None = None
    run: str | None = None
    model: str | None = None
    fallback: str | None = None
    abstained: str | None = None
    generation: int | None = None
    conflicts: Sequence[SourceConflict] = ()
    dropped: Sequence[DroppedClaim] = ()
    search: Mapping[str, Any] | None = None  # how its sources were found
    calculation: Mapping[str, Any] | None = None  # the query over tables that gave it, see `calculation_json`
    classification: str | None = None  # the highest class of the documents that it cites


class StoredAnswers:
    """Keeps answers for those who asked and for administrators; passages are looked up when they are shown."""

    def __init__(self, database: Database, new_id: Callable[[], UUID] = uuid4) -> None:
        """Queries are read from stored_answers.sql beside this file."""
        self._db, self._new_id = database, new_id
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def keep(
        self,
        scope: Scope,
        question: str,
        agent: str | None,
        answer: CitedAnswer,
        *,
        classification: str | None = None,
        mask: AnswerMask | None = None,
    ) -> str:
        """Store an answer and return its id; raises Unavailable where Postgres cannot be reached.

        `mask`: what is taken out of its texts; passages are not stored, but looked up.
        """
        id_ = str(self._new_id())
        citations = [{name: getattr(one, name) for name in _PLACE} for one in answer.citations]
        kept = AnswerRecord(
            id_,
            question,
            answer.mode,
            answer.claims,
            citations,
            agent,
            None,
            answer.model,
            answer.fallback,
            answer.abstained,
            answer.search.generation,
            answer.conflicts,
            answer.dropped,
            {**_search_record(answer.search), "judged": judged_json(answer.judged)},
            None if answer.calculation is None else calculation_json(answer.calculation),
            classification,
        )
        async with self._db.transaction(scope) as tx:
            await self.put(tx, scope, kept, mask)
        return id_

    async def put(self, tx: Transaction, scope: Scope, kept: AnswerRecord, mask: AnswerMask | None = None) -> None:
        """Store an answer in the caller's transaction; the same id again changes nothing. `mask` as of `keep`."""
        whose = {**scope.keys}

        quotes = {one["n"]: as_said(one["quote"]) for one in kept.citations}
        claims = [_without_passage(one, quotes, whole=kept.mode == "extractive") for one in kept.claims]
        conflicts = [[{"value": one.value, "n": one.citation} for one in row.stated] for row in kept.conflicts]
        texts: Json = {
            "question": kept.question,
            "claims": normalize_json(claims),
            "conflicts": normalize_json(conflicts),
            "dropped": [{"text": one.text, "why": one.why} for one in kept.dropped],
            "calculation": None if kept.calculation is None else dict(kept.calculation),
        }
        if mask is not None:
            texts = await asyncio.to_thread(_masked_texts, texts, mask)
        await tx.run(
            self._sql["keep"],
            **whose,
            **{name: getattr(kept, name) for name in _KEPT},
            question=texts["question"],
            readers=_answer_readers(scope),
            user=scope.user,
            hash=hash_quote(" ".join(kept.question.casefold().split())),
            claims=Jsonb(texts["claims"]),
            conflicts=Jsonb(texts["conflicts"]),
            dropped=Jsonb(texts["dropped"]),
            search=Jsonb(normalize_json(dict(kept.search or {}))),
            calculation=None if texts["calculation"] is None else Jsonb(texts["calculation"]),
        )
        rows = [
            {
                **whose,
                "answer": kept.id,
                "n": one["n"],
                "document": one["document_id"],
                "version": one["version_id"],
                "chunk": one["chunk_id"],
                "page": one["page"],
                "start": one["start"],
                "end": one["end"],
                "hash": hash_quote(one["quote"]),
            }
            for one in kept.citations
        ]
        await tx.many(self._sql["cite"], rows)

    async def corrected_since(self, scope: Scope, answers: Sequence[str]) -> dict[str, datetime]:
        """Answers that cite a page which was corrected since, by their ids, with when it was last."""
        if not answers:
            return {}
        rows = await self._db.read(scope, self._sql["corrected_since"], **scope.keys, answers=list(answers))
        return {str(row["id"]): row["at"] for row in rows}

    async def why(self, scope: Scope, answer: str) -> Json:
        """An answer with the way from each claim to the file it was read from.

        Whoever lost a document since sees neither its passage nor its name. A claim is shown without its passage to the
        one who asked, and to nobody else; one that is itself a passage goes with it. Raises NotFound where there is no
        such answer, or it is somebody else's.
        """
        named = {"id": uuid_of(answer, "answer"), **scope.keys}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["show"], **named)
            if row is None:
                raise NotFound(f"answer {answer}")
            cited = await tx.all(self._sql["cited"], **named)
            calculated = (row["calculation"] or {}).get("document_ids", [])
            documents = [*(hit["document_id"] for hit in row["search"].get("hits", ())), *calculated]
            seen = await tx.all(self._sql["seen"], workspace=scope.workspace, documents=documents)
        citations = {one["n"]: _visible_citation(one) for one in cited}
        mine = scope.user is not None and str(row["user_id"]) == scope.user
        # Sums are of more rows than are cited: who may not read all of their documents sees none of it.
        whole = {*calculated, *(one["document_id"] for one in citations.values())} <= {one["id"] for one in seen}
        return {
            **{name: row[name] for name in _PLAIN},
            "claims": [_visible_claim(one, citations, mine, whole) for one in row["claims"]],
            "citations": list(citations.values()),
            "conflicts": [
                [{**one, "value": _visible_value(citations, one["n"], one["value"])} for one in stated]
                for stated in row["conflicts"]
            ],
            "dropped": row["dropped"] if mine else [],
            # Its conditions are values of the documents.
            "calculation": row["calculation"] if whole else None,
            "judged": row["search"].get("judged"),
            "search": _visible_search(row["search"], {one["id"]: one["filename"] for one in seen}),
        }


_PLAIN = (
    *("id", "user_id", "agent_id", "run_id", "question", "mode", "model", "fallback", "abstained", "generation"),
    *("corpus_version", "corpus_now", "at", "classification"),
)


def calculation_json(calculation: Calculation) -> Json:
    """The query, the name of its table and its columns, the rows taken in and their documents."""
    names = ("sql", "table", "columns", "rows", "totals_left_out", "documents", "document_ids", "notes")
    return normalize_json({name: getattr(calculation, name) for name in names})


def judged_json(language: RuleLanguage) -> dict[str, Any]:
    """The language of a question, and the rules that judged in it."""
    return {"language": language.code, "rules": list(language.judged_by)}


def _masked_texts(texts: Json, mask: AnswerMask) -> Json:
    """Each by itself: what it is called says nothing of it."""
    return {name: mask.json(value, unknown=True) for name, value in texts.items()}


def _answer_readers(scope: Scope) -> list[str]:
    return [*(one for one in scope.principals if one.startswith("user:")), f"role:{Role.ADMIN}"]


def _search_record(results: SearchResults) -> Json:
    """Search as it is stored with an answer: hits with engines and scores, and the stages. No text."""
    shown = ("keyword_engine", "vector", "rerank", "fallback", "total")
    return {
        **{name: getattr(results, name) for name in shown},
        "timings_ms": dict(results.timings_ms),
        "stages": [asdict(one) for one in results.stages],
        "hits": [{name: getattr(hit, name) for name in _HIT} for hit in results.hits],
    }


def _without_passage(claim: AnswerClaim, quotes: Mapping[int, str], *, whole: bool) -> Json:
    """A claim as it is stored: one that is a passage, word for word, is read from what it cites first."""
    if claim.basis == "calculated":
        return {"text": claim.text, "citations": claim.citations, "basis": claim.basis}
    same = [n for n in claim.citations if quotes.get(n, "").rstrip(".:;") == claim.text.rstrip(".:;")]
    citations = [*same, *(n for n in claim.citations if n not in same)]
    return {"text": None if same or (whole and citations) else claim.text, "citations": citations, "basis": claim.basis}


def _visible_search(search: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    hits = search.get("hits", ())
    seen = [{**hit, "filename": names[hit["document_id"]]} for hit in hits if hit["document_id"] in names]
    return {**search, "hits": seen, "withheld": len(hits) - len(seen)}


def _visible_claim(claim: Mapping[str, Any], citations: Mapping[int, Json], mine: bool, whole: bool) -> Json:
    found = [citations[n] for n in claim["citations"] if n in citations]
    text = claim["text"]
    if text is None:
        text = None if any(one["quote"] is None for one in found) else as_said(found[0]["quote"])
    elif (claim.get("basis") == "calculated" and not whole) or (
        not mine and any(one["document_id"] is None for one in found)
    ):
        text = None
    # Answers from before it was kept say nothing of it: in them a claim without a text is its passage.
    basis = claim.get("basis") or ("extracted" if claim["text"] is None else "quoted")
    return {"text": text, "citations": claim["citations"], "supported": bool(claim["citations"]), "basis": basis}


def _visible_value(citations: Mapping[int, Json], n: int, value: str) -> str | None:
    return value if n in citations and citations[n]["quote"] is not None else None


def _visible_citation(row: Row) -> Json:
    if row["filename"] is None:
        nothing: Json = {"n": row["n"], "boxes": [], "caveats": [], "corrections": [], "withheld": WITHHELD}
        return {**dict.fromkeys(_WHERE), **nothing}
    start, end = row["first_char"], row["end_char"]
    found = None
    if row["text"] is not None:
        found = follow_quote(page_of(row), start, end, row["quote_hash"], row["corrections"])
    start, end = (found.start, found.end) if found else (start, end)
    boxes, sure = describe_quote(page_of(row), start, end) if found else ((), None)
    job = {name: row[f"job_{name}"] for name in ("id", "kind", "state", "finished_at")}
    return {
        **{name: row[name] for name in _SEEN},
        "start": start,
        "end": end,
        "chunk": {"id": row["chunk_id"], "index": row["chunk_index"], "headings": row["headings"]},
        "quote": row["text"][start:end] if found else None,
        "corrections": list(found.corrections) if found else [],
        "boxes": [[one.page, one.box.x0, one.box.y0, one.box.x1, one.box.y1] for one in boxes],
        "ocr_confidence": sure,
        "page_confidence": row["confidence"],
        "job": job if row["job_id"] else None,
        "url": f"/api/documents/{row['document_id']}/versions/{row['version_id']}/pages/{row['page']}",
        "withheld": None if found else CHANGED,
    }


_SEEN = (
    *("n", "document_id", "version_id", "filename", "is_current", "page", "kind", "engine", "caveats", "attempts"),
    *("fingerprint", "read_at", "file_hash"),
)
_WHERE = (
    "n", "document_id", "version_id", "filename", "is_current", "page", "kind", "start", "end", "chunk", "quote",
    "boxes", "ocr_confidence", "engine", "page_confidence", "caveats", "attempts", "fingerprint", "read_at",
    "file_hash", "job", "url", "withheld", "corrections",
)  # fmt: skip
