"""The golden questions' part of the search lab: its components and what they do."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from serve_apps.ui.kit.blocks import loading_notice, problem_card
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.search.golden_sets import GoldenSelection, evaluate_set, golden_sets, runs_view, save_question
from serve_apps.ui.sessions import Role

Update = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GoldenBench:
    """Components that a search fills: what was asked, and what was found."""

    question: gr.Textbox
    documents: gr.CheckboxGroup


def draw_bench(console: ConsoleContext, blocks: gr.Blocks) -> GoldenBench:
    """Choose a set; keep a question in it; run it."""
    with gr.Column(visible=False) as frame:
        with gr.Row(equal_height=True):
            set_ = gr.Dropdown([], value=None, label="Golden set", scale=3, min_width=240)
            with gr.Row(visible=False, equal_height=True) as running:
                answers = gr.Checkbox(True, label="Ask for answers, too", min_width=160)
                run = gr.Button("Run the evaluation", variant="primary", min_width=160)
        bench = _draw_saving(console, set_)
        with gr.Accordion("New golden set", open=False, visible=False) as making:
            name = gr.Textbox(label="Name of the new set", max_length=200)
            make = gr.Button("Make the set")
            made = html_part()
    runs = html_part(loading_notice())

    async def begin(request: gr.Request) -> list[Any]:
        chosen = GoldenSelection.of(dict(request.query_params))
        try:
            api = console.api(request)
            known = await golden_sets(api)
        except ApiProblem as problem:
            return [gr.skip(), gr.skip(), gr.skip(), problem_card(problem.told), gr.skip()]
        ids = [id_ for _, id_ in known]
        value = chosen.set if chosen.set in ids else next(iter(ids), None)
        shown = chosen if value == chosen.set else GoldenSelection(value or "")
        operates, builds = (gr.update(visible=api.session.role.reaches(one)) for one in (Role.OPERATOR, Role.DEVELOPER))
        view = await view_or_problem(runs_view(console, api, shown))
        return [gr.update(choices=known, value=value), operates, operates, view, builds]

    async def choose(request: gr.Request, chosen: str | None) -> SafeHtml:
        return await view_or_problem(_load_runs(console, request, chosen))

    async def add(request: gr.Request, wanted: str) -> list[Any]:
        try:
            api = console.api(request)
            id_ = str((await api.post("/api/golden-sets", {"name": wanted}))["id"])
            known = await golden_sets(api)
        except ApiProblem as problem:
            return [gr.skip(), problem_card(problem.told), gr.skip()]
        shown = await view_or_problem(runs_view(console, api, GoldenSelection(id_)))
        return [gr.update(choices=known, value=id_), SafeHtml("Made; it is chosen now."), shown]

    blocks.load(begin, None, [set_, running, making, runs, frame], **QUIET)
    set_.input(choose, set_, runs, **QUIET)
    make.click(add, name, [set_, made, runs], **QUIET)
    _bind_evaluation(console, run, set_, answers, runs)
    return bench


async def _load_runs(console: ConsoleContext, request: gr.Request, chosen: str | None) -> SafeHtml:
    return await runs_view(console, console.api(request), GoldenSelection(chosen or ""))


def _draw_saving(console: ConsoleContext, set_: gr.Dropdown) -> GoldenBench:
    with gr.Accordion("Save a question", open=False, elem_id="lab-save"):
        question = gr.Textbox(label="Golden question", max_length=4_000)
        documents = gr.CheckboxGroup([], label="Documents that hold the answer (of those the last search found)")
        expected = gr.Textbox(label="Right answers, one a line", lines=2)
        about = "The documents hold an answer; without the tick it is right to say that they do not"
        answerable = gr.Checkbox(True, label=about)
        save = gr.Button("Save as golden question", variant="primary")
        saved = html_part()

    async def keep(
        request: gr.Request, set_: str | None, question: str, documents: list[str], expected: str, answerable: bool
    ) -> list[Any]:
        try:
            api = console.api(request)
            html = await save_question(api, set_, question, documents, expected, answerable)
            return [html, gr.update(choices=await golden_sets(api), value=set_)]
        except ApiProblem as problem:
            return [problem_card(problem.told), gr.skip()]

    save.click(keep, [set_, question, documents, expected, answerable], [saved, set_], **QUIET)
    return GoldenBench(question, documents)


def _bind_evaluation(
    console: ConsoleContext, run: gr.Button, set_: gr.Dropdown, answers: gr.Checkbox, runs: gr.HTML
) -> None:
    async def go(request: gr.Request, chosen: str | None, wanted: bool) -> AsyncIterator[SafeHtml]:
        try:
            async for html in evaluate_set(console, console.api(request), chosen, wanted):
                yield html
        except ApiProblem as problem:
            yield problem_card(problem.told)

    run.click(go, [set_, answers], runs, **QUIET)
