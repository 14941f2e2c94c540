"""The page Ingest: upload files, scan folders after a dry run, and follow jobs to their last page."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import gradio as gr

from serve_apps.ui.ingest.job import HERE, job_view
from serve_apps.ui.ingest.job_history import load_job_history
from serve_apps.ui.ingest.scan import estimate_view, folder_chooser
from serve_apps.ui.ingest.send import resumable_uploads, send_files, too_large
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, loading_notice, page_heading, problem_card, titled_card
from serve_apps.ui.kit.html import SafeHtml, join_html, tag
from serve_apps.ui.kit.living import PageAction, RenderMarker, interactive_html, opening_action, parse_action
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import Role

EVERY_SECONDS: Final = 3.0
UPLOADS: Final = Path(__file__).with_name("uploads.js")
ACTS: Final = frozenset({"cancel", "resume", "retry"})


def draw_ingest_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """Ways in above, jobs below; an address with a job shows that job and nothing else."""
    turns, at = RenderMarker(), gr.State({})
    head = html_part(loading_notice())
    said = html_part()  # what was said of an act stays until the next one, whatever refreshes
    with gr.Row(visible=False, elem_classes="doc-ways") as ways:
        with gr.Column(min_width=320, elem_classes="doc-upload"):
            html_part(tag("div", tag("h2", "Upload files"), class_="aos-card-head"))
            files = gr.File(file_count="multiple", show_label=False, label="Files", height=150, elem_id="upload")
            html_part(too_large(console.uploads))
            gone = html_part()
            if console.uploads.in_pieces is not None:
                html_part(resumable_uploads(), script=UPLOADS.read_text(encoding="utf-8"))
        with gr.Column(min_width=320, visible=False) as scanning:
            scan = interactive_html(loading_notice("Looking for folders …"))
    body = interactive_html(loading_notice())
    clock = gr.Timer(EVERY_SECONDS)

    async def open_(request: gr.Request) -> list[Any]:
        asked, api = opening_action(request), console.api(request)
        return [*await _page_updates(console, api, asked, turns), *_entry_visibility(api, asked)]

    async def folders(request: gr.Request) -> SafeHtml:
        api = console.api(request)
        return turns.mark(await folder_chooser(api, "")) if api.session.role.reaches(Role.OPERATOR) else join_html()

    async def show(request: gr.Request, event: gr.EventData) -> list[Any]:
        asked, api = parse_action(event), console.api(request)
        return [join_html(), *await _page_updates(console, api, asked, turns), *_entry_visibility(api, asked)]

    async def again(request: gr.Request, asked: dict[str, str]) -> list[Any]:
        return await _page_updates(console, console.api(request), PageAction(asked), turns)

    async def do(request: gr.Request, event: gr.EventData) -> list[Any]:
        asked, api = parse_action(event), console.api(request)
        return [await _run_act(api, asked), *await _page_updates(console, api, asked, turns)]

    async def survey(request: gr.Request, event: gr.EventData) -> AsyncIterator[SafeHtml]:
        async for html in _survey_folder(console, console.api(request), parse_action(event)):
            yield turns.mark(html)

    async def send(request: gr.Request, paths: list[str] | None) -> AsyncIterator[list[Any]]:
        async for html in send_files(console, console.api(request), paths or []):
            yield [html, None]

    page = [head, body, at, clock]
    blocks.load(open_, None, [*page, ways, scanning], **QUIET)
    blocks.load(folders, None, scan, **QUIET)
    body.select(show, None, [said, *page, ways, scanning], **QUIET)
    body.click(do, None, [said, *page], **QUIET)
    clock.tick(again, at, page, **QUIET)
    scan.click(survey, None, scan, **QUIET)
    files.upload(send, files, [gone, files], **QUIET)


PAGE = ConsolePage("ingest", "Ingest", Role.VIEWER, draw_ingest_page, "M12 3v12M7 10l5 5 5-5M4 17v4h16v-4")


def _entry_visibility(api: SessionApi, asked: PageAction) -> list[Any]:
    """Uploads are for developers, scans for operators; neither is beside a job."""
    role, home = api.session.role, "job" not in asked.query
    return [gr.update(visible=home and role.reaches(least)) for least in (Role.DEVELOPER, Role.OPERATOR)]


async def _page_updates(console: ConsoleContext, api: SessionApi, asked: PageAction, turns: RenderMarker) -> list[Any]:
    """Head, body, what the address says, and whether it is to be asked again."""
    id_, live = asked.query.get("job"), True
    if id_:
        try:
            shown, live = await job_view(console, api, id_, asked.number("skip"))
        except ApiProblem as problem:
            home = tag("p", tag("a", "All jobs", href=HERE, class_="aos-button"), class_="doc-gap")
            shown, live = join_html(home, problem_card(problem.told)), False
        return [join_html(), turns.mark(shown), dict(asked.query), gr.Timer(EVERY_SECONDS, active=live)]
    about = "Files become pages, pages become text that can be found and cited."
    shown = await view_or_problem(load_job_history(api, asked.query, asked.number("skip")))
    return [page_heading("Ingest", about), turns.mark(shown), dict(asked.query), gr.Timer(EVERY_SECONDS, active=True)]


async def _run_act(api: SessionApi, asked: PageAction) -> SafeHtml:
    if asked.act not in ACTS or not asked.query.get("job"):
        return empty_state("Nothing was asked for.", "Load the page again.")
    try:
        await api.post(f"/api/jobs/{asked.query['job']}/{asked.act}")
    except ApiProblem as problem:
        return problem_card(problem.told)
    return join_html()


async def _survey_folder(console: ConsoleContext, api: SessionApi, asked: PageAction) -> AsyncIterator[SafeHtml]:
    """Stand at a folder, look into it, or start its scan."""
    path, agent = asked.fields.get("folder", "").strip() or ".", asked.fields.get("agent", "")
    body = {"path": path} | ({"agent_id": agent} if agent else {})
    try:
        match asked.act:
            case "open":
                yield await folder_chooser(api, asked.value)
                return
            case "estimate":
                looking = loading_notice(f"Looking into {path}: it takes up to twenty seconds …")
                yield titled_card("Scan a folder", looking)
                found = await api.post("/api/documents/batch-scan", {**body, "dry_run": True})
                said = estimate_view({**found, "agent": agent})
            case "scan":
                job = await api.post("/api/documents/batch-scan", body)
                where = console.link("ingest", job=job["job_id"])
                link = tag("a", "follow the job", href=where, target="_self")
                said = tag("div", "The scan has begun: ", link, ".", class_="aos-good", role="status")
            case _:
                said = empty_state("Nothing was asked for.", "Load the page again.")
    except ApiProblem as problem:
        said = problem_card(problem.told)
    yield await folder_chooser(api, "" if path == "." or path.startswith("/") else path, said, agent)
