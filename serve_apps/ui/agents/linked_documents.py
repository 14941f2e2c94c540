"""The tab Documents of an agent: those that are linked to it, those that could be, a page of each at a time."""

from collections.abc import Sequence
from typing import Any, Final

import gradio as gr

from serve_apps.ui.agents.edit import agent_asked, may_edit
from serve_apps.ui.agents.views import status_line
from serve_apps.ui.kit.blocks import problem_card
from serve_apps.ui.kit.formats import format_count
from serve_apps.ui.kit.html import Record, SafeHtml, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part
from serve_apps.ui.kit.problem import ApiProblem

LIMIT: Final = 20


def document_label(one: Record) -> str:
    """A document in a line."""
    about = format_count(one["page_count"], "page") if one["page_count"] else one["status"]
    return f"{one['filename']} · {one['file_type']}, {about}"


def range_label(skip: int, total: int) -> str:
    """The range of documents shown, such as 1–20 of 45."""
    return f"{skip + 1:,}–{min(skip + LIMIT, total):,} of {total:,}" if total else "none"


class DocumentPicker:
    """Linked or linkable documents: search, pagination, a choice of documents, and linking or unlinking them."""

    def __init__(self, console: ConsoleContext, *, linked: bool) -> None:
        """`linked`: those that the agent has."""
        self._console, self._linked = console, linked
        self.action = "unlink" if linked else "link"
        self.skip = gr.State(0)
        html_part(tag("h2", "Linked to it" if linked else "Link more", class_="aos-section"))
        self.search = gr.Textbox(label="Search by name", placeholder="part of a file name")
        self.group = gr.CheckboxGroup([], label="Documents", elem_classes="aos-list")
        with gr.Row():
            self.back = gr.Button("← Before", size="sm", min_width=80, interactive=False)
            self.on = gr.Button("After →", size="sm", min_width=80, interactive=False)
        self.said = html_part()
        does = "Unlink the chosen" if linked else "Link the chosen"
        self.do = gr.Button(does, variant="secondary" if linked else "primary", elem_classes="aos-narrow")

    @property
    def outputs(self) -> list[Any]:
        """Components that are redrawn when the page of the list changes."""
        return [self.skip, self.group, self.back, self.on, self.said]

    async def show(self, request: gr.Request, search: str, skip: int) -> list[Any]:
        """A page."""
        id_ = agent_asked(request)
        if id_ is None:
            return [gr.skip()] * 5
        try:
            api = self._console.api(request)
            if not may_edit(api):
                return [gr.skip()] * 5
            path, linked = f"/api/agents/{id_}/documents", str(self._linked).lower()
            body = await api.get(path, search=search, skip=skip, limit=LIMIT, linked=linked)
        except ApiProblem as problem:
            return [*[gr.skip()] * 4, problem_card(problem.told)]
        total = body["total"]
        if skip >= total > 0:
            return await self.show(request, search, (total - 1) // LIMIT * LIMIT)
        choices = [(document_label(one), one["id"]) for one in body["items"]]
        listed = gr.update(choices=choices, value=[], label=f"Documents · {range_label(skip, total)}")
        turn = [gr.update(interactive=more, visible=total > LIMIT) for more in (skip > 0, skip + LIMIT < total)]
        return [skip, listed, *turn, ""]

    async def first(self, request: gr.Request, search: str) -> list[Any]:
        """The first page."""
        return await self.show(request, search, 0)

    async def before(self, request: gr.Request, search: str, skip: int) -> list[Any]:
        """The page before."""
        return await self.show(request, search, max(0, skip - LIMIT))

    async def after(self, request: gr.Request, search: str, skip: int) -> list[Any]:
        """The next page."""
        return await self.show(request, search, skip + LIMIT)

    async def act(self, request: gr.Request, chosen: Sequence[str]) -> SafeHtml:
        """Link or unlink; all of them or none."""
        if not chosen:
            return status_line("Choose at least one document.")
        body = {"agent_id": agent_asked(request), "document_ids": list(chosen), "action": self.action}
        try:
            made = await self._console.api(request).post("/api/documents/links", body)
        except ApiProblem as problem:
            return problem_card(problem.told)
        return status_line(f"{made['changed']} {self.action}ed.")


def draw_documents_tab(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """Both lists; what leaves one comes up in the other."""
    with gr.Row():
        with gr.Column(min_width=320):
            has = DocumentPicker(console, linked=True)
        with gr.Column(min_width=320):
            lacks = DocumentPicker(console, linked=False)
    for pick in (has, lacks):
        blocks.load(pick.first, pick.search, pick.outputs, **QUIET)
        pick.search.change(pick.first, pick.search, pick.outputs, **QUIET)
        pick.back.click(pick.before, [pick.search, pick.skip], pick.outputs, **QUIET)
        pick.on.click(pick.after, [pick.search, pick.skip], pick.outputs, **QUIET)
        done = pick.do.click(pick.act, pick.group, pick.said, **QUIET)
        for one in (has, lacks):
            done.success(one.show, [one.search, one.skip], [*one.outputs[:-1], gr.State()], **QUIET)
