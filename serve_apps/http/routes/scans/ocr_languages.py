"""The languages that a workspace's scans are in."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane
from pipelines.documents.store.ocr_languages import MOST, OcrLanguages
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.fields import Name, RequestBody
from serve_apps.http.routes.scans.scan_languages import list_installed

router = APIRouter(route_class=GuardedRoute, tags=["documents"])


class ScanLanguagesRequest(RequestBody):
    """By Tesseract's names (`deu`), the likeliest first; empty takes those of the settings (OCR_LANGUAGES).

    `auto` among them has each page read in its own language; the others are tried first.

    With `read_again` a job reads every document again that OCR has read before.
    """

    languages: Annotated[list[Name], Field(max_length=MOST)]
    read_again: bool = False


class ScanLanguages(BaseModel):
    """`languages` are the workspace's own, empty where it takes the settings' (`default`); `installed` may be chosen.

    `job_id` is of the job that reads again, null where there is none.
    """

    languages: list[str]
    default: list[str]
    installed: list[str]
    job_id: UUID | None = None


@router.get("/api/ocr/languages", dependencies=[READ])
async def scan_languages(me: Me, parts: Its) -> ScanLanguages:
    """Show the OCR languages of the workspace."""
    chosen, default = list(await OcrLanguages(parts.database).current(me.scope)), list(parts.ocr.languages)
    return ScanLanguages(languages=chosen, default=default, installed=await list_installed(parts.ocr))


@router.put("/api/ocr/languages", dependencies=[OPERATE])
async def change_scan_languages(body: ScanLanguagesRequest, me: Me, parts: Its) -> ScanLanguages:
    """Read scans in these languages from now on; those that are not installed are refused with the package's name."""
    there = await list_installed(parts.ocr)
    # As the worker that will read them: also documents that the caller may not see are in these languages.
    scope = Scope.of_worker(me.scope.tenant, me.scope.workspace)
    job = None
    async with parts.database.transaction(scope) as tx:
        files = await OcrLanguages(parts.database).change(tx, scope, body.languages, there)
        if body.read_again and files:
            payload = {"files": files, "refresh": True}
            await parts.limits.require_job(tx, caller_of(me))
            job = (await parts.jobs.enqueue(tx, me.scope, "upload", JobLane.BULK, payload)).job
        detail = {"languages": body.languages, "read_again": len(files) if job else 0}
        await parts.audit.record(tx, me.scope, "ocr.languages", me.scope.workspace, detail=detail)
    chosen, default = list(dict.fromkeys(body.languages)), list(parts.ocr.languages)
    return ScanLanguages(languages=chosen, default=default, installed=there, job_id=UUID(job) if job else None)
