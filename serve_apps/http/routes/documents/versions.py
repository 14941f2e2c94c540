"""Versions of a document, how the pages of each were read, and those pages with their pictures."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from cluster.basics.errors import NotFound
from pipelines.documents.store.version_history import VersionHistory
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import DocumentInPath, DocumentKey, Limit, PageInPath, Skip
from serve_apps.http.response_shapes import CaveatShape
from serve_apps.http.routes.documents.document_shapes import PageShape, fix_of
from serve_apps.http.routes.documents.stored_file import stored_file

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

VersionInPath = Annotated[DocumentKey, Path(description="32 hex digits, as citations name it.")]


class Version(BaseModel):
    """A version: `current` is what readers see; of its pages, `stored` are there and `failed` could not be read."""

    id: str
    current: bool
    kind: str
    file_hash: str
    file_size: int
    page_count: int
    stored: int
    failed: int
    chunks: int
    created_at: datetime


class Versions(BaseModel):
    """A page of a document's versions, newest first."""

    items: list[Version]


class PageLine(BaseModel):
    """Reading of a page; `words` and `characters` count what was found, `fix` is the remedy of its failure."""

    number: int
    engine: str
    confidence: float | None
    failure: Mapping[str, Any] | None
    caveats: list[CaveatShape]
    ms: int
    read_at: datetime
    characters: int
    words: int
    fix: str | None


class PageLines(BaseModel):
    """Pages of a version in order."""

    items: list[PageLine]
    total: int


@router.get("/api/documents/{document_id}/versions", dependencies=[READ])
async def versions(document_id: DocumentInPath, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 20) -> Versions:
    """The document's versions."""
    await parts.library.require(me.scope, document_id)
    rows = await VersionHistory(parts.database).versions(me.scope, document_id, skip, limit)
    return Versions(items=[Version(**{**row, "current": bool(row["current"])}) for row in rows])


@router.get("/api/documents/{document_id}/versions/{version_id}/pages", dependencies=[READ])
async def pages(
    document_id: DocumentInPath,
    version_id: VersionInPath,
    me: Me,
    parts: Its,
    failed: Annotated[bool, Query(description="Only pages that could not be read.")] = False,
    caveats: Annotated[bool, Query(description="Only pages that have caveats.")] = False,
    skip: Skip = 0,
    limit: Limit = 100,
) -> PageLines:
    """List the pages of a version with how each was read."""
    shelf = VersionHistory(parts.database)
    rows, total = await shelf.pages(
        me.scope, document_id, version_id, failed=failed, caveats=caveats, skip=skip, limit=limit
    )
    return PageLines(items=[PageLine(**row, fix=fix_of(row["failure"])) for row in rows], total=total)


@router.get("/api/documents/{document_id}/versions/{version_id}/pages/{number}", dependencies=[READ])
async def page(
    document_id: DocumentInPath, version_id: VersionInPath, number: PageInPath, me: Me, parts: Its
) -> PageShape:
    """One page of this version, whatever readers see now."""
    row = await VersionHistory(parts.database).page(me.scope, document_id, version_id, number)
    image = f"/api/documents/{document_id}/versions/{version_id}/pages/{number}/image"
    known = {"version_id": version_id, "filename": row["filename"], "page_count": row["page_count"]}
    return PageShape(document_id=document_id, image=image, **known, **row["page"])


@router.get(
    "/api/documents/{document_id}/versions/{version_id}/pages/{number}/image",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}, "description": "The page as PNG."}},
    dependencies=[READ],
)
async def image(
    document_id: DocumentInPath,
    version_id: VersionInPath,
    number: PageInPath,
    me: Me,
    parts: Its,
    dpi: Annotated[int, Query(ge=36, le=300)] = 110,
) -> Response:
    """The picture of a page of this version; 409 with reason `changed` where its bytes are not kept any more."""
    row = await VersionHistory(parts.database).version(me.scope, document_id, version_id)
    if number > row["page_count"]:
        raise NotFound(f"page {number} of version {version_id}")
    async with stored_file(parts.blobs, row["location"]) as path:
        png = await parts.pictures.draw(path, row["file_hash"], row["kind"], number, dpi)
    # A version's bytes never change, so its pictures do not.
    return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})
