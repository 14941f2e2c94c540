"""Reading a document again: all of it or some pages, by another OCR strategy, in other languages or encodings."""

import asyncio
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from cluster.basics.errors import Invalid
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import EnqueuedJob, JobLane, JobState
from pipelines.documents.ocr.languages.first_languages import first_languages
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.chunk_strategies import ChunkStrategies
from pipelines.documents.store.encoding import AUTO, canonical_encoding
from pipelines.documents.store.ocr_languages import OcrLanguages
from pipelines.documents.store.reading_options import (
    LONGEST_PAGES,
    PAGES_FIX,
    ReadingOptions,
    ReextractionRequest,
    parse_pages,
)
from pipelines.documents.store.revisions import VersionRevisions
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import ChunkStrategyField, DocumentInPath, IdempotencyKey, Name, RequestBody, Text
from serve_apps.http.problems import FileChanged
from serve_apps.http.response_shapes import Started
from serve_apps.http.routes.documents.uploads import wait_for_job
from serve_apps.http.routes.scans.scan_languages import check_languages
from serve_apps.http.streams.sse import ENDS

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

BRING_IT = "Upload it again, or scan its folder."


class Processing(Started):
    """A document that is read again; `status` is its job's."""

    document_id: str


class ReadingFields(BaseModel):
    """How a document is to be read again; what is left out is as the settings and the workspace say."""

    pages: Annotated[
        Text | None, Field(max_length=LONGEST_PAGES, description="Such as 3,7-9; without it all are read.")
    ] = None
    strategy: Annotated[
        Literal["cascade", "tesseract", "paddle", "easyocr", "vision"] | None,
        Field(description="Of OCR, for scans; vision shows them to a model, too."),
    ] = None
    languages: Annotated[
        list[Name] | Name | None, Field(description="Of scans, by Tesseract's names: a list, or deu+eng; auto.")
    ] = None
    encoding: Annotated[
        Text | None, Field(max_length=40, description="Of a text, such as cp1250, from now on; auto: as its bytes say.")
    ] = None
    chunking_strategy: Annotated[
        ChunkStrategyField | None, Field(description="By which it is cut from now on, whatever the workspace's is.")
    ] = None


class Reading(ReadingFields, RequestBody):
    """Options for reading a document again."""


@router.post("/api/documents/{document_id}/process", status_code=202, dependencies=[BUILD])
@router.post("/api/documents/{document_id}/reprocess", status_code=202, dependencies=[BUILD])
async def process(
    document_id: DocumentInPath,
    me: Me,
    parts: Its,
    response: Response,
    body: Reading | None = None,
    idempotency_key: IdempotencyKey = None,
    wait: Annotated[float, Query(ge=0, le=60, allow_inf_nan=False, description="Seconds to wait for the end.")] = 0,
) -> Processing:
    """Read a document's file again, cut and embed it: a new version, beside which the old ones keep their pages.

    Readers have the version before until this one is complete; where nothing comes out differently they keep it. Pages
    that are not asked for are taken over as they are. 202 with a job, 200 where the wait saw its end; 409 while another
    job reads the document, and `file_changed` where its file is gone or another; 422 for pages that it does not have,
    languages without data, and the strategy vision where no model is named.
    """
    row, asked = await parts.library.require(me.scope, document_id), body or Reading()
    # Before anything is looked at that may have changed since: its file, its versions, the engines.
    job = await _find_started(parts, me, document_id, asked, idempotency_key)
    job = job or await _start_reading(parts, me, row, asked, idempotency_key)
    state = await wait_for_job(parts, me, job.job, wait) if wait or not job.fresh else str(JobState.QUEUED)
    response.status_code = 200 if wait and state in ENDS else 202
    return Processing(job_id=UUID(job.job), status=state, fresh=job.fresh, document_id=document_id)


def _request_json(document: str, asked: ReadingFields) -> dict[str, Any]:
    """What a key stands for."""
    return {"document_id": document, **asked.model_dump(include=set(ReadingFields.model_fields), exclude_none=True)}


async def _find_started(
    parts: AppDependencies, me: WorkspaceMember, document: str, asked: ReadingFields, key: str | None
) -> EnqueuedJob | None:
    """The job that this request started before. Raises Conflict: its key belongs to another one."""
    if key is None:
        return None
    async with parts.database.transaction(me.scope) as tx:
        return await parts.jobs.find_enqueued(tx, me.scope, "process", _request_json(document, asked), key)


async def _start_reading(
    parts: AppDependencies, me: WorkspaceMember, row: Row, asked: ReadingFields, key: str | None
) -> EnqueuedJob:
    """The job, where all that was asked for can be done. Raises Invalid, Conflict, FileChanged."""
    document_id = str(row["id"])
    encoding = None if asked.encoding in (None, AUTO) else canonical_encoding(str(asked.encoding))
    request = await _request_of(parts, me, asked)
    async with parts.database.transaction(me.scope) as tx:
        revisions = VersionRevisions(parts.database)
        base = await revisions.base(tx, me.scope, document_id)
        location = base["location"] if base else await revisions.source(tx, me.scope, document_id, row["origin"])
    _check_pages(request, base)
    await asyncio.to_thread(_check_file, parts.blobs, location, None if base is None else base["file_size"])
    told: dict[str, Any] = {"document_id": document_id, "reading": request.as_json()}
    told |= {} if asked.encoding is None else {"encoding": encoding}
    told |= {} if asked.chunking_strategy is None else {"chunking_strategy": asked.chunking_strategy}
    file = {"origin": row["origin"], "filename": row["filename"], "location": location}
    return await _enqueue_reading(parts, me, file, told, _request_json(document_id, asked), key)


async def _request_of(parts: AppDependencies, me: WorkspaceMember, asked: ReadingFields) -> ReextractionRequest:
    """What is asked for, where it can be done here. Raises Invalid, LanguageNotInstalled."""
    if asked.encoding is not None and asked.pages is not None:
        raise Invalid("an encoding is of the whole text", fix="Leave pages out, or the encoding.")
    languages = await check_languages(parts.ocr, asked.languages)
    if asked.strategy == "easyocr":
        from pipelines.documents.ocr.easyocr import refuse_without_models  # OpenCV comes with it: 20 MB of a gateway

        chosen = first_languages(
            languages or await OcrLanguages(parts.database).current(me.scope) or parts.ocr.languages
        )
        await asyncio.to_thread(refuse_without_models, chosen, parts.ocr.easyocr_models)
    if asked.strategy == "vision" and parts.vision.connection is None:
        fix = "Set vision.connection (AOS_VISION_CONNECTION), or leave the strategy out."
        raise Invalid("no model is named that could look at its pages", fix=fix)
    if asked.pages is not None and not asked.pages.strip():
        raise Invalid("pages are empty", fix=PAGES_FIX)
    return ReextractionRequest((asked.pages or "").strip(), ReadingOptions(asked.strategy, languages))


def _check_pages(request: ReextractionRequest, base: Row | None) -> None:
    """Raise Invalid for pages that the document does not have, as far as it was ever opened."""
    if request.pages and base is None:
        raise Invalid("no page of the document was read yet, so all are to be", fix="Leave pages out.")
    if request.pages and base is not None:
        parse_pages(request.pages, base["page_count"])


def _check_file(blobs: BlobStore, location: str | None, size: int | None) -> None:
    """Raise FileChanged where the file is gone or has another size; its job compares the bytes."""
    if location is None:
        raise FileChanged("nobody knows where its file is", fix=BRING_IT)
    there = blobs.size(Location(location))
    if there is None:
        raise FileChanged("it is no longer where it was read", fix=BRING_IT)
    if size is not None and there != size:
        raise FileChanged("its content changed since it was read", fix=BRING_IT)


async def _enqueue_reading(
    parts: AppDependencies,
    me: WorkspaceMember,
    file: dict[str, Any],
    told: dict[str, Any],
    request: dict[str, Any],
    key: str | None,
) -> EnqueuedJob:
    """The job, and the encoding and the strategy that are set with it, all or none; it links the document to nobody.

    Raises Conflict: another job has yet to read the document.
    """
    document = told["document_id"]
    async with parts.database.transaction(me.scope) as tx:
        payload = {**told, "files": [file], "refresh": True}
        job = await parts.jobs.enqueue(tx, me.scope, "process", JobLane.SMALL, payload, key, request)
        if job.fresh:
            await parts.limits.require_job(tx, caller_of(me), added=1)
            await VersionRevisions(parts.database).refuse_while_read(tx, me.scope, document, job.job)
            if "encoding" in told:
                await parts.library.set_encoding(tx, me.scope, document, told["encoding"])
            if strategy := told.get("chunking_strategy"):
                change = ChunkStrategies(parts.database).change_document
                await change(tx, scope=me.scope, document=document, strategy=strategy)
            await parts.audit.record(tx, me.scope, "job.process", job.job, detail=told)
    return job
