"""The page Search lab: what is asked on top; below it the stages, an answer with its reasons, and golden questions."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.blocks import empty_state, page_heading
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.html_component import html_part
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.kit.waiting import show_while_waiting
from serve_apps.ui.search.answer_view import answer_view
from serve_apps.ui.search.asked import LabQuery
from serve_apps.ui.search.bench import GoldenBench, draw_bench
from serve_apps.ui.search.found import found_view
from serve_apps.ui.search.golden_sets import GoldenSelection
from serve_apps.ui.search.search_form import SearchForm, draw_form
from serve_apps.ui.sessions import Role

ABOUT: Final = "A question, and what every stage of the search makes of it."
BEGIN: Final = empty_state(
    "Nothing has been asked yet.",
    "Search shows which passages each stage finds and how they move; an answer shows what each of its claims rests on.",
)
NOTHING: Final = empty_state("There is no question.", "Write one above.")
LISTED: Final = 15  # documents to tick for a golden question
CALL: Final[Mapping[str, Any]] = {**QUIET, "concurrency_limit": 16}
Update = dict[str, Any]


def draw_search_page(desk: ConsoleContext, blocks: gr.Blocks) -> None:
    """Searching and asking have a tab each; a link's query fills the form and runs."""
    html_part(page_heading("Search lab", ABOUT))
    form = draw_form()
    with gr.Tabs(elem_classes="lab-tabs") as tabs:
        with gr.Tab("Stages", id="stages"):
            stages = html_part(BEGIN)
        with gr.Tab("Answer", id="answer"):
            answer = html_part(BEGIN)
        with gr.Tab("Golden questions", id="golden"):
            bench = draw_bench(desk, blocks)
    _bind_search(desk, blocks, form, tabs, stages, bench)
    _bind_ask(desk, form, tabs, answer)


def _bind_search(
    desk: ConsoleContext, blocks: gr.Blocks, form: SearchForm, tabs: gr.Tabs, stages: gr.HTML, bench: GoldenBench
) -> None:
    fields = list(form.fields)
    outputs = [stages, form.stop, bench.question, bench.documents]

    async def begin(request: gr.Request) -> list[Any]:
        query = dict(request.query_params)
        agents: list[tuple[str, str]] = []
        try:
            body = await desk.api(request).get("/api/agents", limit=100)
            agents = [(one["name"], str(one["id"])) for one in body["items"]]
        except ApiProblem:
            agents = []  # without them one searches everything; the search itself says what is wrong
        asked = LabQuery.of(query)
        # Who writes before this is there keeps what they wrote.
        values = asked.values() if asked.query() else [gr.skip() for _ in fields]
        known = asked.agent in {id_ for _, id_ in agents}
        values[-1] = gr.update(choices=[("everything I may see", ""), *agents], value=asked.agent if known else "")
        # Likewise the tab: it stands on the first, and by now somebody may have turned to another.
        return [*values, gr.update(selected="golden") if GoldenSelection.of(query).set else gr.skip()]

    async def search(request: gr.Request, *values: Any) -> AsyncIterator[list[Any]]:
        asked = LabQuery.given(*values)
        if not asked.question:
            yield [NOTHING, gr.update(visible=False), gr.skip(), gr.skip()]
            return
        found: list[Mapping[str, Any]] = []

        async def look() -> SafeHtml:
            found.append(await desk.api(request).post("/api/documents/search", asked.body()))
            return found_view(desk, asked, found[0])

        async for html in show_while_waiting(view_or_problem(look()), "Searching …"):
            yield [html, gr.update(visible=True), gr.skip(), gr.skip()]
        yield [gr.skip(), gr.update(visible=False), asked.question, _tick_documents(found[0] if found else None)]

    async def again(request: gr.Request, *values: Any) -> AsyncIterator[list[Any]]:
        if LabQuery.given(*values).question:
            async for update in search(request, *values):
                yield update
        else:  # a generator that gives nothing would empty its outputs
            yield [gr.skip()] * len(outputs)

    blocks.load(begin, None, [*fields, tabs], **QUIET).then(again, fields, outputs, **CALL)
    running = []
    for event in (form.search.click, form.question.submit):
        turned = event(lambda: gr.update(selected="stages"), None, tabs, **QUIET)
        running.append(turned.then(search, fields, outputs, **CALL))
    form.stop.click(
        lambda: [_stopped_notice(), gr.update(visible=False)], None, [stages, form.stop], cancels=running, **QUIET
    )


def _bind_ask(desk: ConsoleContext, form: SearchForm, tabs: gr.Tabs, answer: gr.HTML) -> None:
    async def ask(request: gr.Request, *values: Any) -> AsyncIterator[list[Any]]:
        asked = LabQuery.given(*values)
        if not asked.question:
            yield [NOTHING, gr.update(visible=False)]
            return
        api = desk.api(request)

        async def look() -> SafeHtml:
            body = {"question": asked.question} | ({"agent_id": asked.agent} if asked.agent else {})
            said = await api.post("/api/ask", body)
            return answer_view(desk, said, await api.get(f"/api/answers/{said['id']}/why"))

        async for html in show_while_waiting(view_or_problem(look()), "Asking for an answer …"):
            yield [html, gr.update(visible=True)]
        yield [gr.skip(), gr.update(visible=False)]

    turned = form.ask.click(lambda: gr.update(selected="answer"), None, tabs, **QUIET)
    running = turned.then(ask, list(form.fields), [answer, form.stop], **CALL)
    form.stop.click(
        lambda: [_stopped_notice(), gr.update(visible=False)], None, [answer, form.stop], cancels=[running], **QUIET
    )


def _stopped_notice() -> SafeHtml:
    return empty_state("Stopped.", "Nothing was kept of it; ask again whenever you like.")


def _tick_documents(found: Mapping[str, Any] | None) -> Update:
    """The documents that were found, the best one ticked."""
    names = list(dict.fromkeys(hit["filename"] for hit in found["results"]))[:LISTED] if found else []
    return gr.update(choices=names, value=names[:1])


PAGE = ConsolePage(
    "search", "Search lab", Role.VIEWER, draw_search_page, "M10 4a6 6 0 1 0 0 12a6 6 0 0 0 0-12M15 15l6 6M7 10h6M10 7v6"
)
