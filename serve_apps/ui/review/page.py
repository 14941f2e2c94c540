"""The page Review: the queue of doubtful pages, and one of them with its picture, its lines and what was corrected."""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

import gradio as gr

from serve_apps.ui.documents.facts import done_notice
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import loading_notice, problem_card
from serve_apps.ui.kit.html import Record, SafeHtml, join_html
from serve_apps.ui.kit.living import PageAction, RenderMarker, interactive_html, opening_action, parse_action
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, query_int, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.review.page_view import queue_address, review_page
from serve_apps.ui.review.queue_view import chosen_filters, page_address, review_queue
from serve_apps.ui.sessions import Role

SAID = {
    "vectors": "Saved: searches and answers have it from now on.",
    "words": "Saved: it is found by its words, and by its meaning once it is embedded.",
    "pending": "Saved: a job indexes the document.",
}
HISTORY = 50


def draw_review_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """One part that shows the queue or a page, whatever the address says."""
    body, turns = interactive_html(loading_notice("Looking …")), RenderMarker()

    async def first(request: gr.Request) -> SafeHtml:
        return turns.mark(await view_or_problem(review_body(console.api(request), opening_action(request).query)))

    async def show(request: gr.Request, event: gr.EventData) -> SafeHtml:
        return turns.mark(await view_or_problem(review_body(console.api(request), parse_action(event).query)))

    async def do(request: gr.Request, event: gr.EventData) -> SafeHtml:
        shown, address = await act_on_page(console.api(request), parse_action(event))
        return turns.mark(shown, address)

    blocks.load(first, None, body, **QUIET)
    body.select(show, None, body, **QUIET)
    body.click(do, None, body, **QUIET)


PAGE = ConsolePage("review", "Review", Role.VIEWER, draw_review_page, "M4 5h16v14H4zM8 13l3 3 5-7")


async def review_body(api: SessionApi, query: Mapping[str, str]) -> SafeHtml:
    """The queue, or the page that the address names."""
    document, number = query.get("document"), query_int(query, "page")
    if not document or not number:
        return await review_queue(api, query, query_int(query))
    place = f"/api/documents/{document}/pages/{number}"
    shown, page, lines, history, around = await asyncio.gather(
        api.get(f"/api/documents/{document}"),
        api.get(place),
        api.get(f"{place}/lines"),
        api.get(f"{place}/corrections", limit=HISTORY),
        _steps_around(api, query),
    )
    steps = (*around, queue_address(chosen_filters(query)))
    return review_page(page, shown["file_type"], lines, history, steps, api.session.role.reaches(Role.DEVELOPER))


async def act_on_page(api: SessionApi, asked: PageAction) -> tuple[SafeHtml, str | None]:
    """Do what a button says; what is shown then, and its address where that is another."""
    query, address = dict(asked.query), None
    place = f"/api/documents/{query.get('document', '')}/pages/{query_int(query, 'page')}"
    seen = asked.fields.get("page_version", "")
    try:
        if asked.act == "correct":
            body = {"page_version": seen, "line": query_int({"line": asked.value}, "line")}
            made = await api.post(f"{place}/corrections", body | {"text": asked.fields.get("text", "")})
            said = done_notice(SAID[made["searchable"]])
        else:
            await api.put(f"{place}/review", {"page_version": seen, "fine": asked.act == "fine"})
            said = done_notice("Marked as fine." if asked.act == "fine" else "It is in the queue again.")
            if asked.act == "fine":
                # The one after it has moved up to its place.
                address = (await _steps_around(api, query))[1] or queue_address(chosen_filters(query))
                query = _query_of(address)
    except ApiProblem as problem:
        said = problem_card(problem.told)
    return join_html(said, await view_or_problem(review_body(api, query))), address


async def _steps_around(api: SessionApi, query: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Addresses of the pages before and after in the queue; a page that has left it has the next in its place."""
    at, filters = query_int(query, "at"), chosen_filters(query)
    first = max(0, at - 1)
    found = (await api.get("/api/review/pages", **filters, skip=first, limit=3))["items"]
    places = list(enumerate(found, first))
    own = next((n for n, one in places if _is_shown(one, query)), None)
    before = [one for one in places if one[0] < (at if own is None else own)]
    after = [one for one in places if one[0] > own] if own is not None else [one for one in places if one[0] >= at]
    back = page_address(before[-1][1], before[-1][0], filters) if before else None
    return back, page_address(after[0][1], after[0][0], filters) if after else None


def _is_shown(one: Record, query: Mapping[str, str]) -> bool:
    return (one["document_id"], str(one["page"])) == (query.get("document"), query.get("page"))


def _query_of(address: str) -> dict[str, str]:
    """The query of an address of the console."""
    return dict(parse_qsl(urlsplit(address).query))
