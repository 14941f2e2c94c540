"""The way of large uploads through the console: tus 1.0, passed on as it comes, with the session's token."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response
from starlette.requests import ClientDisconnect

from serve_apps.ui.kit.page import PREFIX, ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem

API: Final = "/api/uploads/tus"
SENT: Final = ("tus-resumable", "upload-length", "upload-metadata", "upload-offset", "upload-checksum", "content-type")
TOLD: Final = ("tus-resumable", "upload-offset", "upload-length", "upload-expires", "retry-after", "content-type")
OUTCOME: Final = ("aos-document-id", "aos-job-id", "aos-status")
LISTED: Final = 100
WAITING: Final = ("open", "failed")
UploadId = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$")]


def upload_routes(console: ConsoleContext) -> APIRouter:
    """/uploads and /uploads/{id}; a browser knows no other address of the API, and no token."""
    router = APIRouter(include_in_schema=False)

    @router.get("/uploads")
    async def unfinished(request: Request) -> Response:
        """One's own uploads that wait for more bytes, newest first."""
        try:
            body = await console.api(request).get("/api/uploads", limit=LISTED)
        except ApiProblem as problem:
            return _problem_answer(problem)
        names = ("upload_session_id", "document_name", "total_size_bytes", "created_at", "expires_at")
        waiting = [one for one in body["items"] if one["protocol"] == "tus" and one["state"] in WAITING]
        return JSONResponse([{name: one[name] for name in names} for one in waiting])

    @router.post("/uploads")
    async def create(request: Request) -> Response:
        return await _pass_on(console, request, API)

    @router.api_route("/uploads/{upload_id}", methods=["HEAD", "PATCH", "DELETE"])
    async def upload(request: Request, upload_id: UploadId) -> Response:
        return await _pass_on(console, request, f"{API}/{upload_id}")

    return router


async def _pass_on(console: ConsoleContext, request: Request, path: str) -> Response:
    headers = {name: request.headers[name] for name in SENT if name in request.headers}
    body = None
    if request.method == "PATCH":
        if (length := request.headers.get("content-length")) is None:
            return Response(status_code=411)
        headers["content-length"], body = length, request.stream()
    try:
        answer = await console.api(request).relay(request.method, path, headers, body)
    except ApiProblem as problem:
        return _problem_answer(problem)
    except ClientDisconnect:  # what came until then is kept; nobody hears the answer
        return Response(status_code=499)
    return Response(answer.content, answer.status_code, headers=_answer_headers(answer.headers))


def _answer_headers(found: Mapping[str, str]) -> dict[str, str]:
    told = {name: found[name] for name in (*TOLD, *OUTCOME) if name in found}
    if place := found.get("location"):
        told["location"] = f"{PREFIX}/uploads/{place.rpartition('/')[2]}"
    return told | {"cache-control": "no-store"}


def _problem_answer(problem: ApiProblem) -> Response:
    told = problem.told
    body = {"title": told.title, "detail": told.detail, "fix": told.fix, "code": told.code}
    return JSONResponse(body, told.status or 502, media_type="application/problem+json")
