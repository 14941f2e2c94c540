"""Extracts JSON of a schema's form from a stored document: by its labels and tables, by a model, or by both."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from cluster.basics.errors import Invalid, Overloaded
from cluster.basics.scope import Scope
from cluster.models.chat.response_format import ResponseForm, SchemaFlaw
from cluster.models.model_errors import NoModel
from cluster.models.reply_json import UnreadableValue
from cluster.models.routing.tasks import Task
from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.extraction_result import Extraction, FieldState, judge_found
from serve_apps.retrieval.extraction.facts_route import MOST_LABELLED, extract_facts
from serve_apps.retrieval.extraction.model_route import (
    ModelValues,
    extraction_request,
    merge_values,
    read_reply,
    shown_pages,
)
from serve_apps.retrieval.extraction.schema_fields import SchemaField, read_schema
from serve_apps.retrieval.extraction.stored_extractions import ReadDocument, StoredExtractions
from serve_apps.retrieval.extraction.time_limit import UNLIMITED, RulesOutOfTime, TimeLimit
from serve_apps.retrieval.search.query_writer import REFUSALS, QueryWriter, WriterReply, refusal_reason

Json = Any
LEAST_CONFIDENCE: Final = 0.6  # of OCR; a value whose words are below it is for a person to look at
MOST_FLAWS: Final = 50
_UNCHECKED: Final = ("pattern", "format")
RULE_SECONDS: Final = 30.0  # of the rules, of a look for a model's values, and of the schema's check, each
AT_ONCE: Final = 2  # extractions of one process whose rules run at a time


class UseModel(StrEnum):
    """Whether a language model is asked."""

    AUTO = "auto"  # where the document's labels and tables leave something missing or unsure
    NEVER = "never"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class DocumentExtraction:
    """An extraction of a document."""

    id: str  # of the run that is stored; empty where it is not kept
    document: ReadDocument
    result: Extraction
    reply: WriterReply | None  # of the model that was asked; None where none was


class DocumentExtractor:
    """Extracts from what a scope may see; a process has one, for all who ask."""

    def __init__(
        self,
        stored: StoredExtractions,
        writer: QueryWriter | None,
        seconds: Callable[[], float] = lambda: 60.0,
        rule_seconds: float = RULE_SECONDS,
    ) -> None:
        """`writer` asks the workspace's models; `seconds` are those that a model may take, `rule_seconds` rules."""
        self.stored = stored
        self._writer, self._seconds, self._rule_seconds = writer, seconds, rule_seconds
        self._places = asyncio.Semaphore(AT_ONCE)

    async def extract(
        self,
        scope: Scope,
        document: str,
        schema: Mapping[str, Json],
        use_model: UseModel = UseModel.AUTO,
        agent: str | None = None,
        *,
        by_name: bool = False,
        keep: bool = True,
    ) -> DocumentExtraction:
        """Extract, and store the fields for those who look at what is unsure where they are to be kept.

        Raises SchemaRefused, Invalid: the schema; NotFound: no such document for this scope or agent; Overloaded:
        others' rules run; where a model is demanded NoModel, OverBudget and what else keeps it from being asked.
        """
        root = await asyncio.to_thread(read_schema, schema)
        read = await self.stored.load_document(scope, document, agent, by_name=by_name)
        async with self._rule_place(self._rule_seconds):
            limit = TimeLimit(self._rule_seconds)
            facts = await asyncio.to_thread(extract_facts, root, read.pages, limit)
            notes = [*_reading_notes(read), *_limit_notes(limit)]
            result = await asyncio.to_thread(judge_found, root, facts, read.pages, LEAST_CONFIDENCE)
        reply: WriterReply | None = None
        if use_model is UseModel.ALWAYS or (use_model is UseModel.AUTO and _leaves_open(result)):
            values, reply, why = await self._ask_model(scope, agent, root, schema, (read.pages, facts), use_model)
            notes += [why] if why else []
            if values is not None:
                merged = merge_values(root, facts, values.found)
                async with self._rule_place():
                    result = await asyncio.to_thread(judge_found, root, merged, read.pages, LEAST_CONFIDENCE)
        result = replace(result, notes=tuple(notes))
        async with self._rule_place():
            result = await asyncio.to_thread(validate_extraction, schema, result, TimeLimit(self._rule_seconds))
        model = None if reply is None else reply.model
        run = await self.stored.keep_extraction(scope, read, schema, result, model) if keep else ""
        return DocumentExtraction(run, read, result, reply)

    async def _ask_model(
        self,
        scope: Scope,
        agent: str | None,
        root: SchemaField,
        schema: Mapping[str, Json],
        known: tuple[Sequence[Page], Mapping[str, Json]],
        use_model: UseModel,
    ) -> tuple[ModelValues | None, WriterReply | None, str]:
        """A model's values, its reply, and what is to be said about them.

        `known`: the pages, and what their labels state.
        """
        pages, facts = known
        shown, seconds = shown_pages(pages), self._seconds()
        try:
            if self._writer is None:
                raise NoModel("no language model is configured")
            async with asyncio.timeout(seconds):
                reply = await self._writer.write(scope, agent, Task.EXTRACT, extraction_request(schema, shown))
        except REFUSALS as error:
            if use_model is UseModel.ALWAYS and not isinstance(error, TimeoutError):
                raise
            why = "" if isinstance(error, NoModel) else f"no model was asked: {refusal_reason(error, seconds)}"
            return None, None, why
        try:
            async with self._rule_place():
                limit = TimeLimit(self._rule_seconds)
                values = await asyncio.to_thread(read_reply, root, reply.text, pages, facts, limit)
        except UnreadableValue as error:
            return None, reply, f"{reply.model} replied with something else than JSON ({error}); nothing of it is used"
        cut = "" if len(shown) == len(pages) else f"the model was shown the first {len(shown)} of {len(pages)} pages"
        return values, reply, "; ".join(one for one in (values.note, cut) if one)

    @asynccontextmanager
    async def _rule_place(self, seconds: float | None = None) -> AsyncIterator[None]:
        """A place among those whose rules run; for as long as it takes once something was spent.

        Raises Overloaded: none became free in `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise Overloaded(f"{AT_ONCE} extractions run, and none of them ended within {seconds:g} s") from None
        try:
            yield
        finally:
            self._places.release()


def validate_extraction(schema: Mapping[str, Json], found: Extraction, limit: TimeLimit = UNLIMITED) -> Extraction:
    """The result with what of the schema it does not fit: beside the fields that are wrong, and as a list."""
    flaws, wrong, notes = list[str](), dict[str, str](), list[str]()
    total = 0
    try:
        for total, flaw in enumerate(ResponseForm({"type": "object", **schema}).flaws(found.data, limit.check_time), 1):
            flaws += [str(flaw)] if total <= MOST_FLAWS else []
            if flaw.path:
                wrong[_pointer(flaw)] = flaw.message
    except RulesOutOfTime:
        notes.append(f"the result was held against the schema for {limit.seconds:g} s only, and not as a whole")
    except Invalid as error:  # of a result with many rows each reference is followed often
        notes.append(f"the result was not held against the schema as a whole: {error}")
    if total > MOST_FLAWS:
        notes.append(f"{total - MOST_FLAWS} more flaws are not listed, the fields say what is wrong")
    if left := _unchecked_keywords(schema):
        notes.append(f"not checked of the schema: {', '.join(left)}")
    fields = tuple(
        replace(one, state=FieldState.INVALID, reason=wrong[one.path])
        if one.path in wrong and one.state in (FieldState.FOUND, FieldState.UNSURE)
        else one
        for one in found.fields
    )
    return replace(found, fields=fields, flaws=tuple(flaws), notes=(*found.notes, *notes))


def _unchecked_keywords(schema: Json) -> list[str]:
    """Keywords of a schema that no value is held against: one's regular expression may take for ever."""
    found, left = set[str](), [schema]
    while left:
        part = left.pop()
        if isinstance(part, Mapping):
            # A property may have such a name, but a schema is no text.
            found |= {name for name in _UNCHECKED if isinstance(part.get(name), str)}
            left += part.values()
        elif isinstance(part, list):
            left += part
    return sorted(found)


def _pointer(flaw: SchemaFlaw) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in flaw.path)


def _leaves_open(result: Extraction) -> bool:
    return any(one.state is not FieldState.FOUND for one in result.fields)


def _limit_notes(limit: TimeLimit) -> list[str]:
    if not limit.is_over:
        return []
    told = "pages, tables and fields whose turn had not come were not looked at"
    return [f"the document's labels and tables were looked at for {limit.seconds:g} s: {told}"]


def _reading_notes(read: ReadDocument) -> list[str]:
    """What of the document was not looked at."""
    notes = []
    if left := max(0, read.page_count - len(read.pages)):
        notes.append(
            f"{left} of {read.page_count} pages were not looked at: they were not read, or are beyond the limit"
        )
    if len(read.pages) > MOST_LABELLED:
        notes.append(f"labels were looked for on the first {MOST_LABELLED} pages, tables and lists on all")
    return notes
