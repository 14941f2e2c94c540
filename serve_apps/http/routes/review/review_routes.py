"""Review: the queue of pages that somebody should look at, a page's lines, corrections of them, and their history."""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from pipelines.documents.review.line_request import LineRequest
from pipelines.documents.review.page_corrector import PageCorrector
from pipelines.documents.review.review_queue import PageVersion, Reason, ReviewFilter, ReviewQueue
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, READ
from serve_apps.http.fields import DocumentInPath, DocumentKey, PageInPath, Skip, Text
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.routes.review.review_shapes import (
    CorrectionEntry,
    CorrectionHistory,
    CorrectionRequest,
    CorrectionShape,
    PageLinesShape,
    ReviewedPage,
    ReviewMark,
    WaitingPages,
    lines_shape,
    waiting_shape,
)

router = APIRouter(route_class=GuardedRoute, tags=["review"])

Limit = Annotated[int, Query(ge=1, le=200)]
Below = Annotated[
    float | None, Query(ge=0, le=1, allow_inf_nan=False, description="Confidence; without it ocr.confidence_threshold.")
]


@router.get("/api/review/pages", dependencies=[READ])
async def review_queue(
    me: Me,
    parts: Its,
    below: Below = None,
    document_id: Annotated[DocumentKey | None, Query(description="Only pages of this document.")] = None,
    reason: Annotated[Reason | None, Query(description="Only pages that wait for this reason.")] = None,
    search: Annotated[Text | None, Query(max_length=200, description="In the file's name.")] = None,
    reviewed: Annotated[bool, Query(description="Those that were marked as fine, in place of the others.")] = False,
    skip: Skip = 0,
    limit: Limit = 50,
) -> WaitingPages:
    """The pages that somebody should look at, the least sure first."""
    threshold = parts.ocr.confidence_threshold if below is None else below
    wanted = ReviewFilter(threshold, document_id, reason, search, reviewed)
    rows, total = await ReviewQueue(parts.database).waiting(me.scope, wanted, skip, limit)
    # Every word of the pages is looked at, which would hold up all other requests.
    items = await asyncio.to_thread(lambda: [waiting_shape(row, threshold) for row in rows])
    return WaitingPages(items=items, total=total, skip=skip, limit=limit, threshold=threshold)


@router.get("/api/documents/{document_id}/pages/{number}/lines", dependencies=[READ])
async def page_lines(
    document_id: DocumentInPath, number: PageInPath, me: Me, parts: Its, below: Below = None
) -> PageLinesShape:
    """The lines of a page with how sure OCR was of each."""
    row = await ReviewQueue(parts.database).page(me.scope, document_id, number)
    threshold = parts.ocr.confidence_threshold if below is None else below
    return await asyncio.to_thread(lines_shape, row, threshold)


@router.put("/api/documents/{document_id}/pages/{number}/review", dependencies=[BUILD])
async def mark_page(
    document_id: DocumentInPath, number: PageInPath, body: ReviewMark, me: Me, parts: Its
) -> ReviewedPage:
    """Mark a page as fine as it is, or let it wait again; 409 `page_changed` where it says something else by now."""
    seen = PageVersion.parse(body.page_version)
    told = {"page": number, "fine": body.fine, "page_version": body.page_version}
    async with parts.audited(me, "page.review", document_id, told) as tx:
        queue = ReviewQueue(parts.database)
        row = await queue.mark_reviewed(tx, me.scope, document_id, number, seen, fine=body.fine)
    return ReviewedPage(document_id=document_id, page=number, reviewed_at=row["reviewed_at"])


@router.post("/api/documents/{document_id}/pages/{number}/corrections", status_code=201, dependencies=[BUILD])
async def correct_line(
    document_id: DocumentInPath, number: PageInPath, body: CorrectionRequest, me: Me, parts: Its, response: Response
) -> CorrectionShape:
    """Correct a line, or a word of it: page, index, tables and citations say so when this answers.

    201, or 200 where the same request was done before; 409 `page_changed` where the page says something else by now;
    422 for a line or word that is not there, an empty text, and control characters.
    """
    corrector = PageCorrector(parts.database, parts.jobs, parts.audit, parts.embedder)
    asked = LineRequest(body.line, body.text, body.word)
    seen = PageVersion.parse(body.page_version)
    made = await corrector.correct(me.scope, document_id, number, seen, asked)
    response.status_code = 201 if made.fresh else 200
    return copy_fields(CorrectionShape, made, id=UUID(made.id), document_id=document_id, page=number)


@router.get("/api/documents/{document_id}/pages/{number}/corrections", dependencies=[READ])
async def correction_history(
    document_id: DocumentInPath, number: PageInPath, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 50
) -> CorrectionHistory:
    """Corrections of a page, the newest first, whichever version of the document they were made on."""
    await parts.library.require(me.scope, document_id)
    rows, total = await ReviewQueue(parts.database).history(me.scope, document_id, number, skip, limit)
    items = [CorrectionEntry(**row, page_version=str(PageVersion.of_row(row))) for row in rows]
    return CorrectionHistory(items=items, total=total)
