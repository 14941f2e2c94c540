"""Extraction of a document to a JSON schema, and the fields that a person should look at."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import DocumentInPath, DocumentKey, JsonObject, Limit, RequestBody, Skip
from serve_apps.http.routes.documents.passages import Boxes, box_coordinates
from serve_apps.retrieval.extraction.document_extractor import DocumentExtraction, UseModel
from serve_apps.retrieval.extraction.extraction_result import ExtractedField, FieldState

router = APIRouter(route_class=GuardedRoute, tags=["extraction"])

Source = Literal["facts", "model"]


class ExtractRequest(RequestBody):
    """A JSON schema of type object.

    At most 200 fields and 8 levels; references only to its own `$defs`, and none to itself.
    """

    json_schema: Annotated[JsonObject, Field(alias="schema", description="JSON Schema of the wanted object.")]
    use_model: Annotated[
        UseModel, Field(description="`auto` asks a model where labels and tables leave something missing or unsure.")
    ] = UseModel.AUTO


class ExtractedFieldShape(BaseModel):
    """A value: `path` is a JSON pointer into `data`, `reason` says why its `state` is not `found`.

    `quote` is the page's text at [start, end); `boxes` are [page, x0, y0, x1, y1] in page fractions, none where the
    format has no geometry. `source`: `facts` are the document's labels, tables and elements.
    """

    path: str
    value: Any
    state: FieldState
    reason: str
    source: Source | None
    page: int | None
    start: int | None
    end: int | None
    quote: str | None
    boxes: Boxes
    ocr_confidence: float | None
    url: str | None


class ExtractionShape(BaseModel):
    """`data` has the form of the schema; `flaws` say where it does not fit it, `notes` what was not looked at.

    `model` and `spend` are those of the language model that was asked; null where none was.
    """

    id: str
    document_id: str
    version_id: str
    filename: str
    data: dict[str, Any]
    fields: list[ExtractedFieldShape]
    counts: dict[FieldState, int]
    flaws: list[str]
    notes: list[str]
    model: str | None
    spend: dict[str, str | int | float] | None


class UnsureField(BaseModel):
    """A stored value that a person should look at: `path` is a JSON pointer into the result of run `run_id`."""

    run_id: str
    document_id: str
    version_id: str
    filename: str
    schema_hash: str
    at: datetime
    path: str
    state: FieldState
    reason: str
    value: Any
    source: Source | None
    page: int | None
    start: int | None
    end: int | None
    ocr_confidence: float | None
    url: str | None


class UnsureFields(BaseModel):
    """A page of unsure and invalid fields, those of the latest runs first."""

    items: list[UnsureField]
    total: int


@router.get("/api/documents/unsure-fields", dependencies=[READ])
async def list_unsure_fields(
    me: Me,
    parts: Its,
    document_id: Annotated[DocumentKey | None, Query(description="Only of this document.")] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> UnsureFields:
    """List extracted fields that a person should look at, of the versions that readers see."""
    rows, total = await parts.extractor.stored.list_unsure_fields(me.scope, document_id, skip=skip, limit=limit)
    items = [
        UnsureField(
            **{**row, "run_id": str(row["run_id"])}, url=_page_url(row["document_id"], row["version_id"], row["page"])
        )
        for row in rows
    ]
    return UnsureFields(items=items, total=total)


@router.post("/api/documents/{document_id}/extract", dependencies=[READ])
async def extract_fields(document_id: DocumentInPath, body: ExtractRequest, me: Me, parts: Its) -> ExtractionShape:
    """Extract JSON that fits a schema, each value with its page, box, OCR confidence and quote.

    What is not stated is missing, and what a model says and no page states is unsure; the fields say why.
    """
    async with parts.extract_admission.place():
        found = await parts.extractor.extract(me.scope, document_id, body.json_schema, body.use_model)
    return _extraction_shape(found)


def _extraction_shape(found: DocumentExtraction) -> ExtractionShape:
    result, document, reply = found.result, found.document, found.reply
    return ExtractionShape(
        id=found.id,
        document_id=document.document_id,
        version_id=document.version_id,
        filename=document.filename,
        data=result.data,
        fields=[_field_shape(found, one) for one in result.fields],
        counts={state: result.count(state) for state in FieldState},
        flaws=list(result.flaws),
        notes=list(result.notes),
        model=None if reply is None else reply.model,
        spend=None if reply is None or reply.spend is None else reply.spend.figures,
    )


def _field_shape(found: DocumentExtraction, one: ExtractedField) -> ExtractedFieldShape:
    place = one.place
    page = None if place is None else place.page
    return ExtractedFieldShape(
        path=one.path,
        value=one.value,
        state=one.state,
        reason=one.reason,
        source=one.source,
        page=page,
        start=None if place is None else place.start,
        end=None if place is None else place.end,
        quote=None if place is None else place.quote,
        boxes=[] if place is None else box_coordinates(place.boxes),
        ocr_confidence=None if place is None else place.ocr_confidence,
        url=_page_url(found.document.document_id, found.document.version_id, page),
    )


def _page_url(document: str, version: str, page: int | None) -> str | None:
    return None if page is None else f"/api/documents/{document}/versions/{version}/pages/{page}"
