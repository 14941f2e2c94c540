"""Session guard of the console: nothing is open without a session, and no other site may send anything (CSRF)."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve_apps.ui.kit.frame import frame_document
from serve_apps.ui.kit.page import PREFIX, ConsoleContext, ConsolePage
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import ConsoleSession, Role

OPEN: Final = frozenset(
    {"/sign-in", "/sso", "/sso/start", "/connections/back", "/console.css", "/console.js", "/icon.svg"}
)
WHILE_CHANGING: Final = OPEN | {"/password", "/sign-out"}
SAFE: Final = frozenset({"GET", "HEAD"})
EVENTS: Final = "/gradio_api/"
# What Gradio brings along and the console has no use for: fetching other hosts, histories, endpoints for programs.
CLOSED: Final = (
    "/monitoring",
    *(f"{EVENTS}{name}" for name in ("proxy=", "runs", "run-history", "run/", "call/", "api/", "openapi.json", "info")),
    *(f"{EVENTS}{name}" for name in ("mcp", "profiling", "deep_link", "process_recording", "token")),
)
FILE: Final = "/gradio_api/file"  # of this machine alone: Gradio would fetch an address too, and pass on what it says
UPLOAD: Final = "/gradio_api/upload"
RESUMABLE: Final = "/uploads"  # in pieces, by uploads.js
CANCEL: Final = "/gradio_api/cancel"  # what a page has begun it may always end
PLACE: Final = "x-console-workspace"  # for which a page was drawn; console.js sends it
PAGE: Final = re.compile(rf"{PREFIX}(/[a-z-]*)?")
# Whatever a page or Gradio might try: a browser connects to this origin only.
POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self' data:; connect-src 'self'; "
    "worker-src 'self' blob:; frame-src 'none'; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class SessionGuard:
    """ASGI middleware in front of our routes and Gradio's."""

    def __init__(self, app: ASGIApp, console: ConsoleContext) -> None:
        """`console` knows the sessions and pages."""
        self._app, self._console = app, console
        self._pages = {f"/{page.path}": page for page in console.pages}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it through, framed if it is a page, or answer in its place."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        send = _with_headers(send)
        path = _path_below_root(scope)
        session = self._console.session(request)
        if session is not None and path not in OPEN and not session.grant.must_change:
            if self._console.sessions.due(session):
                with suppress(ApiProblem):  # the page itself says what is wrong; the bar goes without the workspace
                    await self._console.api(request).look_around()
            session = self._console.session(request)  # it may have ended there: signed out, disabled, another password
        refusal = self._refuse_request(request, path, session)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        page = self._pages.get(path)
        if page is None or session is None or request.method != "GET":
            await self._app(scope, receive, send)
            return
        await self._app(_without_encoding(scope), receive, _Framing(send, page, self._console.pages, session))

    def _refuse_request(self, request: Request, path: str, session: ConsoleSession | None) -> Response | None:
        if request.method not in SAFE and not same_origin(request):
            return _problem_response(403, "foreign_origin", "This was sent by another site.")
        if path.startswith(CLOSED) or (path.startswith(FILE) and not path.startswith(f"{FILE}=/")):
            return _problem_response(404, "not_found", "This is not part of the console.")
        if path in OPEN:
            return None
        wants_page = request.method in SAFE and "text/html" in request.headers.get("accept", "")
        if session is None:
            query = f"?{request.url.query}" if request.url.query else ""
            back = quote(f"{PREFIX}{path}{query}", safe="")
            refused = _problem_response(401, "signed_out", "You are signed out.")
            return redirect_to(f"{PREFIX}/sign-in?next={back}") if wants_page else refused
        if session.grant.must_change and path not in WHILE_CHANGING:
            refused = _problem_response(403, "password_change_required", "Choose a password.")
            return redirect_to(f"{PREFIX}/password") if wants_page else refused
        if path.startswith((UPLOAD, RESUMABLE)) and not session.role.reaches(Role.DEVELOPER):
            return _problem_response(403, "forbidden", "A viewer adds no files.")
        acts = request.method not in SAFE and path.startswith(EVENTS) and not path.startswith(CANCEL)
        if acts or path.startswith(RESUMABLE):  # in another workspace an upload that goes on would seem to be gone
            drawn = request.headers.get(PLACE, session.workspace)
            if drawn != session.workspace:
                return _problem_response(409, "other_workspace", other_workspace_message(session, drawn))
        if path != "/" and path.endswith("/") and path[:-1] in self._pages:
            return redirect_to(PREFIX + path[:-1])
        return None


class _Framing:
    """Holds a page back until it is whole, and sends it with its frame."""

    def __init__(self, send: Send, page: ConsolePage, pages: tuple[ConsolePage, ...], session: ConsoleSession) -> None:
        self._send, self._page, self._pages, self._session = send, page, pages, session
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not MutableHeaders(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                await self._send(message)
                return
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        body = frame_document(self._body, self._page, self._pages, self._session)
        headers = MutableHeaders(raw=self._start["headers"])
        headers["content-length"] = str(len(body))
        headers["cache-control"] = "no-store"
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})


def same_origin(request: Request) -> bool:
    """True if a browser says that our own page sent it; a request without such a header is refused."""
    origin = request.headers.get("origin")
    if origin is None or origin == "null":
        return request.headers.get("sec-fetch-site") == "same-origin"
    return urlsplit(origin).netloc == request.headers.get("host", "")


def other_workspace_message(session: ConsoleSession, drawn: str) -> str:
    """Message of a page whose workspace is not the chosen one any more, as in a second tab."""
    there, here = session.name_of(drawn), session.name_of(session.workspace)
    return f"This page shows {there}, but you have switched to {here}: reload it."


def return_address(wanted: str) -> str:
    """Address to return to after signing in: the wanted one, if it is one of the console's pages."""
    path = re.split(r"[?#]", wanted, maxsplit=1)[0]
    return wanted if PAGE.fullmatch(path) and wanted.isprintable() and "\\" not in wanted else f"{PREFIX}/"


def _path_below_root(scope: Scope) -> str:
    return str(scope["path"]).removeprefix(str(scope.get("root_path", ""))) or "/"


def _without_encoding(scope: Scope) -> Scope:
    """Asks for the page uncompressed, as something is put into it."""
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
        await send(message)

    return sending


def redirect_to(where: str) -> Response:
    """Answer that sends the browser on with a GET."""
    return RedirectResponse(where, status_code=303, headers={"Cache-Control": "no-store"})


def _problem_response(status: int, code: str, title: str) -> Response:
    return JSONResponse({"status": status, "code": code, "title": title}, status, media_type="application/problem+json")
