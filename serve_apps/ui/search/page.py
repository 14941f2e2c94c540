"""The page Search lab: what is asked on top; below it the stages, an answer with its reasons, and golden questions."""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.blocks import empty_state, page_heading
from serve_apps.ui.kit.html import Record, SafeHtml
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.kit.waiting import show_while_waiting
from serve_apps.ui.search.answer_view import answer_view
from serve_apps.ui.search.asked import PACKS, PRESETS, SHOWN, STRATEGIES, TYPES, LabQuery
from serve_apps.ui.search.bench import GoldenBench, draw_bench
from serve_apps.ui.search.found import found_view
from serve_apps.ui.search.golden_sets import GoldenSelection
from serve_apps.ui.sessions import Role

SWITCHED: Final = [("as rules and settings say", "auto"), ("on", "on"), ("off", "off")]
PRESET_NAMES: Final = {
    "none": "none",
    "general": "0.50 (general)",
    "search_knowledge": "0.65 (search_knowledge)",
    "semantic_search": "0.70 (semantic_search)",
    "conversation": "0.40 (conversation)",
}
PACK_NAMES: Final = {
    "off": "no context",
    "general": "2,000 tokens",
    "chat": "chat: 2,000",
    "recipe": "recipe: 4,000",
    "code": "code: 3,000",
}
STRATEGY_NAMES: Final = {"hybrid": "hybrid: words and meaning", "keyword": "only words", "vector": "only meaning"}


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The form of the search lab."""

    question: gr.Textbox
    fields: tuple[Any, ...]  # in the order of `LabQuery`
    search: gr.Button
    ask: gr.Button
    stop: gr.Button  # there while something runs


def draw_form() -> SearchForm:
    """Declare it. Stages and filters are folded away until somebody wants them."""
    plain = LabQuery()
    with gr.Row(elem_classes="lab-ask", equal_height=True):
        question = gr.Textbox(
            label="Question",
            placeholder="What do you want to find in the documents?",
            scale=6,
            min_width=260,
            max_length=4_000,
            autofocus=True,
            elem_id="lab-question",
        )
        search = gr.Button("Search", variant="primary", scale=1, min_width=110)
        ask = gr.Button("Ask", scale=1, min_width=110)
        stop = gr.Button("Stop", scale=1, min_width=80, visible=False)
    with gr.Accordion("Stages and filters", open=False, elem_id="lab-switches"):
        with gr.Row():
            strategy = _choice_field("Strategy", [(STRATEGY_NAMES[one], one) for one in STRATEGIES], plain.strategy)
            preset = _choice_field("Least similarity", [(PRESET_NAMES[one], one) for one in PRESETS], plain.preset)
            rerank = _choice_field("Rerank", SWITCHED, plain.rerank)
            enhance = _choice_field("Enhance with a model", SWITCHED, plain.enhance)
        with gr.Row():
            pack = _choice_field("Pack a context", [(PACK_NAMES[one], one) for one in PACKS], plain.pack)
            cache = _choice_field("Cache", [("may answer", "on"), ("work it out anew", "off")], plain.cache)
            shown = _choice_field("Passages in the chart", [(str(one), one) for one in SHOWN], plain.shown)
            agent = gr.Dropdown([], value=None, label="As agent", info=None, min_width=180)
        with gr.Row():
            type_ = gr.Dropdown(list(TYPES), value=None, label="Type of file", allow_custom_value=True, min_width=180)
            file = gr.Textbox(label="Part of the filename", max_length=255, min_width=180)
            since = gr.DateTime(label="Uploaded from", include_time=False, type="string", min_width=180)
            until = gr.DateTime(label="Uploaded until", include_time=False, type="string", min_width=180)
    fields = (question, strategy, preset, rerank, enhance, pack, cache, shown, type_, file, since, until, agent)
    return SearchForm(question, fields, search, ask, stop)


def _choice_field(label: str, choices: list[Any], value: Any) -> gr.Dropdown:
    return gr.Dropdown(choices, value=value, label=label, filterable=False, min_width=180)


ABOUT: Final = "A question, and what every stage of the search makes of it."
BEGIN: Final = empty_state(
    "Nothing has been asked yet.",
    "Search shows which passages each stage finds and how they move; an answer shows what each of its claims rests on.",
)
NOTHING: Final = empty_state("There is no question.", "Write one above.")
LISTED: Final = 15  # documents to tick for a golden question
CALL: Final[Mapping[str, Any]] = {**QUIET, "concurrency_limit": 16}
Update = dict[str, Any]


def draw_search_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """Searching and asking have a tab each; a link's query fills the form and runs."""
    html_part(page_heading("Search lab", ABOUT))
    form = draw_form()
    with gr.Tabs(elem_classes="lab-tabs") as tabs:
        with gr.Tab("Stages", id="stages"):
            stages = html_part(BEGIN)
        with gr.Tab("Answer", id="answer"):
            answer = html_part(BEGIN)
        with gr.Tab("Golden questions", id="golden"):
            bench = draw_bench(console, blocks)
    _bind_search(console, blocks, form, tabs, stages, bench)
    _bind_ask(console, form, tabs, answer)


def _bind_search(
    console: ConsoleContext, blocks: gr.Blocks, form: SearchForm, tabs: gr.Tabs, stages: gr.HTML, bench: GoldenBench
) -> None:
    fields = list(form.fields)
    outputs = [stages, form.stop, bench.question, bench.documents]

    async def begin(request: gr.Request) -> list[Any]:
        query = dict(request.query_params)
        agents: list[tuple[str, str]] = []
        with suppress(ApiProblem):  # without them one searches everything; the search itself says what is wrong
            body = await console.api(request).get("/api/agents", limit=100)
            agents = [(one["name"], str(one["id"])) for one in body["items"]]
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
        found: list[Record] = []

        async def look() -> SafeHtml:
            found.append(await console.api(request).post("/api/documents/search", asked.body()))
            return found_view(console, asked, found[0])

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
    form.stop.click(_stopped_updates, None, [stages, form.stop], cancels=running, **QUIET)


def _bind_ask(console: ConsoleContext, form: SearchForm, tabs: gr.Tabs, answer: gr.HTML) -> None:
    async def ask(request: gr.Request, *values: Any) -> AsyncIterator[list[Any]]:
        asked = LabQuery.given(*values)
        if not asked.question:
            yield [NOTHING, gr.update(visible=False)]
            return
        api = console.api(request)

        async def look() -> SafeHtml:
            body = {"question": asked.question} | ({"agent_id": asked.agent} if asked.agent else {})
            said = await api.post("/api/ask", body)
            why = await api.get(f"/api/answers/{said['id']}/why")
            drawn = {name: value for name, value in (said["chart"] or {}).items() if name != "vega_lite"}
            picture = (await api.post("/api/tables/picture", drawn))["svg"] if drawn else None
            return answer_view(console, said, why, picture)

        async for html in show_while_waiting(view_or_problem(look()), "Asking for an answer …"):
            yield [html, gr.update(visible=True)]
        yield [gr.skip(), gr.update(visible=False)]

    turned = form.ask.click(lambda: gr.update(selected="answer"), None, tabs, **QUIET)
    running = turned.then(ask, list(form.fields), [answer, form.stop], **CALL)
    form.stop.click(_stopped_updates, None, [answer, form.stop], cancels=[running], **QUIET)


def _stopped_updates() -> list[Any]:
    notice = empty_state("Stopped.", "Nothing was kept of it; ask again whenever you like.")
    return [notice, gr.update(visible=False)]


def _tick_documents(found: Record | None) -> Update:
    names = list(dict.fromkeys(hit["filename"] for hit in found["results"]))[:LISTED] if found else []
    return gr.update(choices=names, value=names[:1])


PAGE = ConsolePage(
    "search", "Search lab", Role.VIEWER, draw_search_page, "M10 4a6 6 0 1 0 0 12a6 6 0 0 0 0-12M15 15l6 6M7 10h6M10 7v6"
)
