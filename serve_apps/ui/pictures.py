"""Pictures of pages, passed through with the session's own token; no other address of the API is."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from serve_apps.ui.kit.page import PREFIX, ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem

KINDS = frozenset({"image/png", "image/jpeg", "image/webp"})


def picture_address(document: str, page: int, dpi: int | None = None) -> str:
    """Address of a page's picture, for `img`."""
    return f"{PREFIX}/picture/{document}/{page}" + (f"?dpi={dpi}" if dpi else "")


def picture_routes(console: ConsoleContext) -> APIRouter:
    """/picture/{document}/{page}."""
    router = APIRouter(include_in_schema=False)

    @router.get("/picture/{document}/{page}")
    async def picture(
        request: Request,
        document: Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")],
        page: Annotated[int, Path(ge=1, le=10_000_000)],
        dpi: Annotated[int | None, Query(ge=36, le=300)] = None,
    ) -> Response:
        try:
            found, kind = await console.api(request).download(f"/api/documents/{document}/pages/{page}/image", dpi=dpi)
        except ApiProblem as problem:
            told = problem.told
            body = {"title": told.title, "detail": told.detail, "fix": told.fix, "code": told.code}
            return JSONResponse(body, told.status or 502, media_type="application/problem+json")
        if kind.partition(";")[0] not in KINDS:
            return Response(status_code=502)
        return Response(found, media_type=kind, headers={"Cache-Control": "private, no-cache"})

    return router
