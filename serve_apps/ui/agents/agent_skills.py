"""The tab Skills of an agent: what it has, what it could have by category and risk, and both ways between them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import gradio as gr

from serve_apps.ui.agents.edit import agent_asked, may_edit
from serve_apps.ui.agents.views import skills_view, status_line
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import problem_card, titled_card
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part
from serve_apps.ui.kit.problem import ApiProblem

ALL: Final = "All categories"
MOST: Final = 60  # of one risk that are offered at once
RISKS: Final[Mapping[str, str]] = {
    "read": "They only read",
    "write": "They change something",
    "destructive": "What they take away does not come back",
}
Send = Callable[[SessionApi, str, str], Awaitable[Any]]  # one skill, at the path of the agent's
Line = tuple[str, str, str, str]  # name, category, risk, description


def matching_skills(catalogue: Sequence[Line], words: str, category: str) -> list[Line]:
    """Skills that have all the words in name, category or description, and are of the category."""
    wanted = (words or "").lower().split()
    return [
        line
        for line in catalogue
        if category in ("", ALL, line[1].partition("/")[0])
        and all(word in f"{line[0]} {line[1]} {line[3]}".lower() for word in wanted)
    ]


def choices_by_risk(
    catalogue: Sequence[Line], words: str, category: str, chosen: Mapping[str, Sequence[str]]
) -> dict[str, list[tuple[str, str]]]:
    """By risk: choices as (label, name), by category; what is chosen already stays among them."""
    found = {line[0] for line in matching_skills(catalogue, words, category)}
    made: dict[str, list[tuple[str, str]]] = {}
    for risk in RISKS:
        kept = set(chosen.get(risk) or ())
        lines = sorted((line for line in catalogue if line[2] == risk and line[0] in found | kept), key=lambda x: x[1])
        lines = [line for n, line in enumerate(lines) if n < MOST or line[0] in kept]
        made[risk] = [(f"{line[1] or 'Other'} · {line[0]}: {line[3]}", line[0]) for line in lines]
    return made


class SkillsTab:
    """The tab's components and what happens with them."""

    def __init__(self, console: ConsoleContext) -> None:
        self._console = console
        self.catalogue = gr.State(())
        self.said, self.held = html_part(), html_part()
        self.away = gr.Dropdown([], value=[], multiselect=True, label="Take skills away")
        self.take = gr.Button("Take these away", elem_classes="aos-narrow")
        html_part(tag("h2", "Give it more", class_="aos-section"))
        with gr.Row():
            self.words = gr.Textbox(label="Search", placeholder="a name, a category, what it does", min_width=240)
            self.category = gr.Dropdown([ALL], value=ALL, label="Category", min_width=180)
        groups = {risk: gr.CheckboxGroup([], label=about, elem_classes="aos-list") for risk, about in RISKS.items()}
        self.groups = groups
        self.give = gr.Button("Give it the chosen skills", variant="primary", elem_classes="aos-narrow")

    @property
    def outputs(self) -> list[Any]:
        """Components that are redrawn after a change."""
        return [self.catalogue, self.said, self.held, self.away, self.category, *self.groups.values()]

    async def load(self, request: gr.Request) -> list[Any]:
        """All of it."""
        return await self._reload_after(request)

    def narrow(self, catalogue: Sequence[Line], words: str, category: str, *chosen: Sequence[str]) -> list[Any]:
        """The offers that fit."""
        kept = dict(zip(RISKS, chosen, strict=True))
        made = choices_by_risk(catalogue, words, category, kept)
        return [_choices_update(risk, made[risk], kept[risk]) for risk in RISKS]

    async def attach(self, request: gr.Request, *chosen: Sequence[str]) -> list[Any]:
        """Give the agent what is chosen."""
        names = [name for group in chosen for name in group or ()]
        return await self._reload_after(request, names, "given", lambda api, at, name: api.post(at, {"name": name}))

    async def detach(self, request: gr.Request, names: Sequence[str]) -> list[Any]:
        """Take away what is chosen."""
        return await self._reload_after(
            request, names or (), "taken away", lambda api, at, name: api.delete(f"{at}/{name}")
        )

    async def _reload_after(
        self, request: gr.Request, names: Sequence[str] = (), done: str = "", send: Send | None = None
    ) -> list[Any]:
        id_ = agent_asked(request)
        if id_ is None:
            return [gr.skip()] * len(self.outputs)
        try:
            api, at = self._console.api(request), f"/api/agents/{id_}/skills"
            if not may_edit(api):
                return [gr.skip()] * len(self.outputs)
            said = SafeHtml("") if send is None else await _send_each(api, at, names, done, send)
            held, all_ = await asyncio.gather(api.get(at), api.get("/api/skills"))
        except ApiProblem as problem:
            return [gr.skip(), problem_card(problem.told), *[gr.skip()] * (len(self.outputs) - 2)]
        return self._catalogue_updates(held, all_["items"], said)

    def _catalogue_updates(self, held: Record, all_: Sequence[Record], said: SafeHtml) -> list[Any]:
        names = [one["name"] for one in held["items"]]
        categories = {one["name"]: one["category"] for one in all_}
        catalogue = [
            (one["name"], one["category"], one["risk"], one["description"])
            for one in all_
            if one["name"] not in {*names, *held["base"]}
        ]
        tops = sorted({line[1].partition("/")[0] for line in catalogue} - {""})
        made = choices_by_risk(catalogue, "", ALL, {})
        given = titled_card("What it was given", skills_view(self._console, held, categories), aside=f"{len(names)}")
        listed, kinds = gr.update(choices=sorted(names), value=[]), gr.update(choices=[ALL, *tops], value=ALL)
        return [catalogue, said, given, listed, kinds, *(_choices_update(risk, made[risk], []) for risk in self.groups)]


def draw_skills_tab(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """The tab."""
    shelf = SkillsTab(console)
    groups = list(shelf.groups.values())
    filters = [shelf.catalogue, shelf.words, shelf.category, *groups]
    blocks.load(shelf.load, None, shelf.outputs, **QUIET)
    shelf.words.change(shelf.narrow, filters, groups, **QUIET)
    shelf.category.input(shelf.narrow, filters, groups, **QUIET)
    shelf.give.click(shelf.attach, groups, shelf.outputs, **QUIET)
    shelf.take.click(shelf.detach, shelf.away, shelf.outputs, **QUIET)


async def _send_each(api: SessionApi, at: str, names: Sequence[str], done: str, send: Send) -> SafeHtml:
    """What went and what was refused; one refusal does not stop the others."""
    went, refused = list[str](), list[SafeHtml]()
    for name in names:
        try:
            await send(api, at, name)
            went.append(name)
        except ApiProblem as problem:
            refused.append(problem_card(problem.told))
    said = f"{', '.join(went)}: {done}." if went else "Choose at least one skill." if not refused else ""
    return join_html(status_line(said) if said else None, refused)


def _choices_update(risk: str, choices: list[tuple[str, str]], chosen: Sequence[str]) -> Any:
    about = f"{RISKS[risk]} · {len(choices)}" + (" (narrow the search for more)" if len(choices) >= MOST else "")
    return gr.update(choices=choices, value=list(chosen or ()), label=about, visible=bool(choices))
