"""The tab Catalogue: every skill there is, searched and filtered, a page at a time."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.blocks import loading_notice, problem_card, titled_card
from serve_apps.ui.kit.html import Record
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.skills.views import list_view

LIMIT: Final = 25
ANY: Final = ""
FILTERS: Final = ("category", "type", "risk")


def filter_skills(all_: Sequence[Record], words: str | None, category: str, type_: str, risk: str) -> list[Record]:
    """Skills with all the words in name, category or description, and of the filters; a category has those below it."""
    wanted = (words or "").lower().split()
    return [
        one
        for one in all_
        if all(word in f"{one['name']} {one['category']} {one['description']}".lower() for word in wanted)
        and (not category or one["category"] == category or one["category"].startswith(f"{category}/"))
        and type_ in (ANY, one["type"])
        and risk in (ANY, one["risk"])
    ]


def filter_choices(all_: Sequence[Record], key: str) -> list[tuple[str, str]]:
    """Options of a filter, each with its number of skills."""
    if key == "category":
        tops = Counter(one["category"].partition("/")[0] or "Other" for one in all_)
        found = Counter(one["category"] for one in all_ if "/" in one["category"]) + tops
    else:
        found = Counter(one[key] for one in all_)
    return [("any", ANY), *((f"{name} ({found[name]})", name) for name in sorted(found))]


def draw_catalogue_tab(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """The tab."""
    skip = gr.State(0)
    with gr.Row():
        words = gr.Textbox(label="Search", placeholder="a name, a category, what it does", min_width=240, scale=2)
        picks = [gr.Dropdown([("any", ANY)], value=ANY, label=key.capitalize(), min_width=150) for key in FILTERS]
    body = html_part(loading_notice())
    with gr.Row():
        back = gr.Button("← Before", size="sm", min_width=80, interactive=False)
        on = gr.Button("After →", size="sm", min_width=80, interactive=False)
    shown = [skip, body, back, on]

    async def page(request: gr.Request, words: str, skip: int, filters: Sequence[str]) -> list[Any]:
        try:
            body = await console.api(request).get("/api/skills")
        except ApiProblem as problem:
            return [0, problem_card(problem.told), gr.skip(), gr.skip()]
        found = filter_skills(body["items"], words, *filters)
        return _page_updates(console, found, body["total"], skip)

    async def first(request: gr.Request, words: str, *filters: str) -> list[Any]:
        return await page(request, words, 0, filters)

    async def before(request: gr.Request, skip: int, words: str, *filters: str) -> list[Any]:
        return await page(request, words, max(0, skip - LIMIT), filters)

    async def after(request: gr.Request, skip: int, words: str, *filters: str) -> list[Any]:
        return await page(request, words, skip + LIMIT, filters)

    async def filled(request: gr.Request) -> list[Any]:
        try:
            all_ = (await console.api(request).get("/api/skills"))["items"]
        except ApiProblem:
            return [gr.skip()] * len(picks)  # the list says what is wrong
        return [gr.update(choices=filter_choices(all_, key)) for key in FILTERS]

    blocks.load(first, [words, *picks], shown, **QUIET)
    blocks.load(filled, None, picks, **QUIET)
    words.change(first, [words, *picks], shown, **QUIET)
    for pick in picks:
        pick.input(first, [words, *picks], shown, **QUIET)
    back.click(before, [skip, words, *picks], shown, **QUIET)
    on.click(after, [skip, words, *picks], shown, **QUIET)


def _page_updates(console: ConsoleContext, found: Sequence[Record], total: int, skip: int) -> list[Any]:
    last, count = min(skip + LIMIT, len(found)), len(found)
    aside = f"{skip + 1}–{last} of {count}" if found else "none"
    turn = [gr.update(interactive=more, visible=count > LIMIT) for more in (skip > 0, last < count)]
    return [skip, titled_card("Skills", list_view(console, found[skip : skip + LIMIT], total), aside=aside), *turn]
