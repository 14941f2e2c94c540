"""The page System, put together: its parts as tabs by URL, their forms, and restarts that are watched."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import gradio as gr

from serve_apps.ui.kit.blocks import loading_notice
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role
from serve_apps.ui.sources import source_section
from serve_apps.ui.system import (
    audit_page,
    config,
    erasure_cases,
    keys,
    legal_holds,
    models,
    people,
    policies,
    rate_limits,
    restart_banner,
    retention_periods,
    schedule_table,
    sign_in_sources,
    skill_credentials,
    tenants,
    user_groups,
    webhooks_page,
)
from serve_apps.ui.system.forms import refusal_view
from serve_apps.ui.system.section import Act, ActResult, Query, SystemSection, page_address

SECTIONS: Final[Sequence[SystemSection]] = (
    config.SECTION,
    models.SECTION,
    people.SECTION,
    user_groups.SECTION,
    sign_in_sources.SECTION,
    rate_limits.SECTION,
    keys.SECTION,
    skill_credentials.SECTION,
    schedule_table.SECTION,
    webhooks_page.SECTION,
    source_section.SECTION,
    audit_page.SECTION,
    policies.SECTION,
    legal_holds.SECTION,
    erasure_cases.SECTION,
    retention_periods.SECTION,
    tenants.SECTION,
)
LOOK_SECONDS: Final = 3.0
ANSWERED: Final = "() => { document.dispatchEvent(new CustomEvent('aos-system', { detail: '%s' })); }"
UNKNOWN: Final = ProblemReport("This cannot be done here.", "", "Reload the page.", 400, "unknown_act")


def draw_system_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """One part shows all; forms and links in it come back as events."""
    said = html_part()
    body = gr.HTML(
        loading_notice(),
        elem_classes="aos-page aos-system",
        padding=False,
        apply_default_css=False,
        js_on_load=Path(__file__).with_name("forms.js").read_text(encoding="utf-8"),
    )
    rolling = html_part()
    timer = gr.Timer(LOOK_SECONDS, active=False)

    async def load(request: gr.Request) -> tuple[Any, ...]:
        return SafeHtml(), *await _page_updates(console, request, dict(request.query_params))

    async def go(request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        return SafeHtml(), *await _page_updates(console, request, parse_query(getattr(event, "query", None)))

    async def act(request: gr.Request, event: gr.EventData) -> AsyncIterator[tuple[Any, ...]]:
        sent = {name: getattr(event, name, None) for name in ("act", "values", "query")}
        async for shown in _act_updates(console, request, sent):
            yield shown

    async def look(request: gr.Request) -> tuple[SafeHtml, Any]:
        return await _restart_progress(console, request)

    all_ = [said, body, rolling, timer]
    blocks.load(load, None, all_, **QUIET)
    # The script sends one change of place after the other, and every act counts.
    again: Record = {**QUIET, "trigger_mode": "multiple"}
    body.click(go, None, all_, **again).then(None, None, None, js=ANSWERED % "go")
    body.submit(act, None, all_, **again).then(None, None, None, js=ANSWERED % "act")
    timer.tick(look, None, [rolling, timer], **QUIET)


PAGE = ConsolePage(
    "system",
    "System",
    Role.VIEWER,
    draw_system_page,
    "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6M4 12h2m12 0h2M12 4v2m0 12v2M6.3 6.3l1.5 1.5m8.4 8.4 1.5 1.5m0-11.4-1.5 1.5"
    "m-8.4 8.4-1.5 1.5",
)


def parse_query(text: object) -> Query:
    """The query of a URL as the browser sent it; of several values of a name the last."""
    return dict(parse_qsl(text.removeprefix("?"))) if isinstance(text, str) else {}


def offered_sections(role: Role) -> list[SystemSection]:
    """The parts for a role."""
    return [section for section in SECTIONS if role.reaches(section.least)]


def chosen_section(role: Role, wanted: Query) -> SystemSection:
    """The part that the URL names, else the first."""
    known = offered_sections(role)
    return next((section for section in known if section.id == wanted.get("part")), known[0])


def find_act(role: Role, name: object) -> Act | None:
    """The act of a form by its name, among those of the role; the API checks the permission."""
    return next((one.acts[name] for one in offered_sections(role) if isinstance(name, str) and name in one.acts), None)


def section_frame(role: Role, current: SystemSection, wanted: Query, inside: SafeHtml) -> SafeHtml:
    """A part below the tabs; it says where it is, as the browser's address may be a moment behind."""
    links = [
        tag("a", one.title, href=page_address(one.id), aria_current="page" if one is current else None)
        for one in offered_sections(role)
    ]
    tabs = tag("nav", links, class_="aos-tabs", aria_label="Parts of System")
    head = tag("h1", "System", tabindex=-1, class_="aos-title")
    return join_html(head, tabs, tag("div", inside, data_part=current.id, data_at="?" + urlencode(wanted)))


def act_notice(done: ActResult) -> SafeHtml:
    """An act's result as HTML, marked for forms.js."""
    return tag("div", done.said, class_="aos-said", tabindex=-1, data_to=done.to)


async def _page_updates(console: ConsoleContext, request: gr.Request, wanted: Query) -> tuple[SafeHtml, SafeHtml, Any]:
    """The body, and what rolls where that is shown."""

    async def view() -> SafeHtml:
        api = console.api(request)
        section = chosen_section(api.session.role, wanted)
        return section_frame(api.session.role, section, wanted, await view_or_problem(section.show(api, wanted)))

    session = console.session(request)
    watches = session is not None and chosen_section(session.role, wanted) is config.SECTION
    rolling, timer = await _restart_progress(console, request) if watches else (SafeHtml(), gr.Timer(active=False))
    return await view_or_problem(view()), rolling, timer


async def _act_updates(console: ConsoleContext, request: gr.Request, sent: Record) -> AsyncIterator[tuple[Any, ...]]:
    """First that it is at work, then what came of it; what was typed stays where it was refused."""
    stay = gr.skip()
    yield act_notice(ActResult(loading_notice("At work …"))), stay, stay, stay
    given = sent.get("values")
    values = {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    try:
        api = console.api(request)
        act = find_act(api.session.role, sent.get("act"))
        if act is None:
            raise ApiProblem(UNKNOWN)
        done = await act(api, values)
    except ApiProblem as problem:
        yield act_notice(ActResult(refusal_view(problem.told))), stay, stay, stay
        return
    if done.keeps:
        yield act_notice(done), stay, stay, stay
        return
    where = parse_query(sent.get("query") if done.to is None else done.to)
    yield act_notice(done), *await _page_updates(console, request, where)


async def _restart_progress(console: ConsoleContext, request: gr.Request) -> tuple[SafeHtml, Any]:
    """The latest restarts, and whether to look again soon."""
    try:
        shown, rolls = await restart_banner.progress_of(console.api(request))
    except ApiProblem as problem:
        # While the gateway is restarted it may not answer for a moment; what it refuses it refuses again.
        return SafeHtml(), gr.Timer(active=not 400 <= problem.told.status < 500)
    return shown, gr.Timer(active=rolls)
