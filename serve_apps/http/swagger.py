"""/docs without the internet: Swagger UI from the package `fastapi-offline`, served by ourselves."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

DOCS = "/docs"
ASSETS = "/docs-assets"


def install(app: FastAPI) -> None:
    """Add the page and its three files. Without the package they come from a public server, as FastAPI has it."""
    folder = _files()
    if folder is not None:
        app.mount(ASSETS, StaticFiles(directory=folder), name="docs-assets")

    async def page(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        local: dict[str, Any] = {}
        if folder is not None:
            local["swagger_js_url"] = f"{root}{ASSETS}/swagger-ui-bundle.js"
            local["swagger_css_url"] = f"{root}{ASSETS}/swagger-ui.css"
            local["swagger_favicon_url"] = f"{root}{ASSETS}/favicon.png"
        return get_swagger_ui_html(openapi_url=f"{root}{app.openapi_url}", title=f"{app.title} API", **local)

    app.add_route(DOCS, page, methods=["GET"], include_in_schema=False)


def _files() -> Path | None:
    spec = find_spec("fastapi_offline")
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent / "static"
    return folder if folder is not None and folder.is_dir() else None
