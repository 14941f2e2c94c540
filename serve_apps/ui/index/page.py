"""The page Index: which index readers use, what may take its place, what guards it, and what is remembered."""

from typing import Any, Final
from uuid import UUID

import gradio as gr

from serve_apps.ui.index.actions import draw_actions
from serve_apps.ui.index.index_generations import index_view, load_index_state
from serve_apps.ui.index.sets import sets_view
from serve_apps.ui.index.settings import draw_cache, draw_gate, draw_language
from serve_apps.ui.kit.blocks import loading_notice, page_heading
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.html_component import html_part
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, view_or_problem
from serve_apps.ui.sessions import Role

ABOUT: Final = "Which index readers use, what may take its place, and what guards the switch."
REFRESH_SECONDS: Final = 15.0
Update = dict[str, Any]


def draw_index_page(desk: ConsoleContext, blocks: gr.Blocks) -> None:
    """A tab each for generations, golden sets, and what is remembered of questions."""
    html_part(page_heading("Index", ABOUT))
    with gr.Tabs(elem_classes="lab-tabs") as tabs:
        with gr.Tab("Generations", id="generations"):
            body = html_part(loading_notice())
            draw_actions(desk, blocks, body)
        with gr.Tab("Golden sets", id="sets"):
            sets = html_part(loading_notice())
            draw_gate(desk, blocks, sets)
        with gr.Tab("Cache and language", id="cache"):
            draw_cache(desk, blocks)
            draw_language(desk, blocks)

    async def show(request: gr.Request) -> SafeHtml:
        return await view_or_problem(_load_generations(desk, request))

    async def show_sets(request: gr.Request) -> list[Any]:
        query = dict(request.query_params)
        chosen, skip = _uuid_or_empty(query.get("set", "")), query.get("skip", "0")
        html = await view_or_problem(_load_sets(desk, request, chosen, int(skip) if skip.isdecimal() else 0))
        return [html, gr.update(selected="sets") if chosen else gr.skip()]

    blocks.load(show, None, body, **QUIET)
    blocks.load(show_sets, None, [sets, tabs], **QUIET)
    gr.Timer(REFRESH_SECONDS).tick(show, None, body, **QUIET)


async def _load_generations(desk: ConsoleContext, request: gr.Request) -> SafeHtml:
    return index_view(desk, await load_index_state(desk.api(request)))


async def _load_sets(desk: ConsoleContext, request: gr.Request, chosen: str, skip: int) -> SafeHtml:
    return await sets_view(desk, desk.api(request), chosen, skip)


def _uuid_or_empty(value: str) -> str:
    try:
        return str(UUID(value))
    except ValueError:
        return ""


ICON: Final = (
    "M12 3c5 0 8 1.300 8 3s-3 3-8 3-8-1.300-8-3 3-3 8-3M4 6v12c0 1.700 3 3 8 3s8-1.300 8-3V6"
    "M4 12c0 1.700 3 3 8 3s8-1.300 8-3"
)
PAGE = ConsolePage("index", "Index", Role.DEVELOPER, draw_index_page, ICON)
