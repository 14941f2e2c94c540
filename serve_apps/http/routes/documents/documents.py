"""Documents: list, show, their text and pages, what a deletion takes along, and the deletion."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime

from cluster.basics.errors import NotFound
from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.document import Span, Status
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.library import DocumentFilter, DocumentSort
from pipelines.documents.store.page_codec import words_from_json
from serve_apps.agents.streams.cancellation import run_to_completion
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT, OPERATE, READ
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import AgentInQuery, ChunkKey, DocumentInPath, DocumentKey, Limit, PageInPath, Skip, Text
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.routes.documents.document_shapes import (
    Analytics,
    Content,
    ContextUse,
    Deleted,
    DocumentLine,
    DocumentList,
    DocumentShape,
    PageContent,
    PageShape,
    Stats,
    UsageFigures,
    UsedDocument,
    fix_of,
)
from serve_apps.http.routes.documents.stored_file import stored_file
from serve_apps.http.routes.review.confidence_overlay import draw_confidence

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

LAST_USES = 10


@router.get("/api/documents/", dependencies=[READ])
async def documents(
    me: Me,
    parts: Its,
    skip: Skip = 0,
    limit: Limit = 100,
    status: Annotated[Status | None, Query()] = None,
    file_type: Annotated[Text | None, Query(max_length=50)] = None,
    search: Annotated[Text | None, Query(max_length=200, description="In name or description.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Came at this moment or later.")] = None,
    before: Annotated[AwareDatetime | None, Query(description="Came before this moment.")] = None,
    parent: Annotated[DocumentKey | None, Query(description="Came out of this archive or letter.")] = None,
    used: Annotated[bool | None, Query(description="false: only what no answer has used yet.")] = None,
    sort: Annotated[DocumentSort, Query(description="never_used: then those that were used longest ago.")] = "newest",
) -> DocumentList:
    """The documents one may see."""
    wanted = DocumentFilter(status, file_type, search, since, before, parent, used)
    rows, total = await parts.library.page_of(me.scope, wanted, skip, limit, sort)
    return DocumentList(items=[DocumentLine(**row) for row in rows], total=total, skip=skip, limit=limit)


@router.get("/api/documents/vector-store/stats", dependencies=[READ])
async def stats(me: Me, parts: Its, agent_id: AgentInQuery = None) -> Stats:
    """Count the searchable content, in the workspace or for one agent."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    of, counted = parts.embedding, await parts.library.stats(me.scope, agent)
    endpoint = of.base_url and urlsplit(of.base_url)._replace(query="", fragment="").geturl()  # a query may hold a key
    return Stats(**counted, model=of.model, endpoint=endpoint, ollama_auto_detected=of.detected == "ollama")


@router.get("/api/documents/analytics", dependencies=[READ])
async def analytics(me: Me, parts: Its) -> Analytics:
    """Count and sum up the documents one may see: by state, kind and origin, and how answers use them."""
    now = parts.clock()
    everywhere = me.role in AUDIT.roles and me.tenant_role in AUDIT.roles
    found = await parts.document_analytics.figures(
        me.scope, now, sources=me.role in OPERATE.roles, workspaces=everywhere
    )
    usage = UsageFigures(**found.use, most_used=[UsedDocument(**row) for row in found.most_used])
    return copy_fields(Analytics, found, **found.totals, usage=usage, at=now)


@router.get("/api/documents/{document_id}", dependencies=[READ])
async def document(document_id: DocumentInPath, me: Me, parts: Its) -> DocumentShape:
    """One document."""
    row = await parts.library.show(me.scope, document_id)
    uses = await parts.document_usage.newest(me.scope, document_id, LAST_USES)
    return DocumentShape(**row, fix=fix_of(row["failure"]), context_usage=[ContextUse(**use) for use in uses])


@router.get("/api/documents/{document_id}/content", dependencies=[READ])
async def content(
    document_id: DocumentInPath,
    me: Me,
    parts: Its,
    highlight_chunk_ids: Annotated[list[ChunkKey] | None, Query(max_length=100)] = None,
    first_page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    pages: Annotated[int, Query(ge=1, le=5_000)] = 1_000,
) -> Content:
    """The document's text, rebuilt from its pages, with the passages of chunks in `<mark>`."""
    row, texts = await parts.library.content(
        me.scope, document_id, first=first_page, limit=pages, chunks=highlight_chunk_ids or []
    )
    last, count = (texts[-1].number if texts else first_page), row["page_count"] or 0
    return Content(
        document_id=document_id,
        version_id=row["version_id"],
        filename=row["filename"],
        page_count=count,
        content="\f".join(page.text for page in texts),
        pages=[
            copy_fields(PageContent, page, html=highlight_spans(page.text, page.marks), caveats=list(page.caveats))
            for page in texts
        ],
        next_page=last + 1 if last < count and texts else None,
    )


@router.get("/api/documents/{document_id}/pages/{number}", dependencies=[READ])
async def page(document_id: DocumentInPath, number: PageInPath, me: Me, parts: Its) -> PageShape:
    """One page: text, words with boxes, confidence, and how it was read."""
    row = await parts.library.page(me.scope, document_id, number)
    image = f"/api/documents/{document_id}/pages/{number}/image"
    known = {name: row[name] for name in ("version_id", "filename", "page_count")}
    return PageShape(document_id=document_id, image=image, **known, **row["page"])


@router.get(
    "/api/documents/{document_id}/pages/{number}/image",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}, "description": "The page as PNG."}},
    dependencies=[READ],
)
async def image(
    document_id: DocumentInPath,
    number: PageInPath,
    me: Me,
    parts: Its,
    dpi: Annotated[int, Query(ge=36, le=300)] = 110,
    overlay: Annotated[
        Literal["confidence"] | None, Query(description="Boxes over the words, coloured by how sure OCR was of them.")
    ] = None,
) -> Response:
    """The picture of a page, drawn from the file that was read; 409 with reason `changed` where that is another now.

    With an overlay, words below ocr.confidence_threshold are red, and those that a person has corrected are green.
    """
    row = await parts.library.require(me.scope, document_id)
    if row["version_id"] is None or number > row["page_count"]:
        raise NotFound(f"page {number} of document {document_id}")
    over = await _overlay_of(parts, me, document_id, number) if overlay else lambda png: png
    async with stored_file(parts.blobs, row["location"]) as path:
        png = await parts.pictures.draw(path, row["file_hash"], row["kind"], number, dpi, over)
    # The address stays the same when another version comes, so it is asked for again.
    return Response(png, media_type="image/png", headers={"Cache-Control": "private, no-cache"})


async def _overlay_of(
    parts: AppDependencies, me: WorkspaceMember, document: str, number: int
) -> Callable[[bytes], bytes]:
    """Draws the words of a page over its picture; nothing where the format has no geometry."""
    page = (await parts.library.page(me.scope, document, number))["page"]
    words = words_from_json(page["words"])
    return lambda png: draw_confidence(png, words, parts.ocr.confidence_threshold)


@router.get("/api/documents/{document_id}/delete-impact", dependencies=[READ])
async def delete_impact(document_id: DocumentInPath, me: Me, parts: Its) -> Deleted:
    """Count what a deletion would take along."""
    return copy_fields(Deleted, await parts.library.impact(me.scope, document_id), document_id=document_id)


@router.delete("/api/documents/{document_id}", dependencies=[OPERATE])
async def delete(document_id: DocumentInPath, me: Me, parts: Its) -> Deleted:
    """Remove a document with its pages, chunks, vectors, links, and what came out of it; bytes of uploads go too."""
    async with parts.database.transaction(me.scope) as tx:
        impact, locations = await parts.library.delete(tx, me.scope, document_id)
        detail = {"pages": impact.pages, "chunks": impact.chunks}
        await parts.audit.record(tx, me.scope, "document.delete", document_id, detail=detail)
    # Nothing names these bytes any more: were this cut off with the request, they would stay for ever.
    await run_to_completion(asyncio.to_thread(_delete_bytes, parts.blobs, locations))
    return copy_fields(Deleted, impact, document_id=document_id)


def _delete_bytes(blobs: BlobStore, locations: Sequence[str]) -> None:
    for location in locations:
        blobs.delete(Location(location))


def highlight_spans(text: str, spans: Iterable[Span]) -> str:
    """The text escaped, with `<mark>` around the spans; overlapping and touching spans become one.

    Both are of one page; what lies outside the text is cut off.
    """
    out, at = [], 0
    for start, end in _merge_spans(text, spans):
        out += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
        at = end
    return "".join([*out, escape(text[at:])])


def _merge_spans(text: str, spans: Iterable[Span]) -> list[tuple[int, int]]:
    cut = sorted((max(0, span.start), min(len(text), span.end)) for span in spans)
    merged: list[tuple[int, int]] = []
    for start, end in cut:
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
