"""The console, put together: the door, pictures, and one Gradio application with a route for every page."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import gradio as gr
from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse

from configs.sections import ConsoleSettings
from serve_apps.ui import now, oauth_pages, pictures, provider_sign_in, sign_in
from serve_apps.ui.agents.page import PAGE as AGENTS
from serve_apps.ui.chat.page import PAGE as CHAT
from serve_apps.ui.documents.page import PAGE as DOCUMENTS
from serve_apps.ui.index.page import PAGE as INDEX
from serve_apps.ui.ingest.page import PAGE as INGEST
from serve_apps.ui.ingest.upload_relay import upload_routes
from serve_apps.ui.kit.api import SignInClient, open_client
from serve_apps.ui.kit.frame import NAME
from serve_apps.ui.kit.page import PREFIX, ConsoleContext, ConsolePage, UploadLimits
from serve_apps.ui.kit.theme import make_theme
from serve_apps.ui.review.page import PAGE as REVIEW
from serve_apps.ui.runs.page import PAGE as RUNS
from serve_apps.ui.search.page import PAGE as SEARCH
from serve_apps.ui.session_gc import MOST, WindowStateCollector
from serve_apps.ui.session_guard import SessionGuard
from serve_apps.ui.sessions import SessionStore
from serve_apps.ui.skills.page import PAGE as SKILLS
from serve_apps.ui.system.page import PAGE as SYSTEM

PAGES: Final[Sequence[ConsolePage]] = (
    *(now.PAGE, INGEST, DOCUMENTS, REVIEW, CHAT, SEARCH),
    *(INDEX, RUNS, AGENTS, SKILLS, SYSTEM),
)
HERE: Final = Path(__file__).parent
FILES: Final = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}
LONGEST_QUEUE: Final = 512
UPLOADS_KEPT: Final = (600, 3600)  # every so many seconds, Gradio's copies of uploads older than that are deleted


def create_console(
    settings: ConsoleSettings,
    url: str,
    clock: Callable[[], float],
    pages: Sequence[ConsolePage] = PAGES,
    uploads: UploadLimits = UploadLimits(),
    vouch: Callable[[str], str] | None = None,
) -> FastAPI:
    """The ASGI application; it stands below /console.

    Args:
        pages: the first has the path "".
        uploads: bytes of one file.
        vouch: makes the word by which the API believes a browser's address; without it guesses count for the console's.
    """
    client = open_client(url)
    knock = SignInClient(client, vouch)
    console = ConsoleContext(SessionStore(settings.session_hours * 3600, clock), knock, pages, uploads=uploads)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with client:
            yield

    blocks = draw_console(console)
    app = FastAPI(title=f"{NAME} console", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    doors = sign_in.sign_in_routes(console, knock), provider_sign_in.provider_routes(console, knock)
    passed_through = pictures.picture_routes(console), upload_routes(console)
    for router in (*doors, oauth_pages.oauth_routes(console), *passed_through, _asset_routes()):
        app.include_router(router)
    gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        root_path=PREFIX,
        footer_links=[],
        run_history=False,
        app_kwargs={"docs_url": None, "redoc_url": None},
        auth_dependency=lambda request: session.grant.user if (session := console.session(request)) else None,
        max_file_size=uploads.at_once,
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        mcp_server=False,
        show_error=True,
        theme=make_theme(),
    )
    app.add_middleware(WindowStateCollector, blocks=blocks)
    app.add_middleware(SessionGuard, console=console)
    return app


def draw_console(console: ConsoleContext) -> gr.Blocks:
    """Every page, each in a route of its own."""
    blocks = gr.Blocks(title=NAME, analytics_enabled=False, fill_width=True, delete_cache=UPLOADS_KEPT)
    for page in console.pages:
        with blocks.route(page.title, page.path) if page.path else blocks:
            page.draw(console, blocks)
    blocks.state_session_capacity = MOST
    blocks.queue(default_concurrency_limit=32, max_size=LONGEST_QUEUE, api_open=False)
    return blocks


def _asset_routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    for name, kind in FILES.items():
        router.add_api_route(f"/{name}", _file_endpoint(HERE / name, kind))
    return router


def _file_endpoint(path: Path, kind: str) -> Callable[[], FileResponse]:
    def send() -> FileResponse:
        return FileResponse(path, media_type=kind, headers={"Cache-Control": "no-cache"})

    return send
