"""Own connections by OAuth: a small page of our own, without a script, that sends people off and takes them back."""

from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import Colour, data_table, empty_state, state_badge
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import PREFIX, ConsoleContext, query_uuid
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.provider_sign_in import leading_on
from serve_apps.ui.session_guard import redirect_to
from serve_apps.ui.sign_in import form_page

API: Final = "/api/oauth/connections"
ABOUT: Final = "Services with your own account there. Agents use it in runs that are yours, and in nobody else's."
REFUSED: Final = ProblemReport("The service did not agree.", "", "Try again, and agree there.", 403, "oauth_refused")
STATES: Final[Mapping[str, tuple[str, Colour]]] = {
    "connected": ("connected", "green"),
    "ended": ("ended: connect again", "red"),
    "none": ("not yet", "grey"),
}
Id = Annotated[str, Form(max_length=36)]


def oauth_routes(console: ConsoleContext) -> APIRouter:
    """/connections, and the way there and back."""
    router = APIRouter(include_in_schema=False)

    @router.get("/connections")
    async def connections(request: Request) -> Response:
        return await _list_page(console.api(request))

    # By a link: what a form leads to may only be the console (its CSP). The session's cookie is strict, so no other
    # site has a browser begin anything.
    @router.get("/connections/away")
    async def away(request: Request, id: str = "") -> Response:
        api = console.api(request)
        try:
            begun = await api.post(_address(id), {"return_to": "console"})
        except ApiProblem as problem:
            return await _list_page(api, problem.told)
        return redirect_to(begun["authorization_url"])

    @router.get("/connections/back")
    async def back(request: Request) -> Response:
        # The browser comes from another site, and brings the session's cookie only from a page of ours.
        return leading_on(f"{PREFIX}/connections/finish?{request.url.query}", "Finish")

    @router.get("/connections/finish")
    async def finish(request: Request, of: str = "", state: str = "", code: str = "", iss: str = "") -> Response:
        api = console.api(request)
        if not code:
            return await _list_page(api, REFUSED)
        try:
            await api.post(f"{_address(of)}/complete", {"state": state, "code": code, "iss": iss})
        except ApiProblem as problem:
            return await _list_page(api, problem.told)
        return redirect_to(f"{PREFIX}/connections")  # the code leaves the address

    @router.post("/connections/disconnect")
    async def disconnect(request: Request, id: Id = "") -> Response:
        api = console.api(request)
        try:
            await api.delete(_address(id))
        except ApiProblem as problem:
            return await _list_page(api, problem.told)
        return redirect_to(f"{PREFIX}/connections")

    return router


def _address(id_: str) -> str:
    return f"{API}/{quote(query_uuid({'id': id_}, 'id') or '-', safe='')}"


async def _list_page(api: SessionApi, told: ProblemReport | None = None) -> Response:
    try:
        items = (await api.get(API))["items"]
    except ApiProblem as problem:
        items, told = [], told or problem.told
    back = tag("p", tag("a", "← Skills", href=f"{PREFIX}/skills"))
    if not items:
        todo = "An administrator adds a credential of type OAuth under System → Credentials."
        return form_page("Connections", ABOUT, told, join_html(empty_state("There is nothing to connect.", todo), back))
    table = data_table(("Service", "Address", "State", "Since", ""), [_row(one) for one in items])
    return form_page("Connections", ABOUT, told, join_html(table, back))


def _row(one: Record) -> tuple[SafeHtml | str, ...]:
    text, colour = STATES[one["state"]]
    since = format_moment(one["connected_at"]) if one["connected_at"] else "–"
    label = "Connect" if one["state"] == "none" else "Connect again"
    acts = [tag("a", label, href=f"{PREFIX}/connections/away?id={quote(one['id'], safe='')}")]
    acts += [] if one["state"] == "none" else [_disconnect_button(one["id"])]
    return one["name"], urlsplit(one["base_url"]).netloc, state_badge(text, colour), since, join_html(*acts)


def _disconnect_button(id_: str) -> SafeHtml:
    hidden = tag("input", type="hidden", name="id", value=id_)
    return tag("form", hidden, tag("button", "Disconnect"), method="post", action=f"{PREFIX}/connections/disconnect")
