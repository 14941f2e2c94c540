"""The page Agents, declared: the list, a new one, and the tabs of one of them."""

from typing import Any

import gradio as gr

from serve_apps.ui.agents import agent_skills, form_fields, linked_documents
from serve_apps.ui.agents.edit import AgentEditor, agent_asked, create_agent, delete_agent, load_agent_page
from serve_apps.ui.agents.views import rules_view
from serve_apps.ui.kit.blocks import loading_notice
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, view_or_problem
from serve_apps.ui.sessions import Role

# Where somebody is sent once something is made or gone; nothing of it comes from a person.
GO = "(to) => { if (to && to.startsWith('/console/')) location.assign(to); }"
TABS = ("instructions", "skills", "documents", "models", "planning", "rules", "delete")


def draw_agents_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """Declare all views of the page; those that the address does not name stay hidden."""
    with gr.Column(elem_classes="aos-edit"):
        body = html_part()
        go = gr.Textbox(visible=False)
        with gr.Column(visible=False, elem_classes="aos-form") as new:
            name = gr.Textbox(label="Name", info=form_fields.INFO["name"], max_length=200)
            about = gr.Textbox(label="Description", info=form_fields.INFO["description"])
            prompt = gr.Textbox(label="Prompt", info=form_fields.INFO["system_prompt"], lines=6)
            fields = form_fields.scope_fields()
            refused = html_part()
            create = gr.Button("Make the agent", variant="primary", elem_classes="aos-narrow")
        with gr.Column(visible=False) as one:
            tabs, editor = _draw_tabs(console, blocks, go)

    async def load(request: gr.Request) -> list[Any]:
        return await load_agent_page(console, request)

    async def made(
        request: gr.Request, name: str, about: str, prompt: str, whole: bool, every: bool
    ) -> tuple[Any, Any, str]:
        wanted: dict[str, Any] = {"name": name, "description": about, "system_prompt": prompt}
        wanted |= {"whole_workspace": whole, "auto_link_uploads": every}
        return await create_agent(console, request, wanted)

    def chosen(request: gr.Request) -> Any:
        tab = dict(request.query_params).get("tab", "")
        return gr.Tabs(selected=tab) if tab in TABS else gr.skip()

    blocks.load(load, None, [body, new, one], **QUIET)
    blocks.load(chosen, None, tabs, **QUIET)
    blocks.load(editor.load, None, editor.outputs, **QUIET)
    inputs = [name, about, prompt, fields["whole_workspace"], fields["auto_link_uploads"]]
    create.click(made, inputs, [name, refused, go], **QUIET).then(None, go, None, js=GO, **QUIET)


def _draw_tabs(console: ConsoleContext, blocks: gr.Blocks, go: gr.Textbox) -> tuple[gr.Tabs, AgentEditor]:
    fields: dict[str, Any] = {}
    saves: list[tuple[gr.Button, gr.HTML]] = []
    head = html_part()
    with gr.Tabs() as tabs:
        with gr.Tab("Instructions", id="instructions"):
            fields |= form_fields.instruction_fields()
            saves.append(_save_button())
        with gr.Tab("Skills", id="skills"):
            agent_skills.draw_skills_tab(console, blocks)
        with gr.Tab("Documents", id="documents"):
            fields |= form_fields.scope_fields()
            saves.append(_save_button())
            linked_documents.draw_documents_tab(console, blocks)
        with gr.Tab("Models", id="models"):
            fields |= form_fields.model_fields()
            saves.append(_save_button())
        with gr.Tab("Planning and tools", id="planning"):
            fields |= form_fields.planning_fields()
            saves.append(_save_button())
        with gr.Tab("Approvals", id="rules") as rules_tab:
            draw_approvals_tab(console, blocks, rules_tab)
        with gr.Tab("Delete", id="delete"):
            _draw_deletion(console, go)
    editor = AgentEditor(console, fields, head)
    for button, said in saves:
        button.click(editor.save, editor.inputs, [editor.agent, editor.head, said, *editor.components], **QUIET)
    return tabs, editor


def _save_button() -> tuple[gr.Button, gr.HTML]:
    said = html_part()
    return gr.Button("Save what changed", variant="primary", elem_classes="aos-narrow"), said


def _draw_deletion(console: ConsoleContext, go: gr.Textbox) -> None:
    about = "Its conversations and their runs go with it. Its documents stay."
    typed = gr.Textbox(label="Its name, to be sure", info=about)
    said = html_part()
    button = gr.Button("Delete this agent", variant="stop", elem_classes="aos-narrow")

    async def gone(request: gr.Request, typed: str) -> tuple[Any, str]:
        return await delete_agent(console, request, typed)

    button.click(gone, typed, [said, go], **QUIET).then(None, go, None, js=GO, **QUIET)


PAGE = ConsolePage(
    "agents", "Agents", Role.VIEWER, draw_agents_page, "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 20c0-4 4-6 8-6s8 2 8 6"
)


def draw_approvals_tab(console: ConsoleContext, blocks: gr.Blocks, tab: gr.Tab) -> None:
    """The tab; it is asked for anew each time it is looked at, for skills come and go."""
    body = html_part(loading_notice())

    async def rules(request: gr.Request, id_: str) -> SafeHtml:
        found = await console.api(request).get(f"/api/agents/{id_}/rules")
        return rules_view(console, found["items"])

    async def show(request: gr.Request) -> SafeHtml:
        id_ = agent_asked(request)
        return loading_notice() if id_ is None else await view_or_problem(rules(request, id_))

    blocks.load(show, None, body, **QUIET)
    tab.select(show, None, body, **QUIET)
