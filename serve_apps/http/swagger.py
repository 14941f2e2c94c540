"""/docs without the internet: Swagger UI from the package `fastapi-offline`, served by ourselves."""

import base64
import re
from hashlib import sha256
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
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def install_docs_page(app: FastAPI) -> None:
    """Add the page and its three files. Without the package they come from a public server, as FastAPI has it."""
    folder = _asset_folder()
    if folder is not None:
        app.mount(ASSETS, StaticFiles(directory=folder), name="docs-assets")

    async def page(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        local: dict[str, Any] = {}
        if folder is not None:
            local["swagger_js_url"] = f"{root}{ASSETS}/swagger-ui-bundle.js"
            local["swagger_css_url"] = f"{root}{ASSETS}/swagger-ui.css"
            local["swagger_favicon_url"] = f"{root}{ASSETS}/favicon.png"
        shown = get_swagger_ui_html(openapi_url=f"{root}{app.openapi_url}", title=f"{app.title} API", **local)
        shown.headers["Content-Security-Policy"] = _content_security_policy(
            bytes(shown.body).decode(), offline=folder is not None
        )
        return shown

    app.add_route(DOCS, page, methods=["GET"], include_in_schema=False)


def _content_security_policy(page: str, *, offline: bool) -> str:
    """Content security policy of the page: its own files, its one script, Swagger UI's styles, and this API."""
    scripts = (base64.b64encode(sha256(text.encode()).digest()).decode() for text in _SCRIPT.findall(page))
    hashes = " ".join(f"'sha256-{one}'" for one in scripts)
    elsewhere = "" if offline else " https://cdn.jsdelivr.net https://fastapi.tiangolo.com"
    return (
        f"default-src 'none'; script-src 'self' {hashes}{elsewhere}; style-src 'self' 'unsafe-inline'{elsewhere}; "
        f"img-src 'self' data:{elsewhere}; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _asset_folder() -> Path | None:
    spec = find_spec("fastapi_offline")
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent / "static"
    return folder if folder is not None and folder.is_dir() else None
