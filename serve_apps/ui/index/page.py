"""The page Index: which index readers use, what may take its place, what guards it, and what is remembered."""

from collections.abc import AsyncIterator
from typing import Any, Final

import gradio as gr

from serve_apps.ui.index.index_generations import (
    index_view,
    load_index_state,
    run_reindex,
    switch_view,
    switchable_generations,
    switched_view,
)
from serve_apps.ui.index.sets import sets_view
from serve_apps.ui.index.settings import draw_cache, draw_gate, draw_language
from serve_apps.ui.kit.blocks import loading_notice, page_heading, problem_card
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, query_int, query_uuid, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import Role

ABOUT: Final = "Which index readers use, what may take its place, and what guards the switch."
REFRESH_SECONDS: Final = 15.0
Update = dict[str, Any]


def draw_index_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """A tab each for generations, golden sets, and what is remembered of questions."""
    html_part(page_heading("Index", ABOUT))
    with gr.Tabs(elem_classes="lab-tabs") as tabs:
        with gr.Tab("Generations", id="generations"):
            body = html_part(loading_notice())
            draw_actions(console, blocks, body)
        with gr.Tab("Golden sets", id="sets"):
            sets = html_part(loading_notice())
            draw_gate(console, blocks, sets)
        with gr.Tab("Cache and language", id="cache"):
            draw_cache(console, blocks)
            draw_language(console, blocks)

    async def show(request: gr.Request) -> SafeHtml:
        try:
            return index_view(console, await load_index_state(console.api(request)))
        except ApiProblem as problem:
            return problem_card(problem.told)

    async def show_sets(request: gr.Request) -> list[Any]:
        query = dict(request.query_params)
        chosen = query_uuid(query, "set")
        html = await view_or_problem(_load_sets(console, request, chosen, query_int(query)))
        return [html, gr.update(selected="sets") if chosen else gr.skip()]

    blocks.load(show, None, body, **QUIET)
    blocks.load(show_sets, None, [sets, tabs], **QUIET)
    gr.Timer(REFRESH_SECONDS).tick(show, None, body, **QUIET)


async def _load_sets(console: ConsoleContext, request: gr.Request, chosen: str, skip: int) -> SafeHtml:
    return await sets_view(console, console.api(request), chosen, skip)


ICON: Final = (
    "M12 3c5 0 8 1.300 8 3s-3 3-8 3-8-1.300-8-3 3-3 8-3M4 6v12c0 1.700 3 3 8 3s8-1.300 8-3V6"
    "M4 12c0 1.700 3 3 8 3s8-1.300 8-3"
)
PAGE = ConsolePage("index", "Index", Role.DEVELOPER, draw_index_page, ICON)


def draw_actions(console: ConsoleContext, blocks: gr.Blocks, body: gr.HTML) -> None:
    """Shown to operators; `body` is filled anew after each."""
    with gr.Row(visible=False) as actions:
        _draw_build(console, body)
        _draw_switch(console, body)

    async def who(request: gr.Request) -> Update:
        session = console.session(request)
        return gr.update(visible=session is not None and session.role.reaches(Role.OPERATOR))

    blocks.load(who, None, actions, **QUIET)


def _draw_build(console: ConsoleContext, body: gr.HTML) -> None:
    with gr.Accordion("Build a new index", open=False):
        hold = gr.Checkbox(False, label="Hold it back: build and check it, but do not give it to readers")
        force = gr.Checkbox(False, label="Use it whatever the gate finds")
        build = gr.Button("Re-index everything", variant="primary")
        building = html_part()

    async def begin(request: gr.Request, hold: bool, force: bool) -> AsyncIterator[list[Any]]:
        try:
            api = console.api(request)
            async for html in run_reindex(console, api, hold, force):
                yield [html, gr.skip()]
            yield [gr.skip(), index_view(console, await load_index_state(api))]
        except ApiProblem as problem:
            yield [problem_card(problem.told), gr.skip()]

    build.click(begin, [hold, force], [building, body], **QUIET)


def _draw_switch(console: ConsoleContext, body: gr.HTML) -> None:
    with gr.Accordion("Switch or go back", open=False, elem_id="index-switch") as switching:
        to = gr.Dropdown([], value=None, label="Give readers")
        change = html_part()
        sure = gr.Checkbox(False, label="I have read what changes", interactive=False)
        forced = gr.Checkbox(False, label="Even though the gate refused it", visible=False)
        go = gr.Button("Switch", variant="stop", interactive=False)
        done = html_part()

    async def look(request: gr.Request, wanted: str | None) -> list[Any]:
        """The choices as they are now, and what the chosen one would change; nothing is confirmed any more."""
        try:
            found = await console.api(request).get("/api/generations")
        except ApiProblem as problem:
            return [gr.skip(), problem_card(problem.told), False, gr.skip()]
        choices = switchable_generations(found)
        ids = [id_ for _, id_ in choices]
        chosen = wanted if wanted in ids else next(iter(ids), None)
        refused = any(str(one["id"]) == chosen and one["role"] == "refused" for one in found["items"])
        return [
            gr.update(choices=choices, value=chosen),
            switch_view(found, chosen),
            gr.update(value=False, interactive=chosen is not None),  # nobody has read what is not shown yet
            gr.update(visible=refused, value=False),
        ]

    async def switch(request: gr.Request, wanted: str | None, read: bool, force: bool) -> list[Any]:
        if not wanted or not read:
            return [gr.skip(), gr.skip()]
        try:
            api = console.api(request)
            query = {"force": "true"} if force else {}
            made = await api.post(f"/api/generations/{int(wanted)}/switch", params=query)
            return [switched_view(made, console), index_view(console, await load_index_state(api))]
        except ApiProblem as problem:
            return [problem_card(problem.told), gr.skip()]

    shown = [to, change, sure, forced]
    switching.expand(look, to, shown, **QUIET)
    to.input(look, to, shown, **QUIET)
    sure.change(lambda read: gr.update(interactive=bool(read)), sure, go, **QUIET)
    go.click(switch, [to, sure, forced], [done, body], **QUIET).then(look, to, shown, **QUIET)
