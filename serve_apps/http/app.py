"""The HTTP API, put together from its parts; it does not start where a route has no permissions."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.middleware.cors import CORSMiddleware

from configs.sections import HttpSettings
from configs.sections_blobs import UploadSettings
from pipelines.documents.store.uploads.upload_sessions import part_size_of
from serve_apps.http import problems, swagger
from serve_apps.http.auth import login_routes, provider_test_routes
from serve_apps.http.auth.ldap import directory_routes
from serve_apps.http.auth.oidc import oidc_routes
from serve_apps.http.auth.permissions import collect_permissions
from serve_apps.http.body_limit import BodyLimit
from serve_apps.http.deps import AppDependencies
from serve_apps.http.mcp import mcp_routes, protected_resource
from serve_apps.http.openai import openai_routes
from serve_apps.http.routes.agents import (
    academy,
    agents,
    answers,
    approvals,
    chat,
    oauth_connections,
    packages,
    remote_skills,
    runs,
    schedules,
    sessions,
    skills,
    trials,
)
from serve_apps.http.routes.documents import (
    access,
    chunking,
    documents,
    exports,
    extraction,
    generations,
    graph,
    ingest,
    jobs,
    reprocess,
    search,
    tables,
    versions,
)
from serve_apps.http.routes.governance import erasures, holds, retention
from serve_apps.http.routes.operations import (
    account_links,
    accounts,
    audit,
    config,
    connections,
    credentials,
    deletion,
    golden,
    golden_runs,
    governance,
    groups,
    health,
    limits,
    metrics,
    now,
    restarts,
    webhooks,
)
from serve_apps.http.routes.review import review_routes
from serve_apps.http.routes.scans import ocr_languages, scanning
from serve_apps.http.routes.sources import cloud_sync, registered_paths, source_edits, source_trials, sources
from serve_apps.http.routes.uploads import tus_routes, upload_routes, uploaded_events
from serve_apps.http.scim import discovery_routes, group_routes, search_routes, user_routes
from serve_apps.http.security_headers import SecurityHeaders
from serve_apps.http.streams import websocket
from serve_apps.http.tracing import TracingMiddleware

# Fixed paths below /api/documents/ come before those with an id.
_ROUTES = (
    *(
        health,
        login_routes,
        oidc_routes,
        directory_routes,
        provider_test_routes,
        accounts,
        account_links,
        groups,
        limits,
        deletion,
    ),
    *(erasures, holds, retention),
    *(agents, trials, packages, remote_skills, skills, connections, credentials, oauth_connections),
    *(
        search,
        ocr_languages,
        chunking,
        answers,
        ingest,
        tus_routes,
        upload_routes,
        reprocess,
        scanning,
        registered_paths,
        exports,
        extraction,
        access,
        documents,
        versions,
        review_routes,
        graph,
        tables,
        uploaded_events,
    ),
    *(sources, source_trials, source_edits, cloud_sync),
    *(generations, golden, golden_runs, jobs, audit, governance, config, restarts, now, metrics, webhooks),
    *(discovery_routes, user_routes, group_routes, search_routes),
    *(chat, runs, sessions, approvals, schedules, academy, openai_routes, mcp_routes, protected_resource, websocket),
)
ROUTERS: tuple[APIRouter, ...] = tuple(module.router for module in _ROUTES)
# What takes a file.
UPLOADS = re.compile(r"/api/(documents/upload|skills/import-package|(universal-)?agents/[^/]+/import-skill-pack)")
PARTS = re.compile(r"/api/uploads/[^/]+/parts/\d+")
TUS = re.compile(r"/api/uploads/tus/[^/]+")
MULTIPART_ROOM = 64 * 1024  # headers and the other fields of an upload

HEADERS = ("Authorization", "Content-Type", "Content-Digest", "Idempotency-Key", "Last-Event-ID", "X-Workspace")

DESCRIPTION = """Documents of any kind go in, every page accounted for; cited answers come out.

Sign in with `POST /api/auth/login` and send `Authorization: Bearer <access_token>`, or an API key in its place.
Errors are problem details (RFC 9457) with a `code` and a `fix`. `X-Workspace` chooses another of your workspaces."""


def create_app(parts: AppDependencies) -> FastAPI:
    """The ASGI application. Its start opens the database, its end closes it.

    Raises MatrixMismatch: a route names no permission.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await parts.database.open()
        for begin in parts.openers:
            await begin()
        try:
            async with mcp_routes.mcp_lifespan(app):
                yield
        finally:
            for close in (*(one.close for one in parts.directories.values()), *parts.closers):
                await close()
            await parts.database.close()

    app = FastAPI(
        title="AOS", version="0.1.0", description=DESCRIPTION, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.state.parts = parts
    # As they are: `include_router` makes every route anew, which takes the first request of an application a moment.
    app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    problems.install_error_handlers(app)
    swagger.install_docs_page(app)
    app.add_middleware(BodyLimit, limit_of=_body_limits(parts.http, parts.uploads))
    if parts.http.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(parts.http.cors_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[*HEADERS, *tus_routes.REQUEST_HEADERS],
            expose_headers=list(tus_routes.ANSWER_HEADERS),
        )
    app.add_middleware(TracingMiddleware, telemetry=parts.telemetry)
    app.add_middleware(SecurityHeaders)
    app.state.permissions = collect_permissions(app.routes)
    return app


def _body_limits(settings: HttpSettings, uploads: UploadSettings) -> Callable[[str], int]:
    def limit_of(path: str) -> int:
        if UPLOADS.fullmatch(path):
            return settings.max_upload_bytes + MULTIPART_ROOM
        if PARTS.fullmatch(path):
            return part_size_of(uploads.max_bytes, uploads.part_bytes)
        if TUS.fullmatch(path):  # it goes to the store as it comes
            return uploads.max_bytes
        return settings.max_body_bytes

    return limit_of
