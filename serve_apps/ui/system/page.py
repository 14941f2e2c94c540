"""The page System, put together: its parts as tabs by URL, their forms, and restarts that are watched."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import gradio as gr

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import loading
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.html_component import part
from serve_apps.ui.kit.page import QUIET, Desk, Page, told
from serve_apps.ui.kit.problem import Problem, Trouble
from serve_apps.ui.sessions import Role
from serve_apps.ui.system import (
    audit_page,
    config,
    keys,
    models,
    people,
    restart_banner,
    schedule_table,
    skill_credentials,
    tenants,
)
from serve_apps.ui.system.forms import refusal
from serve_apps.ui.system.section import Act, Done, Query, Section, address

SECTIONS: Final[Sequence[Section]] = (
    config.SECTION,
    models.SECTION,
    people.SECTION,
    keys.SECTION,
    skill_credentials.SECTION,
    schedule_table.SECTION,
    audit_page.SECTION,
    tenants.SECTION,
)
LOOK_SECONDS: Final = 3.0
ANSWERED: Final = "() => { document.dispatchEvent(new CustomEvent('aos-system', { detail: '%s' })); }"
UNKNOWN: Final = Trouble("This cannot be done here.", "", "Reload the page.", 400, "unknown_act")


def draw(desk: Desk, blocks: gr.Blocks) -> None:
    """One part shows all; forms and links in it come back as events."""
    said = part()
    body = gr.HTML(
        loading(),
        elem_classes="aos-page aos-system",
        padding=False,
        apply_default_css=False,
        js_on_load=Path(__file__).with_name("forms.js").read_text(encoding="utf-8"),
    )
    rolling = part()
    timer = gr.Timer(LOOK_SECONDS, active=False)

    async def load(request: gr.Request) -> tuple[Any, ...]:
        return Html(), *await _shown(desk, request, dict(request.query_params))

    async def go(request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        return Html(), *await _shown(desk, request, asked(_data(event).get("query")))

    async def act(request: gr.Request, event: gr.EventData) -> AsyncIterator[tuple[Any, ...]]:
        async for shown in _acted(desk, request, _data(event)):
            yield shown

    async def look(request: gr.Request) -> tuple[Html, Any]:
        return await _rolling(desk, request)

    all_ = [said, body, rolling, timer]
    blocks.load(load, None, all_, **QUIET)
    # The script sends one change of place after the other, and every act counts.
    again: Mapping[str, Any] = {**QUIET, "trigger_mode": "multiple"}
    body.click(go, None, all_, **again).then(None, None, None, js=ANSWERED % "go")
    body.submit(act, None, all_, **again).then(None, None, None, js=ANSWERED % "act")
    timer.tick(look, None, [rolling, timer], **QUIET)


PAGE = Page(
    "system",
    "System",
    Role.VIEWER,
    draw,
    "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6M4 12h2m12 0h2M12 4v2m0 12v2M6.3 6.3l1.5 1.5m8.4 8.4 1.5 1.5m0-11.4-1.5 1.5"
    "m-8.4 8.4-1.5 1.5",
)


def asked(text: object) -> Query:
    """The query of a URL as the browser sent it; of several values of a name the last."""
    return dict(parse_qsl(text.removeprefix("?"))) if isinstance(text, str) else {}


def offered(role: Role) -> list[Section]:
    """The parts for a role."""
    return [section for section in SECTIONS if role.reaches(section.least)]


def chosen(role: Role, wanted: Query) -> Section:
    """The part that the URL names, else the first."""
    known = offered(role)
    return next((section for section in known if section.id == wanted.get("part")), known[0])


def find_act(role: Role, name: object) -> Act | None:
    """The act of a form by its name, among those of the role; the API checks the permission."""
    return next((act for section in offered(role) for known, act in section.acts.items() if known == name), None)


def framed(role: Role, current: Section, wanted: Query, inside: Html) -> Html:
    """A part below the tabs; it says where it is, as the browser's address may be a moment behind."""
    links = [
        tag("a", one.title, href=address(one.id), aria_current="page" if one is current else None)
        for one in offered(role)
    ]
    tabs = tag("nav", links, class_="aos-tabs", aria_label="Parts of System")
    return join(
        tag("h1", "System", tabindex=-1, class_="aos-title"),
        tabs,
        tag("div", inside, data_part=current.id, data_at="?" + urlencode(wanted)),
    )


def announced(done: Done) -> Html:
    """An act's result as HTML, marked for forms.js."""
    return tag("div", done.said, class_="aos-said", tabindex=-1, data_to=done.to)


async def _shown(desk: Desk, request: gr.Request, wanted: Query) -> tuple[Html, Html, Any]:
    """The body, and what rolls where that is shown."""

    async def view() -> Html:
        api = desk.api(request)
        section = chosen(api.session.role, wanted)
        return framed(api.session.role, section, wanted, await told(section.show(api, wanted)))

    session = desk.session(request)
    watches = session is not None and chosen(session.role, wanted) is config.SECTION
    rolling, timer = await _rolling(desk, request) if watches else (Html(), gr.Timer(active=False))
    return await told(view()), rolling, timer


async def _acted(desk: Desk, request: gr.Request, sent: Mapping[str, Any]) -> AsyncIterator[tuple[Any, ...]]:
    """First that it is at work, then what came of it; what was typed stays where it was refused."""
    stay = gr.skip()
    yield announced(Done(loading("At work …"))), stay, stay, stay
    given = sent.get("values")
    values = {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    try:
        done = await _done(desk.api(request), sent.get("act"), values)
    except Problem as problem:
        yield announced(Done(refusal(problem.told))), stay, stay, stay
        return
    where = asked(sent.get("query") if done.to is None else done.to)
    yield announced(done), *await _shown(desk, request, where)


async def _done(api: Api, name: object, values: Mapping[str, str]) -> Done:
    act = find_act(api.session.role, name)
    if act is None:
        raise Problem(UNKNOWN)
    return await act(api, values)


async def _rolling(desk: Desk, request: gr.Request) -> tuple[Html, Any]:
    """The latest restarts, and whether to look again soon."""
    try:
        shown, rolls = await restart_banner.progress_of(desk.api(request))
    except Problem as problem:
        # While the gateway is restarted it may not answer for a moment; what it refuses it refuses again.
        return Html(), gr.Timer(active=not 400 <= problem.told.status < 500)
    return shown, gr.Timer(active=rolls)


def _data(event: gr.EventData) -> Mapping[str, Any]:
    return {name: getattr(event, name, None) for name in ("act", "values", "query")}
