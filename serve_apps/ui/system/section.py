"""A part of the page System: what it shows for the URL's query, and what can be done there."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, titled_card
from serve_apps.ui.kit.html import SafeHtml, tag
from serve_apps.ui.kit.page import PREFIX
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role

HERE: Final = f"{PREFIX}/system"
FORBIDDEN: Final = 403
DOCUMENT: Final = re.compile(r"[0-9a-f]{32}")
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Where those are listed that are named otherwise than by their ids, and what else to ask for.
PLACES: Final[Mapping[str, tuple[str, str, Mapping[str, str]]]] = {
    "person": ("/api/users", "email", {"everywhere": "true"}),
    "workspace": ("/api/workspaces", "name", {}),
}
Query = Mapping[str, str]
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ActResult:
    """Result of an act: the message, and where to go (a query of the page; None: stay).

    With `keeps` the page is not drawn again: what was typed into its forms stays.
    """

    said: SafeHtml
    to: str | None = None
    keeps: bool = False


Show = Callable[[SessionApi, Query], Awaitable[SafeHtml]]
Act = Callable[[SessionApi, Values], Awaitable[ActResult]]


@dataclass(frozen=True, slots=True)
class SystemSection:
    """A part of the page."""

    id: str  # `part` of the URL
    title: str
    least: Role  # the role from which on it is offered
    show: Show
    acts: Mapping[str, Act] = field(default_factory=dict)  # by the names that its forms have


def page_query(part: str, **more: object) -> str:
    """A query of the page; what is None or empty is left out."""
    asked = {"part": part} | {name: str(value) for name, value in more.items() if value not in (None, "")}
    return "?" + urlencode(asked)


def page_address(part: str, **more: object) -> str:
    """A link into the page."""
    return HERE + page_query(part, **more)


def api_route(*parts: str) -> str:
    """A path of the API; what comes from a browser cannot lead out of its place."""
    return "/api/" + "/".join(quote(part, safe="") for part in parts)


def success_note(*said: Any) -> SafeHtml:
    """Something was done."""
    return tag("div", said, class_="aos-good", role="status")


def act_done(*said: Any, to: str | None = None) -> ActResult:
    """An act that went well."""
    return ActResult(success_note(*said), to)


def missing_problem(what: str) -> ApiProblem:
    """Problem for an object that the URL names and that does not exist (any more)."""
    return ApiProblem(
        ProblemReport(f"This {what} is not here.", "It may have been deleted.", "Go back to the list.", 404, "gone")
    )


def tenant_only(title: str) -> SafeHtml:
    """In place of what only administrators of the tenant may do."""
    return titled_card(title, empty_state("Administrators of the tenant see this.", "Ask one of them."))


async def find_listed(api: SessionApi, path: str, id_: str, what: str) -> Mapping[str, Any]:
    """The object of a list of the API with this id. Raises ApiProblem: there is none."""
    skip, total = 0, 1
    while skip < total:
        body = await api.get(path, skip=skip, limit=1000)
        for one in body["items"]:
            if one["id"] == id_:
                return dict(one)
        skip, total = skip + 1000, body["total"]
    raise missing_problem(what)


async def find_subject(api: SessionApi, kind: str, named: str) -> str:
    """The id of a document, a person or a workspace, of whatever somebody has typed or pasted for it.

    A document's is found in its address, a person's by their e-mail address, a workspace's by its name.
    Raises ApiProblem: nobody is called so.
    """
    wanted = named.strip()
    if kind == "document":
        found = DOCUMENT.search(wanted)
        return found[0] if found else wanted
    path, name, more = PLACES[kind]
    if UUID.fullmatch(wanted.lower()):
        return wanted.lower()
    listed = await api.get(path, limit=1000, **({"q": wanted.lower(), **more} if more else {}))
    for one in listed["items"]:
        if str(one[name]).lower() == wanted.lower():
            return str(one["id"])
    raise missing_problem(f"{kind} ({wanted[:80]})")


async def tenant_admin(api: SessionApi) -> bool:
    """True where this workspace administrator also administers the tenant. For hiding only: the API decides."""
    if not api.session.role.reaches(Role.ADMIN):
        return False
    found = await api.get("/api/users", q=api.session.email, limit=100)
    return any(one["email"] == api.session.email and one["tenant_role"] == Role.ADMIN for one in found["items"])
