"""Before a folder is scanned: which folders there are below NFS_BASE_PATH, and what a scan of one would take.

NFS_BASE_PATH is one for the whole system and shared by design: whoever may scan, an operator of any tenant, may
list and scan all that lies below it. What a scan makes of it belongs to their workspace alone.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from cluster.basics.errors import Forbidden, Invalid
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane
from pipelines.documents.ingest.estimate import SampledFile, estimate_scan, list_folder
from pipelines.documents.ingest.reading_rate import JobPaces
from pipelines.documents.store.blobs import location_of
from pipelines.documents.store.library import DocumentLibrary
from pipelines.documents.store.page_quota import pages_left
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import IdempotencyKey, Name, RequestBody, Text
from serve_apps.http.response_shapes import Started, copy_fields
from serve_apps.http.routes.documents.uploads import start_job
from serve_apps.http.routes.scans.scan_languages import check_languages
from serve_apps.http.routes.scans.scan_paths import base_of, resolve_scan_path
from serve_apps.http.streams.response import while_read

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

KNOWN_AT_ONCE: Final = 1000


class Folders(BaseModel):
    """A folder below `base`: `path` is relative to it; `more` where there are more folders than are listed."""

    base: str
    path: str
    folders: list[str]
    files: int
    more: bool


class Scan(RequestBody):
    """A file or folder below NFS_BASE_PATH, absolute or relative to it; `agent_id` is a UUID or a display name.

    With `dry_run` nothing is started: 200, and what the scan would find and take.
    """

    path: Annotated[Text, Field(min_length=1, max_length=4_096)]
    agent_id: Name | None = None
    languages: Annotated[
        list[Name] | Name | None, Field(description="Its scans are in, by Tesseract's names: a list, or deu+eng; auto.")
    ] = None
    dry_run: bool = False


class Estimated(BaseModel):
    """A dry run: nothing was started.

    `looked_at` files were opened and counted; where that is not all of `files`, `exact` is false and the rest inferred.
    `complete` is false where the folder could not be walked to its end in time: there are at least `files`, and
    everything else is said of those.
    `passed_over` counts by kind what no scan reads: hidden files, locks of open documents, what systems keep for
    themselves.
    `pages_left` is what the tenant may still have of its quota (read.tenant_pages): where `pages` is more, files become
    documents with the reason too_large once it is used up. Files with more than read.max_pages are among `reasons`.
    `seconds` is `pages` at the pace of the workspace's `jobs` newest jobs, null where none has read a page.
    """

    status: Literal["dry_run"] = "dry_run"
    base: str
    root: str
    files: int
    complete: bool
    looked_at: int
    exact: bool
    unchanged: int
    pages: int
    pages_left: int
    kinds: dict[str, int]
    reasons: dict[str, int]
    passed_over: dict[str, int]
    pages_per_second: float | None
    seconds: float | None
    jobs: int


@router.get("/api/documents/folders", dependencies=[OPERATE])
async def folders(
    me: Me, parts: Its, at: Annotated[Text, Query(max_length=4_096, description="Below NFS_BASE_PATH.")] = ""
) -> Folders:
    """The folders that can be scanned."""
    base = base_of(parts.read)
    root = await asyncio.to_thread(resolve_scan_path, base, at)
    try:
        inside = await asyncio.to_thread(list_folder, root)
    except NotADirectoryError as error:
        raise Invalid(f"{at} is a file", fix="Scan it as it is, or choose the folder it lies in.") from error
    except OSError as error:
        raise Forbidden(f"{at or 'it'} cannot be entered: {error.strerror}") from error
    below = root.relative_to(base.resolve())
    path = "" if below == Path() else _printable_path(below)
    folders = [_printable_path(Path(name)) for name in inside.folders]
    return Folders(base=str(base), path=path, files=inside.files, more=inside.more, folders=folders)


@router.post("/api/documents/batch-scan", status_code=202, dependencies=[OPERATE])
async def batch_scan(
    body: Scan, me: Me, parts: Its, request: Request, response: Response, idempotency_key: IdempotencyKey = None
) -> Started | Estimated:
    """Read every file of a folder below NFS_BASE_PATH; files stay where they are."""
    root = await asyncio.to_thread(resolve_scan_path, base_of(parts.read), body.path)
    agent = await parts.agent_store.resolve(me.scope, body.agent_id)
    if body.dry_run:
        response.status_code = 200
        return await while_read(request, dry_run(parts, me.scope, root))
    payload: dict[str, Any] = {"root": str(root), "agent_id": agent}
    if languages := await check_languages(parts.ocr, body.languages):
        payload |= {"ocr": list(languages)}
    return await start_job(parts, me, "scan", JobLane.BULK, payload, idempotency_key)


async def dry_run(parts: AppDependencies, scope: Scope, root: Path) -> Estimated:
    """Count what a scan of `root` would read, for a bounded time; nothing is written.

    Raises Crowded: others look at folders already.
    """
    found = await parts.surveys.survey(parts.read, root)
    known = await _known_hashes(parts.library, scope, found.seen)
    estimate = estimate_scan(found.files, found.seen, known, found.complete)
    rate = await JobPaces(parts.database).recent(scope)
    left = await pages_left(parts.database, scope, parts.read.tenant_pages)
    pace = rate.per_second
    return copy_fields(
        Estimated,
        estimate,
        base=str(base_of(parts.read)),
        root=_printable_path(root),
        complete=found.complete,
        pages_left=left,
        passed_over=found.passed_over,
        pages_per_second=pace,
        seconds=estimate.pages / pace if pace else None,
        jobs=rate.jobs,
    )


async def _known_hashes(library: DocumentLibrary, scope: Scope, seen: Sequence[SampledFile]) -> dict[Path, str | None]:
    paths = {str(location_of(one.path)): one.path for one in seen if one.file_hash is not None}
    known: dict[Path, str | None] = {}
    names = list(paths)
    for start in range(0, len(names), KNOWN_AT_ONCE):
        held = await library.held(scope, names[start : start + KNOWN_AT_ONCE])
        known |= {paths[origin]: one.file_hash for origin, one in held.items()}
    return known


def _printable_path(path: Path) -> str:
    """Names on disk are bytes; those that are no UTF-8 are shown with escapes."""
    return str(path).encode("utf-8", "backslashreplace").decode()
