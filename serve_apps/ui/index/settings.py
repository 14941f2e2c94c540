"""Golden sets as guards, the cache and the language of words: components, and what operators may change."""

from contextlib import suppress
from typing import Any

import gradio as gr

from serve_apps.ui.index.memory import cache_view, language_view
from serve_apps.ui.index.sets import sets_view
from serve_apps.ui.kit.blocks import empty_card, empty_state, loading_notice, problem_card, titled_card
from serve_apps.ui.kit.formats import format_count
from serve_apps.ui.kit.html import Record, SafeHtml, quiet_text, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import Role


def _is_operator(console: ConsoleContext, request: gr.Request) -> bool:
    session = console.session(request)
    return session is not None and session.role.reaches(Role.OPERATOR)


def draw_gate(console: ConsoleContext, blocks: gr.Blocks, sets: gr.HTML) -> None:
    """Components that choose which golden sets gate the index, and their least recall."""
    with gr.Accordion("Let a set guard the index", open=False, visible=False, elem_id="index-gate") as frame:
        set_ = gr.Dropdown([], value=None, label="Set")
        gate = gr.Checkbox(False, label="The next index has to find the documents that its questions expect")
        least = gr.Slider(0, 100, 0, step=1, label="Least recall in percent; 0 demands no less than the index before")
        keep = gr.Button("Keep this", variant="primary")
        kept = html_part()

    async def begin(request: gr.Request) -> list[Any]:
        with suppress(ApiProblem):  # the list above says what is wrong
            if _is_operator(console, request):
                items = await _load_golden_sets(console, request)
                choices = [(one["name"], str(one["id"])) for one in items]
                chosen = gr.update(choices=choices, value=choices[0][1] if choices else None)
                return [gr.update(visible=True), chosen, *_gate_values(items[0] if items else None)]
        return [gr.skip()] * 4

    async def choose(request: gr.Request, wanted: str | None) -> list[Any]:
        with suppress(ApiProblem):
            items = await _load_golden_sets(console, request)
            return _gate_values(next((one for one in items if str(one["id"]) == wanted), None))
        return [gr.skip()] * 2

    async def save(request: gr.Request, wanted: str | None, guards: bool, percent: float) -> list[Any]:
        if not wanted:
            return [empty_state("No set is chosen.", "Make one in the search lab."), gr.skip()]
        try:
            api = console.api(request)
            body = {"gate": guards, "least_recall": percent / 100 if percent else None}
            await api.patch(f"/api/golden-sets/{wanted}", body)
            said = tag("p", tag("b", "Kept."), " The next index is checked by it.", class_="lab-done", role="status")
            return [said, await sets_view(console, api, wanted, 0)]
        except ApiProblem as problem:
            return [problem_card(problem.told), gr.skip()]

    blocks.load(begin, None, [frame, set_, gate, least], **QUIET)
    set_.input(choose, set_, [gate, least], **QUIET)
    keep.click(save, [set_, gate, least], [kept, sets], **QUIET)


async def _load_golden_sets(console: ConsoleContext, request: gr.Request) -> list[Record]:
    body = await console.api(request).get("/api/golden-sets", limit=100)
    found: list[Record] = body["items"]
    return found


def _gate_values(one: Record | None) -> list[Any]:
    if one is None:
        return [False, 0]
    return [bool(one["gate"]), round((one["least_recall"] or 0) * 100)]


def draw_cache(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """Components for cache statistics, and for clearing the cache."""
    shown = html_part(loading_notice())
    with gr.Accordion("Forget what is remembered", open=False, visible=False) as frame:
        html_part(quiet_text("Every question is worked out anew until it has been asked again; nothing else changes."))
        sure = gr.Checkbox(False, label="Forget everything that is remembered in this workspace")
        clear = gr.Button("Forget it", variant="stop", interactive=False)
        done = html_part()

    async def show(request: gr.Request) -> list[Any]:
        if not _is_operator(console, request):
            todo = "Its figures are shown to operators and administrators."
            return [empty_card("Semantic cache", "For operators.", todo), gr.skip()]
        return [await view_or_problem(_cache_card(console, request)), gr.update(visible=True)]

    async def forget(request: gr.Request, agreed: bool) -> list[Any]:
        if not agreed:
            return [gr.skip(), gr.skip(), gr.skip()]
        try:
            gone = await console.api(request).delete("/api/rag/cache")
        except ApiProblem as problem:
            return [problem_card(problem.told), gr.skip(), gr.skip()]
        count = f"{format_count(gone['forgotten'], 'entry', 'entries')}."
        said = tag("p", tag("b", "Forgotten: "), count, class_="lab-done", role="status")
        return [said, await view_or_problem(_cache_card(console, request)), False]

    blocks.load(show, None, [shown, frame], **QUIET)
    sure.change(lambda agreed: gr.update(interactive=bool(agreed)), sure, clear, **QUIET)
    clear.click(forget, sure, [done, shown, sure], **QUIET)


async def _cache_card(console: ConsoleContext, request: gr.Request) -> SafeHtml:
    return titled_card("Semantic cache", cache_view(await console.api(request).get("/api/rag/cache/stats")))


def draw_language(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """By which language words are cut."""
    with gr.Row(equal_height=True):
        label = "Language of the workspace's words"
        language = gr.Dropdown([], value=None, label=label, interactive=True, min_width=220)
        change = gr.Button("Change the language", visible=False, min_width=160)
    shown = html_part(loading_notice())

    async def begin(request: gr.Request) -> list[Any]:
        try:
            body = await console.api(request).get("/api/search/language")
        except ApiProblem as problem:
            return [gr.skip(), gr.skip(), problem_card(problem.told)]
        may = _is_operator(console, request)
        box = gr.update(choices=body["known"], value=body["language"], interactive=may)
        return [box, gr.update(visible=may), language_view(body)]

    async def save(request: gr.Request, wanted: str | None) -> SafeHtml:
        try:
            return language_view(await console.api(request).put("/api/search/language", {"language": wanted or ""}))
        except ApiProblem as problem:
            return problem_card(problem.told)

    blocks.load(begin, None, [language, change, shown], **QUIET)
    change.click(save, language, shown, **QUIET)
