"""The page Documents: find one, look at its pages as they were read, link it to agents, process it again, delete it."""

import asyncio
from typing import Any, Final

import gradio as gr

from serve_apps.ui.documents import facts
from serve_apps.ui.documents.arrivals import LOOK_SECONDS, arrivals, awaits_pages, no_page_notice
from serve_apps.ui.documents.document_list import HERE, document_catalogue
from serve_apps.ui.documents.passage import parse_passage
from serve_apps.ui.documents.usage_views import figures_view, usage_card
from serve_apps.ui.documents.viewer import page_viewer
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import card_columns, empty_state, link_to, loading_notice, problem_card
from serve_apps.ui.kit.formats import format_count
from serve_apps.ui.kit.html import SafeHtml, join_html
from serve_apps.ui.kit.living import PageAction, RenderMarker, interactive_html, opening_action, parse_action
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import Role

STRIP: Final = 100  # pages that the strip shows at once
FAILED: Final = 20
NOTHING: Final[dict[str, Any]] = {"items": [], "total": 0}


def draw_documents_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """The list or a document, whatever the address says; above a document without a page, word once it has some."""
    arrived, body = html_part(), interactive_html(loading_notice("Looking …"))
    turns, at = RenderMarker(), gr.State("")
    clock = gr.Timer(LOOK_SECONDS, active=False)

    async def view(api: SessionApi, asked: PageAction) -> list[Any]:
        try:
            shown, waits = await _page_view(console, api, asked)
        except ApiProblem as problem:
            shown, waits = problem_card(problem.told), False
        return [turns.mark(shown), SafeHtml(), asked.query.get("id", ""), gr.Timer(LOOK_SECONDS, active=waits)]

    async def first(request: gr.Request) -> list[Any]:
        return await view(console.api(request), opening_action(request))

    async def show(request: gr.Request, event: gr.EventData) -> list[Any]:
        return await view(console.api(request), parse_action(event))

    async def look(request: gr.Request, document: str) -> list[Any]:
        return await arrivals(console.api(request), document)

    async def do(request: gr.Request, event: gr.EventData) -> list[Any]:
        asked = parse_action(event)
        gone = HERE if asked.act == "delete" else None
        shown = turns.mark(await _act_on_document(console, console.api(request), asked), gone)
        return [shown, SafeHtml(), gr.Timer(active=False)]

    page = [body, arrived, at, clock]
    blocks.load(first, None, page, **QUIET)
    body.select(show, None, page, **QUIET)
    body.click(do, None, [body, arrived, clock], **QUIET)
    clock.tick(look, at, [arrived, clock], **QUIET)


PAGE = ConsolePage(
    "documents", "Documents", Role.VIEWER, draw_documents_page, "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6"
)


async def _page_view(console: ConsoleContext, api: SessionApi, asked: PageAction) -> tuple[SafeHtml, bool]:
    """What the address says, and whether it is a document that waits for its first page."""
    if id_ := asked.query.get("id"):
        return await _document_view(console, api, id_, asked)
    if asked.query.get("view") == "figures":
        add = console.link("ingest") if api.session.role.reaches(Role.DEVELOPER) else None
        return figures_view(await api.get("/api/documents/analytics"), add), False
    return await document_catalogue(console, api, asked.query, asked.number("skip")), False


async def _page_body(console: ConsoleContext, api: SessionApi, asked: PageAction) -> SafeHtml:
    return (await _page_view(console, api, asked))[0]


async def _act_on_document(console: ConsoleContext, api: SessionApi, asked: PageAction) -> SafeHtml:
    """Do what a button says, and show what came of it above the page."""
    document = asked.query.get("id", "")
    said: SafeHtml
    try:
        match asked.act:
            case "link" | "unlink":
                said = await _change_link(api, document, asked)
            case "process":
                job = await api.post(f"/api/documents/{document}/process")
                where = console.link("ingest", job=job["job_id"])
                link = link_to("see the job", where)
                said = facts.done_notice(join_html("It is read, cut and embedded again: ", link, "."))
            case "decode":
                body = {"encoding": asked.fields.get("encoding", "").strip() or "auto"}
                job = await api.post(f"/api/documents/{document}/process", body)
                where = console.link("ingest", job=job["job_id"])
                said = facts.done_notice(join_html("It is read again: ", link_to("see the job", where), "."))
            case "readers":
                named = [one.strip() for one in asked.fields.get("readers", "").split(",") if one.strip()]
                changed = await api.put(f"/api/documents/{document}/readers", {"readers": named})
                whom = ", ".join(changed["readers"]) or "everybody in the workspace"
                said = facts.done_notice(f"From now on it is seen by {whom}.")
            case "classify":
                wanted = asked.fields.get("classification", "").strip() or None
                of = await api.put(f"/api/documents/{document}/classification", {"classification": wanted})
                said = facts.done_notice(f"It is {of['classification'] or 'of no class'} from now on.")
            case "impact":
                row, impact = await asyncio.gather(
                    api.get(f"/api/documents/{document}"), api.get(f"/api/documents/{document}/delete-impact")
                )
                said = facts.impact_card(row, impact)
            case "delete":
                gone = await api.delete(f"/api/documents/{document}")
                lost = f"{format_count(gone['pages'], 'page')} and {format_count(gone['chunks'], 'passage')}"
                said = facts.done_notice(f"Deleted, with {lost}.")
                return join_html(said, await view_or_problem(document_catalogue(console, api, {}, 0)))
            case _:
                said = empty_state("Nothing was asked for.", "Load the page again.")
    except ApiProblem as problem:
        said = problem_card(problem.told)
    return join_html(said, await view_or_problem(_page_body(console, api, asked)))


async def _change_link(api: SessionApi, document: str, asked: PageAction) -> SafeHtml:
    agent = asked.value if asked.act == "unlink" else asked.fields.get("agent", "")
    body = {"agent_id": agent, "document_ids": [document], "action": asked.act}
    done = await api.post("/api/documents/links", body)
    words = "The agent searches it from now on." if asked.act == "link" else "The agent does not search it any more."
    return facts.done_notice(words if done["changed"] else "It was so already.")


async def _document_view(
    console: ConsoleContext, api: SessionApi, id_: str, asked: PageAction
) -> tuple[SafeHtml, bool]:
    path = f"/api/documents/{id_}"
    document, versions, agents = await asyncio.gather(
        api.get(path), api.get(f"{path}/versions"), api.get("/api/agents", limit=200)
    )
    waits = awaits_pages(document)
    role, version = api.session.role, asked.query.get("version") or document["version_id"]
    cards: list[SafeHtml | None] = [facts.versions_card(id_, versions["items"], version)]
    cards += [facts.agents_card(console, document, agents["items"], role), facts.origin_card(document)]
    cards += [
        usage_card(document),
        facts.readers_card(document, role),
        facts.class_card(document, role),
        facts.encoding_card(document, role),
    ]
    head = facts.document_heading(document, role)
    if version is None or waits:
        return join_html(head, no_page_notice(document), card_columns(*cards)), waits
    number = asked.number("page", 1)
    begin = (number - 1) // STRIP * STRIP
    at = f"{path}/versions/{version}/pages"
    strip, failed, view = await asyncio.gather(
        api.get(at, skip=begin, limit=STRIP),
        _load_failures(api, at, document),
        view_or_problem(_viewer_section(api, document, version, number, asked)),
    )
    failures = facts.failed_card(id_, version, failed, console.link("ingest"))
    pages = facts.pages_card(document, version, strip, begin, number)
    return join_html(head, view, pages, failures, card_columns(*cards)), waits


async def _load_failures(api: SessionApi, at: str, document: dict[str, Any]) -> dict[str, Any]:
    return await api.get(at, failed=True, limit=FAILED) if document["pages"]["failed"] else NOTHING


async def _viewer_section(
    api: SessionApi, document: dict[str, Any], version: str, number: int, asked: PageAction
) -> SafeHtml:
    page = await api.get(f"/api/documents/{document['id']}/versions/{version}/pages/{number}")
    current = version == document["version_id"]
    at = {"id": document["id"], "version": None if current else version}
    earlier = None
    if not current:
        where = facts.document_address(document["id"], page=number)
        link = link_to("Show that one", where)
        earlier = facts.done_notice(join_html("This is not the version that readers see now. ", link, "."))
    shown = page_viewer(page, document["file_type"], parse_passage(asked.query), at, pictured=current)
    return join_html(earlier, shown)
