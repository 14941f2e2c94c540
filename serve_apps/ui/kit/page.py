"""Pages of the console: their declaration, their context and their links. How to make one:

1. A module (or small package) in serve_apps/ui, with
   `PAGE = ConsolePage("runs", "Runs", Role.VIEWER, draw, icon)` at its end; add it to
   `PAGES` in app.py, whose order is that of the navigation. Its URL is /console/runs.
2. `def draw(console: ConsoleContext, blocks: gr.Blocks) -> None` declares components and events; it runs once, when
   the program starts, for everybody. So nothing of a person may be in it, in a module, or in a default value.
3. Events are `async def show(request: gr.Request, ...)`. `console.api(request)` is the API as that person has it.
   `await view_or_problem(view(...))` makes HTML of a coroutine, and the card "what happened, what to try" of its
   ApiProblem.
4. `blocks.load(show, None, [body], **QUIET)` fills the page; `dict(request.query_params)` is its URL's query, by which
   it is linked: `console.link("documents", id=id_, page=2)`, which is None while there is no such page.
5. What a page remembers stands in the URL, else in `gr.State`. Lists are paged by the API: `skip` and `limit`.
6. What lasts (uploads, chats) is an async generator that yields what is to be shown so far; never block the loop.
7. HTML is made with `tag` (html.py) and blocks.py, and nothing else: they escape.
8. Hide what `api.session.role.reaches(Role.OPERATOR)` says is not for this person; the API decides all the same.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlencode
from uuid import UUID

import gradio as gr

from serve_apps.ui.kit.api import SessionApi, SignInClient
from serve_apps.ui.kit.blocks import problem_card
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.problem import ApiProblem, signed_out
from serve_apps.ui.sessions import ConsoleSession, Role, SessionStore

COOKIE: Final = "aos_console"
PREFIX: Final = "/console"
# For events that fill or refresh something: no spinner over what is there, not in any list of endpoints, all at once.
QUIET: Final[Mapping[str, Any]] = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": None}


class CookieRequest(Protocol):
    """Cookies of a request: gr.Request has them, and Starlette's."""

    @property
    def cookies(self) -> Mapping[str, str]:
        """By name."""
        ...


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """One page."""

    path: str  # below /console/; empty for the first one
    title: str  # in the navigation and of the window
    least: Role  # the role from which on it is offered
    draw: "Callable[[ConsoleContext, Any], None]"  # declares it, see above
    icon: str  # what a `path` of 24 by 24 draws in the navigation

    @property
    def address(self) -> str:
        """Path of the page in the console."""
        return f"{PREFIX}/{self.path}"


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The most bytes of one file: `at_once` None for no limit, `in_pieces` None where none is sent so."""

    at_once: int | None = None
    in_pieces: int | None = None


class ConsoleContext:
    """Context of pages: sessions, the API as the person has it, links."""

    def __init__(
        self,
        sessions: SessionStore,
        door: SignInClient,
        pages: Sequence[ConsolePage],
        *,
        uploads: UploadLimits = UploadLimits(),
    ) -> None:
        """`pages` are all there are."""
        self.sessions, self.pages, self.uploads = sessions, tuple(pages), uploads
        self._door = door

    def session(self, request: CookieRequest) -> ConsoleSession | None:
        """Session of a request."""
        return self.sessions.find(request.cookies.get(COOKIE))

    def api(self, request: CookieRequest) -> SessionApi:
        """The API as whoever asks has it. Raises Problem: the session is over."""
        session = self.session(request)
        if session is None:
            raise signed_out()
        return self._door.api(session)

    def link(self, path: str, **query: object) -> str | None:
        """The address of a page with a query; None while there is no such page."""
        if all(page.path != path for page in self.pages):
            return None
        asked = urlencode({name: value for name, value in query.items() if value is not None})
        return f"{PREFIX}/{path}" + (f"?{asked}" if asked else "")


def html_part(value: SafeHtml | None = None, visible: bool = True, script: str | None = None) -> gr.HTML:
    """Component that shows HTML of ours, without Gradio's styles; declared in a page's `draw`, filled by its events."""
    return gr.HTML(
        value, elem_classes="aos-page", padding=False, apply_default_css=False, js_on_load=script, visible=visible
    )


def query_int(query: Mapping[str, str], name: str = "skip") -> int:
    """A whole number of an address's query; 0 where there is none."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def query_uuid(query: Mapping[str, str], name: str) -> str:
    """An id of an address's query; empty where there is none of the right form."""
    try:
        return str(UUID(query.get(name, "")))
    except ValueError:
        return ""


async def view_or_problem(view: Awaitable[SafeHtml]) -> SafeHtml:
    """HTML of a view, or the card of its problem."""
    try:
        return await view
    except ApiProblem as problem:
        return problem_card(problem.told)
