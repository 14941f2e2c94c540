"""The page Documents: find one, look at its pages as they were read, link it to agents, process it again, delete it."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

import gradio as gr

from serve_apps.ui.documents import facts
from serve_apps.ui.documents.document_list import HERE, catalogue
from serve_apps.ui.documents.passage import parse
from serve_apps.ui.documents.viewer import viewer
from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import columns, empty, link, loading, problem_card
from serve_apps.ui.kit.formats import many
from serve_apps.ui.kit.html import Html, join
from serve_apps.ui.kit.living import Turns, Wish, living, opened, wish
from serve_apps.ui.kit.page import QUIET, Desk, Page, told
from serve_apps.ui.kit.problem import Problem
from serve_apps.ui.sessions import Role

STRIP: Final = 100  # pages that the strip shows at once
FAILED: Final = 20
NOTHING: Final[dict[str, Any]] = {"items": [], "total": 0}


def draw(desk: Desk, blocks: gr.Blocks) -> None:
    """One part that shows the list or a document, whatever the address says."""
    body, turns = living(loading("Looking …")), Turns()

    async def first(request: gr.Request) -> Html:
        return turns.mark(await told(_shown(desk, desk_api(request), opened(request))))

    async def show(request: gr.Request, event: gr.EventData) -> Html:
        return turns.mark(await told(_shown(desk, desk_api(request), wish(event))))

    async def do(request: gr.Request, event: gr.EventData) -> Html:
        asked = wish(event)
        gone = HERE if asked.act == "delete" else None
        return turns.mark(await _done(desk, desk_api(request), asked), gone)

    def desk_api(request: gr.Request) -> Api:
        return desk.api(request)

    blocks.load(first, None, body, **QUIET)
    body.select(show, None, body, **QUIET)
    body.click(do, None, body, **QUIET)


PAGE = Page("documents", "Documents", Role.VIEWER, draw, "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6")


async def _shown(desk: Desk, api: Api, asked: Wish) -> Html:
    id_ = asked.query.get("id")
    return await (_document(desk, api, id_, asked) if id_ else catalogue(desk, api, asked.query, asked.number("skip")))


async def _done(desk: Desk, api: Api, asked: Wish) -> Html:
    """Do what a button says, and show what came of it above the page."""
    document = asked.query.get("id", "")
    said: Html
    try:
        match asked.act:
            case "link" | "unlink":
                said = await _link(api, document, asked)
            case "process":
                job = await api.post(f"/api/documents/{document}/process")
                where = desk.link("ingest", job=job["job_id"])
                said = facts.notice(join("Its text is cut and embedded again: ", link("see the job", where), "."))
            case "decode":
                body = {"encoding": asked.fields.get("encoding", "").strip() or "auto"}
                job = await api.post(f"/api/documents/{document}/process", body)
                where = desk.link("ingest", job=job["job_id"])
                said = facts.notice(join("It is read again: ", link("see the job", where), "."))
            case "impact":
                row, impact = await asyncio.gather(
                    api.get(f"/api/documents/{document}"), api.get(f"/api/documents/{document}/delete-impact")
                )
                said = facts.impact_card(row, impact)
            case "delete":
                gone = await api.delete(f"/api/documents/{document}")
                said = facts.notice(
                    f"Deleted, with {many(gone['pages'], 'page')} and {many(gone['chunks'], 'passage')}."
                )
                return join(said, await told(catalogue(desk, api, {}, 0)))
            case _:
                said = empty("Nothing was asked for.", "Load the page again.")
    except Problem as problem:
        said = problem_card(problem.told)
    return join(said, await told(_shown(desk, api, asked)))


async def _link(api: Api, document: str, asked: Wish) -> Html:
    agent = asked.value if asked.act == "unlink" else asked.fields.get("agent", "")
    body = {"agent_id": agent, "document_ids": [document], "action": asked.act}
    done = await api.post("/api/documents/links", body)
    words = "The agent searches it from now on." if asked.act == "link" else "The agent does not search it any more."
    return facts.notice(words if done["changed"] else "It was so already.")


async def _document(desk: Desk, api: Api, id_: str, asked: Wish) -> Html:
    path = f"/api/documents/{id_}"
    document, versions, agents = await asyncio.gather(
        api.get(path), api.get(f"{path}/versions"), api.get("/api/agents", limit=200)
    )
    role, version = api.session.role, asked.query.get("version") or document["version_id"]
    cards: list[Html | None] = [facts.versions_card(id_, versions["items"], version)]
    cards += [facts.agents_card(desk, document, agents["items"], role), facts.origin_card(document)]
    cards += [facts.encoding_card(document, role)]
    head = facts.head(document, role)
    if version is None:
        nothing = empty("No page of it was read yet.", "Its job on the page Ingest tells how far it is.")
        return join(head, nothing, columns(*cards))
    number = asked.number("page", 1)
    begin = (number - 1) // STRIP * STRIP
    at = f"{path}/versions/{version}/pages"
    strip, failed, view = await asyncio.gather(
        api.get(at, skip=begin, limit=STRIP),
        api.get(at, failed=True, limit=FAILED) if document["pages"]["failed"] else _nothing(),
        told(_viewed(api, document, version, number, asked)),
    )
    below = [facts.failed_card(id_, version, failed, desk.link("ingest"))]
    return join(head, view, facts.pages_card(document, version, strip, begin, number), *below, columns(*cards))


def _nothing() -> Awaitable[dict[str, Any]]:
    async def none() -> dict[str, Any]:
        return NOTHING

    return none()


async def _viewed(api: Api, document: dict[str, Any], version: str, number: int, asked: Wish) -> Html:
    page = await api.get(f"/api/documents/{document['id']}/versions/{version}/pages/{number}")
    current = version == document["version_id"]
    at = {"id": document["id"], "version": None if current else version}
    earlier = None
    if not current:
        where = facts.address(document["id"], page=number)
        earlier = facts.notice(
            join("This is not the version that readers see now. ", link("Show that one", where), ".")
        )
    return join(earlier, viewer(page, document["file_type"], parse(asked.query), at, pictured=current))
