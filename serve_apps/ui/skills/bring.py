"""The tab Import: a `.skill` package with its scripts and documents, and what came of it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.blocks import Colour, data_table, empty_state, link_to, problem_card, state_badge, titled_card
from serve_apps.ui.kit.formats import format_number
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.kit.waiting import show_while_waiting

KINDS: Final = [".skill", ".zip"]
NO_AGENT: Final = ("none: the skills are only registered", "")
TRUST: Final[Mapping[str, tuple[str, Colour]]] = {
    "trusted": ("signed by a known key", "green"),
    "unknown_key": ("signed by an unknown key", "amber"),
    "unsigned": ("not signed", "grey"),
}


def draw_import_tab(console: ConsoleContext) -> gr.Dropdown:
    """The tab; gives the choice of an agent, which whoever declares the page fills."""
    about = (
        "A package is a zip with a SKILL.md, scripts that run in the sandbox, and documents to be read. What is there "
        "already stays as it is; what cannot be read is refused as a whole, with the reason."
    )
    html_part(quiet_text(about))
    file = gr.File(label="Package", file_types=KINDS, type="filepath", height=140)
    agent = gr.Dropdown([NO_AGENT], value="", label="Give it to", info="The agent gets the skills and the documents.")
    over = gr.Checkbox(False, label="Put it in the place of skills of the same name that came from elsewhere")
    button = gr.Button("Import", variant="primary", elem_classes="aos-narrow")
    result = html_part()

    async def bring(request: gr.Request, file: str | None, agent: str, over: bool) -> AsyncIterator[SafeHtml]:
        view = _import_package(console, request, file, agent, over)
        async for step in show_while_waiting(view, "The package is looked at …"):
            yield step

    button.click(bring, [file, agent, over], result, **QUIET)
    return agent


def imported_view(console: ConsoleContext, made: Record) -> SafeHtml:
    """Report of an import: skills, documents, and ignored files."""
    skills = [made["skill"], *made["scripts"]]
    rows = []
    for one in skills:
        new = one["name"] in made["created"]
        state = state_badge("new version", "green") if new else state_badge("as it was", "grey")
        given = "given to the agent" if one["name"] in made["attached"] else "–"
        rows.append((link_to(one["name"], console.link("skills", skill=one["name"])), one["type"], state, given))
    documents = [
        (link_to(one["path"], console.link("documents", id=one["document_id"])), state_badge(one["change"]))
        for one in made["documents"]
    ]
    job = made["job_id"] and link_to("Follow how they are read", console.link("ingest", job=made["job_id"]))
    ignored = f"Not used: {', '.join(made['ignored'])}." if made["ignored"] else None
    trust = state_badge(*TRUST.get(made["trust"], (made["trust"], "grey")))
    shown = data_table(("Skill", "Type", "", "Agent"), rows)
    files = data_table(("File", "What it is to the workspace"), documents)
    read = titled_card(f"Documents: {format_number(len(documents))}", files, job) if documents else None
    return join_html(titled_card("Imported", shown, quiet_text(ignored), aside=trust), read)


async def _import_package(
    console: ConsoleContext, request: gr.Request, file: str | None, agent: str, over: bool
) -> SafeHtml:
    if not file:
        return empty_state("No file was chosen.", "Choose a .skill package first.")
    path = Path(file)
    try:
        api = console.api(request)
        content = await asyncio.to_thread(path.read_bytes)
        query: dict[str, Any] = {"replace": str(over).lower()} | ({"agent_id": agent} if agent else {})
        files = {"file": (path.name, content, "application/zip")}
        made = await api.post("/api/skills/import-package", params=query, files=files)
    except ApiProblem as problem:
        return problem_card(problem.told)
    return imported_view(console, made)
